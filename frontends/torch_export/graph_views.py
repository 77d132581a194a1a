"""Carry views of tensors with dynamic sizes through torch-mlir where they join dimensions.

torch-mlir converts `view(x, [a * b, 8])` of `x: [a, b, 8]` as if `b` were 1, and crashes on some
views that its own `flatten` makes. A view is carried as a split of dimensions followed by a join:

    view(x: [a, b, 8], [a, b * 2, 4])
        ->  %s = tensor.expand_shape %x [[0], [1], [2, 3]] ... into tensor<?x?x2x4xf32>
            tensor.collapse_shape %s [[0], [1, 2], [3]] ... into tensor<?x?x4xf32>

Views that only split stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..aten.inline_mlir import inline_mlir_op
from ..aten.rules import is_static

Part = tuple[Any, int, int]
"""A size, the index of the operand dimension that it is part of, and that of the result dimension.
"""


def join_dimensions(torch: Any, graph_module: Any) -> None:
    """Replace views that join dimensions of tensors with dynamic sizes."""
    aten = torch.ops.aten
    views = (aten.view.default, aten._unsafe_view.default)
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or node.target not in views:
            continue
        operand, value = node.args[0], node.meta["val"]
        source = tuple(operand.meta["val"].shape)
        if is_static(source):
            continue
        parts = common_parts(source, tuple(value.shape))
        body = None if parts is None else _text(parts)
        if body is None:
            continue
        kind = str(value.dtype).removeprefix("torch.")
        # Change the node in place: outputs refer to its name.
        node.target = inline_mlir_op(1)
        node.args = (body, list(node.args[1]), kind, operand)
    graph_module.recompile()


def _text(parts: Sequence[Part]) -> str | None:
    """Return the text of a view; `None` if it only splits, or a dimension has two dynamic parts."""
    split, joined = (_groups([part[side] for part in parts]) for side in (1, 2))
    if len(joined) == len(parts):
        return None
    collapse = f"%r = tensor.collapse_shape %{{}} {joined} : {{{{0{{}}}}}} into {{{{r}}}}"
    if len(split) == len(parts):
        return collapse.format("a0", "")
    lines: list[str] = []
    sizes: list[str] = []
    for dimension, group in enumerate(split):
        known = 1
        for at in group:
            known *= parts[at][0] if isinstance(parts[at][0], int) else 1
        if sum(not isinstance(parts[at][0], int) for at in group) > 1:
            return None
        if all(isinstance(parts[at][0], int) for at in group):
            sizes += [str(parts[at][0]) for at in group]
            continue
        lines += [
            f"%c{dimension} = arith.constant {dimension} : index",
            f"%d{dimension} = tensor.dim %a0, %c{dimension} : {{0}}",
            f"%k{dimension} = arith.constant {known} : index",
            f"%q{dimension} = arith.divui %d{dimension}, %k{dimension} : index",
        ]
        sizes += [
            str(parts[at][0]) if isinstance(parts[at][0], int) else f"%q{dimension}" for at in group
        ]
    shape = f":[{', '.join('?' if size.startswith('%') else size for size in sizes)}]"
    lines += [
        f"%s = tensor.expand_shape %a0 {split} output_shape [{', '.join(sizes)}]"
        f" : {{0}} into {{0{shape}}}",
        collapse.format("s", shape),
    ]
    return "\n".join(lines)


def _groups(dimensions: Sequence[int]) -> list[list[int]]:
    """Return the indices of the parts of each dimension."""
    found: list[list[int]] = [[] for _ in range(dimensions[-1] + 1)]
    for at, dimension in enumerate(dimensions):
        found[dimension].append(at)
    return found


def common_parts(source: Sequence[Any], result: Sequence[Any]) -> list[Part] | None:
    """Return sizes into which both the source's and the result's dimensions can be split.

    Return `None` if there are none, or it is not known.
    """
    known = import_module("torch.fx.experimental.symbolic_shapes").statically_known_true
    olds, news = list(source), list(result)
    if any(isinstance(each, int) and not each for each in (*olds, *news)):
        return None
    found: list[Part] = []
    while olds and news:
        old, new = olds[-1], news[-1]
        at, to = len(olds) - 1, len(news) - 1
        if known(old == new):
            size = new if isinstance(new, int) else old
            olds.pop()
            news.pop()
        elif isinstance(new, int) and new and known(old % new == 0):
            size = new
            news.pop()
            olds[-1] = old // new
        elif known(new % old == 0):
            size = old
            olds.pop()
            news[-1] = new // old
        else:
            return None
        found.append((size, at, to))
    if any(not known(size == 1) for size in (*olds, *news)):
        return None
    found += [(1, at, 0) for at in range(len(olds) - 1, -1, -1)]
    found += [(1, 0, to) for to in range(len(news) - 1, -1, -1)]
    return found[::-1] if source and result else None
