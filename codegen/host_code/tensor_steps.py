"""Lower operations on tensors that take no kernel: elements, views, slices and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from ...dialects.identities import SAME_ELEMENTS
from ...dialects.tensor.dialect import UPDATES
from ...ir.attribute_access import integers, operand_groups
from ...ir.index_lists import SLICE_LISTS
from ...runtime.abi.values import holds_numbers, index_message, static_shape
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.program import Label, Register, RegisterValues
from ..kernels.elements.expressions import RESHAPES
from ..kernels.elements.static_values import CONSTANTS, dimensions_of_part
from ..kernels.loop_nests import write_slice, write_slice_update
from .function_lowering import FunctionLowering, lowers
from .kernel_dispatch import run_kernel
from .values import HostTensor, NotLowered, Part, Shape, dynamic_words, element_dtype


@lowers(*CONSTANTS)
def _constant(lowering: FunctionLowering, op: Operation) -> None:
    if holds_numbers(op.results[0].type):
        lowering.bind(op.results[0], lowering.constant(op))
    else:
        lowers["python"](lowering, op)


@lowers(*SAME_ELEMENTS, "util.optimization_barrier")
def _pass_on(lowering: FunctionLowering, op: Operation) -> None:
    for operand, result in zip(op.operands, op.results, strict=False):
        lowering.bind(result, lowering.acquire(operand))


@lowers("tensor.cast")
def _cast(lowering: FunctionLowering, op: Operation) -> None:
    tensor = lowering.tensor(op.operands[0])
    if len(static_shape(op.results[0].type) or ()) != len(tensor.shape):
        raise NotLowered(op, "changes the rank, which has no host code")
    lowering.bind_alias(op, replace(tensor, shape=_inferred_shape(lowering, op)))


def _inferred_shape(lowering: FunctionLowering, op: Operation) -> Shape:
    """Return the shape of an operation's result, with a check that it matches the type."""
    lowering.infer_shapes(op)
    return lowering.shape(op.results[0])


@lowers(*RESHAPES)
def _reshape(lowering: FunctionLowering, op: Operation) -> None:
    tensor = lowering.tensor(op.operands[0])
    lowering.bind_alias(op, replace(tensor, shape=_inferred_shape(lowering, op)))


@lowers("tensor.empty")
def _empty(lowering: FunctionLowering, op: Operation) -> None:
    shape = _inferred_shape(lowering, op)
    lowering.bind(op.results[0], lowering.new_tensor(op, shape, op.results[0]))


@lowers("tensor.dim")
def _dimension(lowering: FunctionLowering, op: Operation) -> None:
    builder = lowering.builder
    shape = lowering.shape(op.operands[0])
    dimension = lowering.number(op.operands[1])
    rank = len(shape)

    def message(numbers: RegisterValues) -> str:
        return index_message(numbers[0], 0, rank)

    if isinstance(dimension, int):
        if not 0 <= dimension < rank:
            lowering.fail(op, message, [dimension])
            dimension, shape = 0, (0,)
        lowering.bind(op.results[0], shape[dimension])
        return
    outside = lowering.failure_label(op, message, [dimension])
    builder.compute("position", builder.constant(0), dimension, builder.constant(rank), outside)
    result: IndexOrInt = 0
    for axis, size in enumerate(shape):
        is_it = builder.hold(builder.compare("eq", dimension, axis))
        result = builder.compute("select_i64", is_it, builder.hold(size), builder.hold(result))
    lowering.bind(op.results[0], result)


@lowers("tensor.rank")
def _rank(lowering: FunctionLowering, op: Operation) -> None:
    lowering.bind(op.results[0], len(lowering.shape(op.operands[0])))


# Elements -------------------------------------------------------------------------------------


