"""Reductions and orders of what torch-mlir takes for something else.

Numbers have no dimension, whatever PyTorch says: torch-mlir refuses it, or crashes. It compares
booleans and bytes as if their first bit were a sign, and takes complex numbers for their real
parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .torch_complex import by_parts
from .torch_rules import decomposition, of_each, only_if


def _is_small(torch: Any, x: Any) -> bool:
    return x.dtype in (torch.bool, torch.uint8)


def _as_integers(
    torch: Any, operation: Callable[..., Any], x: Any, *options: Any, **more: Any
) -> Any:
    """What an operation makes of bytes or booleans; places stay as they are."""
    only_if(_is_small(torch, x))
    found = operation(x.to(torch.int32), *options, **more)
    if isinstance(found, torch.Tensor):
        return found.to(x.dtype) if found.dtype == torch.int32 else found
    return tuple(each.to(x.dtype) if each.dtype == torch.int32 else each for each in found)


@of_each("amax.default", "amin.default", "argmax.default", "argmin.default")
def reduction(torch: Any, operation: Any, x: Any, *options: Any, **more: Any) -> Any:
    if not x.dim():
        return operation(x.reshape(1), *options, **more).reshape(())
    return _as_integers(torch, operation, x, *options, **more)


@of_each("max.dim", "min.dim", "kthvalue.default", "sort.default")
def order(torch: Any, operation: Any, x: Any, *options: Any, **more: Any) -> Any:
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    return _as_integers(torch, operation, x, *options, **more)


@of_each("topk.default")
def topk(
    torch: Any,
    operation: Any,
    x: Any,
    k: Any,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> Any:
    if sorted or _is_small(torch, x) or not x.dim():
        return order(torch, operation, x, k, dim, largest, True)
    # Any order will do where none is asked for; torch-mlir has only the sorted one.
    return operation(x, k, dim, largest, True)


of_each("max.default", "min.default")(_as_integers)


@of_each("any.default", "any.dim", "any.dims", "all.default", "all.dim", "all.dims")
def ask(torch: Any, operation: Any, x: Any, *options: Any) -> Any:
    """Of bytes the answer is a byte, of complex numbers it takes both parts."""
    only_if(x.dtype == torch.uint8 or x.is_complex())
    found = operation(x != 0, *options)
    return found.to(x.dtype) if x.dtype == torch.uint8 else found


@decomposition("cumsum.default")
def cumsum(torch: Any, x: Any, dim: int, *, dtype: Any = None) -> Any:
    """torch-mlir crashes on results in bytes."""
    operation = torch.ops.aten.cumsum.default
    if dtype == torch.uint8:
        return operation(x, dim, dtype=torch.int32).to(dtype)
    return by_parts(torch, operation, x, dim, dtype=dtype)


@of_each("linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar")
def norm(torch: Any, operation: Any, x: Any, *options: Any, **more: Any) -> Any:
    if not x.dim():
        return operation(x.reshape(1), *options, **more).reshape(())
    # Norms have to do with how large numbers are.
    only_if(x.is_complex())
    return operation(torch.abs(x), *options, **more)


def _product(torch: Any, x: Any, dim: int, dtype: Any) -> Any:
    """Of complex numbers, which torch-mlir crashes on."""
    kind = x.dtype if dtype is None else dtype
    only_if(kind.is_complex)
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
    return found.unsqueeze(dim) if keepdim else found
