"""From tensors to resources: the host program in terms of the stream dialect.

Every tensor becomes a resource, its size in bytes and the sizes of its dynamic dimensions. What a
host program does with tensors becomes `stream.tensor.*` operations, which still say what tensor a
resource stands for, and `stream.async.transfer`. Each says on which device it runs. Executables
become `stream.executable`, whose kernels read bindings.

Run after `form-dispatches`, which leaves nothing on the host that computes tensors, and after
`iree-abi-wrap-entry-points`, which says what callers pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.flow.collectives import ChannelType as FlowChannelType
from ...dialects.iree_encoding.interfaces import tensor_encoding
from ...dialects.stream import tensor_ops as stream
from ...dialects.stream.async_ops import AsyncBarrierOp
from ...ir.attribute_access import constant_integer
from ...ir.diagnostics import Note, OperationError
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS
from ...ir.index import constant_index
from ...ir.locations import builder_before
from ...ir.tensor_types import ranked, require_ranked
from .analysis.device_placement import DevicePlacement
from .conversion import boundary, dispatches  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .conversion.control_flow import (
    CONTROL_FLOW,
    blocks_in_order,
    carried,
    convert_control_flow,
    expand_arguments,
)
from .conversion.executables import StoredGlobals, convert_executables
from .conversion.expansions import retype_function
from .conversion.flow_tensors import load_element
from .conversion.outside import convert_declarations
from .conversion.rules import Host, conversion, dynamic_count, operands_of
from .conversion.stored_tensors import (
    STAGING,
    UNKNOWN,
    StoredTensor,
    at,
    constant,
    empty,
    size_of,
    transfer,
)

CONVERTED = TensorType, FlowChannelType

SIZE_READERS = frozenset({"linalg.fill", "tensor.dim", "tensor.extract"})
"""Operations that do not list the sizes of their operands, as those of `flow` do."""


@dataclass(frozen=True)
class ConvertToStreamPass(ModulePass):
    """Turn tensors of the host program into resources."""

    name = "convert-to-stream"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [
            f for f in op.body.block.ops if f.name in FUNCTIONS_AND_INITIALIZERS and uses_tensors(f)
        ]
        placement = DevicePlacement(ctx, op)
        carries_dims = any(map(asks_for_sizes, functions))
        variables = StoredGlobals(op, placement, carries_dims=carries_dims)
        host = HostProgram(ctx, placement, variables, carries_dims=carries_dims)
        for function in functions:
            host.convert_function(function)
        convert_declarations(op)
        convert_executables(op)


def uses_tensors(function: Operation) -> bool:
    """Whether there are tensors in a function, or channels, which are converted with them."""
    type_ = function.properties.get("function_type")
    passed = (*type_.inputs, *type_.outputs) if isinstance(type_, FunctionType) else ()
    return any(isinstance(each, CONVERTED) for each in passed) or any(
        isinstance(value.type, CONVERTED)
        for operation in function.walk()
        for value in (*operation.operands, *operation.results)
    )


def asks_for_sizes(function: Operation) -> bool:
    """Whether an operation wants sizes of a tensor that it does not list itself."""
    return any(
        operation.name in SIZE_READERS
        and (tensor := ranked(operand)) is not None
        and not tensor.has_static_shape()
        for operation in function.walk()
        for operand in operation.operands
    )


class HostProgram:
    """The conversion of the functions of a module, one by one."""

    def __init__(
        self,
        context: Context,
        placement: DevicePlacement,
        variables: StoredGlobals,
        *,
        carries_dims: bool,
    ) -> None:
        self._context = context
        self.placement = placement
        self.variables = variables
        self.carries_dims = carries_dims
        self._stored: dict[SSAValue, StoredTensor] = {}
        self._done: list[Operation] = []
        self._outdated: list[BlockArgument] = []

    def convert_function(self, function: Operation) -> None:
        """Convert a function in place."""
        retype_function(function, carried(self))
        for region in function.regions:
            self.convert_region(region)
        for operation in reversed(self._done):
            Rewriter.erase_op(operation)
        for argument in self._outdated:
            argument.block.erase_arg(argument)
        self._done.clear()
        self._outdated.clear()

    def convert_region(self, region: Region) -> None:
        """Convert all operations of a region, and give its blocks arguments for resources."""
        for block in region.blocks:
            expand_arguments(self, block)
        for block in blocks_in_order(region):
            self.convert_block(block)

    def convert_block(self, block: Block) -> None:
        """Convert the operations of a block, in order."""
        for operation in tuple(block.ops):
            self._convert(operation)

    def stored(self, value: SSAValue, reader: Operation) -> StoredTensor:
        """What stands for a tensor."""
        found = self._stored.get(value)
        if found is None:
            owner = value.owner
            notes = [Note("it is made here", owner)] if isinstance(owner, Operation) else []
            raise OperationError(reader, f"reads a tensor that has no storage: {value.type}", notes)
        return found

    def store(self, value: SSAValue, stored: StoredTensor) -> None:
        """Note what stands for a tensor."""
        stored.resource.name_hint = value.name_hint
        self._stored[value] = stored

    def made(self, name: str) -> type[IRDLOperation]:
        """The class of operations that have a name."""
        return cast("type[IRDLOperation]", self._context.get_op(name))

    def held_at(self, value: SSAValue) -> Attribute | None:
        """Where the resource is that stands for a tensor."""
        place = self.placement.of(value)
        if place is None and isinstance(value, OpResult):
            # It could be made anywhere, and has been made here.
            return self.placement.runs_on(value.op)
        return place

    def brought(
        self, value: SSAValue, reader: Operation, place: Attribute | None, builder: Builder
    ) -> StoredTensor:
        """What stands for a tensor on the device where it is read."""
        stored, held_at = self.stored(value, reader), self.held_at(value)
        if place is None or held_at == place:
            return stored
        return transfer(stored, held_at, place, builder)

    def done(self, operation: Operation) -> None:
        """Note that an operation has been replaced, and goes once all are."""
        self._done.append(operation)

    def outdated(self, argument: BlockArgument) -> None:
        """Note that a block's argument has been replaced, and goes once all are."""
        self._outdated.append(argument)

    def _convert(self, operation: Operation) -> None:
        builder = builder_before(operation)
        if operation.name in CONTROL_FLOW:
            convert_control_flow(self, operation, builder)
            return
        values = (*operation.operands, *operation.results)
        if not any(isinstance(value.type, CONVERTED) for value in values) and (
            not operation.name.startswith("flow.channel.")
        ):
            for region in operation.regions:
                self.convert_region(region)
            return
        rule = conversion.get(operation.name)
        if rule is None:
            raise OperationError(
                operation,
                "has to do with tensors and is left on the host, which only moves them: it has no "
                "form in the stream dialect (form-dispatches moves what computes to executables)",
            )
        rule(self, operation, builder)
        self._done.append(operation)


