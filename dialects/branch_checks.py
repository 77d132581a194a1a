"""Checks that branches give the blocks that they go to the arguments that these take.

xDSL's `cf` operations do not look at their successors. The messages are MLIR's, with both types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException


def _given(operation: Operation) -> Iterator[Sequence[SSAValue]]:
    """The operands for each successor, in order."""
    lengths = [len(operation.operands)]
    if operation.name == "cf.cond_br":
        lengths = _lengths(operation, "operandSegmentSizes")
    elif operation.name == "cf.switch":
        flag, default, _ = _lengths(operation, "operandSegmentSizes")
        lengths = [flag, default, *_lengths(operation, "case_operand_segments")]
    ends = list(accumulate(lengths, initial=0))
    groups = [operation.operands[start:end] for start, end in pairwise(ends)]
    # The first group of the other two is what they decide by.
    yield from groups if operation.name == "cf.br" else groups[1:]


def _lengths(operation: Operation, name: str) -> list[int]:
    segments = cast("DenseArrayBase[IntegerType]", operation.properties[name])
    return list(segments.get_values())


def _branch(operation: Operation) -> None:
    given = list(_given(operation))
    if len(given) != len(operation.successors):
        raise VerifyException(
            f"has operands for {len(given)} successors, but {len(operation.successors)} of them"
        )
    for number, (operands, block) in enumerate(zip(given, operation.successors, strict=True)):
        if len(operands) != len(block.args):
            raise VerifyException(
                f"branch has {len(operands)} operands for successor #{number}, but target block "
                f"has {len(block.args)}"
            )
        for index, (operand, argument) in enumerate(zip(operands, block.args, strict=True)):
            if operand.type != argument.type:
                raise VerifyException(
                    f"type mismatch for bb argument #{index} of successor #{number}: found "
                    f"{operand.type}, but the block takes {argument.type}"
                )


BRANCH_CHECKS: dict[str, Callable[[Operation], None]] = dict.fromkeys(
    ("cf.br", "cf.cond_br", "cf.switch"), _branch
)
"""What to check of xDSL's operations beyond their own verifiers, by name."""
