"""Access tensors in resources, in any layout: decode operands for kernels and encode results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...interpreter.storage import (
    Resource,
    check_contents,
    check_room,
    resolved_layout,
    stored_bytes,
    with_sizes,
)
from ...interpreter.storage import read_tensor as read_stored
from ...interpreter.storage import write_tensor as write_stored
from ...ir.attribute_access import operation_name
from ...runtime.abi.arrays import dynamic_sizes
from ...runtime.abi.elements import element_of
from ...runtime.abi.values import dtype_of, integer_width
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.pool import view
from ...runtime.host.program import Register, RegisterValues
from ...runtime.host.virtual_machine import VirtualMachine
from ...tiling.packed_arrays import packed_extents, static_tiles
from ...tiling.packed_layouts import PackedLayout
from ..kernels.elements.kernel_text import KernelText
from ..kernels.moves.bit_packing import write_bits
from ..kernels.moves.packing import write_relayout
from ..kernels.schedule import Step
from .function_lowering import FunctionLowering
from .kernel_dispatch import run_kernel_at
from .size_rules import bytes_of, inside_whole
from .values import (
    BoundTensor,
    HostResource,
    HostTensor,
    NotLowered,
    Part,
    Shape,
    dynamic_words,
    filled_words,
)


def bind_tensor(
    op: Operation,
    contents: HostResource,
    tensor: TensorType[Attribute],
    shape: Sequence[IndexOrInt],
) -> BoundTensor:
    """Return a tensor in a resource's bytes. Raises NotLowered if its layout is not resolved."""
    if resolved_layout(op, tensor) is None:
        raise NotLowered(op, f"binds {tensor}, whose layout is not resolved")
    return BoundTensor(contents, tensor, tuple(shape))


def _expect(
    lowering: FunctionLowering,
    op: Operation,
    bound: BoundTensor,
    check_bytes: Callable[[Operation, int, int, TensorType[Attribute]], None],
) -> None:
    """Fail at run time if a tensor does not fit into its bytes."""

    def check(numbers: RegisterValues) -> None:
        needed = stored_bytes(op, bound.type, numbers[:-1])
        check_bytes(op, needed, numbers[-1], bound.type)

    storage, rules = _storage(op, bound), None
    if storage is not None and storage.is_plain:
        rules = bytes_of(len(bound.shape), dtype_of(bound.type).itemsize)
    lowering.check(op, [*bound.shape, bound.contents.size], check, rules)


@dataclass(frozen=True, slots=True)
class _Storage:
    """How kernels find the elements of a tensor in its bytes.

    - `layout`: the order of the elements;
    - `bits`: the bits of an element, less than 8 if a byte holds several.
    """

    layout: PackedLayout
    bits: int

    @property
    def is_plain(self) -> bool:
        """Whether the bytes are those of a row-major array."""
        return self.layout.is_identity and self.bits >= 8


def _storage(op: Operation, bound: BoundTensor) -> _Storage | None:
    """Return how a tensor is stored; `None` if kernels do not know its layout."""
    layout = resolved_layout(op, bound.type)
    if layout is None:
        return None
    sizes = [size if isinstance(size, int) else 1 for size in bound.shape]
    formula = layout.storage_formula(with_sizes(bound.type, sizes))
    packed, bits = layout.packed_layout(bound.type), formula.element_bits
    width = dtype_of(bound.type).itemsize * 8
    if (bits != width and not (width == 8 and bits in (1, 2, 4))) or packed.swizzle is not None:
        return None
    if packed.is_identity and any(extent.padding for extent in formula.extents):
        return None
    return _Storage(packed, bits)


def has_spare_bits(value_type: Attribute) -> bool:
    """Return whether elements are narrower than their storage: the spare bits are undefined.

    Kernels expect them to hold copies of the sign bit, and write them so.
    """
    width = integer_width(value_type)
    return width is not None and width != dtype_of(value_type).itemsize * 8


