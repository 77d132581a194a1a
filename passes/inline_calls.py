"""`inline-calls`: inline all calls, and remove private functions that are not called.

Host programs are short and device placement analyses whole programs, so callees are best inlined. A
function of several blocks becomes an `scf.execute_region`. Recursive functions are kept. A
recursive function that is public keeps its name and calls a private copy of itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.dialects.scf import ExecuteRegionOp, YieldOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..ir.attribute_access import BOUNDARY_GROUPS, boundary_entries
from ..ir.diagnostics import OperationError, remark
from ..ir.graph_orders import CallGraph
from ..ir.host_programs import CALLS, FUNCTIONS, call_graph, calls_in
from ..ir.locations import builder_before
from ..ir.regions import walk
from ..ir.symbols import names_in, numbered_name, references_of, symbols_in, visibility

MAX_OPERATIONS = 1 << 20
"""The maximum number of ops of a function after inlining."""

MAX_SMALL_FUNCTION_OPS = 32
"""The maximum number of ops of a function that `inline_small_calls` inlines."""

SIZE_ARGUMENT = "jax.global_constant"
"""The attribute by which `jax.export` marks arguments that hold the program's dynamic sizes."""

RESULT_NAME = "jax.result_info"
"""The attribute by which JAX names a result."""


@dataclass(frozen=True)
class InlineCallsPass(ModulePass):
    """Inline all calls, and remove private functions that are not called."""

    name = "inline-calls"

    default_pipeline: str = "canonicalize"
    """MLIR's pipeline for functions before they are inlined. It is not run."""

    op_pipelines: tuple[str, ...] = ()
    """MLIR's pipelines by kinds of functions. They are not run."""

    max_iterations: int = 4
    """MLIR's limit on calls that appear by inlining. There is none here."""

    inlining_threshold: int = -1
    """MLIR's limit on the size of a function. There is none here."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self != InlineCallsPass():
            remark("backend", op, "all calls are inlined: options of the inliner change nothing")
        call_constants_directly(op)
        functions = _functions(op)
        graph = call_graph(functions)
        recursive = graph.recursive()
        callers_first = graph.callees_first()[::-1]
        _check_sizes(functions, graph, recursive)
        for name in sorted(recursive):
            if visibility(functions[name]) != "private":
                copy_name = _redirect_to_private_copy(name, functions, op)
                recursive.add(copy_name)
                callers_first.append(copy_name)
        inlined = {name: function for name, function in functions.items() if name not in recursive}
        roots = _roots(functions, op)
        for name in callers_first:
            # Callers first: callees are copied before anything is inlined into them, so that no op
            # is copied twice.
            if name in roots or name in recursive:
                _inline_into(functions[name], inlined)
        _erase_unused(functions, op)


def call_constants_directly(module: ModuleOp) -> None:
    """Replace each `func.call_indirect` of a `func.constant` by a `func.call`."""
    for operation in tuple(walk(module)):
        if operation.name != "func.call_indirect":
            continue
        callee, *arguments = operation.operands
        constant = callee.owner
        if isinstance(constant, Operation) and constant.name == "func.constant":
            symbol = cast(SymbolRefAttr, constant.properties["value"])
            call = builder_before(operation).insert(
                CallOp(symbol, arguments, operation.result_types)
            )
            Rewriter.replace_op(operation, [], call.results)
            if not callee.uses:
                Rewriter.erase_op(constant)


def inline_calls_of(operations: Sequence[Operation], module: ModuleOp) -> None:
    """Inline all calls inside of some ops, and remove private functions that are no longer called.

    Calls of recursive functions are kept. Raises OperationError if a function becomes too large.
    """
    functions = _functions(module)
    graph = call_graph(functions)
    recursive = graph.recursive()
    _check_sizes(functions, graph, recursive)
    inlined = {name: function for name, function in functions.items() if name not in recursive}
    for operation in operations:
        _inline_into(operation, inlined)
    _erase_unused(functions, module)


def inline_small_calls(module: ModuleOp) -> None:
    """Inline private functions of a few ops or with one call, and remove them.

    JAX makes such functions of `jnp.where` or `jax.nn.relu`; a call would prevent fusion with the
    ops around it. Larger functions are inlined in two cases:

    - they take the program's dynamic sizes as arguments: the caller knows these sizes;
    - there is one call: nothing is copied, and results without uses are not computed.

    Functions with other attributes on arguments or results are kept, and so are those referenced
    other than by calls.
    """
    functions = _functions(module)
    graph = call_graph(functions)
    kept = graph.recursive() | _named_but_not_called(module)
    calls = Counter(name for _, name in calls_in(module))
    small: dict[str, Operation] = {}
    sizes: dict[str, int] = {}
    for name in graph.callees_first():
        function = functions[name]
        called = (sizes.get(callee, MAX_SMALL_FUNCTION_OPS) for callee in graph.callees(name))
        sizes[name] = sum(1 for _ in walk(function)) + sum(called)
        attributes = _boundary_attribute_names(function)
        is_free = SIZE_ARGUMENT in attributes or calls[name] == 1
        if (
            sizes[name] <= (MAX_OPERATIONS if is_free else MAX_SMALL_FUNCTION_OPS)
            and attributes <= {SIZE_ARGUMENT, RESULT_NAME}
            and len(function.regions[0].blocks) == 1
            and visibility(function) == "private"
            and name not in kept
        ):
            small[name] = function
    if not small:
        return
    for name, function in functions.items():
        if name not in small:
            _inline_into(function, small)
    for function in small.values():
        Rewriter.erase_op(function, safe_erase=False)


def _named_but_not_called(module: ModuleOp) -> set[str]:
    """Return the names that anything but a call in a function refers to."""
    return {
        reference.root_reference.data
        for outer in module.body.block.ops
        for operation in walk(outer)
        if operation.name not in CALLS or outer.name not in FUNCTIONS
        for reference in references_of(operation)
    }


def _functions(module: ModuleOp) -> dict[str, Operation]:
    functions = symbols_in(module, FUNCTIONS)
    return {name: each for name, each in functions.items() if each.regions[0].blocks}


def _erase_unused(functions: dict[str, Operation], module: ModuleOp) -> None:
    used = call_graph(functions).reached_from(_roots(functions, module))
    for name in functions.keys() - set(used):
        Rewriter.erase_op(functions[name], safe_erase=False)


def _boundary_attribute_names(function: Operation) -> set[str]:
    """Return the names of all attributes of a function's arguments and results."""
    return {
        name
        for group in BOUNDARY_GROUPS
        for entry in boundary_entries(function, group)
        for name in entry
    }


