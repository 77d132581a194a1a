"""Rules for the sizes of the results of ops, as they follow from the operands.

A size is an int or, if it is dynamic, a value that its user chooses: an SSA value of type index in
passes, a register in host code. A rule does not check that operands fit together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, reduce
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType
from xdsl.ir import Attribute, OpResult, SSAValue

from ..ir.attribute_access import attribute, integer_lists, kept_dimensions, number_list
from ..ir.index_folding import SizeFolding
from ..ir.index_lists import mixed_list
from ..ir.rules import Rules
from ..ir.tensor_types import ranked
from .iree_encoding.interfaces import Tensor

V = TypeVar("V")
"""A dynamic size."""


class Sizes(ABC, Generic[V]):
    """What a rule may ask about operands."""

    @abstractmethod
    def size(self, value: SSAValue, index: int) -> int | V:
        """Return the size of a dimension."""

    @abstractmethod
    def given(self, value: SSAValue) -> int | V:
        """Return an index operand as a size."""

    @abstractmethod
    def arithmetic(self, value: OpResult) -> SizeFolding[V]:
        """Return arithmetic whose results are available where `value` is defined."""

    def sizes(self, value: SSAValue) -> tuple[int | V, ...]:
        """Return the sizes of all dimensions."""
        tensor = ranked(value)
        rank = 0 if tensor is None else len(tensor.get_shape())
        return tuple(self.size(value, index) for index in range(rank))

    def mixed(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> tuple[int | V, ...]:
        """Return sizes in which `DYNAMIC_INDEX` marks those that are operands."""
        return mixed_list(static, map(self.given, dynamic))


Rule = Callable[[Sizes[Any], OpResult, int], Any]
"""Returns the size of a dimension of a result; `None` if it does not follow from operands."""

size_rule = Rules[Rule]()
"""The rules by op name."""

ELEMENTWISE = ("arith.", "complex.", "math.")
"""Prefixes of dialects whose ops are elementwise on tensors."""


def result_size(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return the size of a dimension of a result; `None` if no rule knows it."""
    name = value.op.name
    rule = _rules().get(name)
    if rule is None and name.startswith("linalg."):
        rule = _written_into
    elif rule is None and name.startswith(ELEMENTWISE):
        rule = _like_first_tensor
    return None if rule is None else rule(sizes, value, index)


@cache
def _rules() -> Rules[Rule]:
    import_module(".tosa.result_sizes", __package__)
    return size_rule


def operands_named(value: OpResult, name: str) -> Sequence[SSAValue]:
    """Return a group of operands of the op that defines a value; empty if it has none."""
    return cast(Sequence[SSAValue], getattr(value.op, name, ()))


def dynamic_position(value: SSAValue, index: int) -> int:
    """Return the position of a dimension among the dynamic dimensions of its type."""
    tensor = cast(Tensor, value.type)
    return tensor.get_shape()[:index].count(DYNAMIC_INDEX)


