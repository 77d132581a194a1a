"""Carry views of tensors with dynamic sizes through torch-mlir, unless they only split dimensions.

torch-mlir converts `view(x, [a * b, 8])` of `x: [a, b, 8]` as if `b` were 1, and crashes on some
views that its own `flatten` makes. A view is carried as a split of dimensions followed by a join:

    view(x: [a, b, 8], [a, b * 2, 4])
        ->  %s = tensor.expand_shape %x [[0], [1], [2, 3]] ... into tensor<?x?x2x4xf32>
            tensor.collapse_shape %s [[0], [1, 2], [3]] ... into tensor<?x?x4xf32>

or, if the sizes do not tell how, as a join of all dimensions followed by a split into its sizes,
which are further operands:

    view(x: [a, b], [5, a * b // 5])
        ->  %f = tensor.collapse_shape %x [[0, 1]] ... into tensor<?xf32>
            tensor.expand_shape %f [[0, 1]] output_shape [5, %i1] ... into tensor<5x?xf32>

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


def carry_views(torch: Any, graph_module: Any) -> None:
    """Replace views of tensors with dynamic sizes, except those that only split dimensions."""
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
        if parts is not None and _only_splits(parts):
            continue
        body = None if parts is None else _text(parts)
        sizes: list[Any] = []
        if body is None:
            pairs = zip(value.shape, node.args[1], strict=True)
            shape = [size if isinstance(size, int) else given for size, given in pairs]
            sizes = _dynamic_sizes(torch, node, shape)
            body = _flat_text(source, shape)
        kind = str(value.dtype).removeprefix("torch.")
        # Change the node in place: outputs refer to its name.
        node.target = inline_mlir_op(1 + len(sizes))
        node.args = (body, list(node.args[1]), kind, operand, *sizes)
    graph_module.recompile()


def _dynamic_sizes(torch: Any, node: Any, shape: Sequence[Any]) -> list[Any]:
    """Insert tensors of the sizes that are computed in the graph, before the view."""
    found: list[Any] = []
    with node.graph.inserting_before(node):
        for size in shape:
            if isinstance(size, int):
                continue
            options = {"dtype": torch.int64}
            made = node.graph.call_function(torch.ops.aten.scalar_tensor.default, (size,), options)
            made.meta["val"] = node.args[0].meta["val"].new_empty((), **options)
            found.append(made)
    return found


def _only_splits(parts: Sequence[Part]) -> bool:
    return len(_groups([to for _, _, to in parts])) == len(parts)


def _text(parts: Sequence[Part]) -> str | None:
    """Return the text of a view; `None` if a dimension has two dynamic parts."""
    split, joined = (_groups([part[side] for part in parts]) for side in (1, 2))
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


def _flat_text(source: Sequence[Any], shape: Sequence[Any]) -> str:
    """Return the text of a view that joins all dimensions, and splits the result into a shape.

    A size is a number, or -1 for what the others leave, or the value of an operand after the first.
    """
    flat, kind = "a0", ""
    lines: list[str] = []
    if len(source) > 1:
        flat, kind = "f", ":[?]"
        every = [list(range(len(source)))]
        lines.append(f"%f = tensor.collapse_shape %a0 {every} : {{0}} into {{0{kind}}}")
    if not shape:
        one = f"%o = tensor.cast %{flat} : {{0{kind}}} to {{0:[1]}}"
        return "\n".join((*lines, one, "%r = tensor.collapse_shape %o [] : {0:[1]} into {r}"))
    if len(shape) == 1:
        return "\n".join((*lines, f"%r = tensor.cast %{flat} : {{0{kind}}} to {{r}}"))
    sizes: list[str] = []
    operands = 0
    for at, size in enumerate(shape):
        sizes.append(f"%i{at}")
        if isinstance(size, int):
            lines.append(f"%i{at} = arith.constant {size} : index")
            continue
        operands += 1
        lines.append(f"%n{at} = tensor.extract %a{operands}[] : {{{operands}}}")
        lines.append(f"%i{at} = arith.index_cast %n{at} : i64 to index")
    if -1 in shape:
        # Divided by all sizes, which include -1, and negated.
        lines += [
            "%c = arith.constant 0 : index",
            f"%e = tensor.dim %{flat}, %c : {{0{kind}}}",
            f"%q{len(shape)} = arith.subi %c, %e : index",
            *(f"%q{at} = arith.divsi %q{at + 1}, %i{at} : index" for at in range(len(shape))[::-1]),
        ]
    output = [
        name if not isinstance(size, int) else "%q0" if size == -1 else str(size)
        for name, size in zip(sizes, shape, strict=True)
    ]
    lines.append(
        f"%r = tensor.expand_shape %{flat} [{list(range(len(shape)))}]"
        f" output_shape [{', '.join(output)}] : {{0{kind}}} into {{r}}"
    )
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
