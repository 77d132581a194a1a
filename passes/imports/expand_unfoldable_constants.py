"""`expand-unfoldable-constants`: write constants of tests as constants behind a barrier.

%c = util.unfoldable_constant 1 : i32  ->  %0 = arith.constant 1 : i32
                                           %c = util.optimization_barrier %0 : i32
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.attribute_access import attribute
from ...ir.locations import located_builder
from ...ir.regions import walk
from ..manager.module_pass import module_pass


@module_pass("expand-unfoldable-constants")
def expand_unfoldable_constants(module: ModuleOp) -> None:
    """Convert `util.unfoldable_constant` to constants behind `util.optimization_barrier`."""
    for each in tuple(walk(module)):
        if is_unfoldable(each):
            builder = located_builder(InsertPoint.before(each), each)
            value = builder.insert(ConstantOp(cast(Any, attribute(each, "value")))).result
            Rewriter.replace_op(each, [], builder.insert(_barrier(value)).results)


def is_unfoldable(operation: Operation) -> bool:
    """Return whether an op is a constant to be expanded."""
    return operation.name == "util.unfoldable_constant"


def _barrier(value: Any) -> Operation:
    # Imported here because most programs have no such constants.
    from ...dialects.util.dialect import OptimizationBarrierOp

    return OptimizationBarrierOp.create(operands=[value], result_types=[value.type])
