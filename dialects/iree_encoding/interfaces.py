"""What encodings, solvers and types with encodings can be asked.

Passes speak to these interfaces and never to a dialect, so that a target defines its own solver
without any dialect or pass knowing of it, and that both spellings of the encoding dialects, that
of 2024 and that of today, look alike. `docs/encodings.md` tells more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import DictionaryAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute

from ...ir.foreign_code import PASSED_ON, exception_text, is_foreign, name_of, wrap_foreign
from ...ir.index import emit_size
from ...ir.tensor_types import element_of, shape_of
from ...tiling.contractions import ContractionOperand
from ...tiling.convolutions import ConvolutionOperand
from ...tiling.packed_layouts import PackedLayout, Swizzle
from ...tiling.storage_sizes import StorageFormula, dense_formula, storage_formula

Spelling = Literal["today", "2024"]
"""Which names the encoding dialects have: those of IREE 3.13, or those of October 2024."""


Tensor = TensorType[Attribute]

P = ParamSpec("P")
R = TypeVar("R")


class EncodingError(ValueError):
    """An encoding has no layout or no size; a pass adds where."""


def _guarded_method(kind: str, method: Callable[P, R]) -> Callable[P, R]:
    """A method of another package's class, that names itself in an `EncodingError` if it fails."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (EncodingError, *PASSED_ON):
            raise
        except Exception as error:
            raise EncodingError(f"in {kind} {name_of(method)}: {exception_text(error)}") from error

    return call


class LayoutInterface(ABC):
    """A layout that is resolved: of `layout<[...]>`, or of one of `targets = [...]`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not is_foreign(cls.__module__):
            return
        kind = "solver" if issubclass(cls, EncodingSolverInterface) else "layout"
        names = ("configured", "packed_layout", "serialized", "storage_formula", "storage_size")
        for name in names:
            method = cls.__dict__.get(name)
            if method is not None and not hasattr(method, "__wrapped__"):
                setattr(cls, name, _guarded_method(kind, method))
        materialize = cls.__dict__.get("materialize")
        if materialize is not None and not hasattr(materialize, "__wrapped__"):
            setattr(cls, "materialize", wrap_foreign(kind, materialize, 1))  # noqa: B010

    @abstractmethod
    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        """Where the elements of a tensor are; the identity if they are not tiled.

        Raises `EncodingError` if the attribute cannot tell.
        """

    def storage_formula(self, tensor: Tensor) -> StorageFormula:
        """How many bytes a tensor takes. The default follows from the packed layout.

        Raises `EncodingError` if the attribute cannot tell.
        """
        return storage_formula(shape_of(tensor), element_of(tensor), self.packed_layout(tensor))

    def stores_plainly(self, tensor: Tensor) -> bool:
        """Whether a tensor is stored, element by element, as one without an encoding.

        Raises `EncodingError` if the attribute cannot tell.
        """
        dense = dense_formula(shape_of(tensor), element_of(tensor))
        return self.packed_layout(tensor).is_identity and self.storage_formula(tensor) == dense


class LayoutAttribute(Attribute, LayoutInterface, ABC):
    """A resolved layout on its own, as `layout<[...]>` lists."""


@dataclass(frozen=True, slots=True)
class TiledOperation:
    """What `iree_codegen.inner_tiled` does to tiles of a product."""

    kind: Attribute
    semantics: Attribute
    element_types: tuple[str, ...]
    """Of the left, right and result tensors; those of unsigned factors say so (`ui8`)."""

    swizzles: tuple[Swizzle, ...]
    """The order of the elements in a tile of each of them."""


class EncodingSolverInterface(LayoutAttribute, ABC):
    """What a target offers to lay out encoded tensors: its solver, or resolver.

    An executable target names it in its dictionary, under `encoding_solver` (2024) or
    `iree.encoding.resolver` (today).
    """

    SPELLING: ClassVar[Spelling] = "today"
    """Which family of attributes the solver belongs to."""

    @abstractmethod
    def configured(self, target: DictionaryAttr) -> EncodingSolverInterface:
        """The solver, with whatever it needs of its executable target's dictionary.

        Raises `EncodingError` if the dictionary does not say it.
        """

    @abstractmethod
    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        """The resolved layout of an encoded tensor, on its own: it outlives the encoding.

        Raises `EncodingError` if the target cannot lay the tensor out.
        """

    def problem(self) -> str | None:
        """Why the solver is of no use, if it is so: it gives no tiles, or fails."""
        return None

    def storage_size(
        self, tensor: Tensor, dynamic_sizes: Sequence[SSAValue], builder: Builder
    ) -> SSAValue | int:
        """The bytes of a tensor: a number if its shape is static, else a value of type index.

        `dynamic_sizes` are the sizes of its dynamic dimensions in order. Raises `EncodingError`
        if the target cannot lay the tensor out.
        """
        formula = self.storage_formula(tensor)
        if formula.is_static:
            return formula.evaluate()
        return emit_size(formula, dynamic_sizes, builder)

    def row_padding(self, tensor: Tensor) -> int:
        """How many elements to leave free behind each row, where a tensor asks for padding.

        Raises `EncodingError` if that depends on a size that is not known.
        """
        del tensor
        return 0

    def inner_tiled(self, tensor: Tensor) -> TiledOperation | None:
        """The instruction for the contraction that an encoded tensor is of, if there is one."""
        del tensor
        return None

    def unified_encoding(self, encodings: Sequence[TensorEncoding]) -> TensorEncoding | None:
        """One encoding for a tensor that is wanted in several; `None` for none but its rows."""
        del encodings
        return None

    def materialize(
        self, operation: Operation, operands: Sequence[SSAValue], builder: Builder
    ) -> Sequence[SSAValue] | None:
        """Replace an operation on encoded tensors by operations on packed ones.

        `operands` are the packed operands. Gives the packed results, or `None` to leave it to
        the general lowering, which packs, unpacks and multiplies in any packed layout. Raises
        OperationError for an operation that the target cannot do at all.
        """
        del operation, operands, builder
        return None


class TensorEncoding(Attribute, ABC):
    """What may stand in `tensor<?x?xf32, #encoding>` and survives to the stream dialect."""

    @property
    @abstractmethod
    def is_resolved(self) -> bool:
        """Whether layouts have been resolved."""

    @property
    def is_open(self) -> bool:
        """Whether layouts are still to be resolved, and can be."""
        return not self.is_resolved

    @abstractmethod
    def resolve(
        self, tensor: Tensor, solvers: Sequence[EncodingSolverInterface], spelling: Spelling
    ) -> TensorEncoding | None:
        """The same encoding with resolved layouts, those of `solvers`; `None` for no encoding.

        Raises `EncodingError` if a solver cannot lay the tensor out.
        """

    @abstractmethod
    def layouts(self) -> tuple[LayoutInterface, ...]:
        """The resolved layouts: one, or one for each target the device may have. Else empty."""

    def unresolved_formula(self, tensor: Tensor) -> StorageFormula | None:
        """The bytes that an encoding asks for by itself before its layout is resolved, if any."""
        del tensor
        return None

    def is_identity(self, tensor: Tensor) -> bool:
        """Whether a tensor is stored as if it had no encoding, whatever the target."""
        return self.is_resolved and all(one.stores_plainly(tensor) for one in self.layouts())

    def keeps_layouts(self) -> bool:
        """Whether it names the layouts of all targets also where they differ."""
        return False

    def dynamic_dimensions(self) -> int:
        """How many sizes `set_encoding` must be given for the encoding's own dimensions."""
        return 0


