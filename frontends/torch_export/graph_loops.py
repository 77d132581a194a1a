"""Replace loops of PyTorch, which torch-mlir imports but does not convert, by carried operations.

Condition and body become separate functions. The loop bypasses torch-mlir as a carried operation
does (see `inline_mlir`):

    while_loop(f, g, (x, y), (z,))  ->  mesh_opt.looped_3_2("%r:2 = stablehlo.while ...", x, y, z)
    scan(f, (a,), (x,))             ->  mesh_opt.looped_3_2("...", a, zeros, x)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..aten.inline_mlir import inline_mlir_loop_op
from .graph_control_flow import is_known, loop_parts

Importer = Callable[[Any, str], str]
"""Converts an exported program to text, with its function under the given name."""


def call_loops(torch: Any, graph_module: Any, importer: Importer, name: str) -> list[str]:
    """Replace loops by carried operations; return the text of the functions that they call.

    Loops over numbers that are not tensors, or over tensors with dynamic sizes, stay. Raises the
    errors of the importer.
    """
    graph, operations = graph_module.graph, torch.ops.higher_order
    rules = {
        operations.while_loop: _while_loop,
        operations.scan: _over_rows,
        operations.map_impl: _over_rows,
    }
    functions: list[str] = []
    for index, node in enumerate(list(graph.nodes)):
        rule = rules.get(node.target) if node.op == "call_function" else None
        if rule is None:
            continue
        called = f"mesh_opt.{name}_loop_{index}"
        functions += rule(torch, graph_module, node, importer, called) or ()
    graph.eliminate_dead_code()
    graph_module.recompile()
    return functions


def _while_loop(
    torch: Any, graph_module: Any, node: Any, importer: Importer, called: str
) -> list[str] | None:
    condition, body, state, others = node.args
    operands = [*state, *others]
    if not all(is_known(torch, each) for each in operands):
        return None
    values = [each.meta["val"] for each in operands]
    parts = (("condition", condition), ("body", body))
    functions = [
        importer(_exported(torch, graph_module, part, values), f"{called}_{suffix}")
        for suffix, part in parts
    ]
    _loop(torch, graph_module.graph, node, _text(called, len(state), len(operands)), operands)
    return functions


def _over_rows(
    torch: Any, graph_module: Any, node: Any, importer: Importer, called: str
) -> list[str] | None:
    """Convert a map or scan to a loop that carries a counter and the results: one row per step."""
    body, state, rows, others = loop_parts(node)
    if not all(is_known(torch, each) for each in (*state, *rows, *others)):
        return None
    values = [each.meta["val"] for each in (*state, *rows, *others)]
    first, end = len(state), len(state) + len(rows)
    given = [*values[:first], *(each.select(0, 0) for each in values[first:end]), *values[end:]]
    function = importer(_exported(torch, graph_module, body, given), called)
    made = [*node.meta["val"][first:], values[0].new_zeros((), dtype=torch.int64)]
    graph = graph_module.graph
    with graph.inserting_before(node):
        zeros = [_zeros(torch, graph, node, value) for value in made]
    node.meta["val"] = (*node.meta["val"], made[-1])
    results = [tuple(each.shape) for each in made[:-1]]
    text = _rows_text(
        called, first, results, [tuple(each.shape) for each in values[first:end]], len(others)
    )
    _loop(torch, graph, node, text, [*state, *zeros, *rows, *others])
    return [function]


def _zeros(torch: Any, graph: Any, node: Any, value: Any) -> Any:
    made = graph.call_function(torch.ops.aten.full.default, (list(value.shape), 0))
    made.kwargs = {"dtype": value.dtype}
    made.meta = {**node.meta, "val": value}
    return made


def _exported(torch: Any, graph_module: Any, graph: Any, values: Sequence[Any]) -> Any:
    examples = (torch.zeros(each.shape, dtype=each.dtype) for each in values)
    return torch.export.export(getattr(graph_module, graph.target), (*examples,))


def _loop(torch: Any, graph: Any, node: Any, text: str, operands: Sequence[Any]) -> None:
    """Turn a node into the operation of `text`, whose results are like its first operands."""
    carried = len(node.meta["val"])
    node.target, node.args = inline_mlir_loop_op(len(operands), carried), (text, *operands)
    if carried > 1:
        return
    # An operation with one result does not return a tuple.
    node.meta["val"] = node.meta["val"][0]
    for user in list(node.users):
        assert user.target is operator.getitem
        user.replace_all_uses_with(node)
        graph.erase_node(user)


def _text(called: str, carried: int, count: int) -> str:
    """Return the text of a while loop over the first operands; the others are invariant."""
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


Shape = tuple[int, ...]


def _rows_text(
    called: str, carried: int, results: Sequence[Shape], rows: Sequence[Shape], others: int
) -> str:
    """Return the text of a loop over the first operands, results of these shapes and a counter.

    The body gets the state, a row of each of the operands after them, and the other operands.
    """
    counter = carried + len(results)
    first = counter + 1
    end = first + len(rows) + others
    lines = ["%zero = stablehlo.constant dense<0> : tensor<i64>"]
    given = [(f"%x{at}", f"{{{at}}}") for at in range(carried)]
    for at, shape in enumerate(rows, first):
        row, cut, places = _row(at, shape, counter)
        lines.append(
            f"%s{at} = stablehlo.dynamic_slice %a{at}, {places[0]}, sizes = {[1, *shape[1:]]}"
            f" : ({{{at}}}, {places[1]}) -> {cut}"
        )
        lines.append(f"%b{at} = stablehlo.reshape %s{at} : ({cut}) -> {row}")
        given.append((f"%b{at}", row))
    given += [(f"%a{at}", f"{{{at}}}") for at in range(first + len(rows), end)]
    kept = [f"{{{at}}}" for at in range(carried)]
    kept += [_row(at, shape, counter)[0] for at, shape in enumerate(results, carried)]
    names, kinds = (", ".join(each) for each in zip(*given, strict=True))
    lines.append(
        f"%y:{len(kept)} = func.call @{called}({names}) : ({kinds}) -> ({', '.join(kept)})"
    )
    back = [f"%y#{at}" for at in range(carried)]
    for at, shape in enumerate(results, carried):
        row, cut, places = _row(at, shape, counter)
        lines.append(f"%t{at} = stablehlo.reshape %y#{at} : ({row}) -> {cut}")
        lines.append(
            f"%u{at} = stablehlo.dynamic_update_slice %x{at}, %t{at}, {places[0]}"
            f" : ({{{at}}}, {cut}, {places[1]}) -> {{{at}}}"
        )
        back.append(f"%u{at}")
    types = ", ".join(f"{{{at}}}" for at in range(first))
    pairs = ", ".join(f"%x{at} = %a{at}" for at in range(first))
    body = "\n  ".join(lines)
    return f"""%r:{first} = stablehlo.while({pairs}) : {types}
cond {{{{
  %steps = stablehlo.constant dense<{rows[0][0]}> : tensor<i64>
  %c = stablehlo.compare LT, %x{counter}, %steps : (tensor<i64>, tensor<i64>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}}}} do {{{{
  {body}
  %one = stablehlo.constant dense<1> : tensor<i64>
  %n = stablehlo.add %x{counter}, %one : tensor<i64>
  stablehlo.return {", ".join((*back, "%n"))} : {types}
}}}}"""


def _row(at: int, shape: Shape, counter: int) -> tuple[str, str, tuple[str, str]]:
    """Return the type of a row, its type with a leading 1, and the start indices of its slice.

    The indices come as text with their types.
    """
    row, cut = f"{{{at}:{list(shape[1:])}}}", f"{{{at}:{[1, *shape[1:]]}}}"
    places = ", ".join([f"%x{counter}", *["%zero"] * (len(shape) - 1)])
    return row, cut, (places, ", ".join(["tensor<i64>"] * len(shape)))


def _numbered(value: str, count: int) -> str:
    return ", ".join(f"{value}#{at}" for at in range(count))
