"""Compute sizes of dimensions, as ints or index values, without computing the tensors.

The size of a result is derived from the op that defines it: an operand of `tensor.empty`, the size
of a destination operand, the sizes that a transfer lists.

Arguments and results of ops without a rule need a `tensor.dim`. It is inserted right after their
definition, so that the size is available wherever the tensor is. `SizesBefore` inserts it in front
of the op that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from importlib import import_module
from itertools import takewhile
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.iree_encoding.interfaces import Tensor
from ...ir.attribute_access import (
    attribute,
    constant_integer,
    integer_lists,
    kept_dimensions,
    number_list,
)
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS
from ...ir.index import IndexArithmetic, IndexOrInt, constant_index
from ...ir.index_lists import mixed_list
from ...ir.locations import block_with, builder_before, located_builder, maker_of
from ...ir.rules import Rules
from ...ir.tensor_types import ranked
from .updated_tensors import updated_tensor

Size = IndexOrInt
"""The size of a dimension: an int, or a value of type index if it is dynamic."""


class DimensionSizes:
    """The sizes of the tensors of one function. Each size is computed once."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[SSAValue, int], Size] = {}
        self._constants: dict[tuple[Block, int], SSAValue] = {}

    def size(self, value: SSAValue, index: int) -> Size:
        """Return the size of a dimension."""
        key = value, index
        if key not in self._sizes:
            self._sizes[key] = self._find(value, index)
        return self._sizes[key]

    def sizes(self, value: SSAValue) -> tuple[Size, ...]:
        """Return the sizes of all dimensions."""
        tensor = ranked(value)
        rank = 0 if tensor is None else len(tensor.get_shape())
        return tuple(self.size(value, index) for index in range(rank))

    def dynamic_sizes(self, value: SSAValue) -> tuple[SSAValue, ...]:
        """Return the sizes of the dynamic dimensions of the type, in order."""
        tensor = ranked(value)
        if tensor is None:
            return ()
        return tuple(
            self.value(value, index)
            for index, size in enumerate(tensor.get_shape())
            if size == DYNAMIC_INDEX
        )

    def assume(self, value: SSAValue, sizes: Sequence[Size]) -> None:
        """Record the sizes of a value, so that none are computed for it."""
        self._sizes.update({(value, index): size for index, size in enumerate(sizes)})

    def resolve(self, block: Block) -> None:
        """Replace each `tensor.dim` in a block by the size that rules derive for it."""
        for operation in tuple(block.ops):
            if operation.name != "tensor.dim" or operation.results[0] in self._sizes.values():
                continue
            index, tensor = constant_integer(operation.operands[1]), ranked(operation.operands[0])
            if index is not None and tensor is not None and 0 <= index < tensor.get_num_dims():
                size = self.value(operation.operands[0], index)
                Rewriter.replace_op(operation, [], [size])

    def value(self, value: SSAValue, index: int) -> SSAValue:
        """Return the size of a dimension as an SSA value."""
        size = self.size(value, index)
        return size if isinstance(size, SSAValue) else self.constant(size, value)

    def constant(self, number: int, like: SSAValue) -> SSAValue:
        """Return an index constant at the start of the function that contains `like`."""
        block = entry_block(like)
        key = block, number
        if key not in self._constants:
            builder = located_builder(InsertPoint.at_start(block), maker_of(like))
            self._constants[key] = constant_index(number, builder)
        return self._constants[key]

    def builder_after(self, value: SSAValue) -> Builder:
        """Return a builder that inserts right after the definition of a value."""
        maker = maker_of(value)
        if isinstance(value, OpResult):
            return located_builder(InsertPoint.after(maker), maker)
        block = cast(Block, value.owner)
        # After the leading constants: more of them may be inserted at the block's start later.
        constants = list(takewhile(lambda op: op.name == "arith.constant", block.ops))
        point = InsertPoint.after(constants[-1]) if constants else InsertPoint.at_start(block)
        return located_builder(point, maker)

    def measure(self, value: SSAValue, index: int) -> SSAValue:
        """Insert a `tensor.dim` and return its result."""
        position = self.constant(index, value)
        return self.builder_after(value).insert(DimOp(value, position)).result

    def _find(self, value: SSAValue, index: int) -> Size:
        tensor = ranked(value)
        if tensor is not None and (size := tensor.get_shape()[index]) != DYNAMIC_INDEX:
            return size
        if isinstance(value, OpResult):
            rule = _rules().get(value.op.name)
            if rule is None and value.op.name.startswith("linalg."):
                rule = _written_into
            elif rule is None and value.op.name.startswith(ELEMENTWISE):
                rule = _like_first_tensor
            found = None if rule is None else rule(self, value, index)
            if found is not None:
                return found
        return self.measure(value, index)


