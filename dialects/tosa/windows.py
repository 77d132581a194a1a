"""The windows of `tosa` convolutions and poolings, along the dimensions of an image."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from ...ir.attribute_access import optional_integers
from ...ir.tensor_types import Shape, tensor_shape
from ...sharding.factors import Window


@dataclass(frozen=True, slots=True)
class Sliding:
    """The windows along one dimension of an image, in elements.

    Window `i` reads the image at `i * stride - before + k * dilation` for `k` in `[0, size)`.
    """

    size: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def reach(self) -> int:
        """The distance from the first element of a window to the end of its last."""
        return (self.size - 1) * self.dilation + 1

    def reads(self, dimension: int, extent: int) -> Window:
        """Return the `Window` of a dimension of the image with this extent."""
        return Window(0, dimension, extent, self.stride, -self.before, self.reach)

    @property
    def stays(self) -> bool:
        """Whether window `i` is just element `i`."""
        return (self.size, self.stride, self.before, self.after) == (1, 1, 0, 0)


def sliding(operation: Operation) -> list[Sliding] | None:
    """Return the windows along each dimension between batch and channels; `None` if unknown.

    For a transposed convolution these are windows of the result, to which one element of the image
    contributes; `before` and `after` then extend the result.
    """
    sizes = _window_sizes(operation)
    strides = optional_integers(operation, "stride")
    padding = optional_integers(operation, "pad") or optional_integers(operation, "out_pad")
    if sizes is None or strides is None or padding is None or len(padding) != 2 * len(sizes):
        return None
    found: list[Sliding] = []
    for index, size in enumerate(sizes):
        dilations = optional_integers(operation, "dilation") or (1,) * len(sizes)
        if size is None or len(strides) <= index or len(dilations) <= index:
            return None
        before, after = padding[2 * index : 2 * index + 2]
        found.append(Sliding(size, strides[index], dilations[index], before, after))
    return found


def _window_sizes(operation: Operation) -> Shape | None:
    kernel = optional_integers(operation, "kernel")
    if kernel is not None:
        return kernel
    weight = tensor_shape(operation.operands[1])
    if weight is None:
        return None
    return weight[:2] if operation.name == "tosa.depthwise_conv2d" else weight[1:-1]
