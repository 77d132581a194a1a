"""Layout attributes of the `iree_encoding` dialect, and its own solvers."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, NoneAttr, TensorType, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from ...ir.index_lists import known_sizes, parse_size_list, print_size_list
from ...ir.syntax.attribute_format import KINDS, FieldsAttribute, FormattedAttribute, Kind
from ...ir.tensor_types import VerifiableTensorEncoding, element_of, shape_of
from ...tiling.packed_layouts import IDENTITY, PackedLayout
from ...tiling.storage_sizes import (
    StorageFormula,
    StorageSizeError,
    bit_packed_formula,
    padded_formula,
)
from .interfaces import (
    EncodingError,
    EncodingSolverInterface,
    LayoutAttribute,
    LayoutInterface,
    Spelling,
    Tensor,
    TensorEncoding,
    tensor_encoding,
)


class ResolvedEncoding(TensorEncoding, ABC):
    """An encoding that itself defines the layout: there is nothing to resolve."""

    @property
    def is_resolved(self) -> bool:
        return True

    def resolve(
        self, tensor: Tensor, solvers: Sequence[EncodingSolverInterface], spelling: Spelling
    ) -> Self:
        return self


@irdl_attr_definition
class LayoutAttr(FormattedAttribute, ResolvedEncoding, VerifiableTensorEncoding):
    """`layout<[L, ...]>`: the resolved layouts, one for each target of the device."""

    name = "iree_encoding.layout"
    members: ArrayAttr[Attribute]
    FORMAT: ClassVar[str] = "<$members>"

    def verify(self) -> None:
        if not self.members:
            raise VerifyException("expected non-empty layouts")
        if len(self.layouts()) != len(self.members):
            raise VerifyException(
                "expected all the layout attributes to implement SerializableAttr"
            )

    def layouts(self) -> tuple[LayoutInterface, ...]:
        return tuple(
            member
            for member in self.members
            if isinstance(member, LayoutInterface)
            and not (isinstance(member, EncodingSolverInterface) and not member.IS_LAYOUT)
        )

    def verify_encoding(self, tensor: Tensor) -> None:
        for member in self.members:
            if isinstance(member, VerifiableTensorEncoding):
                member.verify_encoding(tensor)


@irdl_attr_definition
class IdentityAttr(ParametrizedAttribute, LayoutAttribute, ResolvedEncoding):
    """The row-major layout, as without an encoding."""

    name = "iree_encoding.identity"

    def layouts(self) -> tuple[LayoutInterface, ...]:
        return (self,)

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return IDENTITY

    def storage_formula(self, tensor: Tensor) -> StorageFormula:
        shape = shape_of(tensor)
        return padded_formula(shape, element_of(tensor), [0] * len(shape))


@irdl_attr_definition
class PackedStorageAttr(
    ParametrizedAttribute, LayoutAttribute, ResolvedEncoding, VerifiableTensorEncoding
):
    """Elements narrower than a byte, booleans included, are stored without gaps."""

    name = "iree_encoding.packed_storage"

    def layouts(self) -> tuple[LayoutInterface, ...]:
        return (self,)

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return IDENTITY

    def verify_encoding(self, tensor: Tensor) -> None:
        bits = element_of(tensor).bits
        found = f"bit-width of the element type is {bits} but packed_storage"
        if bits >= 8:
            raise VerifyException(f"{found} is currently only supported for sub-byte types")
        if bits & (bits - 1):
            raise VerifyException(
                f"{found} currently only supports types with power-of-two bitwidth"
            )

    def storage_formula(self, tensor: Tensor) -> StorageFormula:
        try:
            self.verify_encoding(tensor)
        except VerifyException as error:
            raise EncodingError(str(error)) from error
        return bit_packed_formula(shape_of(tensor), element_of(tensor))


def is_bit_packed(type_: Attribute) -> bool:
    """Return whether a type is a tensor whose elements are stored without gaps, even in a byte."""
    return isinstance(tensor_encoding(type_), PackedStorageAttr)


def stored_bits(tensor: Tensor) -> int:
    """Return the bits of an element in memory: its own if they are stored without gaps."""
    element = element_of(tensor)
    return element.bits if is_bit_packed(tensor) else element.storage_bits


@irdl_attr_definition
class PaddingAttr(FormattedAttribute, LayoutAttribute, TensorEncoding):
    """`padding<[0, ?, 64]>`: padding elements after each dimension; a target chooses `?`."""

    name = "iree_encoding.padding"
    padding: ArrayAttr[IntegerAttr]

    FORMAT: ClassVar[str] = "<$padding:sizes>"
    KINDS: ClassVar[Mapping[str, Kind]] = {"sizes": (parse_size_list, print_size_list)}

    def verify(self) -> None:
        if any(size is not None and size < 0 for size in known_sizes(self.padding)):
            raise VerifyException("expected all padding values need to be non-negative or dynamic")

    @property
    def is_resolved(self) -> bool:
        return None not in known_sizes(self.padding)

    def resolve(
        self, tensor: Tensor, solvers: Sequence[EncodingSolverInterface], spelling: Spelling
    ) -> TensorEncoding:
        return self if self.is_resolved else resolve_to_layout(tensor, solvers)

    def with_row_padding(self, padding: int) -> PaddingAttr:
        """Return the attribute with a number for `?`.

        Raises EncodingError if another dimension than the last has padding.
        """
        *outer, _ = known_sizes(self.padding)
        if any(size != 0 for size in outer):
            raise EncodingError(f"only the rows of a tensor can be padded, found {self}")
        sizes = [*(0 for _ in outer), padding]
        return PaddingAttr.new([ArrayAttr(IntegerAttr(size, i64) for size in sizes)])

    def layouts(self) -> tuple[LayoutInterface, ...]:
        return (self,) if self.is_resolved else ()

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return IDENTITY

    def storage_formula(self, tensor: Tensor) -> StorageFormula:
        if not self.is_resolved:
            raise EncodingError(f"the padding of the rows of {tensor} is unknown")
        try:
            return padded_formula(shape_of(tensor), element_of(tensor), known_sizes(self.padding))
        except StorageSizeError as error:
            raise EncodingError(str(error)) from error


@irdl_attr_definition
class UnknownAttr(ParametrizedAttribute, TensorEncoding):
    """An unknown encoding: it is never resolved, and its tensors have no size."""

    name = "iree_encoding.unknown"

    @property
    def is_resolved(self) -> bool:
        return False

    @property
    def is_open(self) -> bool:
        return False

    def resolve(
        self, tensor: Tensor, solvers: Sequence[EncodingSolverInterface], spelling: Spelling
    ) -> TensorEncoding | None:
        raise EncodingError(f"the encoding of {tensor} is unknown")

    def layouts(self) -> tuple[LayoutInterface, ...]:
        return ()


@irdl_attr_definition
class IdentityResolverAttr(ParametrizedAttribute, EncodingSolverInterface):
    """Gives every tensor the row-major layout; used for a target without a solver."""

    name = "iree_encoding.identity_resolver"
    IS_LAYOUT: ClassVar[bool] = False

    def configured(self, target: DictionaryAttr) -> Self:
        return self

    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        return IdentityAttr()

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return IDENTITY


@irdl_attr_definition
class UnsupportedResolverAttr(ParametrizedAttribute, EncodingSolverInterface):
    """Rejects every tensor."""

    name = "iree_encoding.unsupported_resolver"
    IS_LAYOUT: ClassVar[bool] = False

    def configured(self, target: DictionaryAttr) -> Self:
        return self

    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        raise EncodingError(f"'{self.name}' has no layout for tensors such as {tensor}")

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        raise EncodingError(f"'{self.name}' has no layout for tensors such as {tensor}")


@irdl_attr_definition
class SpecializedAttr(FormattedAttribute, LayoutAttribute, ResolvedEncoding):
    """`specialized<seed, type>`: the layout that the test solver chooses. It has no size."""

    name = "iree_encoding.specialized"
    seed: IntegerAttr
    type: Attribute
    FORMAT: ClassVar[str] = "<$seed:i64(, $type:type)?>"

    def layouts(self) -> tuple[LayoutInterface, ...]:
        return (self,)

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        raise EncodingError(f"'{self.name}' is for tests only and has no layout for {tensor}")

    def stores_plainly(self, tensor: Tensor) -> bool:
        return False


@irdl_attr_definition
class SpecializationResolverAttr(FormattedAttribute, EncodingSolverInterface):
    """`specialization_resolver<seed>`: a solver for tests that chooses `specialized`."""

    name = "iree_encoding.specialization_resolver"
    seed: IntegerAttr
    FORMAT: ClassVar[str] = "<$seed:i64>"
    IS_LAYOUT: ClassVar[bool] = False

    def configured(self, target: DictionaryAttr) -> Self:
        return self

    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        return SpecializedAttr(self.seed, TensorType(tensor.element_type, tensor.shape))

    def unified_encoding(self, encodings: Sequence[TensorEncoding]) -> TensorEncoding:
        return SpecializedAttr(self.seed, NoneAttr())

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return SpecializedAttr(self.seed, NoneAttr()).packed_layout(tensor)


@irdl_attr_definition
class TestingAttr(FieldsAttribute, TensorEncoding):
    """`testing<layouts = [...]>`: an encoding for tests that keeps the layouts of all solvers."""

    name = "iree_encoding.testing"
    resolved: ArrayAttr[Attribute] | NoneAttr
    original_element_type: Attribute
    FIELDS: ClassVar[Mapping[str, Kind]] = dict.fromkeys(
        ("layouts", "original_element_type"), KINDS["attr"]
    )

    @property
    def is_resolved(self) -> bool:
        return isinstance(self.resolved, ArrayAttr)

    def layouts(self) -> tuple[LayoutInterface, ...]:
        if isinstance(self.resolved, NoneAttr):
            return ()
        return tuple(layout for layout in self.resolved if isinstance(layout, LayoutInterface))

    def is_identity(self, tensor: Tensor) -> bool:
        return self.is_resolved and all(isinstance(one, IdentityAttr) for one in self.layouts())

    def keeps_layouts(self) -> bool:
        return True

    def resolve(
        self, tensor: Tensor, solvers: Sequence[EncodingSolverInterface], spelling: Spelling
    ) -> TensorEncoding:
        layouts = dict.fromkeys(solver.serialized(tensor) for solver in solvers)
        return TestingAttr(ArrayAttr[Attribute](layouts), self.original_element_type)


def resolve_to_layout(tensor: Tensor, solvers: Sequence[EncodingSolverInterface]) -> LayoutAttr:
    """Return the resolved encoding of a tensor in the current spelling: the solvers' layouts.

    Each layout is listed once. A layout that stores the tensor as without an encoding becomes
    `identity`, which shows readers that nothing needs to be done. Raises EncodingError if a solver
    cannot lay the tensor out.
    """
    layouts: dict[LayoutAttribute, None] = {}
    for solver in solvers:
        layout = solver.serialized(tensor)
        layouts[IdentityAttr() if layout.stores_plainly(tensor) else layout] = None
    return LayoutAttr(ArrayAttr[Attribute](layouts))
