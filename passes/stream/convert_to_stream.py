"""Convert tensors of the host program to resources of the stream dialect.

Every tensor becomes a resource, its size in bytes and the sizes of its dynamic dimensions.
Operations on tensors become `stream.tensor.*`, which still give the tensor type of each resource,
and `stream.async.transfer`; each names its device. Executables become `stream.executable`, whose
kernels read bindings.

Run this after `form-dispatches`, which moves all computation of tensors to kernels, and after
`iree-abi-wrap-entry-points`, which makes the types that callers pass explicit.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.iree_encoding.interfaces import tensor_encoding
from ...dialects.stream import tensor_ops as stream
from ...dialects.stream.async_ops import AsyncBarrierOp
from ...dialects.stream.types import STAGING
from ...ir.attribute_access import constant_integer
from ...ir.diagnostics import OperationError
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS
from ...ir.index_lists import mixed_list
from ...ir.syntax.assembly_format import values
from ...ir.tensor_types import ranked, require_ranked
from .analysis.device_placement import DevicePlacement
from .conversion import boundary, collectives, control_flow  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .conversion.dispatches import convert_declarations
from .conversion.executables import convert_executables
from .conversion.flow_tensors import load_element
from .conversion.globals import StoredGlobals
from .conversion.host import CONVERTED, Host, conversion
from .conversion.stored_tensors import PlacedBuilder, transfer

SIZE_READERS = frozenset({"linalg.fill", "tensor.dim", "tensor.extract"})
"""Operations that, unlike those of `flow`, do not list the dynamic sizes of their operands."""


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
        host = Host(ctx, placement, variables, carries_dims=carries_dims)
        for function in functions:
            host.convert_function(function)
        convert_declarations(op)
        convert_executables(op)


def uses_tensors(function: Operation) -> bool:
    """Return whether a function has tensors, or channels, which are converted with them."""
    type_ = function.properties.get("function_type")
    types = (*type_.inputs, *type_.outputs) if isinstance(type_, FunctionType) else ()
    return any(isinstance(each, CONVERTED) for each in types) or any(
        isinstance(value.type, CONVERTED)
        for operation in function.walk()
        for value in (*operation.operands, *operation.results)
    )


def asks_for_sizes(function: Operation) -> bool:
    """Return whether an operation needs dynamic sizes of an operand that it does not list."""
    return any(
        operation.name in SIZE_READERS
        and (tensor := ranked(operand)) is not None
        and not tensor.has_static_shape()
        for operation in function.walk()
        for operand in operation.operands
    )


@conversion("flow.tensor.transfer")
def _transfer(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    source = operation.operands[0]
    stored, target = host.stored(source, operation), operation.properties["target"]
    moved = transfer(stored, host.affinity_of(source), target, here.builder)
    host.store(operation.results[0], moved)


@conversion("flow.tensor.barrier")
def _barrier(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    stored = host.stored(operation.operands[0], operation)
    target = here.on(operation.properties["target"])
    resource = target.make(AsyncBarrierOp, [stored.resource, stored.size], stored.resource.type)
    host.store(operation.results[0], replace(stored, resource=resource))


@conversion("flow.tensor.tie_shape")
def _tie(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Keep the bytes and record the dynamic sizes that the operation lists."""
    stored = host.stored(operation.operands[0], operation)
    host.store(operation.results[0], replace(stored, dims=values(operation, "dynamic_dims")))


@conversion("flow.tensor.encode")
def _encode(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    source, result = operation.operands[0], operation.results[0]
    stored = host.transferred(source, operation, here)
    source_dims, dims = (values(operation, f"{end}_dims") for end in ("operand", "result"))
    encoded = here.tensor(
        stream.TensorEncodeOp,
        [stored.resource, source_dims, stored.size],
        require_ranked(operation, result.type),
        dims,
        source_encoding=source.type,
    )
    host.store(result, encoded)


@conversion("arith.constant", "flow.tensor.constant")
def _constant(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    tensor = require_ranked(operation, operation.results[0].type)
    constant = here.constant(operation.properties["value"], tensor)
    host.store(operation.results[0], transfer(constant, here.affinity, here.affinity, here.builder))


@conversion("flow.tensor.empty", "tensor.empty")
def _empty(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    tensor = require_ranked(operation, operation.results[0].type)
    empty = here.tensor(stream.TensorEmptyOp, (), tensor, operation.operands)
    host.store(operation.results[0], empty)


@conversion("flow.tensor.splat", "linalg.fill", "tensor.splat")
def _splat(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Emit a splat; the first operand is the value, the others are sizes or the filled tensor."""
    tensor = require_ranked(operation, operation.results[0].type)
    value, *rest = operation.operands
    is_fill = operation.name == "linalg.fill"
    dims = host.stored(rest[0], operation).dims if is_fill else tuple(rest)
    host.store(operation.results[0], here.tensor(stream.TensorSplatOp, [value], tensor, dims))


@conversion("tensor.extract")
def _extract(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Read an element on the host, from a copy in staging memory."""
    source, *indices = operation.operands
    if tensor_encoding(source.type) is not None:
        raise OperationError(
            operation, f"reads an element of the encoded tensor {source.type}: decode it first"
        )
    stored = host.stored(source, operation)
    reachable = transfer(stored, host.affinity_of(source), None, here.builder, STAGING)
    load_element(operation, (source.type, reachable.dims), reachable, tuple(indices), here)


@conversion("tensor.dim")
def _dimension(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    source, index = operation.operands[0], constant_integer(operation.operands[1])
    tensor = require_ranked(operation, source.type)
    if index is None or not 0 <= index < len(tensor.get_shape()):
        raise OperationError(
            operation, "queries a dimension, but the index is not a valid constant"
        )
    size = mixed_list(tensor.get_shape(), host.stored(source, operation).dims)[index]
    operation.results[0].replace_all_uses_with(here.index(size))


@conversion("tensor.rank")
def _rank(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    tensor = require_ranked(operation, operation.operands[0].type)
    operation.results[0].replace_all_uses_with(here.index(len(tensor.get_shape())))


@conversion("util.global.load")
def _load_global(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    host.store(operation.results[0], host.variables.load(operation, here.builder))


@conversion("util.global.store")
def _store_global(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    value = operation.operands[0]
    stored, affinity = host.stored(value, operation), host.affinity_of(value)
    host.variables.store(operation, stored, affinity, here.builder)


@conversion("util.optimization_barrier")
def _optimization_barrier(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Emit a barrier for each resource."""
    for index, operand in enumerate(operation.operands):
        result = operation.results[index]
        if not isinstance(operand.type, TensorType):
            raise OperationError(operation, "mixes tensors with other values")
        stored = host.stored(operand, operation)
        barrier = type(operation).create(
            operands=[stored.resource], result_types=[stored.resource.type]
        )
        resource = here.builder.insert(barrier).results[0]
        host.store(result, replace(stored, resource=resource))
