"""`tosa-to-util`: convert variables of `tosa` to globals of `util`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.locations import located_builder
from ...ir.regions import walk

_VARIABLES = ("tosa.variable", "tosa.variable_read", "tosa.variable_write")


class TosaToUtilPass(ModulePass):
    """Convert variables of `tosa` to globals of `util`."""

    name = "tosa-to-util"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in tuple(walk(op)):
            if is_variable(each):
                builder = located_builder(InsertPoint.before(each), each)
                Rewriter.replace_op(each, [], builder.insert(_converted(each)).results)


def is_variable(operation: Operation) -> bool:
    """Return whether an op defines, reads or writes a variable."""
    return operation.name in _VARIABLES


def _converted(operation: Operation) -> Operation:
    # Imported here because most programs have no variables.
    from ...dialects.tosa.variables import VariableOp, VariableReadOp, VariableWriteOp
    from ...dialects.util.dialect import GlobalLoadOp, GlobalOp, GlobalStoreOp

    match operation:
        case VariableOp():
            name, type_ = operation.sym_name.data, operation.tensor
            return GlobalOp(name, type_, operation.initial_value, mutable=True)
        case VariableReadOp():
            return GlobalLoadOp(operation.variable.data, operation.output1.type)
        case VariableWriteOp():
            return GlobalStoreOp(operation.input1, operation.variable.data)
        case _:
            raise AssertionError(operation.name)