def element_address(
    lowering: FunctionLowering, op: Operation, tensor: HostTensor, operands: Sequence[SSAValue]
) -> Register:
    """Return the address of an element; fail at run time if an index is out of bounds.

    Raises NotLowered if the number of indices is not the rank.
    """
    builder = lowering.builder
    indices = [lowering.number(each) for each in operands]
    if len(indices) != len(tensor.shape):
        raise NotLowered(op, f"has {len(indices)} indices for rank {len(tensor.shape)}")
    sizes, rank = tensor.shape, len(indices)

    def message(numbers: RegisterValues) -> str:
        pairs = enumerate(zip(numbers[:rank], numbers[rank:], strict=True))
        axis, (index, size) = next(p for p in pairs if not 0 <= p[1][0] < p[1][1])
        return index_message(index, axis, size)

    outside: Label | None = None
    position: IndexOrInt = 0
    for index, size in zip(indices, sizes, strict=True):
        if isinstance(index, int) and isinstance(size, int) and 0 <= index < size:
            position = builder.add(builder.multiply(position, size), index)
            continue
        outside = outside or lowering.failure_label(op, message, [*indices, *sizes])
        position = builder.compute("position", *builder.hold_all((position, index, size)), outside)
    offset = builder.multiply(position, tensor.dtype.itemsize)
    return builder.hold(builder.add(tensor.address, offset))


@lowers("tensor.extract")
def _extract(lowering: FunctionLowering, op: Operation) -> None:
    dtype = element_dtype(op.results[0].type, op)
    tensor = lowering.tensor(op.operands[0])
    address = element_address(lowering, op, tensor, op.operands[1:])
    lowering.bind(op.results[0], lowering.builder.load_element(address, dtype))


@lowers("tensor.insert")
def _insert(lowering: FunctionLowering, op: Operation) -> None:
    dtype = element_dtype(op.operands[0].type, op)
    value = lowering.number(op.operands[0])
    old = lowering.tensor(op.operands[1])
    # Indices are checked before anything is copied.
    address = element_address(lowering, op, old, op.operands[2:])
    tensor = lowering.writable_tensor(op.operands[1])
    builder = lowering.builder
    offset = builder.subtract(address, old.address)
    place = builder.hold(builder.add(tensor.address, offset))
    builder.store_element(place, builder.hold(value), dtype)
    lowering.bind(op.results[0], tensor)


# Slices ---------------------------------------------------------------------------------------

VIEWS = RESHAPES | {"tensor.cast", "tensor.extract_slice"}
"""Operations whose results may share the memory of their first operand."""


def named_part(lowering: FunctionLowering, op: Operation, first: int) -> Part:
    """Return the slice that an operation names; `first` is the first group of dynamic operands."""
    groups = operand_groups(op, op.operands)[first:]
    lists = zip(SLICE_LISTS, groups, strict=True)
    return Part(*(lowering.mixed(integers(op, name), dynamic) for name, dynamic in lists))


def checked_part(lowering: FunctionLowering, op: Operation, whole: Shape, first: int) -> Part:
    """Return the slice of a tensor of shape `whole` that an operation names, with checks.

    `first` is the first group of dynamic operands. Raises NotLowered for a slice of another rank.
    """
    part = named_part(lowering, op, first)
    offsets, sizes, strides = part.offsets, part.sizes, part.strides
    if not len(whole) == len(offsets) == len(sizes) == len(strides):
        raise NotLowered(op, f"slices {len(offsets)} dimensions of {len(whole)}")
    query = lowering.query(op)
    if any(stride != 1 for stride in strides) or not dynamic_words(query.words):
        lowering.check(op, query.words, query.check)
        return part
    # Offsets seldom repeat, so that the checks are emitted as instructions instead of a call of
    # Python.
    outside = lowering.size_failure_label(query)
    value = op.results[0] if first == 1 else op.operands[0]
    given = static_shape(value.type) or () if first == 1 else lowering.shape(value)
    wanted = [sizes[dimension] for dimension in dimensions_of_part(op, value)]
    for size, want in zip(given, wanted, strict=True):
        if size != want and not (isinstance(size, int) and size < 0):
            lowering.builder.jump_if(lowering.builder.compare("ne", size, want), outside)
    for numbers in zip(whole, offsets, sizes, strict=True):
        _check_range(lowering, numbers, outside)
    return part


