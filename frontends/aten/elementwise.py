"""Decompose elementwise operations that torch-mlir rejects or converts wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .complex_numbers import compared
from .inline_mlir import emit_elementwise, emit_inline_mlir
from .operands import as_real, is_static
from .rules import decomposition, decomposition_with_op, require


@decomposition("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(torch: Any, x: Any, y: Any) -> Any:
    """Return the remainder with the divisor's sign; torch-mlir gives it the dividend's."""
    dtype = torch.result_type(x, y)
    x, y = (
        each if isinstance(each, torch.Tensor) else torch.full((), each, dtype=dtype)
        for each in (x, y)
    )
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


@decomposition("hypot.default")
def hypot(torch: Any, x: Any, y: Any) -> Any:
    """Scale by the larger operand, so that the squares do not overflow."""
    x, y = torch.broadcast_tensors(torch.abs(x), torch.abs(y))
    most, least = torch.maximum(x, y), torch.minimum(x, y)
    plain = (most == 0) | torch.isinf(most)
    ratio = least / torch.where(plain, 1.0, most)
    found = torch.where(plain, most, most * torch.sqrt(1 + ratio * ratio))
    # Infinity dominates NaN.
    return torch.where(torch.isinf(x) | torch.isinf(y), torch.inf, found)


@decomposition("_assert_tensor_metadata.default")
def assert_metadata(torch: Any, x: Any, *options: Any, **more: Any) -> None:
    """Drop the assertion: it held in tracing, and torch-mlir compares its own numbers of types."""


@decomposition("roll.default")
def roll(torch: Any, x: Any, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """Keep shifts below the sizes: torch-mlir repeats the tensor if it is shifted by nothing.

    Without dimensions, roll the flattened tensor.
    """
    if not dims:
        return roll(torch, x.reshape(-1), shifts, [0]).reshape(x.shape)
    require(x.dim() and is_static(x.shape) and x.numel())
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        # The last elements come first.
        first = (-shift) % size
        x = torch.cat((x.narrow(dim, first, size - first), x.narrow(dim, 0, first)), dim)
    return x


@decomposition("put.default")
def put(torch: Any, x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat = x.reshape(-1)
    return torch.index_put(flat, [index.reshape(-1)], source.reshape(-1), accumulate).reshape(
        x.shape
    )


@decomposition("scatter_reduce.two")
def scatter_reduce(
    torch: Any, x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Make the dimension non-negative: torch-mlir crashes on negative ones.

    Round means of integers down; torch-mlir rounds them towards 0.
    """
    operation = torch.ops.aten.scatter_reduce.two
    if reduce == "mean" and not x.dtype.is_floating_point:
        sums = operation(x, dim, index, source, "sum", include_self=include_self)
        ones = torch.ones_like(x), torch.ones_like(source)
        counts = operation(ones[0], dim, index, ones[1], "sum", include_self=include_self)
        return torch.div(sums, counts, rounding_mode="floor")
    require(dim < 0)
    return operation(x, dim + x.dim(), index, source, reduce, include_self=include_self)


@decomposition_with_op("scatter.src", "scatter.value", "scatter_add.default")
def scatter(torch: Any, operation: Any, x: Any, dim: int, index: Any, source: Any) -> Any:
    """Make the dimension non-negative: torch-mlir crashes on negative ones."""
    require(dim < 0)
    return operation(x, dim + x.dim(), index, source)


@decomposition("scatter.value_reduce", "scatter.reduce")
def scatter_by_name(torch: Any, x: Any, dim: int, index: Any, source: Any, *, reduce: str) -> Any:
    """Reduce by `scatter_reduce`; a number is the source of all places."""
    if not isinstance(source, torch.Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype)
    name = {"add": "sum", "multiply": "prod"}[reduce]
    return torch.scatter_reduce(x, dim, index, source, name)


