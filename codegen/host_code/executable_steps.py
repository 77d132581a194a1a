"""Lower executables: dispatches, and loads and stores of tensors in their bindings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import prod

from xdsl.ir import Operation, Region, SSAValue

from ...dialects.iree_encoding.interfaces import encoded_tensor_of
from ...dialects.tensor.dialect import UPDATES
from ...interpreter.bindings import check_stored_shape
from ...interpreter.dialects.kernels import (
    WORKGROUP_NUMBERS,
    asks_for_workgroup,
    check_offset,
    dispatched_kernel,
    tied_argument,
)
from ...interpreter.shapes import kept_axes
from ...interpreter.storage import resolved_layout
from ...ir.attribute_access import integer, operand_groups, operation_name
from ...ir.index_lists import mixed_list
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.pool import DISPATCHES
from ...runtime.host.program import Register, RegisterValues
from ...runtime.host.size_rules import SizeRules, Word
from .bound_tensors import (
    STORES,
    bind_tensor,
    check_part,
    copy_part,
    has_spare_bits,
    in_place,
    read_tensor,
    write_tensor,
)
from .function_lowering import FunctionLowering, lowers
from .size_rules import same_sizes
from .stream_steps import allocate, byte_range, check_owner, count, resource_of, writable_resource
from .tensor_steps import named_part
from .values import (
    BoundTensor,
    HostResource,
    HostTensor,
    HostValue,
    NotLowered,
    Part,
    dynamic_words,
)


@lowers("stream.async.dispatch")
def _dispatch(lowering: FunctionLowering, op: Operation) -> None:
    workload, values, _, starts, ends, _, sizes = operand_groups(op, op.operands)
    here = lowering.program.device(op)
    ranges = iter(zip(starts, ends, strict=True))
    given: list[HostValue] = []
    for value in values:
        content = lowering.value(value)
        if isinstance(content, HostResource):
            check_owner(lowering, op, content, here)
            start, end = (lowering.number(each) for each in next(ranges))
            content = byte_range(lowering, op, content, start, end)
        given.append(content)
    results: list[HostResource] = []
    written: set[int] = set()
    taken: set[int] = set()
    for index, size in enumerate(sizes):
        tied = tied_argument(op, index)
        if tied is None:
            results.append(allocate(lowering, lowering.number(size), here))
            written.add(len(given))
            given.append(results[-1])
            continue
        results.append(writable_resource(lowering, op, len(workload) + tied))
        given[tied] = results[-1]
        taken.add(tied)
    function, counting = dispatched_kernel(op, lowering.program.frame)
    body = function.regions[0]
    entry = body.blocks[0]
    if len(entry.args) != len(given) or len(body.blocks) > 1:
        raise NotLowered(
            op, f"passes {len(given)} values to its kernel, which takes {len(entry.args)}"
        )
    count(lowering, here, DISPATCHES, 1)
    borrowed = [_borrowed(each) for each in given]
    outer = lowering.fresh, lowering.tied, lowering.program.current_device
    lowering.program.current_device = here
    lowering.builder.emit("device", here)
    if counting is not None and counting.blocks and asks_for_workgroup(body):
        _run_workgroups(lowering, body, counting, [lowering.value(e) for e in workload], borrowed)
    else:
        lowering.fresh = frozenset(entry.args[position] for position in written)
        lowering.tied = frozenset(entry.args[position] for position in taken)
        lowering.workgroup = None
        lowering.lower_region(body, borrowed, lambda end, contents: None)
    lowering.fresh, lowering.tied, lowering.program.current_device = outer
    lowering.builder.emit("device", lowering.program.current_device)
    for result, content in zip(op.results, results, strict=True):
        lowering.bind(result, replace(content, owner=here or content.owner))


def dispatched_tensor(
    lowering: FunctionLowering, op: Operation, loaded: SSAValue
) -> HostTensor | None:
    """Return the tensor that a dispatch's kernel loads from its first operand.

    Returns `None` if it cannot be used in place. It is called before the dispatch is lowered.
    Raises NotLowered if the load's layout is not resolved.
    """
    _, values, _, starts, *_ = operand_groups(op, op.operands)
    content = lowering.value(values[0])
    load = loaded.owner
    if not isinstance(content, HostResource) or not isinstance(load, Operation):
        return None
    tensor = encoded_tensor_of(load.operands[0].type)
    if tensor is None or lowering.number(starts[0]) != 0 or resolved_layout(op, tensor) is None:
        return None
    bound = bind_tensor(load, content, tensor, tensor.get_shape())
    return None if has_spare_bits(tensor) else in_place(load, bound)


def _run_workgroups(
    lowering: FunctionLowering,
    body: Region,
    counting: Region,
    workload: Sequence[HostValue],
    given: Sequence[HostValue],
) -> None:
    """Run a kernel once for each workgroup, with the workgroup's id, count and size."""
    counts: list[IndexOrInt] = []

    def leave(end: Operation, contents: Sequence[HostValue]) -> None:
        counts.extend(each for each in contents if isinstance(each, int | Register))

    lowering.lower_region(counting, workload, leave)
    if len(counting.blocks) > 1 or len(counts) != 3:
        raise NotLowered(_terminator(counting), "does not give three counts of workgroups")
    lowering.fresh = lowering.tied = frozenset()
    before = lowering.workgroup
    with lowering.branch(), ExitStack() as stack:
        ids = [stack.enter_context(lowering.builder.loop(0, each)) for each in reversed(counts)]
        lowering.workgroup = {"id": ids[::-1], "count": counts, "size": (1, 1, 1)}
        lowering.lower_region(body, given, lambda end, contents: None)
    lowering.workgroup = before


