"""Verifiers of the values that regions of `scf` ops yield and that branches pass to blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import number_list
from ...ir.verification import check

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


@check("scf.if")
def _if(operation: Operation) -> None:
    results = operation.result_types
    if results and not operation.regions[1].blocks:
        raise VerifyException("must have an else block if defining values")
    for name, region in zip(("'then'", "'else'"), operation.regions, strict=True):
        for block in region.blocks:
            end = _end_of(block, _YIELD, name)
            _require_types(end.operand_types, results, f"Operation {_YIELD}", "parent")


@check("scf.while")
def _while(operation: Operation) -> None:
    before, after = (_only_block(region) for region in operation.regions)
    condition = _end_of(before, _CONDITION, "'before'")
    repeat = _end_of(after, _YIELD, "'after'")
    _require_types(operation.operand_types, before.arg_types, "parent", "Region #0")
    passed = condition.operand_types[1:]
    _require_types(passed, operation.result_types, f"Operation {_CONDITION}", "parent")
    _require_types(passed, after.arg_types, f"Operation {_CONDITION}", "Region #1")
    _require_types(repeat.operand_types, before.arg_types, f"Operation {_YIELD}", "Region #0")


@check("scf.execute_region")
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


def _given(operation: Operation) -> Iterator[Sequence[SSAValue]]:
    """Yield the operands of each successor, in order."""
    lengths = [len(operation.operands)]
    if operation.name == "cf.cond_br":
        lengths = _lengths(operation, "operandSegmentSizes")
    elif operation.name == "cf.switch":
        flag, default, _ = _lengths(operation, "operandSegmentSizes")
        lengths = [flag, default, *_lengths(operation, "case_operand_segments")]
    ends = list(accumulate(lengths, initial=0))
    groups = [operation.operands[start:end] for start, end in pairwise(ends)]
    # For `cond_br` and `switch` the first group is the condition or flag.
    yield from groups if operation.name == "cf.br" else groups[1:]


def _lengths(operation: Operation, name: str) -> list[int]:
    segments = cast("DenseArrayBase[IntegerType]", operation.properties[name])
    return list(segments.get_values())


@check("cf.br", "cf.cond_br", "cf.switch")
def _branch(operation: Operation) -> None:
    given = list(_given(operation))
    weights = number_list(operation.attributes.get("branch_weights"))
    if weights and len(weights) != len(operation.successors):
        raise VerifyException(
            f"expects number of branch weights to match number of successors: {len(weights)} vs "
            f"{len(operation.successors)}"
        )
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
