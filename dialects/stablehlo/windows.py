"""Windows that slide over a tensor, as attributes of convolutions and reductions define them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, integer, number_list
from ...ir.tensor_types import map_size
from .checks import operand_shape
from .types import ConvAttr


@dataclass(frozen=True, slots=True)
class Window:
    """The window of one dimension: size, stride, padding and dilation."""

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    base_dilation: int = 1
    dilation: int = 1
    reverse: bool = False

    @property
    def reach(self) -> int:
        """The number of positions that a window spans, including the skipped ones."""
        return (self.size - 1) * self.dilation + 1 if self.size else 0

    def padded(self, extent: int) -> int:
        """Return the size of a dimension after dilation and padding; negative if it is dynamic."""
        if extent < 0:
            return -1
        return (max(extent - 1, 0) * self.base_dilation + 1 if extent else 0) + self.low + self.high

    def count(self, extent: int) -> int:
        """Return the number of windows that fit; negative if the dimension is dynamic."""
        if self.size < 0:
            return -1

        def windows(size: int) -> int:
            room = self.padded(size)
            return 0 if room < self.reach or room == 0 else (room - self.reach) // self.stride + 1

        return map_size(extent, windows)

    @property
    def is_plain(self) -> bool:
        """Whether each window is a single element, one after the other."""
        return self == Window(1)


def _numbers(operation: Operation, name: str, rank: int, default: int) -> Sequence[int]:
    """Return the numbers of an attribute; defaults if it has none or does not exist."""
    return number_list(attribute(operation, name)) or (default,) * rank


def _padding(operation: Operation, rank: int) -> Sequence[int]:
    """Return low and high padding of each dimension in turn."""
    found = attribute(operation, "padding")
    allowed = [TensorType(i64, [count, 2]) for count in (0, rank)]
    if found is not None and getattr(found, "type", None) not in allowed:
        raise VerifyException(f"expected 'padding' to be {rank} pairs of i64, got {found}")
    return _numbers(operation, "padding", 2 * rank, 0)


def reduction_windows(operation: Operation) -> list[Window]:
    """Return the windows of `reduce_window` and `select_and_scatter`, one per dimension.

    Raises VerifyException if an attribute has another number of dimensions.
    """
    sizes = number_list(attribute(operation, "window_dimensions"))
    rank = len(operand_shape(operation, 0))
    sizes = sizes or (1,) * rank
    padding = _padding(operation, rank)
    lists = [
        _numbers(operation, name, rank, 1)
        for name in ("window_strides", "base_dilations", "window_dilations")
    ]
    if any(len(each) != rank for each in (sizes, *lists)):
        raise VerifyException(f"expected a window of rank {rank}")
    return [
        Window(sizes[i], lists[0][i], padding[2 * i], padding[2 * i + 1], lists[1][i], lists[2][i])
        for i in range(rank)
    ]


def convolution_windows(operation: Operation) -> list[Window]:
    """Return the windows of a convolution, one per spatial dimension. Raises VerifyException."""
    numbers = convolution_numbers(operation)
    kernel = operand_shape(operation, 1)
    spatial = numbers.positions(1, "io")[2:]
    rank = len(spatial)
    padding = _padding(operation, rank)
    lists = [
        _numbers(operation, name, rank, default)
        for name, default in (
            ("window_strides", 1),
            ("lhs_dilation", 1),
            ("rhs_dilation", 1),
            ("window_reversal", 0),
        )
    ]
    if any(len(each) != rank for each in lists):
        raise VerifyException(f"expected windows of {rank} spatial dimensions")
    if any(number < 1 for each in lists[:3] for number in each):
        raise VerifyException("expected strides and dilations to be positive")
    return [
        Window(
            kernel[dimension],
            lists[0][i],
            padding[2 * i],
            padding[2 * i + 1],
            lists[1][i],
            lists[2][i],
            bool(lists[3][i]),
        )
        for i, dimension in enumerate(spatial)
    ]


def convolution_numbers(operation: Operation) -> ConvAttr:
    """Return the dimension numbers, checked against operand ranks. Raises VerifyException."""
    numbers = attribute(operation, "dimension_numbers")
    if not isinstance(numbers, ConvAttr):
        raise VerifyException(f"expected #stablehlo.conv<...>, got {numbers}")
    ranks = [len(operand_shape(operation, 0)), len(operand_shape(operation, 1))]
    rank = ranks[0]
    for roles, letters in zip(numbers.data, ("bf", "io", "bf"), strict=True):
        expected = [*letters, *range(rank - 2)]
        if sorted(map(str, roles)) != sorted(map(str, expected)) or ranks[1] != rank:
            raise VerifyException(
                f"expected dimensions {', '.join(map(str, expected))}, got {list(roles)} for "
                f"operands of rank {ranks[0]} and {ranks[1]}"
            )
    return numbers


def convolution_shape(operation: Operation) -> tuple[int, ...]:
    """Infer the shape of a convolution's result. Raises VerifyException if sizes do not match."""
    numbers = convolution_numbers(operation)
    image, kernel = operand_shape(operation, 0), operand_shape(operation, 1)
    batch, feature, *spatial = numbers.positions(0, "bf")
    inputs, outputs = numbers.positions(1, "io")[:2]
    groups = integer(operation, "feature_group_count")
    batches = integer(operation, "batch_group_count")
    if groups < 1 or batches < 1 or min(groups, batches) != 1:
        raise VerifyException(
            f"expected feature_group_count {groups} and batch_group_count {batches} to be "
            "positive, and one of them to be 1"
        )
    channels = kernel[inputs] * groups
    if image[feature] >= 0 and kernel[inputs] >= 0 and image[feature] != channels:
        raise VerifyException(
            f"expected {channels} input features, kernel's {kernel[inputs]} in {groups} groups, "
            f"got {image[feature]}"
        )
    for what, size, parts in (
        ("output features", kernel[outputs], groups * batches),
        ("batch", image[batch], batches),
    ):
        if size >= 0 and size % parts:
            raise VerifyException(f"{what} of size {size} cannot be split in {parts} groups")
    sizes: dict[str | int, int] = {
        "b": -1 if image[batch] < 0 else image[batch] // batches,
        "f": kernel[outputs],
    }
    for index, (window, dimension) in enumerate(
        zip(convolution_windows(operation), spatial, strict=True)
    ):
        sizes[index] = window.count(image[dimension])
    return tuple(sizes[role] for role in numbers.data[2])
