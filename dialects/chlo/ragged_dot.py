"""The dimension numbers of `chlo.ragged_dot`, and its verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute
from ...ir.tensor_types import shape_text, shapes_agree
from ..stablehlo.attributes import INTEGERS, struct_attribute
from ..stablehlo.checks import Shape, operand_shape, require_shape, verify_distinct

RaggedDotAttr = struct_attribute(
    "chlo.ragged_dot",
    "lhs_contracting_dimensions = [1], ...",
    dict.fromkeys(
        (
            *("lhs_batching_dimensions", "rhs_batching_dimensions"),
            *("lhs_contracting_dimensions", "rhs_contracting_dimensions"),
            *("lhs_ragged_dimensions", "rhs_group_dimensions"),
        ),
        INTEGERS,
    ),
)


@dataclass(frozen=True, slots=True)
class RaggedDimensions:
    """The roles of the dimensions of both sides."""

    batch: tuple[tuple[int, ...], tuple[int, ...]]
    summed: tuple[tuple[int, ...], tuple[int, ...]]
    ragged: int
    """The ragged dimension, one of the left side."""
    group: tuple[int, ...]
    """The group dimension of the right side; empty if there is one sum for each group."""

    def free(self, side: int, rank: int) -> list[int]:
        """Return the free dimensions of one side: not batch, contracted or group dimensions."""
        others = (*self.batch[side], *self.summed[side], *(self.group if side else ()))
        return [dimension for dimension in range(rank) if dimension not in others]

    def outer(self, rank: int) -> list[int]:
        """Return the left side's dimensions along which group sizes may differ.

        These are the batch dimensions, then those of the ragged one's role that precede it. Those
        of a ragged batch dimension are the batch dimensions that precede it.
        """
        if self.ragged in self.batch[0]:
            return list(self.batch[0][: self.batch[0].index(self.ragged)])
        own = self.summed[0] if self.ragged in self.summed[0] else self.free(0, rank)
        return [*self.batch[0], *own[: list(own).index(self.ragged)]]


def ragged_dimensions(operation: Operation) -> RaggedDimensions:
    """Return the dimension numbers. Raises VerifyException if they do not fit the operands."""
    numbers = attribute(operation, "ragged_dot_dimension_numbers")
    if not isinstance(numbers, RaggedDotAttr):
        raise VerifyException(f"expected #chlo.ragged_dot<...>, got {numbers}")
    batch, summed = (
        (numbers.integers(f"lhs_{what}_dimensions"), numbers.integers(f"rhs_{what}_dimensions"))
        for what in ("batching", "contracting")
    )
    ragged = numbers.integers("lhs_ragged_dimensions")
    group = numbers.integers("rhs_group_dimensions")
    ranks = [len(operand_shape(operation, index)) for index in (0, 1)]
    verify_distinct((*batch[0], *summed[0]), ranks[0], "dimensions of lhs")
    verify_distinct((*batch[1], *summed[1], *group), ranks[1], "dimensions of rhs")
    verify_distinct(ragged, ranks[0], "the ragged dimension")
    if len(ragged) != 1:
        raise VerifyException(f"expected one ragged dimension, got {len(ragged)}")
    is_free = ragged[0] not in (*batch[0], *summed[0])
    if len(group) != is_free:
        raise VerifyException(
            f"expected {int(is_free)} group dimensions where the ragged dimension is "
            f"{'neither' if is_free else 'of'} batch {'nor' if is_free else 'or'} contracted, got "
            f"{len(group)}"
        )
    return RaggedDimensions(batch, summed, ragged[0], group)


def verify_ragged_dot(operation: Operation) -> None:
    """Check the dimensions, the group sizes and the shape of the result."""
    roles = ragged_dimensions(operation)
    left, right, sizes = (operand_shape(operation, index) for index in range(3))
    for ours, others in (roles.batch, roles.summed):
        if not shapes_agree(_sizes(left, ours), _sizes(right, others)):
            raise VerifyException(
                f"expected dimensions {list(ours)} of lhs and {list(others)} of rhs to have the "
                f"same sizes, got {_sizes(left, ours)} and {_sizes(right, others)}"
            )
    count = sizes[-1] if sizes else -1
    wanted = (*_sizes(left, roles.outer(len(left))), count)
    if len(sizes) != 1 and not shapes_agree(wanted, sizes):
        raise VerifyException(
            f"expected group sizes of rank 1 or of shape {shape_text(wanted)}, got "
            f"{shape_text(sizes)}"
        )
    if not shapes_agree(_sizes(right, roles.group), (count,) * len(roles.group)):
        raise VerifyException(
            f"expected {count} matrices, one for each group, got {right[roles.group[0]]}"
        )
    groups = (count,) if roles.ragged in roles.summed[0] else ()
    free = [_sizes(each, roles.free(side, len(each))) for side, each in enumerate((left, right))]
    require_shape(operation, (*groups, *_sizes(left, roles.batch[0]), *free[0], *free[1]))


def _sizes(shape: Shape, dimensions: Sequence[int]) -> Shape:
    return tuple(shape[dimension] for dimension in dimensions)
