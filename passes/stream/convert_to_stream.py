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
from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.iree_encoding.interfaces import tensor_encoding
from ...dialects.stream import tensor_ops as stream
from ...dialects.stream.async_ops import AsyncBarrierOp
from ...ir.attribute_access import constant_integer
from ...ir.diagnostics import OperationError
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS
from ...ir.index import constant_index
from ...ir.tensor_types import ranked, require_ranked
from .analysis.device_placement import DevicePlacement
from .conversion import boundary, control_flow, dispatches  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .conversion.executables import StoredGlobals, convert_executables
from .conversion.flow_tensors import load_element
from .conversion.host import CONVERTED, Host, conversion, dynamic_count, operands_of
from .conversion.outside import convert_declarations
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
        host = Host(ctx, placement, variables, carries_dims=carries_dims)
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
