"""Fold globals that always hold one constant, and drop those that nothing reads.

    util.global private @size : index        util.func public @f() -> index {
    util.initializer {                          %size = arith.constant 4 : index
      %c4 = arith.constant 4 : index     =>     util.return %size : index
      util.global.store %c4, @size            }
    }
    util.func public @f() -> index {
      %size = util.global.load @size
      util.return %size : index
    }

The program is canonicalized, so that what initializers compute is constant. Public globals may be
set and read by other modules, and stay. So does a global that another attribute or op names, as a
device.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...ir.attribute_access import attribute
from ...ir.host_programs import GLOBAL_LOAD, INITIALIZER, in_initializer
from ...ir.locations import locate, made_by
from ...ir.symbols import root_symbol, symbols_in
from .canonicalize import CanonicalizePass
from .global_accesses import GlobalAccesses, global_accesses

WITHOUT_ATTRIBUTE = ("stream.timepoint.immediate", "util.null")
"""Constants that no attribute stands for."""


class FoldGlobalsPass(ModulePass):
    """Fold globals that always hold one constant, and drop those that nothing reads."""

    name = "iree-util-fold-globals"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changes = True
        while changes:
            CanonicalizePass().apply(ctx, op)
            changes = False
            for variable in global_accesses(op).values():
                changes |= _fold(variable, op)
            _drop_empty_initializers(op)


def _fold(variable: GlobalAccesses, module: ModuleOp) -> bool:
    """Fold a global as far as its accesses allow; return whether that changed the program."""
    if not variable.is_private:
        if "is_mutable" in variable.op.properties:
            return False
        if _is_set_once(variable) and _fold_initial_value(variable):
            return True
        return (not variable.stores and _inline(variable)) or _mark_immutable(variable)
    if not variable.loads:
        for op in (*variable.stores, variable.op):
            Rewriter.erase_op(op)
        return True
    if _is_set_once(variable) and (_fold_initial_value(variable) or _fold_copy(variable, module)):
        return True
    changes = False
    if all(map(in_initializer, variable.stores)):
        changes = variable.op.properties.pop("is_mutable", None) is not None
    if not variable.stores and _inline(variable):
        return True
    return _mark_immutable(variable) or changes


def _is_set_once(variable: GlobalAccesses) -> bool:
    """Return whether one initializer always sets a global, and no initializer reads it."""
    loads_first = any(in_initializer(load) for load in variable.loads)
    return len(variable.stores) == 1 and not loads_first and _is_initial(variable.stores[0])


def _is_initial(store: Operation) -> bool:
    initializer = store.parent_op()
    return (
        initializer is not None
        and initializer.name == INITIALIZER
        and len(initializer.regions[0].blocks) == 1
    )


def _fold_initial_value(variable: GlobalAccesses) -> bool:
    """Make the constant that an initializer stores the initial value.

    Constants without an attribute, which cannot be initial values, replace the loads.
    """
    (store,) = variable.stores
    without = made_by(store.operands[0], *WITHOUT_ATTRIBUTE)
    if without is not None and variable.is_private:
        for load in variable.loads:
            Rewriter.replace_op(load, without.clone())
        Rewriter.erase_op(store)
        variable.loads.clear()
        return True
    constant = made_by(store.operands[0], "arith.constant")
    if constant is None or store.operands[0].type != variable.op.properties["type"]:
        return False
    value = attribute(constant, "value")
    if value is not None:
        variable.op.properties["initial_value"] = value
        Rewriter.erase_op(store)
    return value is not None


def _fold_copy(variable: GlobalAccesses, module: ModuleOp) -> bool:
    """Read the global of which another one is a copy, if it never changes."""
    (store,) = variable.stores
    load = made_by(store.operands[0], GLOBAL_LOAD)
    if load is None:
        return False
    name = root_symbol(load, "global")
    origin = symbols_in(module, ("util.global",)).get(name)
    if origin is None or "is_mutable" in origin.properties:
        return False
    for reader in variable.loads:
        reader.properties["global"] = SymbolRefAttr(name)
    Rewriter.erase_op(store)
    variable.loads.clear()
    return True


def _inline(variable: GlobalAccesses) -> bool:
    """Replace the loads of a global that is never set by its initial value, a constant."""
    value: Attribute | None = variable.op.properties.get("initial_value")
    if "inlining_policy" in variable.op.properties:
        return False
    if not isinstance(value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr):
        return False
    number = cast("IntegerAttr | FloatAttr", value)
    for load in variable.loads:
        constant = ConstantOp(number)
        if constant.result.type != load.results[0].type:
            return False
        locate(constant, load)
        Rewriter.replace_op(load, constant)
    return bool(variable.loads)


def _mark_immutable(variable: GlobalAccesses) -> bool:
    """Mark the loads of a global that initializers alone set; return whether any was not."""
    if "is_mutable" in variable.op.properties:
        return False
    open_loads = [
        load
        for load in variable.loads
        if "is_immutable" not in load.properties and not in_initializer(load)
    ]
    for load in open_loads:
        load.properties["is_immutable"] = UnitAttr()
    return bool(open_loads)


def _drop_empty_initializers(module: ModuleOp) -> None:
    for op in list(module.body.block.ops):
        if op.name == INITIALIZER:
            blocks = op.regions[0].blocks
            if len(blocks) == 1 and blocks[0].first_op is blocks[0].last_op:
                Rewriter.erase_op(op)