def in_place(op: Operation, bound: BoundTensor) -> HostTensor | None:
    """Return a row-major tensor without a copy, with its bytes' reference, else `None`."""
    storage = _storage(op, bound)
    if storage is None or not storage.is_plain:
        return None
    contents = bound.contents
    return HostTensor(contents.address, contents.block, bound.shape, dtype_of(bound.type))


def read_tensor(lowering: FunctionLowering, op: Operation, bound: BoundTensor) -> HostTensor:
    """Return the tensor in row-major order: in place if possible, otherwise a copy.

    Raises OperationError for unsupported element types.
    """
    _expect(lowering, op, bound, check_contents)
    found = None if has_spare_bits(bound.type) else in_place(op, bound)
    if found is not None:
        return found
    result = lowering.allocate(bound.shape, dtype_of(bound.type))
    if not _relay(lowering, op, bound, result, is_pack=False):

        def decode(machine: VirtualMachine, numbers: RegisterValues) -> RegisterValues:
            source, target, *sizes = numbers
            shape = filled_words(bound.shape, sizes)
            resource = Resource(view(source, stored_bytes(op, bound.type, shape)))
            open_sizes = dynamic_sizes(shape, bound.type.get_shape())
            array = np.ascontiguousarray(read_stored(op, resource, bound.type, open_sizes))
            view(target, array.nbytes)[:] = array.reshape(-1).view(np.uint8)
            return ()

        _python(lowering, op, "decode", decode, bound, result)
    return result


def write_tensor(
    lowering: FunctionLowering, op: Operation, bound: BoundTensor, value: HostTensor
) -> None:
    """Store a row-major tensor to the bytes of a binding.

    Raises OperationError for unsupported element types.
    """
    _expect(lowering, op, bound, check_room)
    builder = lowering.builder
    target = in_place(op, bound)
    if target is not None:
        if target.address != value.address:
            size = builder.hold(target.bytes(builder))
            builder.emit("copy", target.address, value.address, size)
        return
    if _relay(lowering, op, bound, value, is_pack=True):
        return

    def encode(machine: VirtualMachine, numbers: RegisterValues) -> RegisterValues:
        target, source, *sizes = numbers
        shape = filled_words(bound.shape, sizes)
        array = view(source, prod(shape) * value.dtype.itemsize).view(value.dtype)
        needed = stored_bytes(op, bound.type, shape)
        stored = write_stored(op, array.reshape(shape), bound.type, needed, None)
        view(target, needed)[:] = stored.contents
        return ()

    _python(lowering, op, "encode", encode, bound, value)


def _python(
    lowering: FunctionLowering,
    op: Operation,
    name: str,
    function: Callable[[VirtualMachine, RegisterValues], RegisterValues],
    bound: BoundTensor,
    tensor: HostTensor,
) -> None:
    why = f"kernels do not support the layout of {bound.type} in bytes"
    lowering.program.interpreted.setdefault(op, why)
    number = lowering.program.python(name, function)
    words = (bound.contents.address, tensor.address, *dynamic_words(bound.shape))
    lowering.builder.emit("python", number, (), words)


# Parts of tensors -----------------------------------------------------------------------------


def check_part(lowering: FunctionLowering, op: Operation, bound: BoundTensor, part: Part) -> None:
    """Fail at run time if a slice is out of bounds."""
    rank = len(bound.shape)

    def check(numbers: RegisterValues) -> None:
        Part.slices(op, numbers[:rank], numbers[rank:])

    lowering.check(op, [*bound.shape, *part.words], check, inside_whole(rank))


