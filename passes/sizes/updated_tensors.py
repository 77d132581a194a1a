"""Find the tensor that an operation or a loop returns with elements written to it."""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects.tensor.dialect import UPDATES
from ...ir.host_programs import CHOICES, LOOPS
from ...ir.regions import inner_blocks


def keeps_types(loop: Operation) -> bool:
    """Return whether what a loop carries are its results, in order."""
    return loop.name == "scf.for" or loop.operand_types == loop.result_types


def updated_tensor(value: SSAValue) -> SSAValue | None:
    """Return the tensor that an operation returns with elements written to it; `None` for others.

    A loop does so if each iteration does.
    """
    if not isinstance(value, OpResult):
        return None
    operation, number = value.op, value.index
    if operation.name in UPDATES:
        return operation.operands[1]
    if operation.name not in LOOPS or not keeps_types(operation):
        return None
    for block in inner_blocks(operation):
        new = _passed(block, number, len(operation.results))
        if new is None or not _is_update_of(new, block.args[number - len(operation.results)]):
            return None
    return operation.operands[number - len(operation.results)]


def _is_update_of(value: SSAValue, tensor: SSAValue) -> bool:
    """Return whether a value is a tensor, with elements written to it or not."""
    following: SSAValue | None = value
    while following is not tensor:
        if following is None:
            return False
        if isinstance(following, OpResult) and following.op.name in CHOICES:
            branch, number = following.op, following.index
            news = [_passed(each, number, len(branch.results)) for each in inner_blocks(branch)]
            return all(new is not None and _is_update_of(new, tensor) for new in news)
        following = updated_tensor(following)
    return True


def _passed(block: Block, number: int, count: int) -> SSAValue | None:
    """Return what a block of control flow passes on as value `number` of `count`."""
    return None if block.last_op is None else block.last_op.operands[number - count]
