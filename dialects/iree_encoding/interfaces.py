"""Interfaces of encodings, encoding solvers and types with encodings.

Passes use these interfaces and never a dialect. So a target can define its own solver without
changes to dialects or passes, and the two spellings of the encoding dialects (2024 and current) are
handled alike. See `docs/encodings.md`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import wraps
from types import UnionType
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import DictionaryAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.utils.exceptions import VerifyException

from ...ir.foreign_code import PASSED_ON, exception_text, is_foreign, name_of, wrap_foreign
from ...ir.index import emit_size
from ...ir.tensor_types import element_of, shape_of, shapes_agree
from ...tiling.contractions import ContractionOperand
from ...tiling.convolutions import ConvolutionOperand
from ...tiling.packed_layouts import PackedLayout, Swizzle
from ...tiling.storage_sizes import StorageFormula, dense_formula, storage_formula

Spelling = Literal["today", "2024"]
"""The names that the encoding dialects use: those of IREE 3.13 or those of October 2024."""


Tensor = TensorType[Attribute]

P = ParamSpec("P")
R = TypeVar("R")


class EncodingError(ValueError):
    """An encoding has no layout or no size. Passes add the location."""


def _guarded_method(
    kind: str, method: Callable[P, R], expected: type | UnionType
) -> Callable[P, R]:
    """Return a method of a foreign class wrapped so that its failure is an EncodingError.

    The error names the method. A result that is not of the expected type is a failure, too.
    """

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            found = method(*args, **kwargs)
            if not isinstance(found, expected):
                wanted = getattr(expected, "__name__", expected)
                raise TypeError(f"returns a {type(found).__name__}, not a {wanted}")
            return found
        except (EncodingError, *PASSED_ON):
            raise
        except Exception as error:
            raise EncodingError(f"in {kind} {name_of(method)}: {exception_text(error)}") from error

    return call


class LayoutInterface(ABC):
    """A resolved layout: a member of `layout<[...]>` or of `targets = [...]`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not is_foreign(cls.__module__):
            return
        kind = "solver" if issubclass(cls, EncodingSolverInterface) else "layout"
        methods: dict[str, type | UnionType] = {
            "configured": EncodingSolverInterface,
            "packed_layout": PackedLayout,
            "serialized": LayoutInterface,
            "storage_formula": StorageFormula,
            "storage_size": SSAValue | int,
        }
        for name, expected in methods.items():
            method = cls.__dict__.get(name)
            if method is not None and not hasattr(method, "__wrapped__"):
                setattr(cls, name, _guarded_method(kind, method, expected))
        materialize = cls.__dict__.get("materialize")
        if materialize is not None and not hasattr(materialize, "__wrapped__"):
            setattr(cls, "materialize", wrap_foreign(kind, materialize, 1))  # noqa: B010

    @abstractmethod
    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        """Return the positions of a tensor's elements; the identity if they are not tiled.

        Raises EncodingError if the attribute cannot tell.
        """

    def storage_formula(self, tensor: Tensor) -> StorageFormula:
        """Return the storage size of a tensor, by default derived from its packed layout.

        Raises EncodingError if the attribute cannot tell.
        """
        return storage_formula(shape_of(tensor), element_of(tensor), self.packed_layout(tensor))

    def stores_plainly(self, tensor: Tensor) -> bool:
        """Return whether a tensor is stored exactly as one without an encoding.

        Raises EncodingError if the attribute cannot tell.
        """
        dense = dense_formula(shape_of(tensor), element_of(tensor))
        return self.packed_layout(tensor).is_identity and self.storage_formula(tensor) == dense


class LayoutAttribute(Attribute, LayoutInterface, ABC):
    """A resolved layout as an attribute of its own, which can be a member of `layout<[...]>`."""


@dataclass(frozen=True, slots=True)
class TiledOperation:
    """The tile-level op of a contraction that `iree_codegen.inner_tiled` applies."""

    kind: Attribute
    semantics: Attribute
    element_types: tuple[str, ...]
    """Element types of the factors, of scales, and of the result; unsigned factors are marked
    (`ui8`)."""

    swizzles: tuple[Swizzle, ...]
    """The order of the elements within a tile of each tensor."""


