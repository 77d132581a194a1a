"""Detect and convert the two spellings of the encoding dialects, `2024` and `today`.

`today` is IREE 3.13. Tables list what only has different names. A conversion is refused if the
target spelling lacks information: resolved layouts of `today` do not record the encoding that they
come from, which 2024 prints with them. `round_dims_to` of 2024 has no counterpart and is dropped.
In the other direction it is derived from `iteration_sizes` as IREE did in 2024: 32 for each of M, N
and K, or the next power of two if the size is known to be smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    ModuleOp,
    NoneAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.attribute_replacer import AttributeReplacer, nested_attributes
from ...ir.diagnostics import OperationError
from ...ir.index import constant_index
from ...ir.regions import walk
from ...tiling.contractions import Role
from ...tiling.element_types import next_power_of_two
from ..iree_cpu import (
    CpuEncodingResolverAttr,
    CpuEncodingSolverAttr,
    VmvxEncodingResolverAttr,
    VmvxEncodingSolverAttr,
)
from ..iree_tensor_ext import (
    DispatchTensor,
    DispatchTensorLoadOp,
    DispatchTensorStoreOp,
    DispatchTensorType,
    DispatchWorkgroupCountFromSliceOp,
    DispatchWorkloadOrdinalOp,
    FlowDispatchTensorLoadOp,
    FlowDispatchTensorStoreOp,
    FlowDispatchTensorType,
    FlowDispatchWorkgroupCountFromSliceOp,
    FlowDispatchWorkloadOrdinalOp,
)
from .attributes import EncodingAttr
from .dialect import SetEncodingOp, UnsetEncodingOp
from .interfaces import EncodingSolverInterface, Spelling, Tensor, with_encoding
from .layouts import LayoutAttr

ATTRIBUTES: tuple[tuple[type[ParametrizedAttribute], type[ParametrizedAttribute]], ...] = (
    (CpuEncodingSolverAttr, CpuEncodingResolverAttr),
    (VmvxEncodingSolverAttr, VmvxEncodingResolverAttr),
    (FlowDispatchTensorType, DispatchTensorType),
)
"""Attributes and types with equal parameters: 2024, then `today`."""

OPERATIONS: tuple[tuple[type[Operation], type[Operation]], ...] = (
    (FlowDispatchTensorLoadOp, DispatchTensorLoadOp),
    (FlowDispatchTensorStoreOp, DispatchTensorStoreOp),
    (FlowDispatchWorkgroupCountFromSliceOp, DispatchWorkgroupCountFromSliceOp),
    (FlowDispatchWorkloadOrdinalOp, DispatchWorkloadOrdinalOp),
)
"""Ops with equal operands and properties: 2024, then `today`."""

SOLVER_KEY_PAIR = ("encoding_solver", "iree.encoding.resolver")
"""The key of the solver in an executable target's dictionary: 2024, then `today`."""

BASELINE_ROUNDING = 32
"""The multiple that 2024 rounds M, N and K up to for every target."""


# Detection


def spelling_of(module: ModuleOp) -> Spelling:
    """Return the spelling of a module; `today` if nothing in it decides."""
    seen: set[int] = set()
    for operation in walk(module):
        for attribute in _attributes_of(operation):
            if id(attribute) not in seen:
                for nested in nested_attributes(attribute, seen):
                    if _spelling_of_attribute(nested) == "2024":
                        return "2024"
    return "today"


def _spelling_of_attribute(attribute: Attribute) -> Spelling | None:
    return _reader_of_spelling(type(attribute))(attribute)


@lru_cache(maxsize=1024)
def _reader_of_spelling(kind: type[Attribute]) -> Callable[[Any], Spelling | None]:
    """Return what reads the spelling of attributes of a class, if they have one."""
    if issubclass(kind, EncodingAttr):
        return attrgetter("spelling")
    if issubclass(kind, EncodingSolverInterface | DispatchTensor):
        return attrgetter("SPELLING")
    return lambda attribute: None


def _attributes_of(operation: Operation) -> Iterator[Attribute]:
    yield from operation.properties.values()
    yield from operation.attributes.values()
    for result in operation.results:
        yield result.type


# Conversion


def respell(module: ModuleOp, spelling: Spelling) -> None:
    """Convert a module to a spelling, in place.

    Raises OperationError if it holds something that the spelling cannot express.
    """
    Respelling(spelling).change(module)


def spelled_encoding(encoding: EncodingAttr, spelling: Spelling) -> EncodingAttr:
    """Return an encoding that is not resolved in a spelling."""
    return Respelling(spelling).encoding(encoding)


