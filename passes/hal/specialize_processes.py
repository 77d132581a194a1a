"""Copy the host program for each kind of process, if processes run on different targets.

A grid names the device of each process, and `assign-devices` has placed the program on "the device
of the process", which may be any of them. Processes whose devices have equal targets are of one
kind. For each kind, the functions, globals and initializers on that device are copied. The copies
differ only in the device that they name:

    util.global private @g_kind {shard.grid = @g} : index   which kind this process is of
    util.func public @main(%x: !hal.buffer_view) -> !hal.buffer_view {
      %kind = util.global.load @g_kind : index
      %0 = scf.index_switch %kind -> !hal.buffer_view
      case 0 { %1 = util.call @main_on_a(%x) ... }
      default { %1 = util.call @main_on_b(%x) ... }

So the choice is part of the program, and the runtime needs no table. The copies still share
executables; `specialize-encodings`, the next pass, specialises those for their targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.dialects.scf import IndexSwitchOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.hal.affinities import device_affinity
from ...dialects.hal.targets import device_globals
from ...dialects.shard.boundary import PER_PROCESS_GRID, process_devices
from ...dialects.shard.grids import ProcessLinearIndexOp
from ...dialects.stream.affinity import DEFAULT_AFFINITY, AffinityAttribute
from ...dialects.util.dialect import GlobalLoadOp, GlobalOp, GlobalStoreOp, InitializerOp, SwitchOp
from ...dialects.util.functions import call_like, return_like
from ...ir.attribute_replacer import AttributeReplacer, nested_attributes
from ...ir.diagnostics import Note, OperationError
from ...ir.host_programs import CALLS, FUNCTIONS, GLOBAL_STORE
from ...ir.index import constant_index
from ...ir.index_lists import INDEX
from ...ir.locations import locate
from ...ir.structural_hash import AttributeNumbers
from ...ir.symbols import FreshNames, defined_name, root_symbol, visibility
from ..stream.analysis.affinity_targets import AffinityTargets
from .placement.process_devices import place_processes, select_device

ENTRY_POINT = ("iree.abi.stub", "iree.reflection")
"""Attributes of functions that callers see."""


class SpecializeProcessesPass(ModulePass):
    """Clone the host program for each kind of process, and let each process choose its copy."""

    name = "specialize-processes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(DEFAULT_AFFINITY in each.attributes for each in (op, *op.body.block.ops)):
            place_processes(op)
        for device in device_globals(op).values():
            if PER_PROCESS_GRID in device.attributes:
                kinds = kinds_of_processes(ctx, op, device)
                if len(set(kinds.of_process)) > 1:
                    Specialization(op, device, kinds).apply()


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of processes, by the targets that their code is compiled for."""

    grid: Operation
    of_process: tuple[int, ...]
    """The kind of each process; kinds are numbered in order of appearance."""
    devices: tuple[tuple[str, ...], ...]
    """The devices of each kind, in the order of the processes."""


def kinds_of_processes(context: Context, module: ModuleOp, device: Operation) -> Kinds:
    """Return the kinds of the processes that a device global stands for.

    Raises OperationError if its grid names no devices, or if a device's targets are not known.
    """
    name = defined_name(device)
    reference = device.attributes[PER_PROCESS_GRID]
    grid_name = reference.root_reference.data if isinstance(reference, SymbolRefAttr) else ""
    grid = next((each for each in module.body.block.ops if defined_name(each) == grid_name), None)
    affinities = None if grid is None else process_devices(grid)
    if grid is None or affinities is None:
        raise OperationError(
            device,
            f"is @{name}, the device of the processes of {reference}, but that grid does not name "
            "devices",
        )
    analysis = AffinityTargets(context, module, AttributeNumbers())
    numbers: dict[object, int] = {}
    kinds: list[int] = []
    devices: list[dict[str, None]] = []
    for affinity in affinities:
        kind = numbers.setdefault(analysis.targets(affinity, grid), len(numbers))
        if kind == len(devices):
            devices.append({})
        devices[kind] |= dict.fromkeys(affinity.device_names())
        kinds.append(kind)
    return Kinds(grid, tuple(kinds), tuple(map(tuple, devices)))


