"""Convert loops, branches, scans, tokens, composites and tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.chlo.scan import ScanOp
from ....ir.attribute_access import element_type, flag, integer
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ....ir.index_lists import INDEX
from ....ir.symbols import root_symbol
from .element_types import TOKEN, converted, kind
from .emitter import Emitter
from .lowering import Lowering, Tensors, tensor_rule


def converted_block(
    lowering: Lowering, region: Region, op: Operation, types: Sequence[Attribute] | None = None
) -> tuple[Block, Lowering, Sequence[SSAValue]]:
    """Convert a region's block without its terminator.

    Return the new block, the lowering at its end, and the values that the region returns. With
    `types` the new block has arguments of these types, which may know other sizes.
    """
    old = region.block
    own = [converted(argument.type) for argument in old.args]
    block = Block(arg_types=types or own)
    for one, other in zip(old.args, block.args, strict=True):
        if other.name_hint is None:
            other.name_hint = one.name_hint
    inside = lowering.inside(block, op)
    arguments = [inside.emit.cast(v, t) for v, t in zip(block.args, own, strict=True)]
    return block, inside, _body_results(inside, old, arguments)


def _body_results(lowering: Lowering, block: Block, arguments: Tensors) -> Sequence[SSAValue]:
    """Convert a region's ops here, with `arguments` for its block arguments; return its results."""
    lowering.values.update(zip(block.args, arguments, strict=True))
    *operations, last = block.ops
    if last.name != "stablehlo.return":
        raise OperationError(last, "terminates a region, expected 'stablehlo.return'")
    for operation in operations:
        lowering.with_origin(operation).operation(operation, {})
    return [lowering.value(value) for value in last.operands]


def branch(lowering: Lowering, region: Region, op: Operation) -> Region:
    """Convert a region to one that takes, if anything, and yields values of the results' types."""
    types = [converted(each) for each in op.result_types]
    block, inside, values = converted_block(
        lowering, region, op, types if region.block.args else None
    )
    cast = [inside.emit.cast(v, t) for v, t in zip(values, types, strict=True)]
    inside.emit.add_op(scf.YieldOp(*cast))
    return Region(block)


