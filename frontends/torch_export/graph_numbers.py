"""Prepare dynamic sizes in a graph, and numbers that depend on them, for torch-mlir.

torch-mlir imports few functions of numbers. The others become operations on tensors:

    max(a, b)  ->  item(maximum(scalar_tensor(a), scalar_tensor(b)))
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ..aten.rules import is_static

_POWER: Any = operator.pow  # pyright: ignore


def settle_sizes(torch: Any, graph_module: Any) -> None:
    """Make sizes numbers in the types of a graph where tracing has found that they are.

    An operation may need a size of the example, after tensors with the symbol of this size have
    been traced. Types of operands and results would then differ.
    """
    metadata = import_module("torch.fx.passes.shape_prop")._extract_tensor_metadata
    for node in graph_module.graph.nodes:
        value = node.meta.get("val")
        if not _is_tensor(torch, node) or is_static(value.shape):
            continue
        sizes = [_settled(size) for size in value.shape]
        if any(
            isinstance(size, int) != isinstance(old, int)
            for size, old in zip(sizes, value.shape, strict=True)
        ):
            with value.fake_mode:
                strides = [_settled(stride) for stride in value.stride()]
                value = torch.empty_strided(sizes, strides, dtype=value.dtype)
            node.meta["val"] = value
            if "tensor_meta" in node.meta:
                node.meta["tensor_meta"] = metadata(value)


def _settled(size: Any) -> Any:
    """Return a size as a number if it is known to be one."""
    if isinstance(size, int):
        return size
    found = size.node.shape_env.replace(size.node.expr)
    return int(found) if found.is_number else size


def compute_numbers(torch: Any, graph_module: Any) -> None:
    """Replace functions of numbers that torch-mlir does not import by operations on tensors."""
    graph, rules = graph_module.graph, _rules(torch)
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in rules or node.kwargs:
            continue
        with graph.inserting_before(node):
            found = _computed(torch, node, rules[node.target])
        node.replace_all_uses_with(found)
        graph.erase_node(node)
    graph_module.recompile()


def _rules(torch: Any) -> Mapping[Any, Callable[..., Any] | None]:
    """Return the operation on tensors for each function; `None` only changes the type."""
    aten = torch.ops.aten
    return {
        math.ceil: aten.ceil.default,
        math.floor: aten.floor.default,
        math.trunc: aten.trunc.default,
        operator.mod: aten.remainder.Tensor,
        _POWER: aten.pow.Tensor_Tensor,
        round: aten.round.default,
        torch.sym_float: None,
        torch.sym_max: aten.maximum.default,
        torch.sym_min: aten.minimum.default,
        torch._sym_sqrt: aten.sqrt.default,
    }


def _computed(torch: Any, node: Any, operation: Callable[..., Any] | None) -> Any:
    """Insert an operation on tensors for a function of numbers; return the number."""
    graph, aten = node.graph, torch.ops.aten
    metadata = import_module("torch.fx.passes.shape_prop")._extract_tensor_metadata
    # `round` has the digits to keep as an argument, which are `None`.
    given = [each for each in node.args if each is not None]
    values = [each.meta["val"] if isinstance(each, torch.fx.Node) else each for each in given]
    result = _type_of(torch, node.meta["val"])
    whole = all(_type_of(torch, each) == torch.int64 for each in (*values, node.meta["val"]))
    # torch-mlir has no powers of integers.
    dtype = torch.int64 if whole and node.target is not _POWER else torch.float64
    known = next(each.meta["val"] for each in graph.nodes if _is_tensor(torch, each))

    def call(target: Any, dtype: Any, *arguments: Any, typed: bool = False) -> Any:
        found = graph.call_function(target, arguments, {"dtype": dtype} if typed else {})
        value = known.new_empty((), dtype=dtype)
        # The importer reads both entries of what `item` reads.
        found.meta = {**node.meta, "val": value, "tensor_meta": metadata(value)}
        return found

    numbers = [call(aten.scalar_tensor.default, dtype, each, typed=True) for each in given]
    found = numbers[0] if operation is None else call(operation, dtype, *numbers)
    if result != dtype:
        found = call(aten._to_copy.default, result, found, typed=True)
    read = graph.call_function(aten.item.default, (found,))
    read.meta = dict(node.meta)
    return read


def _type_of(torch: Any, number: Any) -> Any:
    return torch.int64 if isinstance(number, int | torch.SymInt) else torch.float64


def _is_tensor(torch: Any, node: Any) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)
