"""Decompose reductions and orderings that torch-mlir rejects or converts wrongly.

torch-mlir rejects or crashes on rank 0 with a dimension, which PyTorch allows. It compares booleans
and bytes as signed numbers, and reduces complex numbers to their real parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .inline_mlir import emit_inline_mlir, emit_results
from .rules import (
    decomposition,
    decomposition_with_op,
    in_f32,
    is_narrow,
    is_static,
    require,
    torch,
)


def _is_small(x: Any) -> bool:
    return x.dtype in (torch.bool, torch.uint8)


def as_integers(operation: Callable[..., Any], x: Any, *options: Any, **more: Any) -> Any:
    """Apply an operation to bytes or booleans as i32; indices in the result stay as they are."""
    require(_is_small(x))
    found = operation(x.to(torch.int32), *options, **more)
    if isinstance(found, torch.Tensor):
        return found.to(x.dtype) if found.dtype == torch.int32 else found
    return tuple(each.to(x.dtype) if each.dtype == torch.int32 else each for each in found)


def _ordered(x: Any, largest: bool) -> Any:
    """Map floats to integers in the same order, with NaN at the requested end.

    On floats with NaN, torch-mlir finds a later index.
    """
    wide = x if x.dtype == torch.float64 else x.to(torch.float32)
    whole = torch.int64 if wide.dtype == torch.float64 else torch.int32
    body = "%r = stablehlo.bitcast_convert %a0 : ({0}) -> {r}"
    # Adding 0.0 turns -0.0 into 0.0.
    bits = emit_inline_mlir(body, x.shape, whole, wide + 0.0)
    limits = torch.iinfo(whole)
    found = torch.where(bits < 0, bits ^ limits.max, bits)
    return torch.where(torch.isnan(wide), limits.max if largest else limits.min, found)


@decomposition_with_op("amax.default", "amin.default")
def reduction(operation: Any, x: Any, *options: Any, **more: Any) -> Any:
    if not x.dim():
        return operation(x.reshape(1), *options, **more).reshape(())
    return as_integers(operation, x, *options, **more)


@decomposition_with_op("argmax.default", "argmin.default")
def place(operation: Any, x: Any, *options: Any, **more: Any) -> Any:
    if x.dim() and x.dtype.is_floating_point:
        is_largest = operation is torch.ops.aten.argmax.default
        return operation(_ordered(x, is_largest), *options, **more)
    return reduction(operation, x, *options, **more)


def _extremum(name: str, x: Any, *options: Any, **more: Any) -> Any:
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if _is_small(x):
        operation = getattr(torch.ops.aten, name).dim
        return as_integers(operation, x, *options, **more)
    require(x.dtype.is_floating_point)
    values = getattr(torch, f"a{name}")(x, *options, **more)
    return values, getattr(torch, f"arg{name}")(x, *options, **more)


@decomposition("_is_all_true.default")
def is_all_true(x: Any) -> Any:
    return torch.all(x)


@decomposition("max.dim")
def largest(x: Any, *options: Any, **more: Any) -> Any:
    return _extremum("max", x, *options, **more)


@decomposition("min.dim")
def least(x: Any, *options: Any, **more: Any) -> Any:
    return _extremum("min", x, *options, **more)


def _narrowed(x: Any, k: Any, dim: int, largest: bool) -> Any:
    """Return the first `k` numbers of a sort, in which NaN is the largest."""
    found = torch.ops.aten.sort.default(x, dim, largest)
    return tuple(each.narrow(dim, 0, k) for each in found)


def _largest(x: Any, k: Any, dim: int) -> Any:
    """Use CHLO's top_k for static sizes; torch-mlir's comparison does not order NaN."""
    if not is_static((*x.shape, k)):
        return _narrowed(x, k, dim, True)
    x = x.movedim(dim, -1)
    shape = [*x.shape[:-1], k]
    sizes = "x".join(map(str, shape))
    types = f"({{0:{sizes}}}, tensor<{sizes}xi32>)"
    body = f"%results = chlo.top_k(%a0, k = {k}) : {{0}} -> {types}"
    values, places = emit_results(body, [(shape, x.dtype), (shape, torch.int32)], x)
    return values.movedim(-1, dim), places.to(torch.int64).movedim(-1, dim)


@decomposition_with_op("topk.default")
def topk(
    operation: Any, x: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if x.dtype.is_floating_point:
        return _largest(x, k, dim) if largest else _narrowed(x, k, dim, False)
    if _is_small(x):
        return as_integers(operation, x, k, dim, largest, True)
    # An unsorted result may have any order; torch-mlir supports only the sorted one.
    require(not sorted)
    return operation(x, k, dim, largest, True)


decomposition_with_op("max.default", "min.default")(as_integers)


@decomposition_with_op("any.default", "any.dim", "any.dims", "all.default", "all.dim", "all.dims")
def ask(operation: Any, x: Any, *options: Any) -> Any:
    """Return bytes for bytes, and test both parts of complex numbers."""
    require(x.dtype == torch.uint8 or x.is_complex())
    found = operation(x != 0, *options)
    return found.to(x.dtype) if x.dtype == torch.uint8 else found


@decomposition("logsumexp.default")
def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    """Handle rank 0, which has no dimension."""
    require(not x.dim())
    real = x.dtype.is_floating_point or x.is_complex()
    return x.clone() if real else x.to(torch.get_default_dtype())


@decomposition_with_op("softmax.int", "log_softmax.int", "_softmax.default", "_log_softmax.default")
def softmax(operation: Any, x: Any, dim: int, *options: Any, **more: Any) -> Any:
    """Handle rank 0, on which torch-mlir hangs or crashes, and round logarithms once."""
    if is_narrow(x) and "log_softmax" in operation.name() and not any((*options, *more.values())):
        return in_f32(operation, x, dim, *options, **more)
    require(not x.dim())
    return operation(x.reshape(1), 0, *options, **more).reshape(())


@decomposition_with_op("_softmax_backward_data.default", "_log_softmax_backward_data.default")
def softmax_backward(operation: Any, grad: Any, found: Any, dim: int, dtype: Any) -> Any:
    require(not grad.dim())
    return operation(grad.reshape(1), found.reshape(1), 0, dtype).reshape(())


@decomposition_with_op("linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar")
def norm(operation: Any, x: Any, *options: Any, **more: Any) -> Any:
    if not x.dim():
        return operation(x.reshape(1), *options, **more).reshape(())
    # A norm depends only on magnitudes.
    require(x.is_complex())
    return operation(torch.abs(x), *options, **more)


@decomposition("dist.default")
def dist(x: Any, y: Any, p: Any = 2) -> Any:
    return torch.linalg.vector_norm(x - y, p)


def _product(x: Any, dim: int, dtype: Any) -> Any:
    """Multiply complex numbers, on which torch-mlir crashes, and bytes in the result's type."""
    kind = x.dtype if dtype is None else dtype
    if x.dtype == torch.uint8:
        kind = torch.int64 if dtype is None else dtype
        return torch.prod(x.to(kind), dim, dtype=kind)
    require(kind.is_complex)
    if not x.shape[dim]:
        return torch.ones_like(x.sum(dim), dtype=kind)
    return torch.cumprod(x, dim, dtype=kind).select(dim, -1)


