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

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.interfaces import tensor_encoding
from ...dialects.stream import tensor_ops as stream
from ...dialects.util.types import UnusedType
from ...ir.diagnostics import Note, OperationError
from ...ir.host_programs import CALLS, FUNCTIONS_AND_INITIALIZERS
from ...ir.index import constant_index
from ...ir.locations import builder_before
from ...ir.symbols import symbol
from ...ir.syntax.assembly_format import values
from ...ir.tensor_types import ranked, require_ranked
from ..sizes.dimension_sizes import constant_operand
from .analysis.device_placement import DevicePlacement
from .conversion.control_flow import (
    CONTROL_FLOW,
    blocks_in_order,
    convert_control_flow,
    expand_arguments,
    retype_function,
)
from .conversion.executables import StoredGlobals, convert_executables
from .conversion.flow_tensors import awaited, load_element
from .conversion.rules import Host, conversion, dynamic_count, operands_of
from .conversion.stored_tensors import (
    EXTERNAL,
    STAGING,
    UNKNOWN,
    StoredTensor,
    at,
    cast_resource,
    constant,
    size_of,
    transfer,
)

UNUSED = UnusedType()


@dataclass(frozen=True)
class ConvertToStreamPass(ModulePass):
    """Turn tensors of the host program into resources."""

    name = "convert-to-stream"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [
            f for f in op.body.block.ops if f.name in FUNCTIONS_AND_INITIALIZERS and uses_tensors(f)
        ]
        for function in functions:
            _refuse_calls_outside(function, {symbol(one, "sym_name") for one in functions})
        placement = DevicePlacement(ctx, op)
        host = HostProgram(placement, StoredGlobals(op, placement))
        for function in functions:
            host.convert_function(function)
        convert_executables(op)


def _refuse_calls_outside(function: Operation, known: set[str]) -> None:
    """Only what is defined here can be given resources in the place of tensors."""
    for call in function.walk():
        values = (*call.operands, *call.results)
        tensors = any(isinstance(value.type, TensorType) for value in values)
        if call.name in CALLS and tensors and symbol(call, "callee") not in known:
            raise OperationError(
                call,
                f"passes tensors to @{symbol(call, 'callee')}, which is only declared: it cannot "
                "be given a device's memory",
            )


def uses_tensors(function: Operation) -> bool:
    """Whether there are tensors in a function."""
    return any(
        isinstance(value.type, TensorType)
        for operation in function.walk()
        for value in (*operation.operands, *operation.results)
    )


class HostProgram:
    """The conversion of the functions of a module, one by one."""

    def __init__(self, placement: DevicePlacement, variables: StoredGlobals) -> None:
        self.placement = placement
        self.variables = variables
        self._stored: dict[SSAValue, StoredTensor] = {}
        self._done: list[Operation] = []
        self._outdated: list[BlockArgument] = []

    def convert_function(self, function: Operation) -> None:
        """Convert a function in place."""
        retype_function(function)
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
        if not any(isinstance(value.type, TensorType) for value in values):
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