class ContractionEncoding(TensorEncoding, ABC):
    """An encoding that says which operand of which contraction a tensor is."""

    @abstractmethod
    def contraction_operand(self) -> ContractionOperand | None:
        """The operand, or `None` if the operation is not a contraction of two tensors."""


class ConvolutionEncoding(TensorEncoding, ABC):
    """An encoding that says which operand of which convolution a tensor is."""

    @abstractmethod
    def convolution_operand(self) -> ConvolutionOperand | None:
        """The operand, or `None` if the operation is not a convolution."""


class EncodingTypeInterface(TypeAttribute, ABC):
    """A type whose tensor can be given another encoding, as a dispatch tensor's."""

    @abstractmethod
    def encoded_tensor(self) -> Tensor | None:
        """The tensor that the type holds, or `None` if it holds none."""

    @abstractmethod
    def update_encoding(self, encoding: Attribute | None) -> TypeAttribute:
        """The same type with another encoding, or without any."""


def tensor_encoding(type_: Attribute) -> TensorEncoding | None:
    """The encoding of a ranked tensor type, if it is one that interfaces can be asked."""
    if isinstance(type_, TensorType):
        encoding = type_.encoding
        return encoding if isinstance(encoding, TensorEncoding) else None
    return None


def with_encoding(tensor: Tensor, encoding: Attribute | None) -> Tensor:
    """The same tensor with another encoding, or without any."""
    if encoding is None:
        return TensorType(tensor.element_type, tensor.shape)
    return TensorType(tensor.element_type, tensor.shape, encoding)


def plain(tensor: Tensor) -> Tensor:
    """The same tensor without its encoding."""
    return with_encoding(tensor, None)


def storage_formula_of(tensor: Tensor) -> tuple[StorageFormula, ...]:
    """How many bytes a tensor takes: the largest of the formulas.

    Raises `EncodingError` while the encoding has no resolved layouts.
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
    """Equal for tensors whose elements are in the same places, however their encodings say it.

    Where layouts are not resolved, or cannot tell, it is the type itself.
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
