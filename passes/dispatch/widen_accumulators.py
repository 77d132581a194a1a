"""`widen-accumulators`: accumulate sums and products of narrow floats in f32, and round them once.

    %r = linalg.matmul ins(%a, %b : bf16, bf16) outs(%c : bf16)

becomes

    %w = arith.extf %c : bf16 to f32
    %s = linalg.matmul ins(%a, %b : bf16, bf16) outs(%w : f32)
    %r = arith.truncf %s : f32 to bf16

This is what such operations mean (docs/interpreter.md), and kernels compute what an operation says.
The factors of a product are multiplied in f32, too. Operations whose points run in order are left:
what an accumulator becomes is only yielded, by the only operation that reads the accumulator, and
bodies have neither regions nor calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.arith import AddfOp, ExtFOp, MulfOp, TruncFOp
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.linalg.structured_view import StructuredView, structured_view
from ...ir.combiners import COMBINERS
from ...ir.graph_orders import postorder
from ...ir.linear_forms import linear
from ...ir.locations import builder_before, erase_if_unused, located_builder, made_by, rebuilt
from ...ir.regions import walk
from ...ir.tensor_types import element_named
from ..manager.module_pass import module_pass

_ACCUMULATING = {"arith.addf": AddfOp, "arith.mulf": MulfOp}


@module_pass("widen-accumulators")
def widen_accumulators(module: ModuleOp) -> None:
    """Accumulate sums and products of narrow floats in f32, and round them once."""
    for operation in filter(has_narrow_result, tuple(walk(module))):
        view = structured_view(operation)
        numbers = [] if view is None else _narrow_accumulators(view)
        if view is not None and numbers:
            _widen(view, numbers)


def has_narrow_result(operation: Operation) -> bool:
    """Return whether the pass may change an operation."""
    return any(_is_narrow(each.type) for each in operation.results)


def _narrow_accumulators(view: StructuredView) -> list[int]:
    """Return the numbers of the outputs that are sums or products of narrow floats.

    The result is empty if an output is no reduction: its body then runs in order.
    """
    last, first = view.body.last_op, len(view.inputs)
    if last is None or not _is_reduction(view):
        return []
    found: list[int] = []
    for number, yielded in enumerate(last.operands):
        accumulator = view.body.args[first + number]
        combiner = yielded.owner
        if (
            isinstance(combiner, Block)
            or combiner.name not in COMBINERS
            or accumulator not in combiner.operands
            or accumulator.uses.get_length() != 1
            or yielded.uses.get_length() != 1
        ):
            return []
        if combiner.name in _ACCUMULATING and _is_narrow(view.outputs[number].type):
            found.append(number)
    return found


def _is_reduction(view: StructuredView) -> bool:
    """Return whether points that share an element of an output run in any order.

    Each loop is then an index of all outputs or of none, whatever its iterator type.
    """
    indices = [[linear(each) for each in output.results] for output in view.output_maps]
    plain = [{part.plain_loop for part in each if part is not None} for each in indices]
    parts = [part for each in indices for part in each if part is not None]
    used = {loop for part in parts for loop in part.coefficients}
    if len(used) == len(view.iterators) or not all(used <= each for each in plain):
        return False
    return not any(each.regions or each.name == "func.call" for each in view.body.ops)


def _is_narrow(kind: Attribute) -> bool:
    """Return whether a type is a tensor of floats narrower than f32."""
    if not isinstance(kind, TensorType):
        return False
    scalar = cast("TensorType[Attribute]", kind).element_type
    return isinstance(scalar, AnyFloat) and element_named(scalar).bits < 32


def _widen(view: StructuredView, numbers: list[int]) -> None:
    operation = view.operation
    builder = builder_before(operation)
    outputs = list(view.outputs)
    for number in numbers:
        narrow = cast("TensorType[Attribute]", outputs[number].type)
        wide = TensorType(f32, narrow.get_shape())
        outputs[number] = builder.insert(ExtFOp(outputs[number], wide)).result
    made = rebuilt(
        operation,
        [*view.inputs, *outputs],
        [each.type for each in outputs],
        regions=[Region(_wide_body(view, numbers))],
    )
    builder.insert(made)
    results = list(made.results)
    for number in numbers:
        narrow = operation.results[number].type
        results[number] = builder.insert(TruncFOp(results[number], narrow)).result
    Rewriter.replace_op(operation, [], results)


def _wide_body(view: StructuredView, numbers: list[int]) -> Block:
    """Return the body with accumulators in f32."""
    accumulators = [view.body.args[len(view.inputs) + number] for number in numbers]
    types = [f32 if each in accumulators else each.type for each in view.body.args]
    body = Block(arg_types=types)
    builder = located_builder(InsertPoint.at_end(body), view.operation)
    values: dict[SSAValue, SSAValue] = dict(zip(view.body.args, body.args, strict=True))
    for operation in view.body.ops:
        narrow = [each for each in operation.operands if each in accumulators]
        if not narrow:
            builder.insert(operation.clone(values))  # This adds its results to `values`.
            continue
        is_sum = operation.name == "arith.addf" and len(view.outputs) == 1
        left, right = (
            values[each]
            if each is narrow[0]
            else _wide_term(builder, values.get(each, each), is_sum)
            for each in operation.operands
        )
        total = builder.insert(_ACCUMULATING[operation.name](left, right))
        values[operation.results[0]] = total.result
    erase_if_unused(*reversed([each for each in body.ops if each.name == "arith.mulf"]))
    return body


def _wide_term(builder: Builder, value: SSAValue, is_sum: bool) -> SSAValue:
    """Return a term in f32; a product that the body adds is that of its factors in f32."""

    def factors(term: SSAValue) -> Sequence[SSAValue]:
        product = made_by(term, "arith.mulf") if is_sum else None
        if product is None or product.parent is not builder.insertion_point.block:
            return ()
        return product.operands

    wide: dict[SSAValue, SSAValue] = {}
    for term in postorder([value], factors):
        pair = [wide[each] for each in factors(term)]
        made = MulfOp(pair[0], pair[1]) if pair else ExtFOp(term, f32)
        wide[term] = builder.insert(made).result
    return wide[value]
