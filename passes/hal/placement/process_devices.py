"""Place the processes of grids that name their devices (`shard.grid ... {devices = [...]}`).

A partitioned function is one program for all processes. Its default affinity is the device of the
process that runs it:

    util.global private @g_device {shard.grid = @g} =
        #hal.device.select<[#hal.device.fallback<@a>, #hal.device.fallback<@b>]> : !hal.device
    func.func @main(...) attributes {stream.affinity.default = #hal.device.affinity<@g_device>}

`select` yields the first device that exists, and of the devices that a grid names, a process has
only its own. If all processes are on one device, nothing is selected. Later passes treat
`@g_device` as a device with several targets, until `specialize-processes` separates the targets.

A function that runs on no grid is run by one process; its default is the first process's device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Operation

from ....dialects.hal.affinities import device_affinity
from ....dialects.hal.targets import DEVICE, DeviceFallbackAttr, DeviceSelectAttr
from ....dialects.shard.boundary import BOUNDARY_ATTRIBUTE, PER_PROCESS_GRID, process_devices
from ....dialects.stream.affinity import AFFINITY, DEFAULT_AFFINITY, AffinityAttribute
from ....dialects.util.dialect import GlobalOp
from ....ir.attribute_access import BOUNDARY_GROUPS, boundary_entries
from ....ir.diagnostics import Note, OperationError
from ....ir.host_programs import FUNCTIONS, call_graph
from ....ir.symbols import defined_name, fresh_name, names_in, root_symbol, symbols_in, visibility


def place_processes(module: ModuleOp) -> None:
    """Give every function its default affinity, if there are grids that name devices.

    Raises OperationError if a function or what it uses names another device, or if a function uses
    two grids with different devices.
    """
    grids = {
        name: grid
        for name, grid in symbols_in(module, ("shard.grid",)).items()
        if process_devices(grid) is not None
    }
    if not grids:
        return
    functions = {
        name: function
        for name, function in symbols_in(module, FUNCTIONS).items()
        if function.regions[0].blocks
    }
    graph = call_graph(functions)
    placed: set[Operation] = set()
    for name, function in functions.items():
        grid = _grid_of(function, grids)
        if grid is not None:
            reached = [functions[callee] for callee in graph.reached_from([name])]
            _place_on_grid(module, function, reached, grid)
            placed |= set(reached)
    devices = process_devices(next(iter(grids.values())))
    if devices and DEFAULT_AFFINITY not in module.attributes:
        for function in functions.values():
            if function not in placed:
                function.attributes.setdefault(DEFAULT_AFFINITY, devices[0])


def _place_on_grid(
    module: ModuleOp, function: Operation, reached: Sequence[Operation], grid: Operation
) -> None:
    """Place a function on a grid's devices, with the functions that it reaches and their state.

    `reached` includes the function itself. Raises OperationError as `place_processes` does.
    """
    devices = process_devices(grid) or ()
    affinity = _process_affinity(module, grid, devices)
    if len(set(devices)) > 1:
        _refuse_devices(reached, grid, devices)
    _place_function(function, affinity, grid)
    _place_state(module, reached, affinity, grid)
    for callee in reached:
        if visibility(callee) == "private":
            callee.attributes.setdefault(DEFAULT_AFFINITY, affinity)


def _grid_of(function: Operation, grids: dict[str, Operation]) -> Operation | None:
    """Return the grid with devices that a function runs on; `None` if there is none."""
    named = [grids[name] for name in _grids_named(function) if name in grids]
    for other in named[1:]:
        if process_devices(other) != process_devices(named[0]):
            notes = [Note("one grid is defined here", each) for each in (named[0], other)]
            raise OperationError(
                function, "runs on the processes of two grids with different devices", notes
            )
    return named[0] if named else None


def _grids_named(function: Operation) -> Iterator[str]:
    """Yield the grids of a function's sharded arguments and results and of its operations."""
    for entry in chain(*(boundary_entries(function, group) for group in BOUNDARY_GROUPS)):
        boundary = entry.get(BOUNDARY_ATTRIBUTE)
        grid = boundary.data.get("grid") if isinstance(boundary, DictionaryAttr) else None
        if isinstance(grid, SymbolRefAttr):
            yield grid.root_reference.data
    for operation in function.walk():
        if operation.name.startswith("shard.") and "grid" in operation.properties:
            yield root_symbol(operation, "grid")