class Respelling(AttributeReplacer):
    """Converts attributes, types and ops to one spelling; each attribute is converted once."""

    def __init__(self, spelling: Spelling) -> None:
        super().__init__()
        self._spelling: Spelling = spelling
        old, new = (0, 1) if spelling == "today" else (1, 0)
        self._attributes = {pair[old]: pair[new] for pair in ATTRIBUTES}
        self._operations = {pair[old]: pair[new] for pair in OPERATIONS}
        self._old_key, self._new_key = SOLVER_KEY_PAIR[old], SOLVER_KEY_PAIR[new]
        self._changing: Operation | None = None

    def change(self, module: ModuleOp) -> None:
        """Convert all attributes, types and ops of a module."""
        for operation in tuple(walk(module)):
            self._changing = operation
            self.replace_in(operation)
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        if isinstance(operation, SetEncodingOp | UnsetEncodingOp):
            self._sizes(operation)
        new = self._operations.get(type(operation))
        if new is not None:
            Rewriter.replace_op(
                operation,
                new.create(
                    operands=operation.operands,
                    result_types=operation.result_types,
                    properties=operation.properties,
                    attributes=operation.attributes,
                ),
            )

    def _sizes(self, operation: SetEncodingOp | UnsetEncodingOp) -> None:
        """Adapt the sizes that encoding ops list: none in 2024, those of the result in `today`."""
        operands = [operation.source]
        if isinstance(operation, SetEncodingOp):
            if self._spelling == "2024":
                operation.operands = operands
            return
        sizes = list(operation.result_dims)
        loops = list(operation.encoding_dims)
        if self._spelling == "2024":
            sizes, loops = [], []
        elif not sizes:
            builder = Builder(InsertPoint.before(operation))
            for index, size in enumerate(operation.result.type.get_shape()):
                if size == DYNAMIC_INDEX:
                    position = constant_index(index, builder)
                    sizes.append(builder.insert(DimOp(operation.source, position)).result)
        operation.operands = [*operands, *sizes, *loops]
        segments = DenseArrayBase.from_list(i32, [1, len(sizes), len(loops)])
        operation.properties["operandSegmentSizes"] = segments

    def replacement(self, attribute: Attribute) -> Attribute | None:
        if isinstance(attribute, DictionaryAttr) and self._old_key in attribute.data:
            return DictionaryAttr(
                {
                    self._new_key if key == self._old_key else key: self.replace(value)
                    for key, value in attribute.data.items()
                }
            )
        if isinstance(attribute, TensorType):
            return self._tensor(cast(Tensor, attribute))
        if isinstance(attribute, EncodingAttr):
            return self.encoding(attribute)
        if isinstance(attribute, LayoutAttr) and self._spelling == "2024":
            assert self._changing is not None
            raise OperationError(
                self._changing,
                "has a resolved layout; the syntax of 2024 can express one only together with "
                f"the encoding that it comes from: {attribute}",
            )
        if isinstance(attribute, ParametrizedAttribute):
            cls = self._attributes.get(type(attribute))
            return None if cls is None else cls.new([self.replace(p) for p in attribute.parameters])
        return None

    def _tensor(self, tensor: Tensor) -> Attribute:
        if isinstance(tensor.encoding, NoneAttr):
            return tensor
        encoding = tensor.encoding
        if isinstance(encoding, EncodingAttr) and encoding.is_resolved:
            targets = cast("ArrayAttr[Attribute]", self.replace(encoding.targets))
            solvers = [s for s in targets if isinstance(s, EncodingSolverInterface)]
            general = cast(EncodingAttr, self.replace(encoding.without_targets()))
            resolved = general.resolve(with_encoding(tensor, general), solvers, self._spelling)
            return with_encoding(tensor, resolved)
        return with_encoding(tensor, self.replace(encoding))

    def encoding(self, encoding: EncodingAttr) -> EncodingAttr:
        """Convert an encoding that is not resolved."""
        slots = encoding.user_indexing_maps
        broadcast, rounding = encoding.bcast_map, encoding.round_dims_to
        sizes = encoding.iteration_sizes
        if self._spelling == "today":
            if isinstance(broadcast, AffineMapAttr) and isinstance(slots, ArrayAttr):
                items = list(slots.data)
                index = encoding.operand_index.value.data
                items[index] = ArrayAttr([items[index], broadcast])
                slots = ArrayAttr[Attribute](items)
            broadcast, rounding = NoneAttr(), NoneAttr()
        else:
            rounding = _rounding(encoding) or rounding
            sizes = NoneAttr()
            if isinstance(slots, ArrayAttr):
                index = encoding.operand_index.value.data
                own = _maps(slots.data[index])
                if len(own) == 2 and isinstance(own[1], AffineMapAttr):
                    broadcast = own[1]
                slots = ArrayAttr[Attribute]([_maps(slot)[0] for slot in slots.data])
        return EncodingAttr.new(
            [
                encoding.operand_index,
                encoding.op_type,
                encoding.element_types,
                encoding.original_element_type,
                slots,
                broadcast,
                rounding,
                sizes,
                encoding.targets,
            ]
        )


def _maps(slot: Attribute) -> tuple[Attribute, ...]:
    """Return the maps in an entry of `user_indexing_maps`: a single map, or those to compose."""
    return cast("ArrayAttr[Attribute]", slot).data if isinstance(slot, ArrayAttr) else (slot,)


def _rounding(encoding: EncodingAttr) -> DenseArrayBase | None:
    """Return the `round_dims_to` that IREE of 2024 derives from the sizes of M, N and K."""
    operand = encoding.contraction_operand()
    if isinstance(encoding.iteration_sizes, NoneAttr) or operand is None:
        return None
    roles = operand.roles()
    if roles is None:
        return None
    sizes = (operand.size(role, roles) for role in (Role.M, Role.N, Role.K))
    return DenseArrayBase.from_list(
        i64,
        [
            BASELINE_ROUNDING if s is None else min(BASELINE_ROUNDING, next_power_of_two(max(s, 1)))
            for s in sizes
        ],
    )