class SizesBefore(DimensionSizes):
    """Sizes for one op after another: each `tensor.dim` stands in front of the op that needs it.

    The ops are of one block, so that the sizes found for one are available to those after it.
    """

    def __init__(self, operation: Operation) -> None:
        super().__init__()
        self._operation = operation

    def before(self, operation: Operation) -> SizesBefore:
        """Return these sizes, which insert in front of `operation` from now on."""
        self._operation = operation
        return self

    def measure(self, value: SSAValue, index: int) -> SSAValue:
        builder = builder_before(self._operation)
        return builder.insert(DimOp(value, constant_index(index, builder))).result


def entry_block(value: SSAValue) -> Block:
    """Return the first block of the function that contains a value.

    Raises ValueError if no op encloses the value.
    """
    block = block_with(value)
    while True:
        parent = None if block is None else block.parent_op()
        if block is None or parent is None:
            raise ValueError("a value outside of any function has no size")
        if parent.parent_op() is None or parent.name in FUNCTIONS_AND_INITIALIZERS:
            first = parent.regions[0].blocks.first
            return block if first is None else first
        block = parent.parent


ELEMENTWISE = ("arith.", "complex.", "math.")
"""Prefixes of dialects whose ops are elementwise on tensors."""

Rule = Callable[[DimensionSizes, OpResult, int], Size | None]

size_rule = Rules[Rule]()
"""The rules for sizes of results, by op name."""


def _dynamic_position(value: SSAValue, index: int) -> int:
    """Return the position of a dimension among the dynamic dimensions of its type."""
    tensor = cast(Tensor, value.type)
    return tensor.get_shape()[:index].count(DYNAMIC_INDEX)


