"""Operations of PyTorch that we take apart: a table by their names.

    @decomposition("linalg_inv.default", "inverse.default")
    def inverse(torch: Any, x: Any) -> Any: ...

Names of other namespaces than `aten` begin with them, `transformers::...`.

A rule is a function of PyTorch itself, which is not imported before it is needed, and of what the
operation takes. It is traced; `only_if` says where it leaves the operation as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..ir.rules import Rules

Decompositions = Mapping[Any, Callable[..., Any]]

decomposition = Rules[Callable[..., Any]]()


class _LeftAsItIs(Exception):
    """Ends a rule that has nothing to say of its operation."""


def only_if(condition: object) -> None:
    """End the rule that calls this, and leave its operation as it is, unless a condition holds."""
    if not condition:
        raise _LeftAsItIs


def of_each(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule for operations that it takes, behind PyTorch, before what these take."""

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            decomposition(name)(partial(_of_named, name, rule))
        return rule

    return register


def _of_named(name: str, rule: Callable[..., Any], torch: Any, *args: Any, **more: Any) -> Any:
    return rule(torch, _operation(torch, name), *args, **more)


def _operation(torch: Any, name: str) -> Any:
    """The operation of a name, `None` where this PyTorch lacks it."""
    namespace, _, rest = name.rpartition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace or "aten"), base, None), overload, None)


def _applied(rule: Callable[..., Any], torch: Any, *args: Any, **more: Any) -> Any:
    """What a rule makes of an operation; `NotImplemented`, as PyTorch asks, if it leaves it."""
    try:
        return rule(torch, *args, **more)
    except _LeftAsItIs:
        return NotImplemented


def table(torch: Any) -> Decompositions:
    """The rules by the operations of this PyTorch, which may lack some."""
    rules = ((_operation(torch, name), rule) for name, rule in decomposition.items())
    return {each: partial(_applied, rule, torch) for each, rule in rules if each is not None}
