"""Collect the decompositions of PyTorch operations into operations that torch-mlir converts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from .rules import Decompositions, table, torch


def composite_rule(operation: Any) -> Callable[..., Any] | None:
    """Return PyTorch's decomposition of a composite operation; `None` if it is not composite."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    if not operation.has_kernel_for_dispatch_key(key):
        return None

    def rule(*arguments: Any, **keywords: Any) -> Any:
        # `operation.decompose` would call this rule again while it is registered.
        return operation._op_dk(key, *arguments, **keywords)

    return rule


def composites() -> Decompositions:
    """Return the rules for transforms that PyTorch composes of the ones in `fft`."""
    aten = torch.ops.aten
    names = [name for name in dir(aten) if name.startswith("fft_")]
    operations = [getattr(aten, name).default for name in names]
    rules = {each: composite_rule(each) for each in operations}
    return {each: rule for each, rule in rules.items() if rule is not None}


_RULES = (
    *("bessel", "bits", "complex_numbers", "convolution", "data_dependent", "elementwise", "fft"),
    *("indexing", "lapack", "linear_algebra", "matmul", "padding", "polynomials", "pooling"),
    *("random_numbers", "reductions", "resizing", "sampling", "scans", "sorting"),
    *("special_functions", "statistics"),
)
"""The modules that register rules."""


def known_decompositions(names: Sequence[str]) -> Decompositions:
    """Return PyTorch's own decompositions of named operations (`aten.take`), where it has them."""
    table = import_module("torch._decomp").decomposition_table
    dispatched = set(torch._C._dispatch_get_all_op_names())
    found: dict[Any, Callable[..., Any]] = {}
    for name in names:
        namespace, _, rest = name.partition(".")
        base, _, overload = rest.partition(".")
        packet = getattr(getattr(torch.ops, namespace, None), base, None)
        operation = getattr(packet, overload or "default", None)
        # TorchScript has operations that the dispatcher does not have.
        if operation is None or operation.name() not in dispatched:
            continue
        # Rules in Python go further than the kernels of composite operations.
        rule = table.get(operation) or composite_rule(operation)
        if rule is not None:
            found[operation] = rule
    return found


def decompositions() -> Decompositions:
    """Return our rules, for operations that PyTorch and torch-mlir lack or decompose wrongly."""
    for name in _RULES:
        import_module(f".{name}", __package__)
    return {**table(), **composites()}