class Specialization:
    """Specialises a module for the kinds of processes of one grid."""

    def __init__(self, module: ModuleOp, device: Operation, kinds: Kinds) -> None:
        self._module = module
        self._device = device
        self._name = defined_name(device)
        self._kinds = kinds

    def apply(self) -> None:
        """Replace what is on the device by copies on the device of each kind.

        Raises OperationError if a function that does not run on the grid's processes uses their
        state.
        """
        members = self._members()
        grid = defined_name(self._kinds.grid)
        devices = [
            names[0]
            if len(names) == 1
            else select_device(self._module, names, f"{grid}_device_{kind}")
            for kind, names in enumerate(self._kinds.devices)
        ]
        self._names = FreshNames(self._module)
        if members:
            kind = self._define_kind(f"{grid}_kind", members[0])
            copies = [self._copy(members, device) for device in devices]
            for member, *copies_of_member in zip(members, *copies, strict=True):
                self._replace(member, copies_of_member, kind)
        Rewriter.erase_op(self._device)

    # Operations on the device

    def _members(self) -> list[Operation]:
        """Return the functions, globals and initializers on the device, in order."""
        operations = [
            operation
            for operation in self._module.body.block.ops
            if operation.name in (*FUNCTIONS, "util.global", "util.initializer")
            and operation is not self._device
        ]
        members = {operation for operation in operations if self._is_placed(operation)}
        names = {name for member in members if (name := defined_name(member))}
        for operation in operations:
            if operation.name == "util.initializer" and (
                operation in members or _uses(operation, names)
            ):
                members.add(operation)
                # Other globals that this initializer sets, such as a tensor's size, belong to it as
                # well.
                names |= {
                    root_symbol(inner, "global")
                    for inner in operation.walk()
                    if inner.name == GLOBAL_STORE
                }
        members |= {operation for operation in operations if defined_name(operation) in names}
        for operation in operations:
            if operation not in members and (user := _uses(operation, names)) is not None:
                grid = self._kinds.grid
                raise OperationError(
                    user,
                    f"uses a value that is specific to each process of @{defined_name(grid)}, "
                    "but is in a function that does not run on these processes",
                    [Note("the grid is defined here", grid)],
                )
        return [operation for operation in operations if operation in members]

    def _is_placed(self, operation: Operation) -> bool:
        return any(
            _names_device(each, self._name)
            for inner in operation.walk()
            for attribute in (*inner.properties.values(), *inner.attributes.values())
            for each in nested_attributes(attribute, set())
        )

    # Copies

    def _copy(self, members: Sequence[Operation], device: str) -> list[Operation]:
        """Copy all members for one kind of process, with the device's name in their names."""
        names = {
            name: self._names.fresh(f"{name}_on_{device}")
            for member in members
            if (name := defined_name(member))
        }
        replacer = _DeviceReplacer(self._name, device_affinity(device))
        copies: list[Operation] = []
        for member in members:
            copy = member.clone()
            for new in copy.walk():
                replacer.replace_in(new)
                for reference in ("global", "callee"):
                    if (renamed := names.get(root_symbol(new, reference))) is not None:
                        new.properties[reference] = SymbolRefAttr(renamed)
            if (name := defined_name(member)) in names:
                copy.properties["sym_name"] = StringAttr(names[name])
            copies.append(copy)
        return copies

    # Choice of the copy

    def _define_kind(self, base: str, before: Operation) -> str:
        """Define a global that holds the kind of each process; return its name."""
        name = self._names.fresh(base)
        block = Block()
        builder = Builder(InsertPoint.at_end(block))
        index = builder.insert(ProcessLinearIndexOp(defined_name(self._kinds.grid))).result
        constants = [constant_index(kind, builder) for kind in range(len(self._kinds.devices))]
        listed = [constants[kind] for kind in self._kinds.of_process]
        chosen = SwitchOp.create(operands=[index, listed[-1], *listed], result_types=[INDEX])
        builder.insert(chosen)
        builder.insert(GlobalStoreOp(chosen.results[0], name))
        grid = SymbolRefAttr(defined_name(self._kinds.grid))
        variable = GlobalOp(name, INDEX, attributes={PER_PROCESS_GRID: grid})
        defined: tuple[Operation, ...] = (variable, InitializerOp(block))
        for operation in defined:
            locate(operation, self._kinds.grid)
        Rewriter.insert_op(defined, InsertPoint.before(before))
        return name

    def _replace(self, member: Operation, copies: Sequence[Operation], kind: str) -> None:
        """Replace a member by its copies; a public function remains and chooses among them."""
        is_public = member.name in FUNCTIONS and visibility(member) == "public"
        for number, copy in enumerate(copies):
            if is_public:
                _hide(copy)
            elif member.name == "util.initializer":
                _run_only_in(copy, kind, number)
        Rewriter.insert_op(tuple(copies), InsertPoint.before(member))
        if is_public:
            _choose(member, [defined_name(copy) for copy in copies], kind)
        else:
            Rewriter.erase_op(member)


