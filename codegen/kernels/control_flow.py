"""Write branches and loops in the body of a kernel.

A scalar that a loop carries is a variable. A tensor that a branch or a loop returns is a tensor
that the kernel updates in place, which needs no code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from .ast_builder import Term

if TYPE_CHECKING:
    from .writer import Indices, KernelWriter


def write_if(writer: KernelWriter, operation: Operation, loops: Indices) -> tuple[Term, ...]:
    """Write an `scf.if`; return the variables of its results."""
    code = writer.code
    results = tuple(code.fresh() for _ in operation.results)

    def branch(block: Block | None) -> None:
        if block is None or block.last_op is None:
            return
        writer.body(block, (), loops, yielded=())
        for name, value in zip(results, block.last_op.operands, strict=True):
            if is_scalar(value):
                code.set(name, writer.scalar(value))

    blocks = [region.first_block for region in operation.regions]
    with code.when(writer.scalar(operation.operands[0])):
        branch(blocks[0])
    with code.otherwise():
        branch(blocks[1])
    return results


def write_for(writer: KernelWriter, operation: Operation, loops: Indices) -> tuple[Term, ...]:
    """Write an `scf.for` with a positive step that is inside of a body; return its results."""
    code, block = writer.code, operation.regions[0].block
    low, high, step, *initial = operation.operands
    names = [code.copy(writer.scalar(each)) if is_scalar(each) else "" for each in initial]
    with code.loop(writer.number(low), writer.number(high), writer.number(step)) as turn:
        writer.body(block, (turn, *names), loops, yielded=())
        assert block.last_op is not None
        advance(writer, names, block.last_op.operands)
    return tuple(names)


def advance(writer: KernelWriter, names: Sequence[str], following: Sequence[SSAValue]) -> None:
    """Assign scalars to variables at once; other values need no variable."""
    code = writer.code
    pairs = [
        (name, code.copy(writer.scalar(value)))
        for name, value in zip(names, following, strict=True)
        if is_scalar(value)
    ]
    for name, value in pairs:
        code.set(name, value)


def is_scalar(value: SSAValue) -> bool:
    return not isinstance(value.type, TensorType)