@decomposition("prod.default")
def prod(x: Any, *, dtype: Any = None) -> Any:
    return _product(x.reshape(-1), 0, dtype)


@decomposition("prod.dim_int")
def prod_of_dimension(x: Any, dim: int, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if not x.dim():
        return torch.prod(x.reshape(1), 0, dtype=dtype)
    found = _product(x, dim, dtype)
    return found.unsqueeze(dim) if keepdim else found


_SEGMENTS = {
    "max": (float("-inf"), "amax"),
    "mean": (0.0, "sum"),
    "min": (float("inf"), "amin"),
    "prod": (1.0, "prod"),
    "sum": (0.0, "sum"),
}
"""The neutral number of a reduction, and its name."""


@decomposition("segment_reduce.default")
def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Any:
    """Let each segment reduce all rows, with those of the others replaced by the neutral number."""
    require(indices is None and data.shape[axis])
    ends = lengths.cumsum(-1) if offsets is None else offsets[..., 1:]
    starts = ends - lengths if offsets is None else offsets[..., :-1]
    numbers = torch.arange(data.shape[axis])
    member = (numbers >= starts[..., None]) & (numbers < ends[..., None])
    # The rows of each segment last, after the dimensions inside of a row.
    rows = data.movedim(axis, -1).unsqueeze(axis)
    member = member.reshape([*member.shape[:-1], *[1] * (data.dim() - axis - 1), -1])
    neutral, name = _SEGMENTS[reduce]
    reduced = getattr(torch, name)
    found = reduced(torch.where(member, rows, neutral), -1)
    if initial is not None:
        first = torch.full_like(found, initial)
        found = reduced(torch.stack([found, first], -1), -1)
    if reduce == "mean":
        count = (ends - starts).reshape(member.shape[:-1])
        of_none = found if initial is not None else float("nan")
        found = torch.where(count == 0, of_none, found / count)
    return found
