"""Assign offsets to the slices of `stream.resource.pack`, as constants or arithmetic.

Slices of static sizes overlap if their lifetimes do not. Dynamic sizes cannot be compared: such a
slice reuses the range of one of the same size value whose lifetime has ended, and otherwise starts
where the last one ends. Offsets are multiples of 64, or of what `stream.resources` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.stream.resources import ResourcePackOp
from ...dialects.util.dialect import AlignOp
from ...ir.host_programs import host_operations_of
from ...ir.index import BuilderIndices, IndexOrInt, known
from ...ir.locations import builder_before
from ...ir.slice_packing import Lifetime, pack_slices
from ..manager.module_pass import module_pass
from .analysis.resource_limits import resource_limits


@module_pass("iree-stream-layout-slices")
def layout_slices(module: ModuleOp) -> None:
    """Replace packed slices by their offsets."""
    for operation in host_operations_of(module, ResourcePackOp):
        _lay_out(operation)


@dataclass(slots=True)
class Bin:
    """A range for slices of one dynamic size, and the lifetimes of the slices in it."""

    offset: IndexOrInt
    lifetimes: list[Lifetime]

    def is_free(self, lifetime: Lifetime) -> bool:
        """Return whether the range is free during a lifetime."""
        first, last = lifetime
        return all(end < first or last < start for start, end in self.lifetimes)


def _lay_out(pack: ResourcePackOp) -> None:
    ends = [end.value.data for end in pack.lifetime_intervals]
    lifetimes = list(zip(ends[::2], ends[1::2], strict=True))
    sizes = [known(size) for size in pack.dynamic_slice_sizes]
    fixed = [number for number, size in enumerate(sizes) if isinstance(size, int)]
    total, packed = pack_slices(
        [lifetimes[number] for number in fixed],
        [size for size in sizes if isinstance(size, int)],
        alignment := resource_limits(pack).alignment,
    )
    builder = builder_before(pack)
    indices = BuilderIndices(builder)
    offsets: dict[int, IndexOrInt] = dict(zip(fixed, packed, strict=True))
    base: IndexOrInt = known(pack.offset) if pack.offset is not None else 0
    end: IndexOrInt = total
    of_size: dict[SSAValue, list[int]] = {}
    for number, size in enumerate(sizes):
        if isinstance(size, SSAValue):
            of_size.setdefault(size, []).append(number)
    for size, numbers in of_size.items():
        align = AlignOp.build(operands=[size, indices.index(alignment)], result_types=[size.type])
        stride = builder.insert(align).results[0]
        bins: list[Bin] = []
        for number in numbers:
            bin_ = next((other for other in bins if other.is_free(lifetimes[number])), None)
            if bin_ is None:
                bin_ = Bin(end, [])
                bins.append(bin_)
                end = indices.add(end, stride)
            bin_.lifetimes.append(lifetimes[number])
            offsets[number] = bin_.offset
    pack.total_length.replace_all_uses_with(indices.index(indices.add(base, end)))
    for number, result in enumerate(pack.packed_offsets):
        result.replace_all_uses_with(indices.index(indices.add(base, offsets[number])))
    Rewriter.erase_op(pack)
