"""Replace operations on tensors without elements: torch-mlir divides by their sizes.

im2col(x: [0, 1, 5, 5]) -> full([0, 4, 16], 0)
"""

from __future__ import annotations

from typing import Any

from ..aten.operands import is_static


def fill_empty_tensors(torch: Any, graph_module: Any) -> None:
    """Replace operations whose results have no elements by constants."""
    graph = graph_module.graph
    for node in graph.nodes:
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.Tensor):
            continue
        if is_static(value.shape) and 0 in value.shape:
            # Change the node in place: outputs refer to its name.
            node.target = torch.ops.aten.full.default
            node.args = (list(value.shape), 0)
            node.kwargs = {"dtype": value.dtype}
    graph.eliminate_dead_code()
    graph_module.recompile()
