"""Expand values into several by their types, in operations and function signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FunctionType, i32
from xdsl.ir import Attribute, Operation

from .syntax.resource_directives import UNTIED, tied_operands, ties_of
from .value_flow import BRANCHES

Expansion = Callable[[Attribute], Sequence[Attribute]]
"""Maps a type to the types of the values that replace it: only itself if the value stays."""

TIED = "tied_operands"


def expand_types(types: Sequence[Attribute], expansion: Expansion) -> list[Attribute]:
    """Return the types of the values that replace values of these types."""
    return [each for type_ in types for each in expansion(type_)]


def on_first(attributes: DictionaryAttr, count: int) -> Sequence[DictionaryAttr]:
    """Return the attributes of values that replace one: the first has its attributes."""
    return [attributes, *[DictionaryAttr({})] * (count - 1)][:count]


def retype_function(
    function: Operation,
    expansion: Expansion,
    attributes_of: Callable[[DictionaryAttr, int], Sequence[DictionaryAttr]] = on_first,
) -> None:
    """Expand the arguments and results in a function's type, attributes and ties.

    `attributes_of` returns the attributes of the values that replace one.
    """
    type_ = cast(FunctionType, function.properties["function_type"])
    inputs, outputs = type_.inputs.data, type_.outputs.data
    function.properties["function_type"] = FunctionType.from_lists(
        expand_types(inputs, expansion), expand_types(outputs, expansion)
    )
    for name, types in (("arg_attrs", inputs), ("res_attrs", outputs)):
        entries = function.properties.get(name)
        if isinstance(entries, ArrayAttr):
            own = cast(ArrayAttr[DictionaryAttr], entries)
            function.properties[name] = ArrayAttr(
                [
                    entry
                    for type_, first in zip(types, own, strict=True)
                    for entry in attributes_of(first, len(expansion(type_)))
                ]
            )
    expand_ties(function, inputs, outputs, expansion)


def expand_ties(
    operation: Operation,
    operands: Sequence[Attribute],
    results: Sequence[Attribute],
    expansion: Expansion,
) -> None:
    """Renumber the ties of results to operands after both were expanded."""
    if TIED not in operation.properties:
        return
    starts = [0]
    for type_ in operands:
        starts.append(starts[-1] + len(expansion(type_)))
    ties: list[int] = []
    for type_, tie in zip(results, ties_of(operation, len(results)), strict=True):
        ties.append(tie if tie == UNTIED else starts[tie])
        ties += [UNTIED] * (len(expansion(type_)) - 1)
    operation.properties[TIED] = tied_operands(ties)


def expand_segments(operation: Operation, expansion: Expansion) -> dict[str, Attribute]:
    """Return an operation's properties, with the operand segments of a branch expanded."""
    properties = dict(operation.properties)
    if operation.name not in BRANCHES:
        return properties
    start = 0
    for name in ("operandSegmentSizes", "case_operand_segments"):
        segments = properties.get(name)
        if not isinstance(segments, DenseArrayBase):
            continue
        lengths = [int(length) for length in segments.get_values()]
        if name == "case_operand_segments":
            start = len(operation.operands) - sum(lengths)
        grown: list[int] = []
        for length in lengths:
            group = [value.type for value in operation.operands[start : start + length]]
            grown.append(len(expand_types(group, expansion)))
            start += length
        properties[name] = DenseArrayBase.from_list(i32, grown)
    return properties