def _check_range(
    lowering: FunctionLowering,
    numbers: tuple[IndexOrInt, IndexOrInt, IndexOrInt],
    outside: Label,
) -> None:
    """Jump to `outside` unless `size` elements from an offset are inside of a dimension."""
    builder = lowering.builder
    extent, offset, size = numbers
    if not (isinstance(size, int) and isinstance(extent, int) and 0 <= size <= extent):
        builder.jump_unless(_is_at_most(lowering, size, extent), outside)
    rest = builder.subtract(extent, size)
    is_known = isinstance(offset, int) and isinstance(rest, int) and 0 <= offset <= rest
    if offset != 0 and not is_known:
        builder.jump_unless(_is_at_most(lowering, offset, rest), outside)


def _is_at_most(lowering: FunctionLowering, left: IndexOrInt, right: IndexOrInt) -> Register:
    """Return whether `0 <= left <= right`, for a `right` that is not negative."""
    return lowering.builder.compute("cmpiule_i64", *lowering.builder.hold_all((left, right)))


def _is_contiguous(whole: Shape, part: Part) -> bool:
    """Return whether a slice is contiguous: single indices, then a range, then whole dimensions."""
    sizes, strides = part.sizes, part.strides
    long = [dimension for dimension, size in enumerate(sizes) if size != 1]
    if not long:
        return True
    first = long[0]
    return strides[first] == 1 and all(
        sizes[dimension] == whole[dimension] and strides[dimension] == 1
        for dimension in range(first + 1, len(whole))
    )


def _start(lowering: FunctionLowering, tensor: HostTensor, offsets: Shape) -> Register:
    """Return the address of the element at some offsets."""
    builder = lowering.builder
    position: IndexOrInt = 0
    for offset, size in zip(offsets, tensor.shape, strict=True):
        position = builder.add(builder.multiply(position, size), offset)
    distance = builder.multiply(position, tensor.dtype.itemsize)
    return builder.hold(builder.add(tensor.address, distance))


def _outlives_source(op: Operation) -> bool:
    """Return whether a slice of a tensor, or a view of it, is read after the tensor's update."""
    source, block = op.operands[0], op.parent
    updates = [
        use.operation
        for use in source.uses
        if use.operation.name in UPDATES and use.index == 1 and use.operation.parent is block
    ]
    if block is None or not updates:
        return False
    readers = [use.operation for use in op.results[0].uses]
    for reader in readers:
        outer = block.find_ancestor_op_in_block(reader)
        if outer is not None and any(each.is_before_in_block(outer) for each in updates):
            return True
        if reader.name in VIEWS:
            readers += [use.operation for use in reader.results[0].uses]
    return False


@lowers("tensor.extract_slice")
def _extract_slice(lowering: FunctionLowering, op: Operation) -> None:
    source, result = lowering.tensor(op.operands[0]), op.results[0]
    part = checked_part(lowering, op, source.shape, 1)
    shape = lowering.result_shape(result)
    if _is_contiguous(source.shape, part):
        start = _start(lowering, source, part.offsets)
        found = HostTensor(start, source.block, shape, source.dtype)
        if _outlives_source(op):
            # The update would copy the whole tensor.
            lowering.bind(result, lowering.copy(found))
        else:
            lowering.bind_alias(op, found)
        return
    target = lowering.new_tensor(op, shape, result)
    text = lowering.program.text(op, lambda: write_slice(op))
    run_kernel(lowering, text, {result: target}, op, points=lowering.builder.product(shape))
    lowering.bind(result, target)


@lowers("tensor.insert_slice")
def _insert_slice(lowering: FunctionLowering, op: Operation) -> None:
    old = lowering.tensor(op.operands[1])
    part = checked_part(lowering, op, old.shape, 2)
    target = lowering.writable_tensor(op.operands[1])
    write_part(lowering, op, part, target)
    lowering.bind(op.results[0], target)


def write_part(lowering: FunctionLowering, op: Operation, part: Part, target: HostTensor) -> None:
    """Copy the first operand to a slice of a tensor that nothing else reads."""
    source, builder = lowering.tensor(op.operands[0]), lowering.builder
    if _is_contiguous(target.shape, part):
        size = builder.hold(source.bytes(builder))
        builder.emit("copy", _start(lowering, target, part.offsets), source.address, size)
        return
    text = lowering.program.text(op, lambda: write_slice_update(op))
    run_kernel(lowering, text, {text.writes[0]: target}, op, points=builder.product(source.shape))