class EncodingSolverInterface(LayoutAttribute, ABC):
    """The solver of a target, which chooses layouts of encoded tensors.

    An executable target names it in its dictionary, under `encoding_solver` (2024) or
    `iree.encoding.resolver` (current).
    """

    SPELLING: ClassVar[Spelling] = "today"
    """The spelling that the solver belongs to."""

    IS_LAYOUT: ClassVar[bool] = True
    """Whether a solver with a configuration can itself be a resolved layout."""

    @abstractmethod
    def configured(self, target: DictionaryAttr) -> EncodingSolverInterface:
        """Return the solver with the entries of its executable target's dictionary that it needs.

        Raises EncodingError if the dictionary lacks them.
        """

    @abstractmethod
    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        """Return the resolved layout of an encoded tensor, which no longer depends on the encoding.

        Raises EncodingError if the target cannot lay the tensor out.
        """

    def problem(self) -> str | None:
        """Return why the solver cannot be used (no tiles, or failure); `None` if it can."""
        return None

    def storage_size(
        self, tensor: Tensor, dynamic_sizes: Sequence[SSAValue], builder: Builder
    ) -> SSAValue | int:
        """Return the storage size of a tensor in bytes.

        It is an int if the shape is static, else a value of type index. `dynamic_sizes` are the
        sizes of the dynamic dimensions in order. Raises EncodingError if the target cannot lay the
        tensor out.
        """
        formula = self.storage_formula(tensor)
        if formula.is_static:
            return formula.evaluate()
        return emit_size(formula, dynamic_sizes, builder)

    def inner_tiled(self, tensor: Tensor) -> TiledOperation | None:
        """Return the tile-level op for the contraction of an encoded tensor; `None` if none."""
        return None

    def unified_encoding(self, encodings: Sequence[TensorEncoding]) -> TensorEncoding | None:
        """Return one encoding for a tensor that is used with several; `None` for row-major."""
        return None

    def materialize(
        self, operation: Operation, operands: Sequence[SSAValue], builder: Builder
    ) -> Sequence[SSAValue] | None:
        """Replace an op on encoded tensors by ops on packed tensors.

        `operands` are the packed operands. Returns the packed results, or `None` for the general
        lowering, which packs, unpacks and multiplies in any packed layout. Raises OperationError
        if the target does not support the op at all.
        """
        return None


class TensorEncoding(Attribute, ABC):
    """An encoding in `tensor<?x?xf32, #encoding>` that is kept until the stream dialect."""

    @property
    @abstractmethod
    def is_resolved(self) -> bool:
        """Whether the layouts have been resolved."""

    @property
    def is_open(self) -> bool:
        """Whether layouts can still be resolved."""
        return not self.is_resolved

    @abstractmethod
    def resolve(
        self, tensor: Tensor, solvers: Sequence[EncodingSolverInterface], spelling: Spelling
    ) -> TensorEncoding | None:
        """Return the encoding with the layouts of `solvers`; `None` for no encoding.

        Raises EncodingError if a solver cannot lay the tensor out.
        """

    @abstractmethod
    def layouts(self) -> tuple[LayoutInterface, ...]:
        """Return the resolved layouts, one for each target that the device may have; else `()`."""

    def unresolved_formula(self, tensor: Tensor) -> StorageFormula | None:
        """Return the storage size that the unresolved encoding implies; `None` if none."""
        return None

    def is_identity(self, tensor: Tensor) -> bool:
        """Return whether a tensor is stored as if it had no encoding, for every target."""
        return self.is_resolved and all(one.stores_plainly(tensor) for one in self.layouts())

    def keeps_layouts(self) -> bool:
        """Return whether the encoding lists the layouts of all targets even if they differ."""
        return False

    def dynamic_dimensions(self) -> int | None:
        """Return the number of dynamic sizes that `set_encoding` takes for the encoding itself.

        It is `None` if any number is accepted, since the encoding does not tell.
        """
        return None


