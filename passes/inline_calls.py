"""Inline every call of a function of the module, and remove private functions that nobody calls.

Host programs are short and devices are placed along whole programs, so a function's body is best
seen where it is called. A function of several blocks becomes an `scf.execute_region` there. What
calls itself, directly or through others, stays a function; if callers outside see it, they get
one of the same name whose calls are of a private copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.scf import ExecuteRegionOp, YieldOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..ir.diagnostics import OperationError
from ..ir.host_programs import CALLS, FUNCTIONS
from ..ir.symbols import names_in, numbered_name, symbol


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
        recursive = {name for name in functions if _reaches(name, functions)}
        for name in sorted(recursive):
            if not _is_private(functions[name]):
                recursive.add(_call_copy(name, functions, op))
        done: set[str] = set()
        for name in tuple(functions):
            _inline_into(name, functions, done, recursive)
        for function in functions.values():
            if _is_private(function):
                _remove_if_unused(function, op)


def _is_private(function: Operation) -> bool:
    visibility = function.properties.get("sym_visibility")
    return isinstance(visibility, StringAttr) and visibility.data == "private"


def _callees(function: Operation, functions: dict[str, Operation]) -> set[str]:
    called = {symbol(op, "callee") for op in function.walk() if op.name in CALLS}
    return called & functions.keys()


def _reaches(name: str, functions: dict[str, Operation]) -> bool:
    """Whether a function calls itself, directly or through others."""
    seen: set[str] = set()
    pending = [name]
    while pending:
        for callee in _callees(functions[pending.pop()], functions):
            if callee == name:
                return True
            if callee not in seen:
                seen.add(callee)
                pending.append(callee)
    return False


def _call_copy(name: str, functions: dict[str, Operation], module: ModuleOp) -> str:
    """Let all calls of a function be of a private copy, whose name is returned."""
    copy_name = numbered_name(f"{name}_", names_in(module))
    function = functions[name]
    copy = function.clone()
    for old, new in zip(function.walk(), copy.walk(), strict=True):
        new.location = old.location
    copy.properties["sym_name"] = StringAttr(copy_name)
    copy.properties["sym_visibility"] = StringAttr("private")
    module.body.block.insert_op_after(copy, function)
    functions[copy_name] = copy
    for operation in module.walk():
        if operation.name in CALLS and symbol(operation, "callee") == name:
            operation.properties["callee"] = SymbolRefAttr(copy_name)
    return copy_name


def _inline_into(
    name: str, functions: dict[str, Operation], done: set[str], recursive: set[str]
) -> None:
    """Inline all calls inside of a function, those inside of what it calls first."""
    if name in done:
        return
    done.add(name)
    for call in tuple(functions[name].walk()):
        callee = symbol(call, "callee")
        if call.name in CALLS and callee in functions and callee not in recursive:
            _inline_into(callee, functions, done, recursive)
            _inline(call, functions[callee])


def _inline(call: Operation, callee: Operation) -> None:
    """Replace a call by a copy of what it calls."""
    body = callee.regions[0].clone()
    for old, new in zip(callee.regions[0].walk(), body.walk(), strict=True):
        new.location = old.location
    entry = body.blocks[0]
    for argument, operand in zip(tuple(entry.args), call.operands, strict=True):
        argument.replace_all_uses_with(operand)
        entry.erase_arg(argument)
    if len(body.blocks) > 1:
        _inline_blocks(call, body)
        return
    end = entry.last_op
    if call.parent is None or end is None:
        raise OperationError(call, "calls a function without an end")
    results: list[SSAValue] = list(end.operands)
    end.detach()
    end.erase()
    for operation in tuple(entry.ops):
        operation.detach()
        call.parent.insert_op_before(operation, call)
    Rewriter.replace_op(call, [], results)


def _inline_blocks(call: Operation, body: Region) -> None:
    """Replace a call by a region that ends where the function returned."""
    for block in body.blocks:
        end = block.last_op
        if end is not None and end.name.endswith(".return"):
            Rewriter.replace_op(end, YieldOp(*end.operands))
    region = ExecuteRegionOp.create(result_types=call.result_types, regions=[body])
    region.location = call.location
    Rewriter.replace_op(call, region)


def _remove_if_unused(function: Operation, module: ModuleOp) -> None:
    name = symbol(function, "sym_name")
    called = any(
        operation.name in CALLS
        and symbol(operation, "callee") == name
        and not _is_inside(operation, function)
        for operation in module.walk()
    )
    if not called:
        Rewriter.erase_op(function)


def _is_inside(operation: Operation, function: Operation) -> bool:
    parent = operation.parent_op()
    return parent is function or (parent is not None and _is_inside(parent, function))