def listed(name: str, fallback: int | None = None) -> Rule:
    """Return a rule: dynamic sizes are the operands `name` or, if omitted, those of an operand."""

    def rule(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
        dynamic = operands_named(value, name)
        position = dynamic_position(value, index)
        if position < len(dynamic):
            return sizes.given(dynamic[position])
        return None if fallback is None else sizes.size(value.op.operands[fallback], index)

    return rule


def like(operand: int) -> Rule:
    """Return a rule: the sizes are those of an operand."""

    def rule(sizes: Sizes[V], value: OpResult, index: int) -> int | V:
        return sizes.size(value.op.operands[operand], index)

    return rule


def _like_first_tensor(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return the size of the first tensor operand; elementwise ops take tensors of equal sizes."""
    tensors = (operand for operand in value.op.operands if ranked(operand) is not None)
    first = next(tensors, None)
    return None if first is None else sizes.size(first, index)


@size_rule("scf.forall")
def _written_into(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return the size of the destination operand of a linalg op or loop."""
    operation = value.op
    results, operands = operation.results, operation.operands
    outputs = operands_named(value, "outputs")
    if len(outputs) != len(results):
        outputs = operands[len(operands) - len(results) :]
    operand = outputs[value.index]
    return sizes.size(operand, index) if operand.type.name == "tensor" else None


@size_rule("tensor.extract_slice")
def slice_size(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return the size of a slice; dimensions that are dropped have size 1."""
    static = number_list(attribute(value.op, "static_sizes"))
    kept = kept_dimensions(static, cast(Tensor, value.type).get_shape())
    return (
        None if kept is None else sizes.mixed(static, operands_named(value, "sizes"))[kept[index]]
    )


@size_rule("tensor.pad")
def _pad(sizes: Sizes[V], value: OpResult, index: int) -> int | V:
    """Return the size of the source plus the padding on both sides."""
    arithmetic = sizes.arithmetic(value)
    total = sizes.size(value.op.operands[0], index)
    for side in ("low", "high"):
        static = number_list(attribute(value.op, f"static_{side}"))
        total = arithmetic.add(total, sizes.mixed(static, operands_named(value, side))[index])
    return total


@size_rule("tensor.expand_shape")
def _expand(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    static = number_list(attribute(value.op, "static_output_shape"))
    dynamic = operands_named(value, "dynamic_output_shape")
    if not static or static[index] != DYNAMIC_INDEX:
        return static[index] if static else None
    position = static[:index].count(DYNAMIC_INDEX)
    return sizes.given(dynamic[position]) if position < len(dynamic) else None


@size_rule("tensor.gather")
def _gather(sizes: Sizes[V], value: OpResult, index: int) -> int | V:
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
def _collapse(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    groups = integer_lists(value.op, "reassociation")
    if not groups:
        return None
    parts = (sizes.size(value.op.operands[0], each) for each in groups[index])
    return reduce(sizes.arithmetic(value).multiply, parts, 1)


@size_rule("tensor.concat", "tosa.concat")
def _concatenate(sizes: Sizes[V], value: OpResult, index: int) -> int | V:
    dimension = attribute(value.op, "axis" if value.op.name == "tosa.concat" else "dim")
    if not isinstance(dimension, IntegerAttr) or dimension.value.data != index:
        return sizes.size(value.op.operands[0], index)
    parts = (sizes.size(operand, index) for operand in value.op.operands)
    return reduce(sizes.arithmetic(value).add, parts, 0)


@size_rule("bufferization.to_tensor")
def _contents(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return the size of the memory that is read, as its allocation or its view gives it."""
    memory: SSAValue = value.op.operands[0]
    while isinstance(memory, OpResult) and isinstance(memory.type, MemRefType):
        static = cast("MemRefType[Attribute]", memory.type).get_shape()[index]
        if static != DYNAMIC_INDEX:
            return static
        name = memory.op.name
        if name in ("memref.alloc", "memref.alloca"):
            return listed("dynamic_sizes")(sizes, memory, index)
        if name in ("memref.subview", "memref.reinterpret_cast"):
            return slice_size(sizes, memory, index)
        if name == "bufferization.to_buffer":
            return sizes.size(memory.op.operands[0], index)
        if name not in ("memref.cast", "memref.memory_space_cast", "bufferization.clone"):
            return None
        memory = memory.op.operands[0]
    return None


size_rule("tensor.bitcast", "tensor.cast")(like(0))
size_rule("bufferization.alloc_tensor")(listed("dynamic_sizes", fallback=0))
size_rule("bufferization.materialize_in_destination")(like(1))
size_rule("linalg.pack", "linalg.unpack", "tensor.insert", "tensor.insert_slice", "tensor.scatter")(
    like(1)
)
size_rule("tensor.empty")(listed("dynamic_sizes"))
size_rule("tensor.generate")(listed("dynamic_extents"))
size_rule("tensor.splat")(listed("dynamicSizes"))