@decomposition("index_reduce.default")
def index_reduce(
    torch: Any, x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Reduce by `scatter_reduce`, with the index broadcast to the source."""
    shape = [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
    index = index.reshape(shape).expand(source.shape)
    return torch.scatter_reduce(x, dim, index, source, reduce, include_self=include_self)


def _comparison(name: str) -> None:
    @decomposition(f"{name}.Tensor", f"{name}.Scalar")
    def compare(torch: Any, x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Compare in the common type: torch-mlir compares in the first operand's type.

        It also folds constant floats against integers wrongly.
        """
        dtype, operation = torch.result_type(x, y), getattr(torch.ops.aten, name)
        if dtype.is_complex:
            return compared(torch, name, x, y)
        if isinstance(y, torch.Tensor):
            require(x.dtype != dtype or y.dtype != dtype)
            return operation.Tensor(x.to(dtype), y.to(dtype))
        number = float(y) if dtype.is_floating_point else y
        require(x.dtype != dtype or type(number) is not type(y))
        return operation.Scalar(x.to(dtype), number)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_name)


@decomposition("isfinite.default")
def isfinite(torch: Any, x: Any) -> Any:
    """Compare magnitudes; torch-mlir's linalg counts NaN as finite."""
    require(x.dtype.is_floating_point)
    return torch.abs(x) < torch.inf


