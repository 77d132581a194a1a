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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, VarOperandDef
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.stream.async_ops import AsyncExecuteOp
from ...dialects.stream.commands import CmdConcurrentOp, CmdExecuteOp
from ...dialects.stream.regions import YieldOp, awaited, joined
from ...dialects.stream.resources import (
    ResourceAllocaOp,
    ResourceAllocOp,
    ResourceDeallocaOp,
    ResourcePackOp,
)
from ...dialects.stream.types import ResourceType, TimepointType
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations
from ...ir.index import constant_index
from ...ir.locations import builder_before, locate, replace_by
from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import RESOURCE, UNTIED, ties_of
from .scheduling.commands import Storage, Translation, to_command
from .scheduling.lifetimes import CONCURRENT, Lifetimes, Root

CONSTANT = "stream.async.constant"
INDEX, TIMEPOINT = IndexType(), TimepointType()
LONG_LIVED = ("constant", "variable")
TRANSIENT = ResourceType(StringAttr("transient"))


@dataclass(frozen=True)
class ScheduleAllocationPass(ModulePass):
    """Allocate resources, and turn asynchronous operations into commands."""

    name = "iree-stream-schedule-allocation"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for operation in tuple(host_operations(op)):
            if isinstance(operation, AsyncExecuteOp):
                Allocation(ctx, operation).replace()
        for operation in tuple(host_operations(op)):
            if operation.name == "stream.async.func":
                _declare(ctx, operation)
            elif operation.name.startswith("stream.async."):
                _replace_on_host(ctx, operation)


class Allocation:
    """Converts one region of asynchronous operations."""

    def __init__(self, context: Context, execute: AsyncExecuteOp) -> None:
        self._context = context
        self._execute = execute
        self._builder = builder_before(execute)
        self._zero = constant_index(0, self._builder)
        self._place = {"affinity": execute.properties.get("affinity")}
        self._body = Block()
        self._captured: dict[SSAValue, SSAValue] = {}
        self._arguments: dict[SSAValue, SSAValue] = {}
        self._places: dict[SSAValue, Storage] = {}
        self._outside: dict[SSAValue, SSAValue] = {}
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
        last = cast(YieldOp, block.last_op)
        given = [lifetimes.root_of(value) for value in last.resource_operands]
        roots = list(lifetimes.roots.values())
        constants = [root for root in roots if root.maker.name == CONSTANT]
        stored = [root for root in roots if root.maker.name != CONSTANT]
        self._make_constants(constants)
        for root in stored:
            if root.value in given:
                self._allocate(root)
        slab = self._pack([root for root in stored if root.value not in given])
        for value in lifetimes.stored_in:
            self._places[value] = self._places[lifetimes.root_of(value)]
        done = self._run(self._commands(block))
        if slab is not None:
            done = self._give_back(*slab, done)
        for result, value in zip(execute.results_, given, strict=True):
            result.replace_all_uses_with(self._outside[value])
        execute.result_timepoint.replace_all_uses_with(done)
        Rewriter.erase_op(execute)

    def _capture(self, value: SSAValue, resource: SSAValue, size: SSAValue) -> None:
        """Record the resource that holds a value of the region, and capture it for the commands."""
        self._outside[value] = resource
        self._places[value] = Storage(self._argument(resource, size), size, self._zero)

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
        made = cast("type[IRDLOperation]", self._context.get_op("stream.resource.constants"))
        contents = [root.maker.properties["value"] for root in roots]
        constants = self._builder.insert(
            made.build(
                operands=[[root.size for root in roots]],
                result_types=[[root.value.type for root in roots], TIMEPOINT],
                properties={"values": ArrayAttr(contents), **self._place},
            )
        )
        self._waits.append(constants.results[-1])
        for root, resource in zip(roots, constants.results[:-1], strict=True):
            self._capture(root.value, resource, root.size)

    def _allocate(self, root: Root) -> None:
        """Allocate a resource for a result of the region."""
        self._capture(root.value, self._new(root.value.type, root.size), root.size)

    def _new(self, type_: Attribute, size: SSAValue) -> SSAValue:
        properties = dict(self._place)
        if cast(ResourceType, type_).lifetime.data in LONG_LIVED:
            alloc = ResourceAllocOp.build(
                operands=[size],
                result_types=[type_],
                properties={**properties, "uninitialized": UnitAttr()},
            )
            return self._builder.insert(alloc).results[0]
        alloca = self._builder.insert(
            ResourceAllocaOp.build(
                operands=[size, []], result_types=[type_, TIMEPOINT], properties=properties
            )
        )
        self._waits.append(alloca.result_timepoint)
        return alloca.result

    def _pack(self, roots: Sequence[Root]) -> tuple[SSAValue, SSAValue] | None:
        """Allocate slices for values that stay in the region; return their resource and size."""
        if not roots:
            return None
        size, offsets = roots[0].size, [self._zero]
        if len(roots) > 1:
            ends = [end for root in roots for end in (root.first, root.last)]
            pack = self._builder.insert(
                ResourcePackOp.build(
                    operands=[[], [root.size for root in roots]],
                    result_types=[INDEX, [INDEX] * len(roots)],
                    properties={
                        "lifetime_intervals": ArrayAttr(
                            [IntegerAttr.from_index_int_value(end) for end in ends]
                        ),
                        **self._place,
                    },
                )
            )
            size, offsets = pack.total_length, list(pack.packed_offsets)
        slab = self._new(TRANSIENT, size)
        argument = self._argument(slab, size)
        for root, offset in zip(roots, offsets, strict=True):
            self._places[root.value] = Storage(argument, size, offset)
        return slab, size

    def _commands(self, block: Block) -> list[Operation]:
        """Return the commands for the operations of a block."""
        translation = Translation(self._context, self._places, self._builder)
        made: list[Operation] = []
        for operation in block.ops:
            if operation.name == CONCURRENT:
                inner = self._commands(operation.regions[0].block)
                if len(inner) > 1:
                    region = Region(Block([*inner, YieldOp.create()]))
                    inner = [CmdConcurrentOp.build(regions=[region])]
                found: Sequence[Operation] = inner
            elif isinstance(operation, YieldOp):
                continue
            elif (rule := to_command.get(operation.name)) is not None:
                found = rule(translation, operation)
            else:
                raise OperationError(operation, "is nothing that commands do")
            for command in found:
                locate(command, operation)
            made += found
        return made

    def _run(self, commands: Sequence[Operation]) -> SSAValue:
        """Emit the execution of commands, which waits for their resources; return its timepoint."""
        if not commands:
            return joined(self._waits, self._builder)
        ready = [joined(self._waits, self._builder)] if self._waits else []
        self._body.add_ops([*commands, YieldOp.create()])
        execute = CmdExecuteOp.build(
            operands=[list(self._captured), list(self._captured.values()), ready],
            result_types=[TIMEPOINT],
            properties=self._place,
            regions=[Region(self._body)],
        )
        return self._builder.insert(execute).result_timepoint

    def _give_back(self, slab: SSAValue, size: SSAValue, done: SSAValue) -> SSAValue:
        dealloca = self._builder.insert(
            ResourceDeallocaOp.build(
                operands=[slab, size, [done]], result_types=[TIMEPOINT], properties=self._place
            )
        )
        return joined([dealloca.results[0], done], self._builder)


