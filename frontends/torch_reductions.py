"""Reductions and orders of what torch-mlir takes for something else.

Numbers have no dimension, whatever PyTorch says: torch-mlir refuses it, or crashes. It compares
booleans and bytes as if their first bit were a sign, and takes complex numbers for their real
parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .torch_carried import carry
from .torch_complex import by_parts
from .torch_rules import decomposition


def _operation(torch: Any, name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload)


def as_integers(
    torch: Any, operation: Callable[..., Any], x: Any, *options: Any, **more: Any
) -> Any:
    """What an operation makes of bytes or booleans; places stay as they are."""
    found = operation(x.to(torch.int32), *options, **more)
    if isinstance(found, torch.Tensor):
        return found.to(x.dtype) if found.dtype == torch.int32 else found
    return tuple(each.to(x.dtype) if each.dtype == torch.int32 else each for each in found)


def _ordered(torch: Any, x: Any, largest: bool) -> Any:
    """Integers in the order of floats, with NaN at that end; torch-mlir takes a later place."""
    wide = x if x.dtype == torch.float64 else x.to(torch.float32)
    whole = torch.int64 if wide.dtype == torch.float64 else torch.int32
    body = "%r = stablehlo.bitcast_convert %a0 : ({0}) -> {r}"
    # There is one zero.
    bits = carry(torch, body, x.shape, whole, wide + 0.0)
    limits = torch.iinfo(whole)
    found = torch.where(bits < 0, bits ^ limits.max, bits)
    return torch.where(torch.isnan(wide), limits.max if largest else limits.min, found)


def _reduction(name: str) -> None:
    @decomposition(name)
    def reduce(torch: Any, x: Any, *options: Any, **more: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        operation = _operation(torch, name)
        if not x.dim():
            return operation(x.reshape(1), *options, **more).reshape(())
        if x.dtype in (torch.bool, torch.uint8):
            return as_integers(torch, operation, x, *options, **more)
        if name.startswith("arg") and x.dtype.is_floating_point:
            return operation(_ordered(torch, x, "max" in name), *options, **more)
        return NotImplemented


for _name in ("amax", "amin", "argmax", "argmin"):
    _reduction(f"{_name}.default")


def _with_places(name: str) -> None:
    @decomposition(name)
    def order(torch: Any, x: Any, *options: Any, **more: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        if not x.dim():
            return x.clone(), torch.zeros_like(x, dtype=torch.int64)
        if x.dtype in (torch.bool, torch.uint8):
            return as_integers(torch, _operation(torch, name), x, *options, **more)
        if x.dtype.is_floating_point:
            extremum = name.partition(".")[0]
            values = _operation(torch, f"a{extremum}.default")(x, *options, **more)
            return values, getattr(torch, f"arg{extremum}")(x, *options, **more)
        return NotImplemented


for _name in ("max.dim", "min.dim"):
    _with_places(_name)


def _narrowed(torch: Any, x: Any, k: Any, dim: int, largest: bool) -> Any:
    """The first numbers of a sort, in which NaN is the largest."""
    found = torch.ops.aten.sort.default(x, dim, largest)
    return tuple(each.narrow(dim, 0, k) for each in found)


def _largest(torch: Any, x: Any, k: Any, dim: int) -> Any:
    """By an operation of CHLO for known sizes; torch-mlir's comparison orders NaN nowhere."""
    if not all(isinstance(each, int) for each in (*x.shape, k)):
        return _narrowed(torch, x, k, dim, True)
    x = x.movedim(dim, -1)
    shape = [*x.shape[:-1], k]
    sizes = "x".join(map(str, shape))
    types = f"({{{{0:{sizes}}}}}, tensor<{sizes}xi32>)"
    body = f"{{}} = chlo.top_k(%a0, k = {k}) : {{{{0}}}} -> {types}"
    values = carry(torch, body.format("%r, %other"), shape, x.dtype, x)
    places = carry(torch, body.format("%other, %r"), shape, torch.int32, x)
    return values.movedim(-1, dim), places.to(torch.int64).movedim(-1, dim)


@decomposition("topk.default")
def topk(
    torch: Any, x: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    operation = torch.ops.aten.topk.default
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if x.dtype in (torch.bool, torch.uint8):
        return as_integers(torch, operation, x, k, dim, largest, True)
    if x.dtype.is_floating_point:
        return _largest(torch, x, k, dim) if largest else _narrowed(torch, x, k, dim, False)
    # Any order will do where none is asked for; torch-mlir has only the sorted one.
    return NotImplemented if sorted else operation(x, k, dim, largest, True)


def _of_all(name: str) -> None:
    @decomposition(f"{name}.default")
    def reduce(torch: Any, x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        if x.dtype not in (torch.bool, torch.uint8):
            return NotImplemented
        return as_integers(torch, _operation(torch, f"{name}.default"), x)


for _name in ("max", "min"):
    _of_all(_name)


def _question(name: str) -> None:
    @decomposition(name)
    def ask(torch: Any, x: Any, *options: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Of bytes the answer is a byte, of complex numbers it takes both parts."""
        if x.dtype != torch.uint8 and not x.is_complex():
            return NotImplemented
        found = _operation(torch, name)(x != 0, *options)
        return found.to(x.dtype) if x.dtype == torch.uint8 else found


for _name in ("any", "all"):
    for _overload in ("default", "dim", "dims"):
        _question(f"{_name}.{_overload}")


@decomposition("cumsum.default")
def cumsum(torch: Any, x: Any, dim: int, *, dtype: Any = None) -> Any:
    """torch-mlir crashes on results in bytes."""
    operation = torch.ops.aten.cumsum.default
    if dtype == torch.uint8:
        return operation(x, dim, dtype=torch.int32).to(dtype)
    return by_parts(torch, operation, x, dim, dtype=dtype)


def _of_numbers(name: str) -> None:
    @decomposition(name)
    def reduce(torch: Any, x: Any, *options: Any, **more: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        operation = _operation(torch, name)
        if not x.dim():
            return operation(x.reshape(1), *options, **more).reshape(())
        # Norms have to do with how large numbers are.
        return operation(torch.abs(x), *options, **more) if x.is_complex() else NotImplemented


for _name in ("linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar"):
    _of_numbers(_name)


def _product(torch: Any, x: Any, dim: int, dtype: Any) -> Any:
    """Of complex numbers, which torch-mlir crashes on."""
    kind = x.dtype if dtype is None else dtype
    if not kind.is_complex:
        return NotImplemented
    if not x.shape[dim]:
        return torch.ones_like(x.sum(dim), dtype=kind)
    return torch.cumprod(x, dim, dtype=kind).select(dim, -1)


@decomposition("prod.default")
def prod(torch: Any, x: Any, *, dtype: Any = None) -> Any:
    return _product(torch, x.reshape(-1), 0, dtype)


@decomposition("prod.dim_int")
def prod_of_dimension(
    torch: Any, x: Any, dim: int, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    if not x.dim():
        return torch.prod(x.reshape(1), 0, dtype=dtype)
    found = _product(torch, x, dim, dtype)
    return found.unsqueeze(dim) if keepdim and found is not NotImplemented else found
