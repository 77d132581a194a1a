"""Control flow of PyTorch, which torch-mlir does not import.

torch.cond(p, f, g, (x,))  ->  torch.where(p, f(x), g(x))
"""

from __future__ import annotations

from typing import Any


def inline_branches(torch: Any, graph_module: Any) -> None:
    """Put both branches of each `cond` into the graph, and choose between their results.

    Branches have no effects: what the other computes is thrown away.
    """
    graph, cond = graph_module.graph, torch.ops.higher_order.cond
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not cond:
            continue
        condition, *branches, operands = node.args
        found: list[Any] = []
        with graph.inserting_before(node):
            for branch in branches:
                body = getattr(graph_module, branch.target)
                inline_branches(torch, body)
                found.append(_copied(graph_module, branch.target, body, operands))
            chosen: list[Any] = []
            for value, one, other in zip(node.meta["val"], *found, strict=True):
                each = graph.call_function(torch.ops.aten.where.self, (condition, one, other))
                each.meta = {**node.meta, "val": value}
                chosen.append(each)
        for user in list(node.users):
            user.replace_all_uses_with(chosen[user.args[1]])
            graph.erase_node(user)
        graph.erase_node(node)
        for branch in branches:
            if not branch.users:
                graph.erase_node(branch)
    graph_module.recompile()


def _copied(graph_module: Any, prefix: str, body: Any, operands: Any) -> Any:
    """What a graph returns, copied to where nodes are inserted, for some operands."""
    placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
    values = dict(zip(placeholders, operands, strict=True))
    for node in body.graph.nodes:
        if node.op == "output":
            return [values[each] for each in node.args[0]]
        if node.op == "placeholder":
            continue
        copied = values[node] = graph_module.graph.node_copy(node, values.__getitem__)
        if node.op == "get_attr":
            # A name of the whole module that is free.
            copied.target = f"{prefix}_{node.target}"
            setattr(graph_module, copied.target, getattr(body, node.target))
    raise AssertionError("a graph ends with its output")


def refused_masks(torch: Any, graph_module: Any) -> dict[str, str]:
    """What torch-mlir would not end with, and where it is written: masks among other indices."""
    found: dict[str, str] = {}
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and node.target == torch.ops.aten.index.Tensor:
            kinds = [each.meta["val"].dtype for each in node.args[1] if each is not None]
            if torch.bool in kinds and len(kinds) > 1:
                found["aten.index.Tensor of a mask among other indices"] = _place(node)
    return found


def refused_control_flow(torch: Any, importer: Any, graph_module: Any) -> dict[str, str]:
    """What the importer of torch-mlir has nothing for, and where it is written.

    Loops, too, since no conversion of what it makes of them ends.
    """
    found: dict[str, str] = {}
    for node in graph_module.graph.nodes:
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            name = node.target.name()
            if name == "while_loop" or not hasattr(importer, f"_import_hop_{name}"):
                found[f"higher_order.{name}"] = _place(node)
    return found


def _place(node: Any) -> str:
    return node.meta.get("stack_trace") or ""
