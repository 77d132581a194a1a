"""Operations of PyTorch that we take apart: a table by their names.

    @decomposition("linalg_inv.default", "inverse.default")
    def inverse(torch: Any, x: Any) -> Any: ...

Names of other namespaces than `aten` begin with them, `transformers::...`.

A rule is a function of PyTorch itself, which is not imported before it is needed, and of what the
operation takes. It is traced; `NotImplemented` leaves the operation as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..ir.rules import Rules

Decompositions = Mapping[Any, Callable[..., Any]]

decomposition = Rules[Callable[..., Any]]()


def table(torch: Any) -> Decompositions:
    """The rules by the operations of this PyTorch, which may lack some."""
    found: dict[Any, Callable[..., Any]] = {}
    for name, rule in decomposition.items():
        namespace, _, rest = name.rpartition("::")
        base, _, overload = rest.partition(".")
        operations = getattr(torch.ops, namespace or "aten")
        operation = getattr(getattr(operations, base, None), overload, None)
        if operation is not None:
            found[operation] = partial(rule, torch)
    return found