@conversion("flow.tensor.transfer")
def _transfer(host: Host, operation: Operation, builder: Builder) -> None:
    source = operation.operands[0]
    stored = host.stored(source, operation)
    moved = transfer(stored, host.held_at(source), operation.properties["target"], builder)
    host.store(operation.results[0], moved)


@conversion("flow.tensor.barrier")
def _barrier(host: Host, operation: Operation, builder: Builder) -> None:
    stored = host.stored(operation.operands[0], operation)
    barrier = AsyncBarrierOp.create(
        operands=[stored.resource, stored.size],
        result_types=[stored.resource.type],
        properties=at(operation.properties["target"]),
    )
    resource = builder.insert(barrier).results[0]
    host.store(operation.results[0], StoredTensor(resource, stored.size, stored.dims))


@conversion("flow.tensor.tie_shape")
def _tie(host: Host, operation: Operation, builder: Builder) -> None:
    """The same bytes, whose sizes are known now."""
    del builder
    stored = host.stored(operation.operands[0], operation)
    dims = operands_of(operation, "dynamic_dims")
    host.store(operation.results[0], StoredTensor(stored.resource, stored.size, dims))


@conversion("flow.tensor.encode")
def _encode(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    source, result = operation.operands[0], operation.results[0]
    stored = host.brought(source, operation, place, builder)
    dims = operands_of(operation, "result_dims")
    size = size_of(require_ranked(operation, result.type), dims, place, builder)
    encoded = stream.TensorEncodeOp.build(
        operands=[
            stored.resource,
            operands_of(operation, "operand_dims"),
            stored.size,
            dims,
            size,
        ],
        result_types=[UNKNOWN],
        properties={
            "source_encoding": source.type,
            "result_encoding": result.type,
            **at(place),
        },
    )
    host.store(result, StoredTensor(builder.insert(encoded).result, size, dims))


@conversion("arith.constant", "flow.tensor.constant")
def _constant(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    tensor = require_ranked(operation, operation.results[0].type)
    made = constant(operation.properties["value"], tensor, place, builder)
    host.store(operation.results[0], transfer(made, place, place, builder))


@conversion("flow.tensor.empty", "tensor.empty")
def _empty(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    tensor = require_ranked(operation, operation.results[0].type)
    dims = tuple(operation.operands)
    size = size_of(tensor, dims, place, builder)
    resource = empty(tensor, size, dims, place, builder)
    host.store(operation.results[0], StoredTensor(resource, size, dims))


@conversion("flow.tensor.splat", "linalg.fill", "tensor.splat")
def _splat(host: Host, operation: Operation, builder: Builder) -> None:
    """The value comes first."""
    place = host.placement.runs_on(operation)
    tensor = require_ranked(operation, operation.results[0].type)
    if operation.name == "linalg.fill":
        dims = host.stored(operation.operands[-1], operation).dims
    else:
        dims = tuple(operation.operands[1:])
    size = size_of(tensor, dims, place, builder)
    splat = stream.TensorSplatOp.build(
        operands=[operation.operands[0], dims, size],
        result_types=[UNKNOWN],
        properties={"result_encoding": tensor, **at(place)},
    )
    host.store(operation.results[0], StoredTensor(builder.insert(splat).result, size, dims))


@conversion("tensor.extract")
def _extract(host: Host, operation: Operation, builder: Builder) -> None:
    """The host reads an element: of a copy that it can reach."""
    source = operation.operands[0]
    if tensor_encoding(source.type) is not None:
        raise OperationError(operation, f"reads an element of {source.type}: decode it first")
    reachable = transfer(
        host.stored(source, operation), host.held_at(source), None, builder, STAGING
    )
    load_element(
        operation, (source.type, reachable.dims), reachable, tuple(operation.operands[1:]), builder
    )


@conversion("tensor.dim")
def _dimension(host: Host, operation: Operation, builder: Builder) -> None:
    source, index = operation.operands[0], constant_integer(operation.operands[1])
    tensor = require_ranked(operation, source.type)
    if index is None or not 0 <= index < len(tensor.get_shape()):
        raise OperationError(operation, "asks for a dimension that is not a known one")
    size = tensor.get_shape()[index]
    known = (
        host.stored(source, operation).dims[dynamic_count(tensor, index)]
        if size < 0
        else constant_index(size, builder)
    )
    operation.results[0].replace_all_uses_with(known)


@conversion("util.global.load")
def _load_global(host: Host, operation: Operation, builder: Builder) -> None:
    stored = host.variables.load(operation, builder)
    if stored is None:
        raise OperationError(operation, f"loads {_global(operation)}, which is no tensor global")
    host.store(operation.results[0], stored)


@conversion("util.global.store")
def _store_global(host: Host, operation: Operation, builder: Builder) -> None:
    value = operation.operands[0]
    stored, place = host.stored(value, operation), host.held_at(value)
    if not host.variables.store(operation, stored, place, builder):
        raise OperationError(
            operation, f"stores to {_global(operation)}, which is no tensor global"
        )


def _global(operation: Operation) -> str:
    name = operation.properties.get("global")
    return f"@{name.root_reference.data}" if isinstance(name, SymbolRefAttr) else "nothing"


@conversion("util.optimization_barrier")
def _optimization_barrier(host: Host, operation: Operation, builder: Builder) -> None:
    """`util.optimization_barrier`: of the resources."""
    for index, operand in enumerate(operation.operands):
        result = operation.results[index]
        if not isinstance(operand.type, TensorType):
            raise OperationError(operation, "mixes tensors with other values")
        stored = host.stored(operand, operation)
        barrier = type(operation).create(
            operands=[stored.resource], result_types=[stored.resource.type]
        )
        resource = builder.insert(barrier).results[0]
        host.store(result, StoredTensor(resource, stored.size, stored.dims))
