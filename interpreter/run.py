"""Run a function of a module: on one device, on all devices of a grid, or partitioned.

    run(module, "main", [x, w])               the program as written; annotations are ignored
    run_spmd(module, "main", inputs, grid)    inputs[d] are those of device d; all run in lockstep
    run_partitioned(module, "main", [x, w])   global inputs, scattered and gathered by boundary

All raise OperationError at the operation that cannot be executed, and InputError for inputs that
the function does not take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ..dialects.shard.boundary import Boundary, boundary_of
from ..ir.attribute_access import attribute, operation_name, symbol_name
from ..ir.diagnostics import OperationError
from ..ir.graph_orders import CallGraph
from ..ir.host_programs import CALLS, FUNCTIONS
from ..ir.regions import enclosing, walk
from ..ir.symbols import visibility
from ..runtime.abi.arguments import InputError, checked_inputs
from ..runtime.abi.arrays import Array, Value, is_number
from ..runtime.abi.device_array import DeviceArray
from ..sharding.collective_rows import COLLECTIVES
from ..sharding.grid import Grid
from .buffer_views import BufferView
from .calls import run_function
from .devices import initial_memory
from .frames import (
    UNKNOWN_OPERATION,
    Frame,
    Process,
    Program,
    accessed_memories,
    check_memory,
    run_implementation,
)
from .function_signatures import argument_types, result_types, wrap_buffer_views
from .global_values import GlobalValues, plain_types
from .process_groups import declared_grid
from .registry import Results, find_entry
from .spmd import ProcessRoutine, run_lockstep


def run(
    module: ModuleOp,
    function: str,
    inputs: Sequence[Array],
    devices: Sequence[str] | None = None,
) -> list[Array]:
    """Run a function in one process and return its results.

    `shard` annotations are identities; collectives need a grid and raise OperationError. `devices`
    lists the kinds of the available devices (`local-task`), for programs that name devices; by
    default every named device exists.

    Raises InputError if the function does not exist or does not take these inputs, and
    OperationError at an operation that cannot be executed.
    """
    program = Program(module)
    target = find_function(program, function)
    arguments = checked_inputs(plain_types(argument_types(target)), inputs)
    (results,) = run_processes(program, target, [arguments], None, devices)
    return results


def run_spmd(
    module: ModuleOp,
    function: str,
    inputs: Sequence[Sequence[Array]],
    grid: Grid,
    devices: Sequence[str] | None = None,
) -> list[list[Array]]:
    """Run a function on every device of a grid and return the results of each.

    `inputs[d]` are the local arguments of process `d`; results likewise. The grid must be static.
    `devices` lists the kinds of the available devices, for programs that name devices.

    Raises InputError as `run` does and for a wrong number of processes, ValueError for a grid with
    dynamic extents, and OperationError if an operation cannot be executed or devices do not match
    in a collective.
    """
    program = Program(module)
    target = find_function(program, function)
    count = grid.device_count()
    if len(inputs) != count:
        raise InputError(f"grid @{grid.name} has {count} devices, but {len(inputs)} have inputs")
    types = plain_types(argument_types(target))
    local = [checked_inputs(types, each) for each in inputs]
    return run_processes(program, target, local, grid, devices)


def run_partitioned(
    module: ModuleOp,
    function: str,
    inputs: Sequence[Array | DeviceArray],
    grid: Grid | None = None,
    devices: Sequence[str] | None = None,
) -> list[Array]:
    """Run a partitioned function on global inputs: scatter, run on all devices, gather.

    Arguments and results without a boundary are the same on all devices. `grid` is required if the
    module leaves extents of its grid open. A function that is not partitioned runs as in `run`, on
    the `devices` that its program names.

    Raises InputError as `run` does and for a grid with dynamic extents, and OperationError as
    `run_spmd` does and if devices that should hold the same values do not.
    """
    target = find_function(Program(module), function)
    arguments, results = boundaries(target)
    grid = grid or grid_of(module, target)
    if grid is None:
        # Arrays are passed unchanged: `run` looks at the mask of a masked array, for example.
        arrays = [each if isinstance(each, np.ndarray) else np.asarray(each) for each in inputs]
        return run(module, function, arrays, devices)
    values = GlobalValues(target, arguments, results, grid)
    outputs = run_spmd(module, function, values.scattered(inputs), grid, devices)
    return values.gathered(outputs)


def run_processes(
    program: Program,
    target: Operation,
    inputs: Sequence[Sequence[Array]],
    grid: Grid | None,
    devices: Sequence[str] | None,
) -> list[list[Array]]:
    """Run a function on checked inputs: on each device of a grid, or on one if `grid` is `None`."""
    routines: list[ProcessRoutine] = []
    for index, arguments in enumerate(inputs):
        memory = initial_memory(program.module, devices, grid, index)
        process = Process(program, grid, index, memory)
        wrapped = wrap_buffer_views(target, arguments)
        routines.append(process.run(run_function(target, wrapped, Frame(process))))
    with np.errstate(all="ignore"):
        results = run_lockstep(routines, target)
    return [[as_result(result) for result in local] for local in results]


def run_operation(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Run one operation on its own and return its results; it must not meet other processes.

    Raises OperationError if it cannot be executed.
    """
    check_memory(op, [operands[i] for i in accessed_memories(op)], frame.process)
    entry = find_entry(operation_name(op))
    if entry is not None and entry.execute is not None:
        return run_implementation(op, entry.execute, operands, frame)
    if entry is None or entry.run_regions is None:
        raise OperationError(op, UNKNOWN_OPERATION)
    (results,) = run_lockstep([frame.process.run(entry.run_regions(op, operands, frame))], op)
    return results