def _listed(name: str, fallback: int | None = None) -> Rule:
    """Return a rule: dynamic sizes are the operands `name` or, if omitted, those of an operand."""

    def rule(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
        listed = tuple(cast(Sequence[SSAValue], getattr(value.op, name)))
        position = _dynamic_position(value, index)
        if position < len(listed):
            return listed[position]
        return None if fallback is None else sizes.size(value.op.operands[fallback], index)

    return rule


def like(operand: int) -> Rule:
    """Return a rule: the sizes are those of an operand."""

    def rule(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
        return sizes.size(value.op.operands[operand], index)

    return rule


def _like_first_tensor(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size of the first tensor operand; elementwise ops take tensors of equal sizes."""
    tensors = (operand for operand in value.op.operands if ranked(operand) is not None)
    first = next(tensors, None)
    return None if first is None else sizes.size(first, index)


@size_rule("scf.forall")
def _written_into(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size of the destination operand of a linalg op or loop."""
    operation = value.op
    results, operands = operation.results, operation.operands
    outputs = tuple(cast(Sequence[SSAValue], getattr(operation, "outputs", ())))
    if len(outputs) != len(results):
        outputs = tuple(operands[len(operands) - len(results) :])
    operand = outputs[value.index]
    return sizes.size(operand, index) if operand.type.name == "tensor" else None


@size_rule("scf.for", "scf.while")
def _updated(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size of the tensor that a loop updates; `None` if it makes others."""
    tensor = updated_tensor(value)
    return None if tensor is None else sizes.size(tensor, index)


@size_rule("flow.dispatch")
def _dispatch(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size from `result_dims`, which lists the dynamic sizes of all results."""
    before = sum(
        tensor.get_shape().count(DYNAMIC_INDEX)
        for result in value.op.results[: value.index]
        if (tensor := ranked(result)) is not None
    )
    listed = tuple(cast(Sequence[SSAValue], getattr(value.op, "result_dims", ())))
    return listed[before + _dynamic_position(value, index)]


@size_rule(
    "flow.dispatch.tensor.load",
    "iree_tensor_ext.dispatch.tensor.load",
    "tensor.extract_slice",
)
def _slice(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size of a slice; dimensions that are dropped have size 1."""
    operation = value.op
    static = number_list(attribute(operation, "static_sizes"))
    dynamic = cast(Sequence[SSAValue], getattr(operation, "sizes", ()))
    kept = kept_dimensions(static, cast(Tensor, value.type).get_shape())
    return None if kept is None else mixed_list(static, dynamic)[kept[index]]


@size_rule("tensor.pad")
def _pad(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size of the source plus the padding on both sides."""
    arithmetic = SizeArithmetic(sizes, value)
    total = sizes.size(value.op.operands[0], index)
    for side in ("low", "high"):
        static = number_list(attribute(value.op, f"static_{side}"))
        dynamic = cast(Sequence[SSAValue], getattr(value.op, side))
        total = arithmetic.add(total, mixed_list(static, dynamic)[index])
    return total


class SizeArithmetic(IndexArithmetic):
    """Index arithmetic that inserts before the op that defines a value."""

    def __init__(self, sizes: DimensionSizes, value: OpResult) -> None:
        self._sizes = sizes
        self._value = value
        self._builder = builder_before(value.op)

    def insert(self, operation: Operation) -> SSAValue:
        return self._builder.insert(operation).results[0]

    def index(self, number: Size) -> SSAValue:
        return number if isinstance(number, SSAValue) else self._sizes.constant(number, self._value)


@size_rule("tensor.expand_shape")
def _expand(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    static = number_list(attribute(value.op, "static_output_shape"))
    dynamic = tuple(cast(Sequence[SSAValue], getattr(value.op, "dynamic_output_shape", ())))
    if not static or static[index] != DYNAMIC_INDEX:
        return static[index] if static else None
    position = static[:index].count(DYNAMIC_INDEX)
    return dynamic[position] if position < len(dynamic) else None


@size_rule("tensor.gather")
def _gather(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return a size of the indices' batch, then of the source; gathered ones are 1 or dropped."""
    source, indices = (cast(Tensor, operand.type) for operand in value.op.operands)
    batch = indices.get_num_dims() - 1
    if index < batch:
        return sizes.size(value.op.operands[1], index)
    gathered = number_list(attribute(value.op, "gather_dims"))
    rank = source.get_num_dims()
    is_full = cast(Tensor, value.type).get_num_dims() == batch + rank
    kept = [axis for axis in range(rank) if is_full or axis not in gathered]
    axis = kept[index - batch]
    return 1 if axis in gathered else sizes.size(value.op.operands[0], axis)


@size_rule("tensor.collapse_shape")
def _collapse(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    groups = integer_lists(value.op, "reassociation")
    if not groups:
        return None
    parts = (sizes.size(value.op.operands[0], each) for each in groups[index])
    return reduce(SizeArithmetic(sizes, value).multiply, parts, 1)


@size_rule("tensor.concat", "tosa.concat")
def _concatenate(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    dimension = attribute(value.op, "axis" if value.op.name == "tosa.concat" else "dim")
    if not isinstance(dimension, IntegerAttr) or dimension.value.data != index:
        return sizes.size(value.op.operands[0], index)
    parts = (sizes.size(operand, index) for operand in value.op.operands)
    return reduce(SizeArithmetic(sizes, value).add, parts, 0)


size_rule("flow.tensor.barrier", "flow.tensor.transfer")(_listed("argument_dims", 0))
size_rule("flow.tensor.encode", "flow.tensor.reshape")(_listed("result_dims"))
size_rule("hal.tensor.import")(_listed("target_dims"))
size_rule(
    "iree_encoding.set_encoding",
    "iree_tensor_ext.compute_barrier.end",
    "iree_tensor_ext.compute_barrier.start",
    "tensor.bitcast",
    "tensor.cast",
)(like(0))
size_rule("iree_encoding.unset_encoding")(_listed("result_dims", 0))
size_rule("tensor.empty")(_listed("dynamic_sizes"))
size_rule("tensor.generate")(_listed("dynamic_extents"))
size_rule("linalg.pack", "linalg.unpack", "tensor.insert", "tensor.insert_slice", "tensor.scatter")(
    like(1)
)
size_rule("tensor.splat")(_listed("dynamicSizes"))

_MODULES = ("collective_sizes", "scalar_elements", "stablehlo_sizes", "tosa_sizes")
"""The modules of this folder that add rules."""


@cache
def _rules() -> dict[str, Rule]:
    for module in _MODULES:
        import_module(f".{module}", __package__)
    return size_rule