def _check_sizes(
    functions: dict[str, Operation], graph: CallGraph[str], recursive: set[str]
) -> None:
    """Raise OperationError if inlining makes a function too large: 40 can expand to 2^40 ops."""
    sizes: dict[str, int] = {}
    for name in graph.callees_first():
        inlined = (sizes[callee] for callee in graph.callees(name) if callee not in recursive)
        own = sum(1 for _ in walk(functions[name]))
        sizes[name] = own if name in recursive else own + sum(inlined)
        if sizes[name] > MAX_OPERATIONS:
            raise OperationError(
                functions[name],
                f"would have {sizes[name]} operations after inlining, expected at most "
                f"{MAX_OPERATIONS}",
            )


def _redirect_to_private_copy(name: str, functions: dict[str, Operation], module: ModuleOp) -> str:
    """Redirect all calls of a function to a private copy, and return the copy's name."""
    copy_name = numbered_name(f"{name}_", names_in(module))
    function = functions[name]
    copy = function.clone()
    copy.properties["sym_name"] = StringAttr(copy_name)
    copy.properties["sym_visibility"] = StringAttr("private")
    module.body.block.insert_op_after(copy, function)
    functions[copy_name] = copy
    for call, callee in calls_in(module):
        if callee == name:
            call.properties["callee"] = SymbolRefAttr(copy_name)
    return copy_name


def _inline_into(function: Operation, inlined: dict[str, Operation]) -> None:
    """Inline the calls inside of a function, including those in inlined bodies."""
    pending = list(calls_in(function))
    while pending:
        call, name = pending.pop()
        if name in inlined:
            for operation in _inline(call, inlined[name]):
                pending += calls_in(operation)


def _inline(call: Operation, callee: Operation) -> tuple[Operation, ...]:
    """Replace a call by a copy of its callee's body, and return the copied ops."""
    body = callee.regions[0].clone()
    entry = body.blocks[0]
    for argument, operand in zip(tuple(entry.args), call.operands, strict=True):
        argument.replace_all_uses_with(operand)
        entry.erase_arg(argument)
    if len(body.blocks) > 1:
        return (_inline_blocks(call, body),)
    end = entry.last_op
    if call.parent is None or end is None:
        raise OperationError(call, "calls a function without a terminator")
    results: list[SSAValue] = list(end.operands)
    end.detach()
    end.erase()
    copies = tuple(entry.ops)
    for operation in copies:
        operation.detach()
        call.parent.insert_op_before(operation, call)
    Rewriter.replace_op(call, [], results)
    return copies


def _inline_blocks(call: Operation, body: Region) -> Operation:
    """Replace a call by an `scf.execute_region` of the callee's blocks, and return it."""
    for block in body.blocks:
        end = block.last_op
        if end is not None and end.name.endswith(".return"):
            Rewriter.replace_op(end, YieldOp(*end.operands))
    region = ExecuteRegionOp.create(result_types=call.result_types, regions=[body])
    region.location = call.location
    Rewriter.replace_op(call, region)
    return region


def _roots(functions: dict[str, Operation], module: ModuleOp) -> set[str]:
    """Return the public functions, and those called from outside of functions."""
    roots = {name for name, function in functions.items() if visibility(function) != "private"}
    for operation in module.body.block.ops:
        if operation.name not in FUNCTIONS:
            roots.update(name for _, name in calls_in(operation))
    return roots & functions.keys()
