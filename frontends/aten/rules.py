"""Table of our decompositions of PyTorch operations, by operation name, and what many rules share.

    @decomposition("linalg_inv.default", "inverse.default")
    def inverse(x: Any) -> Any: ...

Names outside of the namespace `aten` include theirs, `transformers::...`.

A rule takes the arguments of the operation. It is traced; `require` says where it leaves the
operation unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from ...ir.rules import Rules


class _Torch:
    """The module `torch`, which is imported when a rule first needs it."""

    def __getattr__(self, name: str) -> Any:
        module = import_module("torch")
        # Dynamo traces rules, but not this function.
        vars(self).update(vars(module))
        return getattr(module, name)


torch: Any = _Torch()

Decompositions = Mapping[Any, Callable[..., Any]]

decomposition = Rules[Callable[..., Any]]()
"""The rules by operation name; as a decorator it registers a rule."""


class Declined(Exception):
    """Raised by a rule that leaves its operation unchanged."""


def require(condition: object) -> None:
    """End the calling rule and leave its operation unchanged, unless the condition holds."""
    if not condition:
        raise Declined


def is_narrow(x: Any) -> bool:
    """Return whether a tensor has floats that PyTorch computes functions of in f32."""
    return x.dtype in (torch.bfloat16, torch.float16)


def widened(x: Any) -> Any:
    """Return a tensor of narrow floats in f32, anything else as it is."""
    return x.to(torch.float32) if isinstance(x, torch.Tensor) and is_narrow(x) else x


def in_f32(operation: Callable[..., Any], x: Any, *more: Any, **options: Any) -> Any:
    """Compute an operation on narrow floats in f32, and round once; torch-mlir rounds each step."""
    return operation(widened(x), *map(widened, more), **options).to(x.dtype)


def for_axes(rank: int, *options: Sequence[int]) -> list[list[int]]:
    """Return each option with a number for each axis; a single number is that of all axes."""
    return [list(each) * (rank // len(each)) for each in options]


def decomposition_with_op(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule for several operations. It takes the operation first."""

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            decomposition(name)(partial(_of_named, name, rule))
        return rule

    return register


def _of_named(name: str, rule: Callable[..., Any], *args: Any, **more: Any) -> Any:
    return rule(_operation(name), *args, **more)


def _operation(name: str) -> Any:
    """Return the operation of a name; `None` if this version of PyTorch lacks it."""
    namespace, _, rest = name.rpartition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace or "aten"), base, None), overload, None)


def _applied(rule: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """Apply a rule; return `NotImplemented`, as PyTorch expects, if it leaves the operation."""
    try:
        return rule(*args, **more)
    except Declined:
        return NotImplemented


def either(first: Callable[..., Any] | None, second: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule that applies `second` where `first` leaves an operation unchanged."""
    if first is None:
        return second

    def rule(*arguments: Any, **options: Any) -> Any:
        found = first(*arguments, **options)
        return second(*arguments, **options) if found is NotImplemented else found

    return rule


def table() -> Decompositions:
    """Return the rules by operation, for the operations that this version of PyTorch has."""
    rules = ((_operation(name), rule) for name, rule in decomposition.items())
    return {each: partial(_applied, rule) for each, rule in rules if each is not None}


def real_type(x: Any) -> Any:
    """Return the result type of functions of real numbers."""
    return x.dtype if x.dtype.is_floating_point else torch.get_default_dtype()


def as_real(x: Any) -> Any:
    """Return an argument of functions of real numbers: integers become the default float type."""
    return x.to(real_type(x))


def is_static(sizes: Iterable[Any]) -> bool:
    """Return whether all sizes are numbers; dynamic sizes are symbols."""
    return all(isinstance(size, int) for size in sizes)


def is_empty(sizes: Iterable[Any]) -> bool:
    """Return whether a size is known to be 0; dynamic sizes are not known."""
    return any(isinstance(size, int) and size == 0 for size in sizes)


def as_number(size: Any, dtype: Any) -> Any:
    """Return a size to calculate with: torch-mlir does not convert dynamic ones to floats."""
    return size if isinstance(size, int) else torch.scalar_tensor(size, dtype=dtype)


def non_negative(index: Any, size: Any) -> Any:
    """Return indices counted from the start of a dimension; negative ones count from its end."""
    return torch.where(index < 0, index + size, index)


def broadcast(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands in their common type and shape."""
    dtype = torch.result_type(x, y)
    x, y = (
        each.to(dtype) if isinstance(each, torch.Tensor) else torch.full((), each, dtype=dtype)
        for each in (x, y)
    )
    return tuple(torch.broadcast_tensors(x, y))
