"""`tosa-to-scf`: convert the control flow of `tosa` to `scf`, which other passes look into.

%r = tosa.cond_if %c (%y = %x) : ...      %b = tensor.extract %c[] : tensor<i1>
                                     ->   %r = scf.if %b -> (...)
%r = tosa.while_loop (%y = %x) : ...      %r = scf.while (%y = %x) : ...
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.attribute_access import element_type
from ...ir.index import constant_index
from ...ir.locations import located_builder
from ...ir.regions import detach_regions, walk
from ...ir.tensor_types import static_shape
from ..manager.module_pass import module_pass


@module_pass("tosa-to-scf")
def tosa_to_scf(module: ModuleOp) -> None:
    """Convert `tosa.cond_if` and `tosa.while_loop` to `scf`."""
    for each in tuple(walk(module)):
        convert = _CONVERSIONS.get(each.name)
        if convert is not None:
            Rewriter.replace_op(each, [], _builder(each).insert(convert(each)).results)


def _builder(operation: Operation) -> Builder:
    return located_builder(InsertPoint.before(operation), operation)


def _if(operation: Operation) -> Operation:
    condition, *inputs = operation.operands
    for region in operation.regions:
        for argument, value in zip(tuple(region.block.args), inputs, strict=True):
            argument.replace_all_uses_with(value)
            region.block.erase_arg(argument)
    then, other = map(_with_yield, detach_regions(operation))
    truth = _truth(condition, _builder(operation))
    return scf.IfOp(truth, operation.result_types, then, other)


def _while(operation: Operation) -> Operation:
    test, body = detach_regions(operation)
    end = _yield(test)
    condition = _truth(end.operands[0], _builder(end))
    Rewriter.replace_op(end, scf.ConditionOp(condition, *test.block.args))
    return scf.WhileOp(operation.operands, operation.result_types, test, _with_yield(body))


_CONVERSIONS = {"tosa.cond_if": _if, "tosa.while_loop": _while}


def _with_yield(region: Region) -> Region:
    end = _yield(region)
    Rewriter.replace_op(end, scf.YieldOp(*end.operands))
    return region


def _yield(region: Region) -> Operation:
    end = region.block.last_op
    assert end is not None
    return end


def _truth(condition: SSAValue, builder: Builder) -> SSAValue:
    """Return the only element of a tensor of i1."""
    zeros = [constant_index(0, builder) for _ in static_shape(condition)]
    return builder.insert(ExtractOp(condition, zeros, element_type(condition.type))).result