def copy_part(
    lowering: FunctionLowering,
    op: Operation,
    whole: HostTensor,
    part: Part,
    value: HostTensor,
    *,
    is_store: bool,
) -> None:
    """Copy between a slice of a row-major tensor and a tensor of the slice's size, in Python."""

    def copy(machine: VirtualMachine, numbers: RegisterValues) -> RegisterValues:
        address, other, *words = numbers
        shape = filled_words(whole.shape, words)
        rest = words[len(dynamic_words(whole.shape)) :]
        slices = Part.slices(op, shape, filled_words(part.words, rest))
        array = view(address, prod(shape) * whole.dtype.itemsize).view(whole.dtype).reshape(shape)
        own = array[slices]
        data = view(other, own.nbytes).view(whole.dtype).reshape(own.shape)
        if is_store:
            own[...] = data
        else:
            data[...] = own
        return ()

    why = "kernels do not support slices of tensors in bindings"
    lowering.program.interpreted.setdefault(op, why)
    words = dynamic_words((*whole.shape, *part.words))
    number = lowering.program.python("part", copy)
    lowering.builder.emit("python", number, (), (whole.address, value.address, *words))


def _relay(
    lowering: FunctionLowering,
    op: Operation,
    bound: BoundTensor,
    plain: HostTensor,
    *,
    is_pack: bool,
) -> bool:
    """Pack or unpack by kernels; return whether there are kernels for the layout.

    Elements of less than a byte are packed last and unpacked first. If their layout is tiled, too,
    a tensor in between has a byte for each.
    """
    storage, shape = _storage(op, bound), bound.shape
    if storage is None:
        return False
    layout = static_tiles(storage.layout)
    extents = _outer_extents(layout, shape)
    if extents is None:
        return False
    element, packed = element_of(bound.type.element_type, op), bound.contents.address
    count = (*extents, *layout.inner_tiles)

    def run(
        name: str,
        write: Callable[[], KernelText],
        ends: Sequence[Register],
        sizes: Shape,
        work: Shape,
    ) -> None:
        """Run a kernel that copies from the first end to the second, or back to unpack."""
        text = lowering.program.text((op, name, is_pack), write)
        addresses = list(reversed(ends) if is_pack else ends)
        run_kernel_at(lowering, text, op, addresses, sizes, lowering.builder.product(work))

    def permute(address: Register) -> None:
        def write() -> KernelText:
            return write_relayout(op, layout, len(shape), element, is_pack=is_pack)

        work = (*shape, 2 * plain.dtype.itemsize)
        run("layout", write, (plain.address, address), (*shape, *extents), work)

    def pack_bits(address: Register) -> None:
        def write() -> KernelText:
            return write_bits(op, element, storage.bits, is_pack=is_pack)

        run("bits", write, (address, packed), (lowering.builder.product(count),), count)

    if storage.bits >= 8:
        permute(packed)
    elif layout.is_identity:
        pack_bits(plain.address)
    else:
        whole = lowering.allocate(count, plain.dtype)
        for step in (permute, pack_bits) if is_pack else (pack_bits, permute):
            step(whole.address)
        if whole.block is not None:
            lowering.builder.emit("release", whole.block)
    return True


def _outer_extents(layout: PackedLayout, shape: Shape) -> Shape | None:
    """Return the numbers of tiles in the order of the packed tensor; `None` if they are unknown."""
    if layout.is_identity:
        return shape
    sizes = [size for size in shape if isinstance(size, int)]
    known = len(sizes) == len(shape)
    return tuple(packed_extents(sizes, layout)[: len(shape)]) if known else None


# Results in their bindings --------------------------------------------------------------------

STORES = ("flow.dispatch.tensor.store", "iree_tensor_ext.dispatch.tensor.store")


def result_binding(
    lowering: FunctionLowering, value: SSAValue, shape: Shape, step: Step
) -> HostTensor | None:
    """Return the binding that a kernel's result is stored to, if it may be computed there.

    Returns `None` otherwise.
    """
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
            _expect(lowering, store, bound, check_room)
            return in_place(store, bound)
    return None


def _is_read_before(lowering: FunctionLowering, target: SSAValue, step: Step) -> bool:
    """Return whether this kernel reads each load of a binding in place before it writes there."""
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