def as_result(value: Value) -> Array:
    """Return a result as an array of its own.

    Values that are not numbers, such as shardings, are returned as they are.

    The array is copied because it may also be an argument or another result.
    """
    if isinstance(value, BufferView):
        return value.array.copy()
    return np.array(value) if is_number(value) else value


# --------------------------------------------------------------------------------------------
# Functions and their types


def functions(module: ModuleOp) -> list[Operation]:
    """Return all host functions with a body in a module and its nested modules, in order."""
    return [
        op
        for op in walk(module)
        if operation_name(op) in FUNCTIONS
        and op.regions
        and op.regions[0].blocks
        and not _is_kernel(op)
    ]


def _is_kernel(function: Operation) -> bool:
    """Return whether a function is inside an executable."""
    return any(operation_name(scope).endswith(".executable") for scope in enclosing(function))


def public_functions(module: ModuleOp) -> list[str]:
    """Return the names of the public functions with a body."""
    names: list[str] = []
    for op in functions(module):
        name = symbol_name(op)
        if name is not None and visibility(op) == "public":
            names.append(name)
    return names


def find_function(program: Program, name: str) -> Operation:
    """Return a function by name. Raises InputError if there is none or it has no body."""
    found = program.lookup(program.module, name)
    if found is None:
        inner = (op for op in functions(program.module) if symbol_name(op) == name)
        found = next(inner, None)
    if found is None:
        known = ", ".join(f"@{each}" for each in public_functions(program.module))
        raise InputError(f"there is no function @{name}; the module has {known or 'none'}")
    if not found.regions or not found.regions[0].blocks:
        raise InputError(f"@{name} has no body to run")
    return found


# --------------------------------------------------------------------------------------------
# Partitioned functions


def boundaries(
    function: Operation,
) -> tuple[list[Boundary | None], list[Boundary | None]]:
    """Return the boundaries of the arguments and results of a function, `None` where there is none.

    Raises OperationError if a boundary attribute is malformed.
    """
    count, results = len(argument_types(function)), len(result_types(function))
    if operation_name(function) == "util.func":
        # A util.func stores argument and result attributes as a func.func does.
        function = cast(FuncOp, function)
    elif not isinstance(function, FuncOp):
        return [None] * count, [None] * results
    try:
        return (
            [boundary_of(function, "arg_attrs", index) for index in range(count)],
            [boundary_of(function, "res_attrs", index) for index in range(results)],
        )
    except VerifyException as error:
        raise OperationError(function, str(error)) from error


def grid_of(module: ModuleOp, function: Operation) -> Grid | None:
    """Return the grid on which a partitioned function runs; `None` if it is not partitioned.

    A function is partitioned if it has boundaries, or if it or a function it calls reads its
    process index or communicates.
    """
    arguments, results = boundaries(function)
    for boundary in (*arguments, *results):
        if boundary is not None:
            return boundary.sharding.grid
    program = Program(module)
    for each in call_graph_from(program, function).reached_from([function]):
        for op in walk(each):
            if operation_name(op) in _ON_DEVICES and (grid := declared_grid(op, program)):
                return grid
    return None


def call_graph_from(program: Program, function: Operation) -> CallGraph[Operation]:
    """Return the call graph of a function and of all functions and executables that it reaches."""
    callees: dict[Operation, list[Operation]] = {}
    pending = [function]
    while pending:
        each = pending.pop()
        if each not in callees:
            callees[each] = [callee for op in walk(each) for callee in called(program, op)]
            pending += callees[each]
    return CallGraph(callees)


def called(program: Program, op: Operation) -> list[Operation]:
    """Return the functions or executables that an operation calls or dispatches."""
    entries = attribute(op, "entry_points")
    names: list[Attribute] = []
    if isinstance(entries, ArrayAttr):
        names += cast("ArrayAttr[Attribute]", entries)
    if operation_name(op) in CALLS:
        names += [callee] if (callee := attribute(op, "callee")) else []
    roots = [name.root_reference.data for name in names if isinstance(name, SymbolRefAttr)]
    return [found for root in roots if (found := program.lookup(op, root)) is not None]


_ON_DEVICES = {*COLLECTIVES, "shard.process_linear_index", "shard.process_multi_index"}
"""Operations that have a meaning only on the devices of a grid."""
