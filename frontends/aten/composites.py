"""PyTorch's own decompositions of composite operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .rules import Decompositions


def composite_rule(torch: Any, operation: Any) -> Callable[..., Any] | None:
    """Return PyTorch's decomposition of a composite operation; `None` if it is not composite."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    if not operation.has_kernel_for_dispatch_key(key):
        return None

    def rule(*arguments: Any, **keywords: Any) -> Any:
        # `operation.decompose` would call this rule again while it is registered.
        return operation._op_dk(key, *arguments, **keywords)

    return rule


def composites(torch: Any) -> Decompositions:
    """Return the rules for transforms that PyTorch composes of the ones in `fft`."""
    aten = torch.ops.aten
    names = [name for name in dir(aten) if name.startswith("fft_")]
    operations = [getattr(aten, name).default for name in names]
    rules = {each: composite_rule(torch, each) for each in operations}
    return {each: rule for each, rule in rules.items() if rule is not None}
