"""`tosa-to-util`: convert variables of `tosa` to globals of `util`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.locations import located_builder
from ...ir.regions import walk
from ..manager.module_pass import module_pass

_VARIABLES = ("tosa.variable", "tosa.variable_read", "tosa.variable_write")


@module_pass("tosa-to-util")
def tosa_to_util(module: ModuleOp) -> None:
    """Convert variables of `tosa` to globals of `util`."""
    for each in tuple(walk(module)):
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
