"""Convolutions as encodings describe them, and the packed layouts that CPUs prefer for them.

Channels are tiled and moved before the spatial dimensions: an input `(n, h, w, c)` is stored as
`(n, c / t, h, w, t)`, a filter `(h, w, c, f)` as `(f / t, c / t, h, w, t, t)`. The rule and the
tile sizes are those of IREE 3.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .contractions import LHS, RESULT, RHS
from .element_types import ElementType
from .packed_layouts import IDENTITY, PackedLayout
from .targets import Architecture, CpuTarget, Target

Terms = tuple[tuple[int, int], ...]
"""Loops with their factors: `2 * h + kh` has two terms."""
LinearMap = tuple[Terms, ...]
"""For each dimension of a tensor its terms."""


@dataclass(frozen=True, slots=True)
class ConvolutionOperand:
    """One tensor of a convolution: input, filter or result."""

    index: int
    element_types: tuple[ElementType, ...]
    maps: tuple[LinearMap, ...]
    """The maps of input, filter and result."""


@dataclass(frozen=True, slots=True)
class ConvolutionRoles:
    """The batch and channel loops of a convolution."""

    batch: frozenset[int]
    input_channel: int
    output_channel: int


def convolution_layout(target: Target, operand: ConvolutionOperand) -> PackedLayout:
    """Return the layout of one tensor; the identity if the target has no tile for it."""
    tile = _tile(target, operand)
    roles = convolution_roles(operand)
    if tile is None or roles is None:
        return IDENTITY
    position = {
        terms[0][0]: dimension
        for dimension, terms in enumerate(operand.maps[operand.index])
        if len(terms) == 1
    }
    if operand.index == RHS:
        channels = [position[roles.input_channel], position[roles.output_channel]]
        first = channels[::-1]
    else:
        channel = roles.input_channel if operand.index == LHS else roles.output_channel
        channels = [position[channel]]
        batch = sorted(position[loop] for loop in roles.batch if loop in position)
        first = [*batch, *channels]
    rank = len(operand.maps[operand.index])
    rest = [dimension for dimension in range(rank) if dimension not in first]
    return PackedLayout(tuple(channels), (tile,) * len(channels), (*first, *rest))


def _tile(target: Target, operand: ConvolutionOperand) -> int | None:
    if {element.name for element in operand.element_types} != {"f32"}:
        return None
    if not isinstance(target, CpuTarget):
        return None
    if target.architecture is Architecture.X86_64 and target.has("avx512f"):
        return 16
    return 8 if target.architecture is Architecture.AARCH64 else None


def convolution_roles(operand: ConvolutionOperand) -> ConvolutionRoles | None:
    """Return the roles of the loops; `None` if it is dilated, grouped, or not a convolution."""
    if len(operand.maps) != RESULT + 1:
        return None
    input_, filter_, result = operand.maps
    in_filter, in_result = _single_loops(filter_), _single_loops(result)
    alone = _single_loops([terms for terms in input_ if len(terms) == 1])
    windows = [terms for terms in input_ if len(terms) > 1]
    if in_filter is None or in_result is None or alone is None or not windows:
        return None
    for terms in windows:
        taps = [factor for loop, factor in terms if loop in in_filter]
        if taps != [1] or len(terms) != 2:
            return None
    moved = {loop for terms in windows for loop, _ in terms}
    input_channels = (alone & in_filter) - in_result
    output_channels = (in_filter & in_result) - alone - moved
    is_grouped = bool(alone & in_filter & in_result)
    if is_grouped or len(input_channels) != 1 or len(output_channels) != 1:
        return None
    batch = (alone & in_result) - in_filter
    return ConvolutionRoles(batch, min(input_channels), min(output_channels))


def _single_loops(map_: Sequence[Terms]) -> frozenset[int] | None:
    """Return the loops of a map whose dimensions are one loop each; `None` for other maps."""
    if any(len(terms) != 1 or terms[0][1] != 1 for terms in map_):
        return None
    return frozenset(terms[0][0] for terms in map_)


def has_loops_of_a_convolution(maps: tuple[LinearMap, ...], parallel: frozenset[int]) -> bool:
    """Return whether some maps of input, filter and result are those of a convolution or pooling.

    Some dimension of the input is the sum of two loops, each with any factor. Each loop has one of
    the roles of IREE 3.13: batch, image, output channel and depth loops are parallel and index the
    result, window and input channel loops are reductions and index the filter.
    """
    if len(maps) != RESULT + 1:
        return False
    input_, filter_, result = maps
    in_filter, in_result = _single_loops(filter_), _single_loops(result)
    alone = _single_loops([terms for terms in input_ if len(terms) not in (0, 2)])
    if in_filter is None or in_result is None or alone is None:
        return False
    read = [loop for terms in input_ for loop, _ in terms]
    summed = {loop for terms in input_ if len(terms) == 2 for loop, _ in terms}
    if not summed or len(set(read)) != len(read) or parallel != in_result:
        return False

    def has_role(loop: int) -> bool:
        if loop not in in_result:  # a window or an input channel
            return loop in read and loop in in_filter
        # A batch or image loop, an output channel, or a depth loop.
        return (loop in read) != (loop in in_filter) or (loop in in_filter and loop not in summed)

    return all(map(has_role, {*read, *in_filter, *in_result}))
