"""Views of tensors with open sizes, written so that torch-mlir keeps their sizes.

torch-mlir takes `view(x, [a * b, 8])` of `x: [a, b, 8]` as if `b` were 1. Its conversion of
`flatten`, which names the dimensions that it joins, is right:

    view(x: [a, b, 8], [a * b, 8])  ->  flatten(x, 0, 1)

Views that split dimensions stay. Their sizes are kept, and torch-mlir crashes on a view of a
`flatten`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

LEGAL = ["aten.flatten.using_ints"]
"""What torch-mlir is not to take apart again into views."""


def name_joined_dimensions(torch: Any, graph_module: Any) -> None:
    """Join dimensions of tensors with open sizes by `flatten`, where views join them."""
    graph, aten = graph_module.graph, torch.ops.aten
    views = (aten.view.default, aten._unsafe_view.default)
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in views:
            continue
        operand, value = node.args[0], node.args[0].meta["val"]
        source, result = tuple(value.shape), tuple(node.meta["val"].shape)
        if all(isinstance(size, int) for size in source):
            continue
        # From the last, so that the dimensions before keep their numbers.
        joined = joined_dimensions(source, result)[::-1]
        for index, (first, end) in enumerate(joined):
            if index == len(joined) - 1:
                # The node itself, whose name outputs go by.
                node.target, node.args = aten.flatten.using_ints, (operand, first, end - 1)
                break
            with graph.inserting_before(node):
                operand = graph.call_function(aten.flatten.using_ints, (operand, first, end - 1))
            value = value.flatten(first, end - 1)
            operand.meta = {**node.meta, "val": value}
    graph_module.recompile()


def joined_dimensions(source: Sequence[Any], result: Sequence[Any]) -> list[tuple[int, int]]:
    """The runs of a view's dimensions, ends excluded, each of which becomes one dimension.

    None where the view does more, or it is not known whether it does.
    """
    known = import_module("torch.fx.experimental.symbolic_shapes").statically_known_true
    found: list[tuple[int, int]] = []
    first = 0
    for size in result:
        end = first + 1
        while end <= len(source) and not known(prod(source[first:end]) == size):
            end += 1
        if end > len(source):
            return []
        if end - first > 1:
            found.append((first, end))
        first = end
    return found if first == len(source) else []
