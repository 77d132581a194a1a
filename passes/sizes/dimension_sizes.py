"""Compute sizes of dimensions, as ints or index values, without computing the tensors.

The size of a result is derived from the op that defines it: an operand of `tensor.empty`, the size
of a destination operand, the sizes that a transfer lists.

Arguments and results of ops without a rule need a `tensor.dim`. It is inserted right after their
definition, so that the size is available wherever the tensor is. `SizesBefore` inserts it in front
of the op that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.result_sizes import (
    Sizes,
    dynamic_position,
    like,
    listed,
    operands_named,
    result_size,
    slice_size,
)
from ...ir.attribute_access import constant_integer
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS
from ...ir.index import IndexArithmetic, IndexOrInt, constant_index
from ...ir.locations import block_with, builder_before, located_builder, maker_of
from ...ir.rules import Rules
from ...ir.tensor_types import ranked
from .updated_tensors import updated_tensor

Size = IndexOrInt
"""The size of a dimension: an int, or a value of type index if it is dynamic."""


class DimensionSizes(Sizes[SSAValue]):
    """The sizes of the tensors of one function. Each size is computed once."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[SSAValue, int], Size] = {}
        self._constants: dict[tuple[Block, int], SSAValue] = {}
        self._measured: dict[Operation | Block, DimOp] = {}
        """The last `tensor.dim` inserted after each definition."""

    def size(self, value: SSAValue, index: int) -> Size:
        key = value, index
        if key not in self._sizes:
            self._sizes[key] = self._find(value, index)
        return self._sizes[key]

    def given(self, value: SSAValue) -> SSAValue:
        return value

    def arithmetic(self, value: OpResult) -> SizeArithmetic:
        return SizeArithmetic(self, value)

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
        """Insert a `tensor.dim` and return its result.

        Those of the results of one op, or of the arguments of one block, follow each other.
        """
        position = self.constant(index, value)
        builder, last = self.builder_after(value), self._measured.get(value.owner)
        if last is not None and last.parent is not None:
            builder = located_builder(InsertPoint.after(last), maker_of(value))
        dim = builder.insert(DimOp(value, position))
        self._measured[value.owner] = dim
        return dim.result

    def _find(self, value: SSAValue, index: int) -> Size:
        tensor = ranked(value)
        if tensor is not None and (size := tensor.get_shape()[index]) != DYNAMIC_INDEX:
            return size
        if isinstance(value, OpResult):
            rule = _rules().get(value.op.name)
            found = (result_size if rule is None else rule)(self, value, index)
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


Rule = Callable[[DimensionSizes, OpResult, int], Size | None]

program_size_rule = Rules[Rule]()
"""The rules of ops for which only passes need sizes; `dialects/result_sizes.py` has the others."""


@program_size_rule("scf.for", "scf.while")
def _updated(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size of the tensor that a loop updates; `None` if it makes others."""
    tensor = updated_tensor(value)
    return None if tensor is None else sizes.size(tensor, index)


@program_size_rule("flow.dispatch")
def _dispatch(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the size from `result_dims`, which lists the dynamic sizes of all results."""
    before = sum(
        tensor.get_shape().count(DYNAMIC_INDEX)
        for result in value.op.results[: value.index]
        if (tensor := ranked(result)) is not None
    )
    return operands_named(value, "result_dims")[before + dynamic_position(value, index)]


program_size_rule("flow.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.load")(slice_size)
program_size_rule("flow.tensor.barrier", "flow.tensor.transfer")(listed("argument_dims", 0))
program_size_rule("flow.tensor.encode", "flow.tensor.reshape")(listed("result_dims"))
program_size_rule("hal.tensor.import")(listed("target_dims"))
program_size_rule(
    "iree_encoding.set_encoding",
    "iree_tensor_ext.compute_barrier.end",
    "iree_tensor_ext.compute_barrier.start",
)(like(0))
program_size_rule("iree_encoding.unset_encoding")(listed("result_dims", 0))

_MODULES = ("collective_sizes", "scalar_elements", "stablehlo_sizes")
"""The modules of this folder that add rules."""


@cache
def _rules() -> dict[str, Rule]:
    for module in _MODULES:
        import_module(f".{module}", __package__)
    return program_size_rule