def _terminator(region: Region) -> Operation:
    last = region.blocks[-1].last_op
    if last is None:
        raise ValueError("a region without a terminator")
    return last


@lowers(
    *(
        f"{kernel}.workgroup.{number}"
        for kernel in ("flow.dispatch", "hal.interface", "stream.dispatch")
        for number in WORKGROUP_NUMBERS
    )
)
def _workgroup_number(lowering: FunctionLowering, op: Operation) -> None:
    which = operation_name(op).rpartition(".")[2]
    numbers = (lowering.workgroup or {"id": (0,) * 3, "count": (1,) * 3, "size": (1,) * 3})[which]
    lowering.bind(op.results[0], numbers[integer(op, "dimension")])


@lowers(
    "flow.dispatch.workgroup_count_from_slice",
    "iree_tensor_ext.dispatch.workgroup_count_from_slice",
)
def _one_workgroup(lowering: FunctionLowering, op: Operation) -> None:
    for result in op.results:
        lowering.bind(result, 1)


def _borrowed(content: HostValue) -> HostValue:
    """Return a value without its reference; numbers are unchanged."""
    if isinstance(content, HostResource):
        return replace(content, block=None)
    return content


@lowers(
    "flow.dispatch.tie_shape",
    "flow.dispatch.workload.ordinal",
    "iree_tensor_ext.dispatch.workload.ordinal",
)
def _same(lowering: FunctionLowering, op: Operation) -> None:
    lowering.values[op.results[0]] = lowering.value(op.operands[0])


@lowers("stream.binding.subspan")
def _subspan(lowering: FunctionLowering, op: Operation) -> None:
    binding = resource_of(lowering, op, 0)
    offset, *dims = (lowering.number(each) for each in op.operands[1:])
    kind = op.results[0].type
    tensor = encoded_tensor_of(kind)
    if tensor is None:
        raise NotLowered(op, f"binds {kind}, expected a tensor")
    at_start = SizeRules(((Word(0), 0),), (Word(1),))
    lowering.check(op, [offset, binding.size], lambda found: check_offset(op, *found), at_start)
    part = byte_range(lowering, op, binding, offset, binding.size)
    shape = mixed_list(tensor.get_shape(), dims)
    lowering.values[op.results[0]] = bind_tensor(op, part, tensor, shape)


def _bound(lowering: FunctionLowering, op: Operation, position: int) -> BoundTensor:
    found = lowering.value(op.operands[position])
    if isinstance(found, BoundTensor):
        return found
    raise NotLowered(op, "accesses a value that is not a dispatch tensor")


