"""Allocate storage for asynchronous operations, and convert them to commands on it.

    %r, %t = stream.async.execute on(A) with(%0 as %a: ...) -> !stream.resource<external>{%n} {
      %1 = stream.async.dispatch @ex::@f(%a[...]) : ... -> !stream.resource<transient>{%n}
      %2 = stream.async.dispatch @ex::@g(%1[...]) : ... -> !stream.resource<external>{%n}
      stream.yield %2 : !stream.resource<external>{%n}
    } => !stream.timepoint

becomes a `stream.cmd.execute` on resources that are allocated before it. Each result of the region
has its own resource. Other values are slices of one resource, which is deallocated after the
commands. `stream.resource.pack` assigns their offsets; slices with disjoint lifetimes may overlap.
Constants become `stream.resource.constants`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import VarOperandDef
from xdsl.rewriter import Rewriter

from ...dialects.stream.async_ops import AsyncExecuteOp
from ...dialects.stream.commands import CmdConcurrentOp, CmdExecuteOp
from ...dialects.stream.functions import CmdFuncOp
from ...dialects.stream.parameters import PARAMETER_OPS
from ...dialects.stream.regions import YieldOp, awaited, joined
from ...dialects.stream.resources import (
    ResourceAllocaOp,
    ResourceAllocOp,
    ResourceDeallocaOp,
    ResourcePackOp,
)
from ...dialects.stream.storage import ResourceConstantsOp, ResourceLoadOp, ResourceStoreOp
from ...dialects.stream.types import TIMEPOINT, lifetime_of
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations, host_operations_of
from ...ir.index import constant_index
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before, locate, replace_by
from ...ir.regions import detach_regions
from ...ir.rules import Rules
from ...ir.symbols import symbol_properties
from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import RESOURCE, UNTIED, ties_of
from ..manager.module_pass import module_pass
from .analysis.storage import stored_in
from .conversion.stored_tensors import TRANSIENT, PlacedBuilder
from .scheduling.commands import CommandLowering, Storage, to_command
from .scheduling.lifetimes import CONCURRENT, Lifetimes, Root

CONSTANT = "stream.async.constant"
LONG_LIVED = ("constant", "variable")


@module_pass("iree-stream-schedule-allocation")
def schedule_allocation(module: ModuleOp) -> None:
    """Allocate resources, and turn asynchronous operations into commands."""
    for operation in host_operations_of(module, AsyncExecuteOp):
        Allocation(operation).replace()
    for operation in tuple(host_operations(module)):
        if operation.name == "stream.async.func":
            _declare(operation)
        elif operation.name.startswith("stream.async."):
            here = PlacedBuilder(builder_before(operation), operation.properties.get("affinity"))
            on_host.get(operation.name, _refuse)(here, operation)


class Allocation:
    """Converts one region of asynchronous operations."""

    def __init__(self, execute: AsyncExecuteOp) -> None:
        self._execute = execute
        self._outside = PlacedBuilder(builder_before(execute), execute.affinity)
        self._zero = constant_index(0, self._outside.builder)
        self._body = Block()
        self._captured: dict[SSAValue, SSAValue] = {}
        self._arguments: dict[SSAValue, SSAValue] = {}
        self._storages: dict[SSAValue, Storage] = {}
        self._resources: dict[SSAValue, SSAValue] = {}
        """For each captured value, the resource outside of the region that holds it."""
        self._waits = list(values(execute, "await_timepoint"))

    def replace(self) -> None:
        """Replace the region by commands.

        Raises OperationError if the region contains an operation that no command executes.
        """
        execute, block = self._execute, self._execute.body.block
        lifetimes = Lifetimes(block)
        for argument, operand, size in zip(
            block.args, execute.resource_operands, execute.resource_operand_sizes, strict=True
        ):
            self._capture(argument, operand, size)
        last = cast(Operation, block.last_op)
        yielded = [lifetimes.root_of(value) for value in values(last, "resource_operands")]
        roots = list(lifetimes.roots.values())
        constants = [root for root in roots if root.producer.name == CONSTANT]
        stored = [root for root in roots if root.producer.name != CONSTANT]
        self._make_constants(constants)
        for root in stored:
            if root.value in yielded:
                self._capture(root.value, self._new(root.value.type, root.size), root.size)
        slab = self._pack([root for root in stored if root.value not in yielded])
        for value in lifetimes.stored_in:
            self._storages[value] = self._storages[lifetimes.root_of(value)]
        done = self._run(self._commands(block))
        if slab is not None:
            done = self._deallocate(*slab, done)
        for result, value in zip(execute.results_, yielded, strict=True):
            result.replace_all_uses_with(self._resources[value])
        execute.result_timepoint.replace_all_uses_with(done)
        Rewriter.erase_op(execute)

    def _capture(self, value: SSAValue, resource: SSAValue, size: SSAValue) -> None:
        """Record the resource that holds a value of the region, and capture it for the commands."""
        self._resources[value] = resource
        self._storages[value] = Storage(self._argument(resource, size), size, self._zero)

    def _argument(self, resource: SSAValue, size: SSAValue) -> SSAValue:
        """Return the block argument for a resource, which is captured once for all its uses."""
        if resource not in self._arguments:
            self._captured[resource] = size
            index = len(self._body.args)
            self._arguments[resource] = self._body.insert_arg(resource.type, index)
        return self._arguments[resource]

    def _make_constants(self, roots: Sequence[Root]) -> None:
        if not roots:
            return
        *resources, available = self._outside.add(
            ResourceConstantsOp,
            [[root.size for root in roots]],
            [[root.value.type for root in roots], TIMEPOINT],
            values=ArrayAttr([root.producer.properties["value"] for root in roots]),
        ).results
        self._waits.append(available)
        for root, resource in zip(roots, resources, strict=True):
            self._capture(root.value, resource, root.size)

    def _new(self, type_: Attribute, size: SSAValue) -> SSAValue:
        if lifetime_of(type_) in LONG_LIVED:
            return self._outside.make(ResourceAllocOp, [size], type_, uninitialized=UnitAttr())
        operands = [size, values(self._execute, "await_timepoint")]
        resource, available = self._outside.add(
            ResourceAllocaOp, operands, [type_, TIMEPOINT]
        ).results
        self._waits.append(available)
        return resource

    def _pack(self, roots: Sequence[Root]) -> tuple[SSAValue, SSAValue] | None:
        """Allocate slices for values that stay in the region; return their resource and size."""
        if not roots:
            return None
        size, offsets = roots[0].size, [self._zero]
        if len(roots) > 1:
            ends = [end for root in roots for end in (root.first, root.last)]
            size, *offsets = self._outside.add(
                ResourcePackOp,
                [[], [root.size for root in roots]],
                [INDEX, [INDEX] * len(roots)],
                lifetime_intervals=ArrayAttr(map(IntegerAttr.from_index_int_value, ends)),
            ).results
        slab = self._new(TRANSIENT, size)
        argument = self._argument(slab, size)
        for root, offset in zip(roots, offsets, strict=True):
            self._storages[root.value] = Storage(argument, size, offset)
        return slab, size

    def _commands(self, block: Block) -> list[Operation]:
        """Return the commands for the operations of a block."""
        lowering = CommandLowering(self._storages, self._outside)
        commands: list[Operation] = []
        for operation in block.ops:
            if operation.name == CONCURRENT:
                inner = self._commands(operation.regions[0].block)
                if len(inner) > 1:
                    region = Region(Block([*inner, YieldOp.create()]))
                    inner = [CmdConcurrentOp.build(regions=[region])]
                lowered: Sequence[Operation] = inner
            elif isinstance(operation, YieldOp):
                continue
            elif (rule := to_command.get(operation.name)) is not None:
                lowered = rule(lowering, operation)
            else:
                raise OperationError(operation, "cannot be converted to a command")
            for command in lowered:
                locate(command, operation)
            commands += lowered
        return commands

    def _run(self, commands: Sequence[Operation]) -> SSAValue:
        """Emit the execution of commands, which waits for their resources; return its timepoint."""
        builder = self._outside.builder
        if not commands:
            return joined(self._waits, builder)
        ready = [joined(self._waits, builder)] if self._waits else []
        self._body.add_ops([*commands, YieldOp.create()])
        execute = CmdExecuteOp.build(
            operands=[list(self._captured), list(self._captured.values()), ready],
            result_types=[TIMEPOINT],
            properties={"affinity": self._outside.affinity},
            regions=[Region(self._body)],
        )
        return builder.insert(execute).results[0]

    def _deallocate(self, slab: SSAValue, size: SSAValue, done: SSAValue) -> SSAValue:
        freed = self._outside.make(ResourceDeallocaOp, [slab, size, [done]], TIMEPOINT)
        return joined([freed, done], self._outside.builder)


def _refuse(here: PlacedBuilder, operation: Operation) -> None:
    raise OperationError(
        operation,
        "is not in a stream.async.execute: run iree-stream-schedule-execution first",
    )


HostRule = Callable[[PlacedBuilder, Operation], None]

on_host = Rules[HostRule]()
"""Rules that replace an asynchronous operation which the host executes, by name."""


@on_host("stream.async.load")
def _load(here: PlacedBuilder, operation: Operation) -> None:
    load = ResourceLoadOp.create(operands=operation.operands, result_types=operation.result_types)
    replace_by(operation, load)


@on_host("stream.async.store")
def _store(here: PlacedBuilder, operation: Operation) -> None:
    here.builder.insert(ResourceStoreOp.create(operands=operation.operands))
    Rewriter.replace_op(operation, [], [operation.operands[0]])


@on_host("stream.async.alloca")
def _alloca(here: PlacedBuilder, operation: Operation) -> None:
    (size,), (result,) = operation.operands, operation.results
    types = [result.type, TIMEPOINT]
    resource, timepoint = here.add(ResourceAllocaOp, [size, []], types).results
    Rewriter.replace_op(operation, [], [awaited(resource, size, timepoint, here.builder)])


@on_host("stream.async.barrier")
def _barrier(here: PlacedBuilder, operation: Operation) -> None:
    Rewriter.replace_op(operation, [], [operation.operands[0]])


@on_host(
    *(f"stream.async.parameter.{kind}" for kind in ("gather", "load", "read", "scatter", "write"))
)
def _parameters(here: PlacedBuilder, operation: Operation) -> None:
    """Replace reads, writes and loads of parameters; a load allocates its result."""
    op_class = PARAMETER_OPS[operation.name.replace("async", "cmd")]
    operands: list[SSAValue | Sequence[SSAValue]] = []
    for operand, kind in op_class.get_irdl_definition().operands:
        # The command may take lists where the asynchronous operation takes one parameter.
        listed = values(operation, operand) or values(operation, operand.removesuffix("s"))
        operands.append(listed if isinstance(kind, VarOperandDef) else listed[0])
    is_load = operation.name.endswith("load")
    types = [[operation.results[0].type], TIMEPOINT] if is_load else [TIMEPOINT]
    command = here.add(op_class, operands, types)
    resource = command.results[0] if is_load else stored_in(operation, 0)
    assert resource is not None
    Rewriter.replace_op(operation, [], [resource, command.results[-1]])


def _declare(function: Operation) -> None:
    """Declare an external function as a command: resources get ranges, results become operands."""
    type_ = cast(FunctionType, function.properties["function_type"])
    ties = ties_of(function, len(type_.outputs))
    untied = [output for output, tie in zip(type_.outputs, ties, strict=True) if tie == UNTIED]
    inputs: list[Attribute] = []
    for input_ in (*type_.inputs, *untied):
        inputs += [input_, INDEX, INDEX] if input_.name == RESOURCE else [input_]
    function_type = FunctionType.from_lists(inputs, [])
    declared = CmdFuncOp.create(
        properties={**symbol_properties(function), "function_type": function_type},
        attributes=function.attributes,
        regions=detach_regions(function),
    )
    replace_by(function, declared)