def _uses(operation: Operation, names: set[str]) -> Operation | None:
    """Return the first operation inside of another that uses one of some globals or functions."""
    for inner in operation.walk():
        if root_symbol(inner, "global") in names:
            return inner
        if inner.name in CALLS and root_symbol(inner, "callee") in names:
            return inner
    return None


class _DeviceReplacer(AttributeReplacer):
    """Replaces affinities that name a device by another affinity."""

    def __init__(self, name: str, affinity: Attribute) -> None:
        super().__init__()
        self._name = name
        self._affinity = affinity

    def replacement(self, attribute: Attribute) -> Attribute | None:
        return self._affinity if _names_device(attribute, self._name) else None


def _names_device(attribute: Attribute, name: str) -> bool:
    """Return whether an attribute is an affinity to a device of that name."""
    return isinstance(attribute, AffinityAttribute) and name in attribute.device_names()


def _hide(function: Operation) -> None:
    """Make a copy of a function private, without the attributes of an entry point."""
    function.properties["sym_visibility"] = StringAttr("private")
    for name in ENTRY_POINT:
        function.attributes.pop(name, None)
    for group in ("arg_attrs", "res_attrs"):
        function.properties.pop(group, None)


def _run_only_in(initializer: Operation, kind: str, number: int) -> None:
    """Make an initializer run in processes of one kind only."""
    region = initializer.regions[0]
    end = region.blocks[0].last_op
    if len(region.blocks) > 1 or end is None:
        raise OperationError(initializer, "has several blocks: use scf for control flow")
    end.detach()
    block = Block()
    block.add_op(load := GlobalLoadOp(kind, INDEX))
    inner = Region(body := region.detach_block(0))
    body.add_op(YieldOp())
    block.add_ops(
        [
            IndexSwitchOp(
                load.result,
                DenseArrayBase.from_list(i64, [number]),
                Region(Block([YieldOp()])),
                [inner],
                [],
            ),
            end,
        ]
    )
    region.add_block(block)
    for operation in block.ops:
        operation.location = initializer.location


def _choose(function: Operation, names: Sequence[str], kind: str) -> None:
    """Replace a function's body by a call of the copy for the process's kind."""
    region = function.regions[0]
    types = cast(FunctionType, function.properties["function_type"])
    new = Block(arg_types=types.inputs.data)
    for old, argument in zip(region.blocks[0].args, new.args, strict=True):
        argument.name_hint = old.name_hint

    def call(name: str) -> Region:
        call = call_like(function, SymbolRefAttr(name), new.args)
        return Region(Block([call, YieldOp(*call.results)]))

    switch = IndexSwitchOp(
        (load := GlobalLoadOp(kind, INDEX)).result,
        DenseArrayBase.from_list(i64, range(len(names) - 1)),
        call(names[-1]),
        [call(name) for name in names[:-1]],
        types.outputs.data,
    )
    new.add_ops([load, switch, return_like(function, switch.results)])
    for operation in new.walk():
        operation.location = function.location
    for block in reversed(tuple(region.blocks)):
        region.erase_block(block, safe_erase=False)
    region.add_block(new)
    function.attributes.pop(DEFAULT_AFFINITY, None)