def _replace_on_host(context: Context, operation: Operation) -> None:
    """Replace an asynchronous operation that the host executes."""
    to = Translation(context, {}, builder_before(operation))
    if operation.name == "stream.async.load":
        load = to.make(
            "stream.resource.load", list(operation.operands), [operation.results[0].type]
        )
        replace_by(operation, load)
    elif operation.name == "stream.async.store":
        target, size, offset, value = operation.operands
        to.outside.insert(to.make("stream.resource.store", [target, size, offset, value]))
        operation.results[0].replace_all_uses_with(target)
        Rewriter.erase_op(operation)
    elif operation.name.startswith("stream.async.parameter."):
        _replace_parameters(to, operation)
    elif operation.name == "stream.async.alloca":
        (size,), (result,) = operation.operands, operation.results
        alloca = ResourceAllocaOp.build(
            operands=[size, []],
            result_types=[result.type, TIMEPOINT],
            properties={"affinity": operation.properties.get("affinity")},
        )
        made, ready = to.outside.insert(alloca).results
        result.replace_all_uses_with(awaited(made, size, ready, to.outside))
        Rewriter.erase_op(operation)
    elif operation.name == "stream.async.barrier":
        operation.results[0].replace_all_uses_with(operation.operands[0])
        Rewriter.erase_op(operation)
    else:
        raise OperationError(
            operation,
            "is in no stream.async.execute: iree-stream-schedule-execution puts what devices can"
            " do into one",
        )


def _replace_parameters(to: Translation, operation: Operation) -> None:
    """Replace reads, writes and loads of parameters; a load allocates its results."""
    name = operation.name.replace("async", "cmd")
    definition = cast("type[IRDLOperation]", to.context.get_op(name)).get_irdl_definition()
    operands: list[SSAValue | Sequence[SSAValue]] = []
    for each, kind in definition.operands:
        # The command may take lists where the asynchronous operation takes one parameter.
        found = values(operation, each) or values(operation, each.removesuffix("s"))
        operands.append(found if isinstance(kind, VarOperandDef) else found[0])
    loads = name.endswith("load")
    held, done = operation.results
    types = [[held.type], TIMEPOINT] if loads else [TIMEPOINT]
    made = to.make(name, operands, types, affinity=operation.properties.get("affinity"))
    to.outside.insert(made)
    there = (
        made.results[0]
        if loads
        else (*values(operation, "target"), *values(operation, "source"))[0]
    )
    held.replace_all_uses_with(there)
    done.replace_all_uses_with(made.results[-1])
    Rewriter.erase_op(operation)


def _declare(context: Context, function: Operation) -> None:
    """Declare an external function as a command: resources get ranges, results become operands."""
    type_ = cast(FunctionType, function.properties["function_type"])
    ties = ties_of(function, len(type_.outputs))
    own = [each for each, tie in zip(type_.outputs, ties, strict=True) if tie == UNTIED]
    inputs: list[Attribute] = []
    for each in (*type_.inputs, *own):
        inputs += [each, INDEX, INDEX] if each.name == RESOURCE else [each]
    kept = {
        name: function.properties[name]
        for name in ("sym_name", "sym_visibility")
        if name in function.properties
    }
    declared = context.get_op("stream.cmd.func").create(
        properties={**kept, "function_type": FunctionType.from_lists(inputs, [])},
        attributes=function.attributes,
        regions=[function.detach_region(region) for region in tuple(function.regions)],
    )
    replace_by(function, declared)
