"""Loops of PyTorch, which torch-mlir imports and does not convert.

Condition and body become functions of their own; the loop goes around torch-mlir as operations do
that it does not convert:

    while_loop(f, g, (x, y), (z,))  ->  mesh_opt.looped_3_2("%r:2 = stablehlo.while ...", x, y, z)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .torch_carried import looped

Importer = Callable[[Any, str], str]
"""The functions of an exported program as text, of which one has the given name."""


def call_loops(torch: Any, graph_module: Any, importer: Importer, name: str) -> list[str]:
    """Put operations that say what becomes of them in place of loops; return their functions.

    Loops over numbers that are no tensors, or over tensors with open sizes, stay. Raises what the
    importer does.
    """
    graph, functions = graph_module.graph, list[str]()
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target != torch.ops.higher_order.while_loop:
            continue
        condition, body, state, others = node.args
        operands = [*state, *others]
        if not all(_is_known(torch, each) for each in operands):
            continue
        examples = [
            torch.zeros(each.meta["val"].shape, dtype=each.meta["val"].dtype) for each in operands
        ]
        called = f"mesh_opt.{name}_while_{len(functions) // 2}"
        for part, graph_name in (("condition", condition), ("body", body)):
            exported = torch.export.export(getattr(graph_module, graph_name.target), (*examples,))
            functions.append(importer(exported, f"{called}_{part}"))
        node.target = looped(torch, len(operands), len(state))
        node.args = (_text(called, len(state), len(operands)), *operands)
        if len(state) == 1:
            _take_alone(graph, node)
    graph.eliminate_dead_code()
    graph_module.recompile()
    return functions


def _is_known(torch: Any, node: Any) -> bool:
    """Whether a node is a tensor with known sizes."""
    value: Any = getattr(node, "meta", {}).get("val")
    return isinstance(value, torch.Tensor) and all(isinstance(size, int) for size in value.shape)


def _take_alone(graph: Any, node: Any) -> None:
    """Operations with one result have no tuple of it."""
    node.meta["val"] = node.meta["val"][0]
    for user in list(node.users):
        assert user.target is operator.getitem
        user.replace_all_uses_with(node)
        graph.erase_node(user)


def _text(called: str, carried: int, count: int) -> str:
    """A loop over the first operands, in which all others are known."""
    types = ", ".join(f"{{{at}}}" for at in range(carried))
    every = ", ".join(f"{{{at}}}" for at in range(count))
    pairs = ", ".join(f"%x{at} = %a{at}" for at in range(carried))
    given = ", ".join(f"%{'x' if at < carried else 'a'}{at}" for at in range(count))
    results = _numbered("%y", carried)
    return f"""%r:{carried} = stablehlo.while({pairs}) : {types}
cond {{{{
  %c = func.call @{called}_condition({given}) : ({every}) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}}}} do {{{{
  %y:{carried} = func.call @{called}_body({given}) : ({every}) -> ({types})
  stablehlo.return {results} : {types}
}}}}"""


def _numbered(value: str, count: int) -> str:
    return ", ".join(f"{value}#{at}" for at in range(count))