class ContractionEncoding(TensorEncoding, ABC):
    """An encoding that identifies the operand of a contraction."""

    @abstractmethod
    def contraction_operand(self) -> ContractionOperand | None:
        """Return the operand; `None` if the op is not a contraction of two tensors."""

    def product_operand(self) -> ContractionOperand | None:
        """Return the operand, also if the factors of the contraction are block-scaled."""
        return self.contraction_operand()


class ConvolutionEncoding(TensorEncoding, ABC):
    """An encoding that identifies the operand of a convolution."""

    @abstractmethod
    def convolution_operand(self) -> ConvolutionOperand | None:
        """Return the operand; `None` if the op is not a convolution."""


class EncodingTypeInterface(TypeAttribute, ABC):
    """A type that holds a tensor whose encoding can be changed, such as a dispatch tensor."""

    @abstractmethod
    def encoded_tensor(self) -> Tensor | None:
        """Return the tensor that the type holds; `None` if it holds none."""

    @abstractmethod
    def update_encoding(self, encoding: Attribute | None) -> TypeAttribute:
        """Return the type with another encoding, or without one."""


def encoded_tensor_of(type_: Attribute) -> Tensor | None:
    """Return the tensor that a type holds; `None` if it holds none."""
    return type_.encoded_tensor() if isinstance(type_, EncodingTypeInterface) else None


def tensor_encoding(type_: Attribute) -> TensorEncoding | None:
    """Return the encoding of a ranked tensor type; `None` if it is no `TensorEncoding`."""
    if isinstance(type_, TensorType):
        encoding = type_.encoding
        return encoding if isinstance(encoding, TensorEncoding) else None
    return None


def is_row_major(tensor: Tensor) -> bool:
    """Return whether a tensor is known to be stored as if it had no encoding, for every target.

    Raises EncodingError if a layout cannot tell.
    """
    encoding = tensor_encoding(tensor)
    return encoding is None or encoding.is_identity(tensor)


def with_encoding(tensor: Tensor, encoding: Attribute | None) -> Tensor:
    """Return a tensor type with another encoding, or without one."""
    if encoding is None:
        return TensorType(tensor.element_type, tensor.shape)
    return TensorType(tensor.element_type, tensor.shape, encoding)


def plain(tensor: Tensor) -> Tensor:
    """Return a tensor type without its encoding."""
    return with_encoding(tensor, None)


def verify_same_tensor(source: Attribute, result: Attribute) -> None:
    """Check that two types are of one tensor: equal elements, compatible shapes, any encodings.

    Raises VerifyException.
    """
    if isinstance(source, TensorType) and isinstance(result, TensorType):
        one, other = cast(Tensor, source), cast(Tensor, result)
        is_same = one.element_type == other.element_type
        if is_same and shapes_agree(one.get_shape(), other.get_shape()):
            return
    elif source == result:
        return
    raise VerifyException(f"expects types of the same tensor, found {source} and {result}")


def storage_formulas(tensor: Tensor) -> tuple[StorageFormula, ...]:
    """Return the storage formulas of a tensor; its size is the largest of them.

    There is one per distinct layout. Raises EncodingError if the encoding is not resolved.
    """
    encoding = tensor_encoding(tensor)
    if encoding is None:
        return (dense_formula(shape_of(tensor), element_of(tensor)),)
    layouts = encoding.layouts()
    if not layouts:
        formula = encoding.unresolved_formula(tensor)
        if formula is None:
            raise EncodingError(f"the layout of {tensor} is not resolved")
        return (formula,)
    formulas = dict.fromkeys(layout.storage_formula(tensor) for layout in layouts)
    return tuple(formulas)


def storage_key(tensor: Tensor) -> Hashable:
    """Return a key that is equal for tensors whose elements are stored in the same places.

    If layouts are not resolved, or a layout cannot tell, the key is the type itself.
    """
    rows = plain(tensor)
    if tensor == rows:
        return rows, PackedLayout(), dense_formula(shape_of(tensor), element_of(tensor))
    encoding = tensor_encoding(tensor)
    try:
        layouts = () if encoding is None else encoding.layouts()
        stored = {(one.packed_layout(tensor), one.storage_formula(tensor)) for one in layouts}
    except ValueError:
        return tensor
    return (rows, *stored.pop()) if len(stored) == 1 else tensor
