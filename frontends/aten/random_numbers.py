"""Decompose operations that draw random numbers into StableHLO's `rng`.

    randn([2, n])  ->  stablehlo.rng of mean 0, deviation 1 and the sizes [2, n]

PyTorch has decompositions into these for others, such as dropout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .inline_mlir import emit_inline_mlir
from .rules import decomposition, require, torch

_RNG = "%r = stablehlo.rng %a0, %a1, %a2, distribution = {} : ({{0}}, {{1}}, {{2}}) -> {{r}}"
_UNIFORM, _NORMAL = map(_RNG.format, ("UNIFORM", "NORMAL"))


def _drawn(text: str, size: Sequence[Any], dtype: Any, first: float, second: float) -> Any:
    """Draw numbers of two parameters: bounds, or a mean and a deviation."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    require(not dtype.is_complex)
    sizes: Sequence[Any] = size or (1,)
    lengths = torch.stack([torch.full((), each, dtype=torch.int64) for each in sizes])
    bounds = (torch.full((), each, dtype=dtype) for each in (first, second))
    found = emit_inline_mlir(text, sizes, dtype, *bounds, lengths)
    return found if size else found.reshape(())


def _fractions(size: Sequence[Any], dtype: Any) -> Any:
    """Draw numbers from 0 to 1 of at least f32: narrower ones would be multiples of 1/128."""
    return _drawn(_UNIFORM, size, torch.float64 if dtype == torch.float64 else torch.float32, 0, 1)


@decomposition("rand.default")
def rand(size: Sequence[Any], *, dtype: Any = None, **_: Any) -> Any:
    return _drawn(_UNIFORM, size, dtype, 0, 1)


@decomposition("randn.default")
def randn(size: Sequence[Any], *, dtype: Any = None, **_: Any) -> Any:
    return _drawn(_NORMAL, size, dtype, 0, 1)


@decomposition("rand_like.default")
def rand_like(x: Any, *, dtype: Any = None, **_: Any) -> Any:
    return _drawn(_UNIFORM, x.shape, dtype or x.dtype, 0, 1)


@decomposition("randn_like.default")
def randn_like(x: Any, *, dtype: Any = None, **_: Any) -> Any:
    return _drawn(_NORMAL, x.shape, dtype or x.dtype, 0, 1)


@decomposition("uniform.default")
def uniform(x: Any, low: float = 0.0, high: float = 1.0, **_: Any) -> Any:
    return _drawn(_UNIFORM, x.shape, x.dtype, low, high)


@decomposition("normal_functional.default")
def normal_functional(x: Any, mean: float = 0.0, std: float = 1.0, **_: Any) -> Any:
    return _drawn(_NORMAL, x.shape, x.dtype, mean, std)


@decomposition("bernoulli.p")
def bernoulli(x: Any, p: float, **_: Any) -> Any:
    return (_fractions(x.shape, x.dtype) < p).to(x.dtype)


@decomposition("geometric.default")
def geometric(x: Any, p: float, **_: Any) -> Any:
    """Draw real numbers for integers as well, which PyTorch's rule does not."""
    drawn = _fractions(x.shape, x.dtype)
    return torch.ceil(torch.log1p(-drawn) / math.log1p(-p)).clamp(min=1).to(x.dtype)


@decomposition("normal.Tensor_float", "normal.Tensor_Tensor")
def normal(mean: Any, std: Any = 1.0, **_: Any) -> Any:
    shape = torch.broadcast_shapes(mean.shape, getattr(std, "shape", ()))
    return _drawn(_NORMAL, shape, mean.dtype, 0, 1) * std + mean


@decomposition("normal.float_float")
def normal_of_size(
    mean: float, std: float, size: Sequence[Any], *, dtype: Any = None, **_: Any
) -> Any:
    return _drawn(_NORMAL, size, dtype, mean, std)


@decomposition("normal.float_Tensor")
def normal_of_deviations(mean: float, std: Any, **_: Any) -> Any:
    return _drawn(_NORMAL, std.shape, std.dtype, 0, 1) * std + mean


def _integers(low: int, high: int, size: Sequence[Any], dtype: Any) -> Any:
    # `rng` draws no unsigned numbers and no bytes.
    drawn = _drawn(_UNIFORM, size, torch.int64, low, high)
    return drawn.to(torch.int64 if dtype is None else dtype)


@decomposition("randint.default")
def randint(high: int, size: Sequence[Any], *, dtype: Any = None, **_: Any) -> Any:
    return _integers(0, high, size, dtype)


@decomposition("randint.low")
def randint_low(low: int, high: int, size: Sequence[Any], *, dtype: Any = None, **_: Any) -> Any:
    return _integers(low, high, size, dtype)


@decomposition("randint_like.default")
def randint_like(x: Any, high: int, *, dtype: Any = None, **_: Any) -> Any:
    return _integers(0, high, x.shape, dtype or x.dtype)


@decomposition("randint_like.low_dtype")
def randint_like_low(x: Any, low: int, high: int, *, dtype: Any = None, **_: Any) -> Any:
    return _integers(low, high, x.shape, dtype or x.dtype)


@decomposition("randperm.default")
def randperm(n: Any, *, dtype: Any = None, **_: Any) -> Any:
    """Sort random numbers."""
    drawn = _fractions((n,), torch.float32)
    return drawn.argsort().to(torch.int64 if dtype is None else dtype)


@decomposition("multinomial.default")
def multinomial(weights: Any, num_samples: int, replacement: bool = False, **_: Any) -> Any:
    """Draw by the quotients of weights and exponential numbers, of which the largest is number i
    with the probability of its weight.
    """
    shape = (*weights.shape[:-1], *((num_samples,) if replacement else ()), weights.shape[-1])
    drawn = _fractions(shape, weights.dtype)
    chances = weights.unsqueeze(-2) if replacement else weights
    keys = torch.where(chances > 0, chances / -torch.log1p(-drawn), -1.0)
    return keys.argmax(-1) if replacement else keys.topk(num_samples).indices