@tensor_rule("stablehlo.while")
def _while(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    types = [converted(each) for each in op.result_types]
    condition, inside, values = converted_block(lowering, op.regions[0], op, types)
    inside.emit.add_op(scf.ConditionOp(inside.emit.element(values[0]), *condition.args))
    body = branch(lowering, op.regions[1], op)
    given = [lowering.emit.cast(v, t) for v, t in zip(operands, types, strict=True)]
    loop = scf.WhileOp(given, types, Region(condition), body)
    lowering.emit.add_op(loop)
    return loop.results


@tensor_rule("stablehlo.if")
def _if(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    types = [converted(each) for each in op.result_types]
    first, second = (branch(lowering, region, op) for region in op.regions)
    made = scf.IfOp(lowering.emit.element(operands[0]), types, first, second)
    lowering.emit.add_op(made)
    return made.results


@tensor_rule("stablehlo.case")
def _case(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a case: branch i for index i, the last branch for any other index."""
    e = lowering.emit
    types = [converted(each) for each in op.result_types]
    *regions, last = (branch(lowering, region, op) for region in op.regions)
    if not regions:
        made: Operation = scf.ExecuteRegionOp(types, last)
        e.add_op(made)
        return made.results
    chosen = e.element(operands[0])
    if len(regions) == 1:
        is_first = e.compare_integers("eq", chosen, e.constant(0, chosen.type))
        made = scf.IfOp(is_first, types, regions[0], last)
    else:
        cases = DenseArrayBase.from_list(i64, range(len(regions)))
        chosen = e.op("arith.index_cast", chosen, to=INDEX)
        made = scf.IndexSwitchOp(chosen, cases, last, regions, types)
    e.add_op(made)
    return made.results


@tensor_rule("chlo.scan")
def _scan(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a scan to a loop that reads slices of the inputs and writes slices of the outputs."""
    e = lowering.emit
    assert isinstance(op, ScanOp)
    dimension, count = integer(op, "dimension"), len(op.inputs)
    inputs, inits = operands[:count], operands[count:]
    extent = e.size(inputs[0], dimension) if inputs else op.extent
    if isinstance(extent, int) and extent < 0:
        raise OperationError(
            op, "has no inputs and no static extent: the number of slices is unknown"
        )
    made = len(op.outputs)
    empties = [_empty_output(e, each.type, dimension, extent, op) for each in op.outputs]

    def step(inner: Emitter, args: Tensors) -> Tensors:
        position, *carried = args
        is_reverse = flag(op, "is_reverse")
        at = inner.subtract(inner.subtract(extent, 1), position) if is_reverse else position
        slices = [_row(inner, value, dimension, at) for value in inputs]
        inside = replace(lowering, emit=inner)
        results = _body_results(inside, op.regions[0].block, [*slices, *carried[made:]])
        written = [
            _with_slice(inner, part, whole, dimension, at)
            for part, whole in zip(results[:made], carried, strict=False)
        ]
        pairs = zip(results[made:], inits, strict=True)
        return [*written, *(inner.cast(value, init.type) for value, init in pairs)]

    return e.sequential_loop(extent, [*empties, *inits], step)


def _empty_output(
    e: Emitter, type_: Attribute, dimension: int, extent: IndexOrInt, op: Operation
) -> SSAValue:
    sizes: list[IndexOrInt] = list(cast("TensorType[Any]", type_).get_shape())
    sizes[dimension] = extent
    if any(isinstance(each, int) and each < 0 for each in sizes):
        raise OperationError(op, f"has an output of type {type_} with slices of dynamic sizes")
    return e.empty(sizes, element_type(converted(type_)))


def _row(e: Emitter, value: SSAValue, dimension: int, at: IndexOrInt) -> SSAValue:
    """Return a slice of size 1 along a dimension, with that dimension dropped."""
    sizes = e.sizes(value)
    del sizes[dimension]
    return e.reshape(e.slice_along(value, dimension, at), sizes)


def _with_slice(
    e: Emitter, part: SSAValue, whole: SSAValue, dimension: int, at: IndexOrInt
) -> SSAValue:
    sizes = e.sizes(part)
    sizes.insert(dimension, 1)
    offsets: list[IndexOrInt] = [0] * len(sizes)
    offsets[dimension] = at
    return e.insert_slice(e.reshape(part, sizes), whole, offsets)


@tensor_rule("stablehlo.optimization_barrier")
def _barrier(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return operands


@tensor_rule("stablehlo.after_all", "stablehlo.create_token")
def _token(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    return [e.fill(e.constant(1, kind(TOKEN).type), [])]


@tensor_rule("stablehlo.composite")
def _composite(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a composite to a call of its decomposition."""
    call = CallOp(root_symbol(op, "decomposition"), op.operands, op.result_types)
    call.location = op.location
    lowering.with_origin(call).operation(call, {})
    results = [lowering.value(result) for result in call.results]
    call.drop_all_references()
    return results


@tensor_rule("stablehlo.tuple")
def _tuple(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    if any(use.operation.name not in _OF_TUPLES for use in op.results[0].uses):
        raise OperationError(op, "has a result with users other than tuple operations")
    # `stablehlo.get_tuple_element` reads the operands of the tuple op itself.
    return operands[:1] or _token(lowering, op, ())


@tensor_rule("stablehlo.get_tuple_element")
def _get_tuple_element(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return [lowering.value(_part(op))]


def _part(op: Operation) -> SSAValue:
    """Return the value that `get_tuple_element` extracts, also from a nested tuple."""
    source = op.operands[0].owner
    if isinstance(source, Operation) and source.name == "stablehlo.get_tuple_element":
        source = _part(source).owner
    if not isinstance(source, Operation) or source.name != "stablehlo.tuple":
        raise OperationError(op, "takes a tuple that is not a result of 'stablehlo.tuple'")
    return source.operands[integer(op, "index")]


_OF_TUPLES = ("stablehlo.tuple", "stablehlo.get_tuple_element")
