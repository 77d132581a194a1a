"""The dataflow graph of a function for a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Operation, SSAValue

from ...ir.attribute_access import operation_name, symbol_name
from ...ir.regions import values_read
from ...passes.sharding.annotations.access import GET_SHARDING, SHARD, SHARDING

ARGUMENT = "argument"
"""The name of argument nodes."""

_CHEAP = frozenset(
    {"arith.constant", "tensor.empty", "linalg.fill", "builtin.unrealized_conversion_cast"}
)
"""Operations that are omitted because they cost nothing and clutter the graph."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operation, or an argument of the function.

    - `line`: the number of its first line;
    - `name`: the operation's name;
    - `type`: the type of its first result, empty if it has none;
    - `reads`: the numbers of the nodes that define its operands.
    """

    line: int
    name: str
    type: str
    reads: tuple[int, ...]


def function_graphs(module: ModuleOp, lines: Mapping[Operation, int]) -> dict[str, list[Node]]:
    """Return the nodes of each function by name, in topological order.

    Sharding annotations have no nodes; their results count as the annotated value.
    """
    graphs: dict[str, list[Node]] = {}
    for operation in module.walk():
        name = symbol_name(operation)
        is_function = isinstance(operation.properties.get("function_type"), FunctionType)
        if name is not None and is_function and any(region.blocks for region in operation.regions):
            graphs.setdefault(name, _nodes(operation, lines))
    return graphs


def _nodes(function: Operation, lines: Mapping[Operation, int]) -> list[Node]:
    nodes: list[Node] = []
    known: dict[SSAValue, int] = {}
    body = function.regions[0]
    for argument in body.blocks[0].args:
        known[argument] = len(nodes)
        nodes.append(Node(lines.get(function, 0), ARGUMENT, _short(argument), ()))
    for block in body.blocks:
        for operation in block.ops:
            name = operation_name(operation)
            if name == SHARD:
                source = known.get(operation.operands[0])
                if source is not None:
                    known[operation.results[0]] = source
            elif name not in (SHARDING, GET_SHARDING) and name not in _CHEAP:
                reads = dict.fromkeys(known[v] for v in values_read(operation) if v in known)
                known.update((result, len(nodes)) for result in operation.results)
                kind = _short(operation.results[0]) if operation.results else ""
                nodes.append(Node(lines.get(operation, 0), name, kind, tuple(reads)))
    return nodes


def _short(value: SSAValue) -> str:
    text = str(value.type).removeprefix("tensor<").removesuffix(">")
    return text if len(text) <= 40 else f"{text[:39]}\u2026"
