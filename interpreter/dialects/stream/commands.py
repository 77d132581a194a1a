"""Execute the commands of the `stream` dialect and its storage: bytes that change in place.

Only commands write in place, and only to storage of their own. Values that asynchronous operations
share therefore keep their contents (`iree-stream-materialize-copy-on-write`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation

from ....dialects.hal.executables import ExecutableExportOp
from ....dialects.stream.affinity import AffinityAttribute, affinity_of
from ....dialects.stream.types import BindingType
from ....ir.attribute_access import integers, operand_groups, required
from ....ir.diagnostics import OperationError
from ....ir.slice_packing import pack_slices
from ....runtime.abi.arrays import Value
from ....tiling.packed_arrays import Bytes
from ...bindings import Binding
from ...devices import check_access, device_of
from ...frames import Frame
from ...parameters import contents_read
from ...registry import Results, Routine, impl, impl_with_regions
from ...storage import FRESH_BYTE, Resource, bytes_at, fresh, resource_size
from ..hal.dispatch import Dispatch, write_back
from ..kernels import dispatched_kernel, entry_export, run_kernel
from .asynchronous import constant_resource, pattern_bytes, repeated

# Storage ------------------------------------------------------------------------------------


@impl("stream.resource.alloc", "stream.resource.alloca")
def _allocate(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Allocate; staging memory and memory of several devices can be accessed by all devices."""
    affinity = affinity_of(op)
    shared = isinstance(affinity, AffinityAttribute) and len(affinity.device_names()) > 1
    shared = shared or "staging" in str(op.results[0].type)
    resource = fresh(resource_size(op, operands[0]), None if shared else device_of(op, frame))
    return (resource, None)[: len(op.results)]


@impl("stream.resource.dealloca")
def _give_back(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Overwrite deallocated bytes, so that later reads are conspicuous."""
    operands[0].contents[:] = FRESH_BYTE
    return (None,)


@impl("stream.resource.constants")
def _constants(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    contents = cast("ArrayAttr[Attribute]", required(op, "values"))
    pairs = zip(contents, operands, strict=True)
    return (*(constant_resource(op, value, size, frame) for value, size in pairs), None)


@impl("stream.resource.subview")
def _subview(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, _, offset, size = operands
    return (Resource(source.part(op, offset, size), source.owner),)


@impl("stream.resource.pack")
def _pack(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    base, sizes = operand_groups(op, operands)
    ends = integers(op, "lifetime_intervals")
    lifetimes = list(zip(ends[::2], ends[1::2], strict=True))
    total, offsets = pack_slices(lifetimes, [resource_size(op, size) for size in sizes])
    first = int(base[0]) if base else 0
    return (np.int64(first + total), *(np.int64(first + offset) for offset in offsets))


@impl("stream.resource.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    target, _, offset, value = operands
    data = pattern_bytes(op, 3, value)
    target.part(op, offset, data.size)[:] = data
    return ()


@impl("stream.resource.try_map")
def _map(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Map host memory, which every device can read."""
    source, offset, size = operands
    contents = bytes_at(op, source, offset, size)
    return (np.bool_(True), Resource(contents, device_of(op, frame)))


@impl("stream.file.constant")
def _file(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, _, offset, length = operands
    return (bytes_at(op, source, offset, length),)


@impl("stream.file.read")
def _read_file(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, start, target, _, offset, length = operands[:6]
    check_access(op, frame, target)
    part = target.part(op, offset, length)
    part[:] = bytes_at(op, source, start, length)
    return (None,)


@impl("stream.cmd.parameter.load")
def _load_parameters(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    _, _, offsets, sizes, _ = operand_groups(op, operands)
    here = device_of(op, frame)
    return (*(Resource(part, here) for part in contents_read(op, offsets, sizes)), None)


@impl("stream.cmd.parameter.gather", "stream.cmd.parameter.read")
def _read_parameters(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    _, _, offsets, (target,), _, starts, lengths, _ = operand_groups(op, operands)
    check_access(op, frame, target)
    parts = contents_read(op, offsets, lengths)
    for start, part in zip(starts, parts, strict=True):
        target.part(op, start, part.size)[:] = part
    return (None,)


# Commands -----------------------------------------------------------------------------------


@impl_with_regions("stream.cmd.execute")
def _execute(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    resources, *_ = operand_groups(op, operands)
    yield frame.run_region(op.regions[0], resources)
    return (None,)


@impl_with_regions("stream.cmd.concurrent", "stream.cmd.serial")
def _group(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    yield frame.run_region(op.regions[0], ())
    return ()


@impl("stream.cmd.fill")
def _fill(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    target, _, offset, length, value = operands
    check_access(op, frame, target)
    part = target.part(op, offset, length)
    part[:] = repeated(op, pattern_bytes(op, 4, value), part.size)
    return ()


@impl("stream.cmd.copy")
def _copy(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Copy bytes. The source may belong to another device: this is how transfers are lowered."""
    source, _, source_offset, target, _, target_offset, length = operands
    check_access(op, frame, target)
    taken = source.part(op, source_offset, length)
    target.part(op, target_offset, length)[:] = taken
    return ()


@impl_with_regions("stream.cmd.dispatch")
def _dispatch(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    workload, uniform, resources, _, offsets, lengths = operand_groups(op, operands)
    here = check_access(op, frame, *resources)
    ranges = zip(resources, offsets, lengths, strict=True)
    parts: list[Bytes] = [each.part(op, offset, length) for each, offset, length in ranges]
    export = entry_export(op, frame)
    if isinstance(export, ExecutableExportOp):
        yield Dispatch(op, export, parts, uniform).run_counted(workload, frame)
        return ()
    bindings = [Binding(Resource(part, here)) for part in parts]
    function, count = dispatched_kernel(op, frame)
    of_kinds = iter(bindings), iter(uniform)
    types = [argument.type for argument in function.regions[0].blocks[0].args]
    if len(types) != len(bindings) + len(uniform):
        raise OperationError(
            op,
            f"passes {len(bindings) + len(uniform)} values to its kernel, which takes {len(types)}",
        )
    given = [next(of_kinds[not isinstance(type_, BindingType)]) for type_ in types]
    yield run_kernel(op, function.regions[0], count, workload, given, frame)
    write_back(op, bindings, parts)
    return ()
