"""Inline control flow of PyTorch that torch-mlir does not import.

torch.cond(p, f, g, (x,))  ->  torch.where(p, f(x), g(x))
map(f, x)                  ->  torch.stack((f(x[0]), f(x[1]), ...))
scan(f, a, x)              ->  b, y = f(a, x[0]); c, z = f(b, x[1]); torch.stack((y, z))
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ..aten.rules import is_static

_MAX_STEPS = 64
"""Loops of more steps are not unrolled."""

_MAX_OPERATIONS = 512
"""Loops that would become more operations are not unrolled, if they can stay loops."""


def inline_control_flow(torch: Any, graph_module: Any) -> None:
    """Inline the bodies of `cond`, `map` and `scan` into the graph.

    The bodies have no side effects: both branches of a `cond` run, and `where` selects a result.
    Loops with a dynamic or large number of steps, or of many operations, stay.
    """
    graph, operations = graph_module.graph, torch.ops.higher_order
    rules = {
        operations.cond: _branches,
        operations.map_impl: _steps,
        operations.scan: _steps,
    }
    for node in list(graph.nodes):
        rule = rules.get(node.target) if node.op == "call_function" else None
        if rule is None:
            continue
        with graph.inserting_before(node):
            found = rule(torch, graph_module, node)
        if found is None:
            continue
        for user in list(node.users):
            user.replace_all_uses_with(found[user.args[1]])
            graph.erase_node(user)
        bodies = [each for each in node.all_input_nodes if each.op == "get_attr"]
        graph.erase_node(node)
        for body in bodies:
            if not body.users:
                graph.erase_node(body)
    graph_module.recompile()


def _branches(torch: Any, graph_module: Any, node: Any) -> list[Any]:
    condition, *branches, operands = node.args
    found = [_copied(torch, graph_module, branch, operands) for branch in branches]
    chosen: list[Any] = []
    for value, one, other in zip(node.meta["val"], *found, strict=True):
        arguments = (condition, one, other)
        each = graph_module.graph.call_function(torch.ops.aten.where.self, arguments)
        each.meta = {**node.meta, "val": value}
        chosen.append(each)
    return chosen


def loop_parts(node: Any) -> tuple[Any, Sequence[Any], Sequence[Any], Sequence[Any]]:
    """Return the body of a `map` or `scan`, the state of a scan, the rows, and other operands."""
    body, *state, rows, others = node.args
    return body, state[0] if state else (), rows, others


def _steps(torch: Any, graph_module: Any, node: Any) -> list[Any] | None:
    """Unroll a loop; return the final state and the stacked results, or `None` if it must stay."""
    body, state, rows, others = loop_parts(node)
    graph, aten = graph_module.graph, torch.ops.aten
    size = rows[0].meta["val"].shape[0]
    if not isinstance(size, int) or not 0 < size <= _MAX_STEPS:
        return None
    if _stays_loop(torch, graph_module, body, [*state, *rows, *others], size):
        return None

    def call(operation: Any, value: Any, *arguments: Any) -> Any:
        found = graph.call_function(operation, arguments)
        found.meta = {**node.meta, "val": value}
        return found

    given: list[list[Any]] = []
    for step in range(size):
        chosen = [
            call(aten.select.int, each.meta["val"].select(0, step), each, 0, step) for each in rows
        ]
        found = _copied(torch, graph_module, body, [*state, *chosen, *others])
        state, results = found[: len(state)], found[len(state) :]
        given.append(results)
    values = node.meta["val"][len(state) :]
    stacked = (
        call(aten.stack.default, value, list(each))
        for value, each in zip(values, zip(*given, strict=True), strict=True)
    )
    return [*state, *stacked]


def _stays_loop(
    torch: Any, graph_module: Any, name: Any, operands: Sequence[Any], size: int
) -> bool:
    """Return whether a loop of known tensors, without constants, would become many operations."""
    nodes = getattr(graph_module, name.target).graph.nodes
    if any(node.op == "get_attr" for node in nodes):
        return False
    count = sum(node.op == "call_function" for node in nodes)
    return size * count > _MAX_OPERATIONS and all(is_known(torch, each) for each in operands)


def is_known(torch: Any, node: Any) -> bool:
    """Return whether a node is a tensor with static sizes."""
    value: Any = getattr(node, "meta", {}).get("val")
    return isinstance(value, torch.Tensor) and is_static(value.shape)


def _copied(torch: Any, graph_module: Any, name: Any, operands: Any) -> Any:
    """Copy the body that a node names to the insertion point, and return its results."""
    prefix, body = name.target, getattr(graph_module, name.target)
    inline_control_flow(torch, body)
    placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
    values = dict(zip(placeholders, operands, strict=True))
    for node in body.graph.nodes:
        if node.op == "output":
            return [values[each] for each in node.args[0]]
        if node.op == "placeholder":
            continue
        copied = values[node] = graph_module.graph.node_copy(node, values.__getitem__)
        if node.op == "get_attr":
            # A name that is unique in the whole module.
            copied.target = f"{prefix}_{node.target}"
            setattr(graph_module, copied.target, getattr(body, node.target))
    raise AssertionError("a graph ends with its output")


def constants_of(torch: Any, graph_module: Any) -> dict[str, Any]:
    """Return the tensors that are attributes of a graph, as those of inlined bodies, by name."""
    named = {node.target for node in graph_module.graph.nodes if node.op == "get_attr"}
    found = {name: getattr(graph_module, name) for name in sorted(named)}
    return {name: each for name, each in found.items() if isinstance(each, torch.Tensor)}


def convert_conditions(torch: Any, graph_module: Any) -> None:
    """Replace `sym_ite(item(b), 1, 0)` by `item` of the integer, which torch-mlir imports.

    `torch._check_tensor_all` is such a number, and assertions about it.
    """
    graph, aten = graph_module.graph, torch.ops.aten
    items = (aten.item.default, aten._local_scalar_dense.default)
    for node in list(graph.nodes):
        if node.target is not torch.sym_ite or tuple(node.args[1:]) != (1, 0):
            continue
        read = node.args[0]
        if read.target not in items:
            continue
        (condition,) = read.args
        with graph.inserting_before(node):
            wide = graph.call_function(aten._to_copy.default, (condition,), {"dtype": torch.int64})
            number = graph.call_function(read.target, (wide,))
        # The importer reads both entries of what `item` reads.
        known = condition.meta["tensor_meta"]._replace(dtype=torch.int64)
        value = condition.meta["val"].to(torch.int64)
        wide.meta = {**node.meta, "val": value, "tensor_meta": known}
        number.meta = dict(node.meta)
        node.replace_all_uses_with(number)
        graph.erase_node(node)
        if not read.users:
            graph.erase_node(read)
    graph_module.recompile()


def refused_masks(torch: Any, graph_module: Any) -> dict[str, str]:
    """Return indexing by masks combined with other indices, each with its source location.

    torch-mlir's conversion of these does not terminate.
    """
    found: dict[str, str] = {}
    aten = torch.ops.aten
    by_indices = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default)
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and node.target in by_indices:
            kinds = [each.meta["val"].dtype for each in node.args[1] if each is not None]
            if torch.bool in kinds and len(kinds) > 1:
                found[f"{node.target} of a mask among other indices"] = _place(node)
    return found


def refused_half_complex(torch: Any, graph_module: Any) -> dict[str, str]:
    """Return operations that make complex numbers of f16, each with its source location.

    Neither StableHLO nor the interpreter has these.
    """
    return {
        f"{node.target} of torch.complex32": _place(node)
        for node in graph_module.graph.nodes
        if node.op == "call_function"
        and getattr(node.meta.get("val"), "dtype", None) == torch.complex32
    }


def refused_control_flow(torch: Any, importer: Any, graph_module: Any) -> dict[str, str]:
    """Return operations that torch-mlir's importer does not support, each with its source location.

    This includes `while_loop`s that `call_loops` left, which no conversion handles, and functions
    of PyTorch that compute with sizes. `importer` is the module of the importer.
    """
    found: dict[str, str] = {}
    for node in graph_module.graph.nodes:
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            name = node.target.name()
            known = hasattr(importer.GraphNodeImporter, f"_import_hop_{name}")
            if name == "while_loop" or not known:
                found[f"higher_order.{name}"] = _place(node)
        elif (
            isinstance(node.target, FunctionType) and node.target not in importer.SYMBOLIC_TORCH_OPS
        ):
            name = node.target.__name__
            found[f"{name} of dynamic sizes"] = _place(node)
    return found


def _place(node: Any) -> str:
    return node.meta.get("stack_trace") or ""