def _refuse_devices(
    functions: Sequence[Operation], grid: Operation, devices: Sequence[AffinityAttribute]
) -> None:
    """Raise an OperationError if a function names a device that its grid assigns."""
    names = {name for affinity in devices for name in affinity.device_names()}
    for operation in (inner for function in functions for inner in function.walk()):
        for attribute in (*operation.properties.values(), *operation.attributes.values()):
            if isinstance(attribute, AffinityAttribute):
                for name in names.intersection(attribute.device_names()):
                    raise OperationError(
                        operation,
                        f"names device @{name}, but runs on the processes of "
                        f"@{defined_name(grid)}, each of which has its own device",
                        [Note("the grid names the devices here", grid)],
                    )


def _process_affinity(
    module: ModuleOp, grid: Operation, devices: tuple[AffinityAttribute, ...]
) -> AffinityAttribute:
    """Return the affinity that stands for the device of whichever process runs the program.

    A global that selects the device is defined once for all grids with the same devices.
    """
    if len(set(devices)) == 1:
        return devices[0]
    names = dict.fromkeys(name for affinity in devices for name in affinity.device_names())
    grids = {
        defined_name(operation)
        for operation in module.body.block.ops
        if operation.name == "shard.grid" and process_devices(operation) == devices
    }
    for operation in module.body.block.ops:
        of = operation.attributes.get(PER_PROCESS_GRID)
        if isinstance(of, SymbolRefAttr) and of.root_reference.data in grids:
            return device_affinity(defined_name(operation))
    name = select_device(module, tuple(names), f"{defined_name(grid)}_device", defined_name(grid))
    return device_affinity(name)


def select_device(
    module: ModuleOp, names: tuple[str, ...], name: str, grid: str | None = None
) -> str:
    """Define a global for the first existing device of `names`; return its name, based on `name`.

    With a grid, the global is marked as the device of each of the grid's processes.
    """
    operations = tuple(module.body.block.ops)
    fresh = fresh_name(name, names_in(module))
    value = DeviceSelectAttr.new(
        [ArrayAttr[Attribute]([DeviceFallbackAttr.new([SymbolRefAttr(each)]) for each in names])]
    )
    of_grid = {} if grid is None else {PER_PROCESS_GRID: SymbolRefAttr(grid)}
    device = GlobalOp(fresh, DEVICE, value, of_grid)
    last = next(each for each in reversed(operations) if defined_name(each) in names)
    device.location = last.location
    module.body.block.insert_op_after(device, last)
    return fresh


def _place_function(function: Operation, affinity: Attribute, grid: Operation) -> None:
    default = function.attributes.get(DEFAULT_AFFINITY)
    if default is not None and default != affinity:
        raise OperationError(
            function,
            f"has a default device, {default}, but runs on the processes of @{defined_name(grid)}",
            [Note("the grid names the devices here", grid)],
        )
    function.attributes[DEFAULT_AFFINITY] = affinity


def _place_state(
    module: ModuleOp, functions: Sequence[Operation], affinity: Attribute, grid: Operation
) -> None:
    """Place mutable tensor globals on the device of the process: each process has its own."""
    used = {root_symbol(inner, "global") for function in functions for inner in function.walk()}
    for variable in module.body.block.ops:
        if (
            variable.name != "util.global"
            or "is_mutable" not in variable.properties
            or not isinstance(variable.properties.get("type"), TensorType)
            or defined_name(variable) not in used
        ):
            continue
        own = variable.attributes.setdefault(AFFINITY, affinity)
        if own != affinity:
            raise OperationError(
                variable,
                f"is on {own}, but holds state of the processes of @{defined_name(grid)}",
                [Note("the grid names the devices here", grid)],
            )
