"""Tell kernels the ranges and divisors of their integer operands, for each dispatch.

    stream.cmd.dispatch @ex::@f(%c128, %n : index, index) {...}
    stream.cmd.dispatch @ex::@f(%c192, %m : index, index) {...}   // %m = util.align %n, %c64

run a kernel that begins with

    %0:2 = util.assume.int
        %x[<umin = 128, umax = 128, udiv = 128>, <umin = 192, umax = 192, udiv = 192>],
        %y[<>, <udiv = 64>] : index, index

in which the facts of one dispatch have the same position in each list.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, IntegerType, ModuleOp, NoneAttr
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint

from ...dialects.stream.commands import CmdDispatchOp
from ...dialects.util.dialect import AssumeIntOp
from ...dialects.util.types import IntAssumptionAttr
from ...ir.locations import located_builder
from ...ir.regions import replace_other_uses
from ..manager.module_pass import module_pass
from .analysis.integer_facts import MAX_INTEGER, UNKNOWN, IntegerFacts, KnownIntegers
from .kernels.sites import dispatch_sites
from .kernels.uniform_operands import uniform_arguments


@module_pass("iree-stream-annotate-dispatch-assumptions")
def annotate_dispatch_assumptions(module: ModuleOp) -> None:
    """Insert known ranges and divisors of their operands at the start of kernels."""
    known = KnownIntegers()
    for function, dispatches in dispatch_sites(module).items():
        block = function.regions[0].blocks.first
        if block is not None and block.first_op is not None:
            _assume(function, block, dispatches, known)


def _assume(
    function: Operation, block: Block, dispatches: Sequence[CmdDispatchOp], known: KnownIntegers
) -> None:
    columns = list(zip(*(dispatch.uniform_operands for dispatch in dispatches), strict=True))
    pairs = [
        (argument, facts)
        for argument, operands in zip(uniform_arguments(block), columns, strict=True)
        if isinstance(argument.type, IndexType | IntegerType)
        and (facts := [known.facts(operand) for operand in operands]) != [UNKNOWN] * len(operands)
    ]
    if not pairs:
        return
    arguments = [argument for argument, _ in pairs]
    assume = AssumeIntOp.build(
        operands=[arguments],
        result_types=[[argument.type for argument in arguments]],
        properties={
            "assumptions": ArrayAttr(ArrayAttr(map(_assumption, facts)) for _, facts in pairs)
        },
    )
    located_builder(InsertPoint.at_start(block), function).insert(assume)
    for argument, assumed in zip(arguments, assume.results, strict=True):
        replace_other_uses(argument, assumed)


def _assumption(facts: IntegerFacts) -> IntAssumptionAttr:
    def number(value: int | None) -> IntegerAttr[IndexType] | NoneAttr:
        if value is None or value > MAX_INTEGER:
            return NoneAttr()
        return IntegerAttr.from_index_int_value(value)

    divisor = facts.divisor if facts.divisor > 1 else None
    return IntAssumptionAttr(number(facts.least), number(facts.most), number(divisor))