@decomposition("addbmm.default")
def addbmm(torch: Any, x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    found = torch.bmm(a, b).sum(0, dtype=x.dtype)
    found = found if alpha == 1 else found * alpha
    # With beta 0, infinities and NaN of the operand must not propagate.
    return found if beta == 0 else found + (x if beta == 1 else x * beta)


@decomposition("abs.default")
def magnitude(torch: Any, x: Any) -> Any:
    if x.is_complex():
        body = "%r = stablehlo.abs %a0 : ({0}) -> {r}"
        return emit_inline_mlir(torch, body, x.shape, x.dtype.to_real(), x)
    require(not x.dtype.is_signed)
    return x.clone()


# Division ----------------------------------------------------------------------------------------


def _broadcast(torch: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands in their common type and shape."""
    dtype = torch.result_type(x, y)
    x, y = (
        each.to(dtype) if isinstance(each, torch.Tensor) else torch.full((), each, dtype=dtype)
        for each in (x, y)
    )
    return tuple(torch.broadcast_tensors(x, y))


@decomposition("fmod.Tensor", "fmod.Scalar")
def fmod(torch: Any, x: Any, y: Any) -> Any:
    """Compute exactly; torch-mlir's `x - trunc(x / y) * y` fails for large and infinite numbers."""
    x, y = _broadcast(torch, x, y)
    require(x.dtype.is_floating_point or (x.dtype.is_signed and not x.dtype.is_complex))
    return emit_elementwise(torch, "%r = stablehlo.remainder %a0, %a1 : {r}", x, y)


@decomposition("floor_divide.default", "floor_divide.Scalar")
def floor_divide(torch: Any, x: Any, y: Any) -> Any:
    """Divide as Python does: correct by the exact remainder, not by the rounded quotient."""
    x, y = _broadcast(torch, x, y)
    require(x.dtype.is_floating_point)
    rest = fmod(torch, x, y)
    quotient = (x - rest) / y
    quotient = torch.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    whole = torch.floor(quotient)
    whole = torch.where(quotient - whole > 0.5, whole + 1, whole)
    return torch.where(y == 0, x / y, whole)


@decomposition("div.Tensor_mode", "div.Scalar_mode")
def div_mode(torch: Any, x: Any, y: Any, *, rounding_mode: str | None) -> Any:
    require(rounding_mode == "floor")
    return floor_divide(torch, x, y)


# Extrema -----------------------------------------------------------------------------------------


def _extremum(name: str) -> None:
    @decomposition(f"{name}.default")
    def choose(torch: Any, x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Propagate NaN of either operand, which torch-mlir's linalg does not.

        Its linalg also converts bytes to the common type as signed numbers.
        """
        kinds = {x.dtype, y.dtype}
        x, y = _broadcast(torch, x, y)
        if not x.dtype.is_floating_point:
            require(len(kinds) > 1)
            return getattr(torch.ops.aten, name).default(x, y)
        return emit_elementwise(torch, f"%r = stablehlo.{name} %a0, %a1 : {{r}}", x, y)


_extremum("maximum")
_extremum("minimum")


@decomposition("clamp.default", "clamp.Tensor")
def clamp(torch: Any, x: Any, least: Any = None, most: Any = None) -> Any:
    """Propagate NaN, which torch-mlir's linalg does not."""
    require(x.dtype.is_floating_point)
    if least is not None:
        x = torch.maximum(*_broadcast(torch, x, least))
    return x if most is None else torch.minimum(*_broadcast(torch, x, most))


@decomposition("hardtanh.default")
def hardtanh(torch: Any, x: Any, least: Any = -1, most: Any = 1) -> Any:
    return torch.clamp(x, least, most)


@decomposition("relu6.default")
def relu6(torch: Any, x: Any) -> Any:
    return torch.clamp(x, 0, 6)


@decomposition("atan2.default")
def atan2(torch: Any, x: Any, y: Any) -> Any:
    """Convert to the common type: torch-mlir's linalg reads bytes as signed numbers."""
    require(not (x.dtype.is_floating_point and y.dtype.is_floating_point))
    x, y = _broadcast(torch, x, y)
    return torch.atan2(as_real(torch, x), as_real(torch, y))


@decomposition("clamp_max.Tensor")
def clamp_max(torch: Any, x: Any, most: Any) -> Any:
    """Propagate NaN of either operand, and broadcast, which torch-mlir does not."""
    return torch.minimum(*_broadcast(torch, x, most))


@decomposition("clamp_min.Tensor")
def clamp_min(torch: Any, x: Any, least: Any) -> Any:
    return torch.maximum(*_broadcast(torch, x, least))


def _without_nan(name: str, extremum: str) -> None:
    @decomposition(f"{name}.default")
    def choose(torch: Any, x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Prefer numbers to NaN, and broadcast, which torch-mlir does not."""
        x, y = _broadcast(torch, x, y)
        found = getattr(torch, extremum)(x, y)
        if not x.dtype.is_floating_point:
            return found
        return torch.where(torch.isnan(x), y, torch.where(torch.isnan(y), x, found))


_without_nan("fmax", "maximum")
_without_nan("fmin", "minimum")


@decomposition("sign.default")
def sign(torch: Any, x: Any) -> Any:
    """Handle rank 0: torch-mlir computes -1 for positive constants."""
    require(not x.dim() and x.dtype != torch.bool)
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@decomposition("trunc.default")
def trunc(torch: Any, x: Any) -> Any:
    """Handle rank 0: torch-mlir multiplies by the sign, which it computes wrongly."""
    require(not x.dim() and x.dtype.is_floating_point)
    return torch.where(x < 0, torch.ceil(x), torch.floor(x))


# Divisors ----------------------------------------------------------------------------------------


_EUCLID = """
%none = stablehlo.constant dense<0> : tensor<{kind}>
%w:2 = stablehlo.while(%x = %a0, %y = %a1) : {{r}}, {{r}}
cond {{{{
  %most = stablehlo.reduce(%y init: %none) applies stablehlo.maximum across dimensions = {dims}
    : ({{r}}, tensor<{kind}>) -> tensor<{kind}>
  %more = stablehlo.compare NE, %most, %none : (tensor<{kind}>, tensor<{kind}>) -> tensor<i1>
  stablehlo.return %more : tensor<i1>
}}}} do {{{{
  %divisor = stablehlo.maximum %y, %a2 : {{r}}
  %rest = stablehlo.remainder %x, %divisor : {{r}}
  // Elements with y = 0 keep x; the others get y: x * (1 - min(y, 1)) + y.
  %least = stablehlo.minimum %y, %a2 : {{r}}
  %done = stablehlo.subtract %a2, %least : {{r}}
  %old = stablehlo.multiply %x, %done : {{r}}
  %new = stablehlo.add %old, %y : {{r}}
  stablehlo.return %new, %rest : {{r}}, {{r}}
}}}}
%r = stablehlo.add %w#0, %w#1 : {{r}}
"""


@decomposition("gcd.default")
def gcd(torch: Any, x: Any, y: Any) -> Any:
    """Run Euclid's algorithm on all elements, until the largest remainder is 0."""
    x, y = (torch.abs(each) for each in _broadcast(torch, x, y))
    signed = "i" if x.dtype.is_signed else "ui"
    kind = f"{signed}{torch.iinfo(x.dtype).bits}"
    body = _EUCLID.format(kind=kind, dims=list(range(x.dim())))
    return emit_elementwise(torch, body, x, y, torch.ones_like(x))


@decomposition("lcm.default")
def lcm(torch: Any, x: Any, y: Any) -> Any:
    x, y = _broadcast(torch, x, y)
    common = gcd(torch, x, y)
    return torch.abs(torch.div(x, torch.where(common == 0, 1, common), rounding_mode="trunc") * y)


# Bits --------------------------------------------------------------------------------------------


def _shift(name: str, operation: str) -> None:
    short = f"__{name[0]}shift__"
    long = f"bitwise_{name}_shift"

    forms = (f"{long}.{each}" for each in ("Tensor", "Tensor_Scalar", "Scalar_Tensor"))

    @decomposition(f"{short}.Tensor", f"{short}.Scalar", *forms)
    def shift(torch: Any, x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Shift by a negative or too large amount: only the sign remains."""
        x, y = _broadcast(torch, x, y)
        if not x.dtype.is_signed:
            return shift(torch, x.to(torch.int32), y.to(torch.int32)).to(x.dtype)
        bits = torch.iinfo(x.dtype).bits
        body = f"%r = stablehlo.{operation} %a0, %a1 : {{r}}"
        most = torch.where((y < 0) | (y >= bits), bits - 1, y)
        found = emit_elementwise(torch, body, x, most)
        return torch.where(most == y, found, 0) if name == "left" else found


_shift("left", "shift_left")
_shift("right", "shift_right_arithmetic")


def _bitwise(name: str) -> None:
    @decomposition(f"bitwise_{name}.Scalar", f"bitwise_{name}.Scalar_Tensor")
    def rule(torch: Any, x: Any, y: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        x, y = _broadcast(torch, x, y)
        return getattr(torch.ops.aten, f"bitwise_{name}").Tensor(x, y)


for _name in ("and", "or", "xor"):
    _bitwise(_name)


@decomposition("nextafter.default")
def nextafter(torch: Any, x: Any, y: Any) -> Any:
    x, y = _broadcast(torch, x, y)
    body = "%r = chlo.next_after %a0, %a1 : {0}, {1} -> {r}"
    return emit_elementwise(torch, body, x, y)


@decomposition("copysign.Tensor", "copysign.Scalar")
def copysign(torch: Any, x: Any, y: Any) -> Any:
    """Take the sign in the result's type: torch-mlir reads bytes as signed numbers."""
    whole = isinstance(y, torch.Tensor)
    require(not whole or x.dtype != y.dtype or not x.dtype.is_floating_point)
    x, y = _broadcast(torch, as_real(torch, x), y if whole else float(y))
    return torch.copysign(x, y)


_BITS = {"float64": (52, 11), "float32": (23, 8), "float16": (10, 5), "bfloat16": (7, 8)}
"""The bits of the fraction and of the exponent."""


@decomposition("frexp.Tensor")
def frexp(torch: Any, x: Any) -> Any:
    """Replace the bits of the exponent, of subnormal numbers after scaling them."""
    fraction, size = _BITS[str(x.dtype).removeprefix("torch.")]
    integer = {64: torch.int64, 32: torch.int32, 16: torch.int16}[x.dtype.itemsize * 8]
    body = "%r = stablehlo.bitcast_convert %a0 : ({0}) -> {r}"
    small = torch.abs(x) < torch.finfo(x.dtype).smallest_normal
    bits = emit_inline_mlir(torch, body, x.shape, integer, torch.where(small, x * 2.0**fraction, x))
    mask, half = (1 << size) - 1, (1 << (size - 1)) - 2
    exponent = ((bits >> fraction) & mask) - half - torch.where(small, fraction, 0)
    changed = (bits & ~(mask << fraction)) | (half << fraction)
    mantissa = emit_inline_mlir(torch, body, x.shape, x.dtype, changed)
    plain = (x == 0) | ~torch.isfinite(x)
    return torch.where(plain, x, mantissa), torch.where(plain, 0, exponent).to(torch.int32)
