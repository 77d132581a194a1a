"""`variables-to-util`: convert variables of `tosa` and `ml_program` to globals of `util`.

Accesses of globals by a known address become accesses by name.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ...ir.attribute_access import attribute
from ...ir.locations import located_builder, made_by
from ...ir.regions import walk
from ..general.global_accesses import POINTER_ACCESSES
from ..manager.module_pass import module_pass

_DEFINITIONS = ("tosa.variable", "ml_program.global")
_READS = ("tosa.variable_read", "ml_program.global_load", "ml_program.global_load_const")
_WRITES = ("tosa.variable_write", "ml_program.global_store")


@module_pass("variables-to-util")
def variables_to_util(module: ModuleOp) -> None:
    """Convert variables of `tosa` and globals of `ml_program` to globals of `util`."""
    addresses: set[Operation] = set()
    for each in tuple(walk(module)):
        if is_variable(each):
            addresses |= {*filter(None, [_address(each)])}
            builder = located_builder(InsertPoint.before(each), each)
            Rewriter.replace_op(each, [], builder.insert(_converted(each)).results)
    for each in addresses:
        if not each.results[0].uses:
            Rewriter.erase_op(each)


def is_variable(operation: Operation) -> bool:
    """Return whether an op defines, reads or writes a variable, or a global by its address."""
    is_named = operation.name in (*_DEFINITIONS, *_READS, *_WRITES)
    return is_named or _address(operation) is not None


def _address(operation: Operation) -> Operation | None:
    """Return the address by which an op accesses a global; `None` if there is none."""
    if operation.name not in POINTER_ACCESSES:
        return None
    return made_by(operation.operands[-1], "util.global.address")


def _converted(operation: Operation) -> Operation:
    # Imported here because most programs have no variables.
    from ...dialects.ml_program import GlobalOp as ForeignGlobalOp
    from ...dialects.tosa.variables import VariableOp
    from ...dialects.util.dialect import GlobalLoadOp, GlobalOp, GlobalStoreOp

    match operation:
        case VariableOp():
            name, type_ = operation.sym_name.data, operation.tensor
            return GlobalOp(name, type_, operation.initial_value, mutable=True)
        case ForeignGlobalOp():
            is_mutable = operation.is_mutable is not None
            made = GlobalOp(
                operation.sym_name.data, operation.type, operation.value, mutable=is_mutable
            )
            if operation.sym_visibility is not None:
                made.sym_visibility = operation.sym_visibility
            return made
        case _:
            named = _address(operation) or operation
            name = _name(attribute(named, "name") or attribute(named, "global"))
    if operation.results:
        return GlobalLoadOp(name, operation.results[0].type)
    return GlobalStoreOp(operation.operands[0], name)


def _name(reference: Attribute | None) -> str:
    """Return the name of a variable: a string of `tosa`, or a reference to a symbol."""
    if isinstance(reference, StringAttr):
        return reference.data
    return cast(SymbolRefAttr, reference).root_reference.data