@conversion("hal.tensor.import")
def _import(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    tensor = require_ranked(operation, operation.properties["target_encoding"])
    dims = operands_of(operation, "target_dims")
    size = size_of(tensor, dims, place, builder)
    imported = stream.TensorImportOp.build(
        operands=[operation.operands[0], dims, size],
        result_types=[EXTERNAL],
        properties={"result_encoding": tensor, **at(place)},
    )
    resource: SSAValue = builder.insert(imported).result
    for fence in values(operation, "wait_fence"):
        resource = awaited(resource, size, fence, place, builder)
    held = cast_resource(resource, size, UNKNOWN, place, builder)
    host.store(operation.results[0], StoredTensor(held, size, dims))


@conversion("hal.tensor.export")
def _export(host: Host, operation: Operation, builder: Builder) -> None:
    source = operation.operands[0]
    stored, held_at = host.stored(source, operation), host.placement.of(source)
    place = operation.properties.get("affinity") or held_at
    if held_at is not None and place is not None and held_at != place:
        stored = transfer(stored, held_at, place, builder)
    resource = cast_resource(stored.resource, stored.size, EXTERNAL, place, builder)
    exported = stream.TensorExportOp.build(
        operands=[resource, operands_of(operation, "source_dims"), stored.size],
        result_types=[operation.results[0].type],
        properties={"source_encoding": operation.properties["source_encoding"], **at(place)},
    )
    result = builder.insert(exported).result
    operation.results[0].replace_all_uses_with(result)


@conversion("flow.tensor.transfer")
def _transfer(host: Host, operation: Operation, builder: Builder) -> None:
    source = operation.operands[0]
    stored = host.stored(source, operation)
    moved = transfer(stored, host.placement.of(source), operation.properties["target"], builder)
    host.store(operation.results[0], moved)


@conversion("flow.tensor.barrier")
def _same(host: Host, operation: Operation, builder: Builder) -> None:
    """The same bytes, whatever they are called."""
    del builder
    host.store(operation.results[0], host.stored(operation.operands[0], operation))


@conversion("flow.tensor.reshape", "flow.tensor.tie_shape")
def _reshape(host: Host, operation: Operation, builder: Builder) -> None:
    """The same bytes with other sizes."""
    del builder
    stored = host.stored(operation.operands[0], operation)
    is_tied = operation.name == "flow.tensor.tie_shape"
    dims = operands_of(operation, "dynamic_dims" if is_tied else "result_dims")
    host.store(operation.results[0], StoredTensor(stored.resource, stored.size, dims))


@conversion("flow.tensor.encode")
def _encode(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    source, result = operation.operands[0], operation.results[0]
    stored = host.stored(source, operation)
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


@conversion("flow.dispatch")
def _dispatch(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    operands: list[SSAValue] = []
    sizes: list[SSAValue] = []
    encodings: list[Attribute] = []
    for value in operands_of(operation, "arguments"):
        if (tensor := ranked(value)) is not None:
            stored = host.stored(value, operation)
            operands.append(stored.resource)
            sizes.append(stored.size)
            encodings.append(tensor)
        else:
            operands.append(value)
            encodings.append(UNUSED)
    rest = list(operands_of(operation, "result_dims"))
    result_sizes: list[SSAValue] = []
    result_dims: list[tuple[SSAValue, ...]] = []
    for result in operation.results:
        tensor = require_ranked(operation, result.type)
        count = dynamic_count(tensor)
        result_dims.append(tuple(rest[:count]))
        del rest[:count]
        result_sizes.append(size_of(tensor, result_dims[-1], place, builder))
    properties: dict[str, Attribute] = {
        "entry_points": operation.properties["entry_points"],
        "operand_encodings": ArrayAttr(encodings),
        "result_encodings": ArrayAttr([result.type for result in operation.results]),
        **at(place),
    }
    if "tied_operands" in operation.properties:
        properties["tied_operands"] = operation.properties["tied_operands"]
    dispatch = stream.TensorDispatchOp.build(
        operands=[
            operands_of(operation, "workload"),
            operands,
            sizes,
            operands_of(operation, "argument_dims"),
            result_sizes,
            operands_of(operation, "result_dims"),
        ],
        result_types=[[UNKNOWN] * len(operation.results)],
        properties=properties,
    )
    builder.insert(dispatch)
    for old, new, size, dims in zip(
        operation.results, dispatch.results, result_sizes, result_dims, strict=True
    ):
        host.store(old, StoredTensor(new, size, dims))


@conversion("arith.constant", "flow.tensor.constant")
def _constant(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    tensor = require_ranked(operation, operation.results[0].type)
    size = size_of(tensor, (), place, builder)
    resource = constant(operation.properties["value"], tensor, place, builder)
    held = cast_resource(resource, size, UNKNOWN, place, builder)
    host.store(operation.results[0], StoredTensor(held, size, ()))


@conversion("flow.tensor.empty", "tensor.empty")
def _empty(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    tensor = require_ranked(operation, operation.results[0].type)
    dims = tuple(operation.operands)
    size = size_of(tensor, dims, place, builder)
    empty = stream.TensorEmptyOp.build(
        operands=[dims, size],
        result_types=[UNKNOWN],
        properties={"result_encoding": tensor, **at(place)},
    )
    host.store(operation.results[0], StoredTensor(builder.insert(empty).result, size, dims))


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
    stored, place = host.stored(source, operation), host.placement.of(source)
    reachable = transfer(stored, place, None, builder, STAGING)
    load_element(operation, source.type, reachable, tuple(operation.operands[1:]), builder)


@conversion("tensor.dim")
def _dimension(host: Host, operation: Operation, builder: Builder) -> None:
    source, index = operation.operands[0], constant_operand(operation.operands[1])
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
    stored, place = host.stored(value, operation), host.placement.of(value)
    if not host.variables.store(operation, stored, place, builder):
        raise OperationError(
            operation, f"stores to {_global(operation)}, which is no tensor global"
        )


def _global(operation: Operation) -> str:
    name = operation.properties.get("global")
    return f"@{name.root_reference.data}" if isinstance(name, SymbolRefAttr) else "nothing"


@conversion("util.optimization_barrier")
def _barrier(host: Host, operation: Operation, builder: Builder) -> None:
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
