"""Run a function of a module: on one device, on all devices of a grid, or partitioned.

    run(module, "main", [x, w])               the program as it is written, annotations ignored
    run_spmd(module, "main", inputs, grid)    inputs[d] are device d's; all devices in lockstep
    run_partitioned(module, "main", [x, w])   global inputs, scattered and gathered by boundary

All raise OperationError, located at the operation that could not be executed, and InputError
for inputs that the function does not take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ..dialects.shard.boundary import Boundary, argument_boundary, result_boundary
from ..ir.attribute_access import attribute, integers, operation_name, symbol_name
from ..ir.diagnostics import OperationError
from ..ir.regions import walk
from ..ir.symbols import visibility
from ..runtime.abi.arguments import InputError, checked_inputs
from ..runtime.abi.arrays import Array, Value, is_number
from ..sharding.collectives import COLLECTIVES
from ..sharding.grid import Grid
from .device_array import DeviceArray
from .devices import provide
from .entry_points import argument_types, passed, result_types
from .frames import Device, Frame, Program
from .func import run_function
from .global_values import GlobalValues, plain_types
from .hal_buffers import BufferView
from .registry import load_own_dialects
from .spmd import Process, run_lockstep

load_own_dialects()


def run(
    module: ModuleOp,
    function: str,
    inputs: Sequence[Array],
    devices: Sequence[str] | None = None,
) -> list[Array]:
    """Run a function in one process; returns its results.

    `shard` annotations are identities; collectives need a grid and are errors. `devices` are the
    kinds of the devices at hand (`local-task`), for programs that name devices; by default there
    is whatever the program names.

    Raises InputError where the function is not there or does not take these inputs,
    OperationError at the operation that cannot be executed.
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
    """Run a function on every device of a grid, which must have known extents.

    `inputs[d]` are the local arguments of process `d`; the same for the results. `devices` are
    the kinds of the devices at hand, for programs that name devices.

    Raises InputError as `run` does and for another number of processes, ValueError for a grid with
    open extents, OperationError where an operation cannot be executed, or where devices do not
    match in a collective.
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

    Arguments and results without a boundary are the same on all devices. A grid with extents
    that the module leaves open must be given. A function that is not partitioned runs as `run`
    does it, on the `devices` that its program names.

    Raises InputError as `run` does and for a grid with open extents, OperationError as `run_spmd`
    does and where devices that should hold the same do not.
    """
    target = find_function(Program(module), function)
    arguments, results = boundaries(target)
    grid = grid or grid_of(module, target)
    if grid is None:
        # As they are: a mask, say, is looked at there.
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
    """Run a function on checked inputs: on every device of a grid, or without one on a device."""
    processes: list[Process] = []
    for process, arguments in enumerate(inputs):
        memory = provide(program.module, devices, grid, process)
        device = Device(program, grid, process, memory=memory)
        processes.append(device.run(run_function(target, passed(target, arguments), Frame(device))))
    with np.errstate(all="ignore"):
        results = run_lockstep(processes, target)
    return [[as_result(result) for result in local] for local in results]


def as_result(value: Value) -> Array:
    """A result as an array of its own; what is no number, such as a sharding, stays what it is.

    Of what the program has, it may be an argument, or another result as well.
    """
    if isinstance(value, BufferView):
        return value.array.copy()
    return np.array(value) if is_number(value) else value


# --------------------------------------------------------------------------------------------
# Functions and their types


def functions(module: ModuleOp) -> list[Operation]:
    """Every function of the host with a body, in order, of the module and the modules in it."""
    return [
        op
        for op in walk(module)
        if operation_name(op) in ("func.func", "util.func")
        and op.regions
        and op.regions[0].blocks
        and not _is_kernel(op)
    ]


def _is_kernel(function: Operation) -> bool:
    """Whether a function is in an executable."""
    scope = function.parent_op()
    while scope is not None:
        if operation_name(scope).endswith(".executable"):
            return True
        scope = scope.parent_op()
    return False


def public_functions(module: ModuleOp) -> list[str]:
    """The names of the functions with a body that are visible outside."""
    names: list[str] = []
    for op in functions(module):
        name = symbol_name(op)
        if name is not None and visibility(op) == "public":
            names.append(name)
    return names


def find_function(program: Program, name: str) -> Operation:
    """A function by name. Raises InputError if there is none, or none with a body."""
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
    """What each argument and each result of a function is a shard of.

    Raises OperationError where an attribute that should say it does not.
    """
    count, results = len(argument_types(function)), len(result_types(function))
    if operation_name(function) == "util.func":
        # Its attributes of arguments and results are where those of a func.func are.
        function = cast(FuncOp, function)
    elif not isinstance(function, FuncOp):
        return [None] * count, [None] * results
    try:
        return (
            [argument_boundary(function, index) for index in range(count)],
            [result_boundary(function, index) for index in range(results)],
        )
    except VerifyException as error:
        raise OperationError(function, str(error)) from error


def grid_of(module: ModuleOp, function: Operation) -> Grid | None:
    """The grid on which a partitioned function runs, `None` if it is not partitioned.

    A function is partitioned if it has boundaries, or if it (or what it calls) asks for its
    process or communicates.
    """
    arguments, results = boundaries(function)
    for boundary in (*arguments, *results):
        if boundary is not None:
            return boundary.sharding.grid
    program = Program(module)
    pending, seen = [function], {function}
    while pending:
        for op in pending.pop().walk():
            name = operation_name(op)
            if name in _ON_DEVICES:
                found = program.lookup(op, _symbol(op, "grid"))
                if found is not None:
                    extents = integers(found, "shape")
                    shape = tuple(None if extent < 0 else extent for extent in extents)
                    return Grid(_symbol(op, "grid"), shape)
            for callee in called(program, op):
                if callee not in seen:
                    seen.add(callee)
                    pending.append(callee)
    return None


def called(program: Program, op: Operation) -> list[Operation]:
    """The functions, or executables, that an operation runs."""
    entries = attribute(op, "entry_points")
    names: list[Attribute] = []
    if isinstance(entries, ArrayAttr):
        names += cast("ArrayAttr[Attribute]", entries)
    if operation_name(op) in ("func.call", "util.call"):
        names += [callee] if (callee := attribute(op, "callee")) else []
    roots = [name.root_reference.data for name in names if isinstance(name, SymbolRefAttr)]
    return [found for root in roots if (found := program.lookup(op, root)) is not None]


_ON_DEVICES = {*COLLECTIVES, "shard.process_linear_index", "shard.process_multi_index"}
"""Operations that only mean something on the devices of a grid."""


def _symbol(op: Operation, name: str) -> str:
    found = attribute(op, name)
    root = getattr(found, "root_reference", None)
    return str(getattr(root, "data", ""))
