"""Checks of what regions of `scf` operations give to the operation around them.

xDSL's verifiers of `scf.if`, `scf.while` and `scf.execute_region` do not look at it, so that a
result could be of another type than what was yielded for it. The messages are MLIR's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

_YIELD = "scf.yield"
_CONDITION = "scf.condition"


def _require_types(
    found: Sequence[Attribute], wanted: Sequence[Attribute], source: str, target: str
) -> None:
    if len(found) != len(wanted):
        raise VerifyException(
            f"along control flow edge from {source} to {target}: region branch point has "
            f"{len(found)} operands, but region successor needs {len(wanted)} inputs"
        )
    for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one != other:
            raise VerifyException(
                f"along control flow edge from {source} to {target}: successor operand type "
                f"#{index} '{one}' should match successor input type #{index} '{other}'"
            )


def _end_of(block: Block, name: str, region: str) -> Operation:
    last = block.last_op
    if last is None or last.name != name:
        raise VerifyException(f"expects the {region} region to terminate with '{name}'")
    return last


def _if(operation: Operation) -> None:
    results = operation.result_types
    if results and not operation.regions[1].blocks:
        raise VerifyException("must have an else block if defining values")
    for name, region in zip(("'then'", "'else'"), operation.regions, strict=True):
        for block in region.blocks:
            end = _end_of(block, _YIELD, name)
            _require_types(end.operand_types, results, f"Operation {_YIELD}", "parent")


def _while(operation: Operation) -> None:
    before, after = (_only_block(region) for region in operation.regions)
    condition = _end_of(before, _CONDITION, "'before'")
    repeat = _end_of(after, _YIELD, "'after'")
    _require_types(operation.operand_types, before.arg_types, "parent", "Region #0")
    passed = condition.operand_types[1:]
    _require_types(passed, operation.result_types, f"Operation {_CONDITION}", "parent")
    _require_types(passed, after.arg_types, f"Operation {_CONDITION}", "Region #1")
    _require_types(repeat.operand_types, before.arg_types, f"Operation {_YIELD}", "Region #0")


def _execute_region(operation: Operation) -> None:
    for block in operation.regions[0].blocks:
        end = block.last_op
        if end is not None and end.name == _YIELD:
            types = operation.result_types
            _require_types(end.operand_types, types, f"Operation {_YIELD}", "parent")


def _only_block(region: Region) -> Block:
    block = region.first_block
    if block is None or block is not region.last_block:
        raise VerifyException("expects regions of one block")
    return block


CONTROL_FLOW_CHECKS: dict[str, Callable[[Operation], None]] = {
    "scf.execute_region": _execute_region,
    "scf.if": _if,
    "scf.while": _while,
}
"""What to check of xDSL's operations beyond their own verifiers, by name."""
