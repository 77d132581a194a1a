"""Convert host operations on tensors in `flow` that programs made by IREE contain.

Of these operations, `form-dispatches` emits only transfers and encodes.
"""

from __future__ import annotations

from xdsl.dialects.arith import SelectOp
from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.iree_encoding.interfaces import tensor_encoding
from ....dialects.iree_encoding.layouts import is_bit_packed
from ....dialects.stream import tensor_ops as stream
from ....dialects.stream.async_ops import AsyncAllocaOp
from ....dialects.stream.parameters import PARAMETER_OPS, parameter_operands
from ....dialects.stream.types import STAGING
from ....dialects.util.dialect import OptimizationBarrierOp
from ....ir.diagnostics import OperationError
from ....ir.index_lists import INDEX
from ....ir.syntax.assembly_format import values
from ....ir.tensor_types import element_of, ranked, require_ranked
from .host import Host, conversion
from .stored_tensors import PlacedBuilder, StoredTensor, stored_from, transfer


@conversion("flow.tensor.alloca")
def _alloca(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    dims = tuple(operation.operands)
    size = here.size_of(require_ranked(operation, operation.results[0].type), dims)
    resource = here.make(AsyncAllocaOp, [size])
    host.store(operation.results[0], StoredTensor(resource, size, dims))


@conversion("flow.tensor.clone")
def _clone(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    stored = host.stored(operation.operands[0], operation)
    dims = values(operation, "argument_dims")
    _copy_as(host, operation, stored.size, dims, dims, here)


@conversion("flow.tensor.bitcast", "flow.tensor.reshape", "iree_tensor_ext.bitcast")
def _bitcast(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Clone the bytes under the new type, which determines their number as for other tensors.

    Raises OperationError if an encoding says that the bytes are in another order.
    """
    dims = values(operation, "result_dims")
    old, new = (
        require_ranked(operation, each.type) for each in (operation.operands[0], *operation.results)
    )
    is_in_order = all(tensor_encoding(each) is None or is_bit_packed(each) for each in (old, new))
    if old != new and not is_in_order:
        raise OperationError(
            operation,
            f"views {old} as {new}, but an encoding says in which order the elements of "
            "one type are: decode the tensor first",
        )
    size = here.size_of(new, dims)
    own = "operand_dims" if operation.name == "flow.tensor.reshape" else "source_dims"
    _copy_as(host, operation, size, dims, values(operation, own), here)


def _copy_as(
    host: Host,
    operation: Operation,
    size: SSAValue,
    dims: tuple[SSAValue, ...],
    source_dims: tuple[SSAValue, ...],
    here: PlacedBuilder,
) -> None:
    """Emit a copy of the operand as a result of `size` bytes with dynamic sizes `dims`."""
    (source, *_), result = operation.operands, operation.results[0]
    stored = host.transferred(source, operation, here)
    resource = here.make(
        stream.TensorCloneOp,
        [stored.resource, source_dims, stored.size, dims, size],
        source_encoding=source.type,
        result_encoding=result.type,
    )
    host.store(result, StoredTensor(resource, size, dims))


@conversion("flow.tensor.slice")
def _slice(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    source, result = operation.operands[0], operation.results[0]
    starts, lengths = (values(operation, name) for name in ("start_indices", "lengths"))
    dims = values(operation, "result_dims")
    tensor = require_ranked(operation, result.type)
    stored = host.transferred(source, operation, here)
    source_dims = values(operation, "source_dims")
    part = here.tensor(
        stream.TensorSliceOp,
        [stored.resource, source_dims, stored.size, starts, lengths],
        tensor,
        dims,
        source_encoding=source.type,
    )
    host.store(result, part)


@conversion("flow.tensor.update")
def _update(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    (target,), (update,) = (values(operation, name) for name in ("target", "update"))
    old, part = (host.transferred(value, operation, here) for value in (target, update))
    dims, starts, update_dims = (
        values(operation, name) for name in ("target_dims", "start_indices", "update_dims")
    )
    updated = here.make(
        stream.TensorUpdateOp,
        [old.resource, dims, old.size, starts, part.resource, update_dims, part.size],
        target_encoding=target.type,
        update_encoding=update.type,
    )
    host.store(operation.results[0], StoredTensor(updated, old.size, dims))


@conversion("flow.tensor.load")
def _load(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Transfer only the loaded element to the host, or the whole tensor if elements share bytes."""
    source, indices = operation.operands[0], values(operation, "indices")
    tensor = require_ranked(operation, source.type)
    stored, here = host.stored(source, operation), here.on(host.affinity_of(source))
    dims = values(operation, "source_dims")
    if indices and element_of(tensor).storage_bits % 8 == 0:
        one, zero = (here.index(number) for number in (1, 0))
        tensor = TensorType(tensor.element_type, [1] * len(indices))
        stored = here.tensor(
            stream.TensorSliceOp,
            [stored.resource, dims, stored.size, indices, (one,) * len(indices)],
            tensor,
            (),
            source_encoding=source.type,
        )
        dims, indices = (), (zero,) * len(indices)
    reachable = transfer(stored, here.affinity, here.affinity, here.builder, STAGING)
    load_element(operation, (tensor, dims), reachable, indices, here)


def load_element(
    operation: Operation,
    tensor: tuple[Attribute, tuple[SSAValue, ...]],
    stored: StoredTensor,
    indices: tuple[SSAValue, ...],
    here: PlacedBuilder,
) -> None:
    """Replace an operation's result by an element of a tensor that the host can reach."""
    type_, dims = tensor
    load = stream.TensorLoadOp.build(
        operands=[stored.resource, dims, stored.size, indices],
        result_types=[operation.results[0].type],
        properties={"source_encoding": type_},
    )
    operation.results[0].replace_all_uses_with(here.builder.insert(load).result)


@conversion("flow.tensor.store")
def _store(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    (value,), (target,) = (values(operation, name) for name in ("value", "target"))
    indices = values(operation, "indices")
    stored = host.transferred(target, operation, here)
    dims = values(operation, "target_dims")
    lengths = (here.index(1),) * len(indices) if indices else ()
    filled = here.make(
        stream.TensorFillOp,
        [stored.resource, dims, stored.size, indices, lengths, value],
        target_encoding=target.type,
    )
    host.store(operation.results[0], StoredTensor(filled, stored.size, dims))


@conversion("flow.tensor.trace")
def _trace(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    traced = values(operation, "values_")
    staged: list[StoredTensor] = []
    for value in traced:
        stored, affinity = host.stored(value, operation), host.affinity_of(value)
        staged.append(transfer(stored, affinity, affinity, here.builder, STAGING))
    trace = stream.TensorTraceOp.build(
        operands=[
            [tensor.resource for tensor in staged],
            [tensor.size for tensor in staged],
            values(operation, "value_dims"),
        ],
        properties={
            "key": operation.properties["key"],
            "resource_encodings": ArrayAttr([value.type for value in traced]),
        },
    )
    here.builder.insert(trace)


@conversion("flow.tensor.dynamic_constant")
def _dynamic_constant(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Convert a constant whose sizes later passes must not rely on."""
    value = operation.properties["value"]
    known = getattr(value, "type", None)
    tensor = require_ranked(operation, operation.results[0].type)
    if not isinstance(known, TensorType):
        raise OperationError(operation, f"has contents that are not of tensor type: {value}")
    dims: list[SSAValue] = []
    for size, extent in zip(tensor.get_shape(), known.get_shape(), strict=True):
        if size < 0:
            barrier = OptimizationBarrierOp.create(
                operands=[here.index(extent)], result_types=[INDEX]
            )
            dims.append(here.builder.insert(barrier).results[0])
    constant = here.constant(value, tensor, dims)
    host.store(operation.results[0], transfer(constant, here.affinity, here.affinity, here.builder))


@conversion("arith.select")
def _select(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Select between two tensors together with their sizes."""
    condition, *sides = operation.operands
    if ranked(condition) is not None:
        raise OperationError(operation, "selects elements on the host, expected this in a kernel")
    one, other = (
        host.stored(side, operation).values(with_dims=host.carries_dims) for side in sides
    )
    chosen = [
        a if a is b else here.builder.insert(SelectOp(condition, a, b)).result
        for a, b in zip(one, other, strict=True)
    ]
    host.store(operation.results[0], stored_from(chosen))


@conversion("flow.parameter.load")
def _load_parameter(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    tensor = require_ranked(operation, operation.results[0].type)
    op_class = PARAMETER_OPS["stream.tensor.parameter.load"]
    dims = values(operation, "result_dims")
    loaded = here.tensor(op_class, parameter_operands(operation, "source"), tensor, dims)
    host.store(operation.results[0], loaded)


@conversion("flow.parameter.write")
def _write_parameter(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    source = operation.operands[0]
    stored = host.transferred(source, operation, here)
    dims = values(operation, "source_dims")
    result = here.make(
        PARAMETER_OPS["stream.tensor.parameter.write"],
        [stored.resource, dims, stored.size, *parameter_operands(operation, "target")],
        source_encoding=source.type,
    )
    host.store(operation.results[0], StoredTensor(result, stored.size, dims))
