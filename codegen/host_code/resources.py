"""Tensors in the bytes of devices: where kernels find and leave them, whatever their layout."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...interpreter.storage import Resource, settled_layout, stored_bytes
from ...interpreter.storage import read_tensor as read_stored
from ...interpreter.storage import write_tensor as write_stored
from ...ir.attribute_access import operation_name
from ...ir.diagnostics import OperationError
from ...runtime.abi.elements import element_of
from ...runtime.abi.values import dtype_of, integer_width
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.machine import Machine, view
from ...runtime.host.program import Numbers
from ...tiling.packed_arrays import packed_extents, settled_tiles
from ...tiling.packed_layouts import PackedLayout
from ..kernels.packing import write_relayout
from ..kernels.schedule import Step
from .function_lowering import FunctionLowering
from .kernel_steps import run_kernel
from .values import BoundTensor, HostResource, HostTensor, NotLowered, Shape


def bind_tensor(
    lowering: FunctionLowering,
    op: Operation,
    contents: HostResource,
    tensor: TensorType[Attribute],
    shape: Sequence[IndexOrInt],
) -> BoundTensor:
    """A tensor in bytes; the run ends if it does not fit."""
    if settled_layout(op, tensor) is None:
        raise NotLowered(op, f"binds {tensor}, whose layout is not settled")

    def check(numbers: Numbers) -> None:
        needed = stored_bytes(op, tensor, numbers[:-1])
        if needed > numbers[-1]:
            raise OperationError(op, f"needs {needed} bytes of {numbers[-1]} for {tensor}")

    lowering.check(op, [*shape, contents.size], check)
    return BoundTensor(contents, tensor, tuple(shape))


def _layout(op: Operation, bound: BoundTensor) -> PackedLayout | None:
    """How elements lie in bytes, `None` if that takes more than moving them."""
    layout = settled_layout(op, bound.type)
    if layout is None:
        return None
    sizes = [size if isinstance(size, int) else 1 for size in bound.shape]
    formula = layout.storage_formula(
        TensorType(bound.type.element_type, sizes, bound.type.encoding)
    )
    packed = layout.packed_layout(bound.type)
    bits = dtype_of(bound.type).itemsize * 8
    if formula.element_bits != bits or packed.swizzle is not None:
        return None
    if packed.is_identity and any(extent.padding for extent in formula.extents):
        return None
    return packed


def has_spare_bits(value_type: Attribute) -> bool:
    """Whether elements are narrower than what holds them: nobody says what is in the other bits.

    Kernels that compute with them expect copies of the sign there, and leave these behind.
    """
    width = integer_width(value_type)
    return width is not None and width != dtype_of(value_type).itemsize * 8


def in_place(op: Operation, bound: BoundTensor) -> HostTensor | None:
    """The tensor itself, if its elements lie in rows; it has the reference of its bytes."""
    layout = _layout(op, bound)
    if layout is None or not layout.is_identity:
        return None
    contents = bound.contents
    return HostTensor(contents.address, contents.block, bound.shape, dtype_of(bound.type))


def read_tensor(lowering: FunctionLowering, op: Operation, bound: BoundTensor) -> HostTensor:
    """The tensor in rows, as kernels compute with it: itself, or a copy."""
    spare = has_spare_bits(bound.type)
    found = None if spare else in_place(op, bound)
    if found is not None:
        return found
    result = lowering.allocate(bound.shape, dtype_of(bound.type))
    if spare or not _relay(lowering, op, bound, result, is_pack=False):
        shape = _known(op, bound.shape)
        dims = [s for s, known in zip(shape, bound.type.get_shape(), strict=True) if known < 0]
        needed = stored_bytes(op, bound.type, shape)

        def decode(machine: Machine, numbers: Numbers) -> Numbers:
            source, target = numbers
            resource = Resource(view(source, needed))
            array = np.ascontiguousarray(read_stored(op, resource, bound.type, dims))
            view(target, array.nbytes)[:] = array.reshape(-1).view(np.uint8)
            return ()

        _python(lowering, "decode", decode, bound, result)
    return result


def write_tensor(
    lowering: FunctionLowering, op: Operation, bound: BoundTensor, value: HostTensor
) -> None:
    """Replace the tensor."""
    builder = lowering.builder
    target = in_place(op, bound)
    if target is not None:
        if target.address != value.address:
            size = builder.hold(target.bytes(builder))
            builder.emit("copy", target.address, value.address, size)
        return
    if _relay(lowering, op, bound, value, is_pack=True):
        return
    shape = _known(op, bound.shape)
    needed = stored_bytes(op, bound.type, shape)

    def encode(machine: Machine, numbers: Numbers) -> Numbers:
        target, source = numbers
        array = view(source, prod(shape) * value.dtype.itemsize).view(value.dtype)
        stored = write_stored(op, array.reshape(shape), bound.type, needed, None)
        view(target, needed)[:] = stored.contents
        return ()

    _python(lowering, "encode", encode, bound, value, is_write=True)


def _python(
    lowering: FunctionLowering,
    name: str,
    function: object,
    bound: BoundTensor,
    tensor: HostTensor,
    *,
    is_write: bool = False,
) -> None:
    number = lowering.program.python(name, function)  # pyright: ignore[reportArgumentType]
    addresses = (bound.contents.address, tensor.address)
    del is_write
    lowering.builder.emit("python", number, (), addresses)


def _known(op: Operation, shape: Shape) -> tuple[int, ...]:
    known = tuple(size for size in shape if isinstance(size, int))
    if len(known) < len(shape):
        raise NotLowered(op, "lays out a tensor of open sizes in a way that has no host code")
    return known


def _relay(
    lowering: FunctionLowering,
    op: Operation,
    bound: BoundTensor,
    plain: HostTensor,
    *,
    is_pack: bool,
) -> bool:
    """Pack or unpack by a kernel, if the layout is one that kernels know."""
    layout = _layout(op, bound)
    if layout is None:
        return False
    layout = settled_tiles(layout)
    element = element_of(bound.type.element_type, op)
    shape = _known(op, bound.shape)
    rank = len(shape)
    text = lowering.program.text(
        (op, is_pack), lambda: write_relayout(op, layout, rank, element, is_pack=is_pack)
    )
    packed = bound.contents.address
    source, target = (plain.address, packed) if is_pack else (packed, plain.address)
    extents = packed_extents(shape, layout)
    run_kernel(lowering, text, op, [target, source], [*shape, *extents[:rank]])
    return True


# Results in their bindings --------------------------------------------------------------------

STORES = ("flow.dispatch.tensor.store", "iree_tensor_ext.dispatch.tensor.store")


def destination(
    lowering: FunctionLowering, value: SSAValue, shape: Shape, step: Step
) -> HostTensor | None:
    """Where a kernel's result is stored in the end, if it may be computed there."""
    for use in value.uses:
        store = use.operation
        if operation_name(store) not in STORES or use.index != 0:
            continue
        target = store.operands[1]
        bound = lowering.values.get(target)
        subspan = target.owner
        if (
            isinstance(bound, BoundTensor)
            and isinstance(subspan, Operation)
            and subspan.operands[0].has_one_use()
            and bound.shape == shape
            and (
                (subspan.operands[0] in lowering.fresh and target.has_one_use())
                or (
                    subspan.operands[0] in lowering.tied and _is_read_before(lowering, target, step)
                )
            )
        ):
            return in_place(store, bound)
    return None


def _is_read_before(lowering: FunctionLowering, target: SSAValue, step: Step) -> bool:
    """Whether what is read of a binding is read by a kernel, and before it writes there."""
    group = set(step.group)
    for use in target.uses:
        operation = use.operation
        if operation_name(operation) in STORES:
            if operation.operands[0] not in step.operation.results:
                return False
            continue
        for loaded in operation.results:
            content, bound = lowering.values.get(loaded), lowering.values.get(target)
            if (
                loaded not in step.aligned
                or any(other.operation not in group for other in loaded.uses)
                or not isinstance(content, HostTensor)
                or not isinstance(bound, BoundTensor)
                or content.address != bound.contents.address
            ):
                return False
    return True
