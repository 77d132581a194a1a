"""Inline every call of a function of the module, and remove private functions that nobody calls.

Host programs are short and devices are placed along whole programs, so a function's body is best
seen where it is called. A function that calls itself, directly or through others, is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..dialects.diagnostics import Note, OperationError
from .stream.layout_origin import CALLS, FUNCTIONS, symbol


@dataclass(frozen=True)
class InlineCallsPass(ModulePass):
    """Inline the functions of a module into each other."""

    name = "inline-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {
            symbol(function, "sym_name"): function
            for function in op.body.block.ops
            if function.name in FUNCTIONS and function.regions[0].blocks
        }
        done: set[str] = set()
        for name in functions:
            _inline_into(name, functions, done, ())
        for function in functions.values():
            visibility = function.properties.get("sym_visibility")
            if isinstance(visibility, StringAttr) and visibility.data == "private":
                _remove_if_unused(function, op)


def _inline_into(
    name: str, functions: dict[str, Operation], done: set[str], callers: tuple[str, ...]
) -> None:
    """Inline all calls inside of a function, those inside of what it calls first."""
    if name in done:
        return
    function = functions[name]
    for call in tuple(function.walk()):
        callee = symbol(call, "callee")
        if call.name not in CALLS or callee not in functions:
            continue
        if callee in (*callers, name):
            chain = " -> ".join(f"@{one}" for one in (*callers, name, callee))
            notes = [Note("the function is defined here", functions[callee])]
            raise OperationError(call, f"calls a function that calls itself: {chain}", notes)
        _inline_into(callee, functions, done, (*callers, name))
        _inline(call, functions[callee])
    done.add(name)


def _inline(call: Operation, callee: Operation) -> None:
    """Replace a call by a copy of what it calls."""
    region = callee.regions[0]
    if len(region.blocks) > 1:
        notes = [Note("the function is defined here", callee)]
        raise OperationError(call, "calls a function of several blocks", notes)
    values: dict[SSAValue, SSAValue] = dict(zip(region.block.args, call.operands, strict=True))
    copies: list[Operation] = []
    end = region.block.last_op
    for operation in region.block.ops:
        if operation is not end:
            copies.append(operation.clone(values))
            for old, new in zip(operation.walk(), copies[-1].walk(), strict=True):
                new.location = old.location
    if call.parent is None or end is None:
        raise OperationError(call, "calls a function without an end")
    call.parent.insert_ops_before(copies, call)
    Rewriter.replace_op(call, [], [values.get(value, value) for value in end.operands])


def _remove_if_unused(function: Operation, module: ModuleOp) -> None:
    name = symbol(function, "sym_name")
    called = any(
        operation.name in CALLS and symbol(operation, "callee") == name
        for operation in module.walk()
    )
    if not called:
        Rewriter.erase_op(function)
