"""Find dynamic sizes on which ranks depend: `squeeze` drops a dimension only if its size is 1.

`torch.export` traces `squeeze` of a dynamic size as if the size were never 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .tracing import user_line


@dataclass(frozen=True, slots=True)
class SqueezedSize:
    """A dynamic size that must not be 1."""

    size: Any
    """An expression of SymPy."""
    symbols: tuple[tuple[Any, int, int], ...]
    """Each symbol of the expression, with the index of an argument and of its dimension."""
    line: str
    """The source line, as `file:line`."""


def squeezed_sizes(torch: Any, exported: Any) -> list[SqueezedSize]:
    """Return the sizes that `squeeze` must keep, without those that depend on elements."""
    graph, aten = exported.graph, torch.ops.aten
    squeezes = (aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)
    places = _places(exported)
    found: list[SqueezedSize] = []
    for node in graph.nodes:
        if node.op != "call_function" or node.target not in squeezes:
            continue
        shape = node.args[0].meta["val"].shape
        for dimension in _dimensions(node.args[1:], len(shape)):
            size = shape[dimension]
            if isinstance(size, int) or not size.node.expr.free_symbols <= set(places):
                continue
            expression = size.node.expr
            symbols = tuple((each, *places[each]) for each in expression.free_symbols)
            trace = "\n".join(reversed((node.stack_trace or "").splitlines()))
            found.append(SqueezedSize(expression, symbols, user_line(trace)))
    return found


def _dimensions(options: Sequence[Any], rank: int) -> list[int]:
    """Return the dimensions that a `squeeze` of a tensor of this rank names."""
    if not options or not rank:
        return list(range(rank))
    named: Any = options[:1] if isinstance(options[0], int) else options[0]
    return [each % rank for each in named]


def _places(exported: Any) -> dict[Any, tuple[int, int]]:
    """Return for each symbol an argument and a dimension whose size it is."""
    values = {each.name: each.meta["val"] for each in exported.graph.nodes if "val" in each.meta}
    found: dict[Any, tuple[int, int]] = {}
    for index, name in enumerate(exported.graph_signature.user_inputs):
        shape: Any = getattr(values.get(name), "shape", ())
        for dimension, size in enumerate(shape):
            if not isinstance(size, int):
                found.setdefault(size.node.expr, (index, dimension))
    return found


def check_squeezed(sizes: Sequence[SqueezedSize], tensors: list[Any]) -> list[Any]:
    """Return the arguments of the program. Raises TypeError if one of the sizes is 1 for them."""
    for each in sizes:
        values = {symbol: tensors[at].shape[dimension] for symbol, at, dimension in each.symbols}
        if each.size.subs(values) == 1:
            raise TypeError(
                f"{each.line}: squeeze of a dynamic size that is 1 in this call would change the"
                " rank of its result, which the program has fixed: name a dimension whose size is"
                " always 1, or compile for this size without dynamic_shapes"
            )
    return tensors