def _part(lowering: FunctionLowering, op: Operation, bound: BoundTensor, first: int) -> Part:
    """Return the slice of a tensor that an access covers, with a check that it is in bounds."""
    part = named_part(lowering, op, first)
    if not len(part.offsets) == len(part.sizes) == len(part.strides) == len(bound.shape):
        raise NotLowered(op, f"accesses a slice whose rank differs from that of {bound.type}")
    check_part(lowering, op, bound, part)
    return part


def _is_whole(bound: BoundTensor, part: Part) -> bool:
    rank = len(bound.shape)
    return part == Part((0,) * rank, bound.shape, (1,) * rank)


@lowers("flow.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.load")
def _tensor_load(lowering: FunctionLowering, op: Operation) -> None:
    bound, result = _bound(lowering, op, 0), op.results[0]
    part = _part(lowering, op, bound, 2)
    whole = read_tensor(lowering, op, bound)
    shape = tuple(part.sizes[axis] for axis in kept_axes(op))
    if _is_whole(bound, part):
        lowering.bind(result, HostTensor(whole.address, whole.block, shape, whole.dtype))
        if whole.address == bound.contents.address:
            lowering.lent.update(_updates(lowering, op))
        return
    taken = lowering.allocate(shape, whole.dtype)
    copy_part(lowering, op, whole, part, taken, is_store=False)
    _release_copy(lowering, whole, bound)
    lowering.bind(result, taken)


def _updates(lowering: FunctionLowering, load: Operation) -> list[SSAValue]:
    """Return a tensor loaded from a tied binding and its updates, except the one that is stored.

    Returns nothing if the binding, the tensor or an update is read by anything else.
    """
    binding, value = load.operands[0], load.results[0]
    subspan = binding.owner
    if not isinstance(subspan, Operation) or subspan.operands[0] not in lowering.tied:
        return []
    if not subspan.operands[0].has_one_use() or len(tuple(binding.uses)) != 2:
        return []
    found: list[SSAValue] = []
    while (use := value.get_user_of_unique_use()) is not None and use.parent is load.parent:
        name = operation_name(use)
        if name in STORES and use.operands[1] is binding:
            return found
        if name not in UPDATES or use.operands[1] is not value:
            break
        found.append(value)
        value = use.results[0]
    return []


def _release_copy(lowering: FunctionLowering, whole: HostTensor, bound: BoundTensor) -> None:
    if whole.block is not None and whole.block != bound.contents.block:
        lowering.builder.emit("release", whole.block)


@lowers(*STORES)
def _tensor_store(lowering: FunctionLowering, op: Operation) -> None:
    bound, value = _bound(lowering, op, 1), lowering.tensor(op.operands[0])
    part = _part(lowering, op, bound, 3)

    def check(numbers: RegisterValues) -> None:
        given, sizes = numbers[: len(value.shape)], numbers[len(value.shape) :]
        if prod(given) != prod(sizes):
            check_stored_shape(op, tuple(given), tuple(sizes))

    rank = len(value.shape)
    rules = same_sizes(rank) if rank == len(part.sizes) else None
    lowering.check(op, [*value.shape, *part.sizes], check, rules)
    if _is_whole(bound, part):
        if not _is_moved(lowering, op, bound, value):
            write_tensor(lowering, op, bound, value)
        return
    whole = read_tensor(lowering, op, bound)
    copy_part(lowering, op, whole, part, value, is_store=True)
    write_tensor(lowering, op, bound, whole)
    _release_copy(lowering, whole, bound)


def _is_moved(
    lowering: FunctionLowering, store: Operation, bound: BoundTensor, value: HostTensor
) -> bool:
    """Let what has made a tensor write it to the new resource that it is stored to, if it can.

    Returns whether it does. Sizes must be known, since they would be checked too late. Nothing is
    emitted for others.
    """
    source, binding = store.operands[:2]
    target, subspan, room = in_place(store, bound), binding.owner, bound.contents.size
    if target is None or dynamic_words(target.shape) or not isinstance(subspan, Operation):
        return False
    size = target.bytes(lowering.builder)
    return (
        isinstance(size, int)
        and isinstance(room, int)
        and size <= room
        and subspan.operands[0] in lowering.fresh
        and value.is_whole
        and lowering.may_overwrite(source)
        and lowering.move_into(source, target.address)
    )
