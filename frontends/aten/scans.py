"""Decompose running reductions to windows, or to steps that each double the reduced elements.

Of dynamic sizes they become operations of `tm_tensor`, which torch-mlir uses for sums.
"""

from __future__ import annotations

from typing import Any

from .complex_numbers import as_complex, by_parts
from .inline_mlir import emit_elementwise, emit_results
from .rules import decomposition, is_static, require, torch, widened

_EXTREMUM = """
%start = stablehlo.constant dense<START> : {0:[]}
%zero = stablehlo.constant dense<0> : tensor<i64>
%places = stablehlo.iota dim = DIM : INDICES
%results = "stablehlo.reduce_window"(%a0, %places, %start, %zero) <{{ WINDOW }}> ({{
  ^bb0(%x: {0:[]}, %i: tensor<i64>, %y: {0:[]}, %j: tensor<i64>):
    %is_more = stablehlo.compare ORDER, %y, %x : ({0:[]}, {0:[]}) -> tensor<i1>
    %is_nan = stablehlo.compare NE, %y, %y : ({0:[]}, {0:[]}) -> tensor<i1>
    %is_found = stablehlo.or %is_more, %is_nan : tensor<i1>
    %s = stablehlo.select %is_found, %y, %x : tensor<i1>, {0:[]}
    %t = stablehlo.select %is_found, %j, %i : tensor<i1>, tensor<i64>
    stablehlo.return %s, %t : {0:[]}, tensor<i64>
}}) : ({0}, INDICES, {0:[]}, tensor<i64>) -> ({0}, INDICES)
"""

_LOGARITHMS = """
%start = stablehlo.constant dense<START> : {0:[]}
%r = "stablehlo.reduce_window"(%a0, %start) <{{ WINDOW }}> ({{
  ^bb0(%x: {0:[]}, %y: {0:[]}):
    %most = stablehlo.maximum %x, %y : {0:[]}
    %difference = stablehlo.subtract %x, %y : {0:[]}
    %is_nan = stablehlo.compare NE, %difference, %difference : ({0:[]}, {0:[]}) -> tensor<i1>
    %apart = stablehlo.abs %difference : {0:[]}
    %less = stablehlo.negate %apart : {0:[]}
    %power = stablehlo.exponential %less : {0:[]}
    %rest = stablehlo.log_plus_one %power : {0:[]}
    %sum = stablehlo.add %most, %rest : {0:[]}
    %s = stablehlo.select %is_nan, %most, %sum : tensor<i1>, {0:[]}
    stablehlo.return %s : {0:[]}
}}) : ({0}, {0:[]}) -> {0}
"""
"""The difference of equal infinities is NaN."""


_SCAN = """
SIZES
%start = arith.constant START : KIND
%all = tensor.empty(ALL) : {0}
%row = tensor.empty(ROW) : {0:ROW_SHAPE}
%first = linalg.fill ins(%start : KIND) outs(%row : {0:ROW_SHAPE}) -> {0:ROW_SHAPE}
%scanned, %last = tm_tensor.scan dimension(DIM) inclusive(true)
    ins(%a0 : {0}) outs(%all, %first : {0}, {0:ROW_SHAPE}) {{
  ^bb0(%x: KIND, %y: KIND):
    BODY
    tm_tensor.yield %s : KIND
}} -> {0}, {0:ROW_SHAPE}
%r = tensor.cast %scanned : {0} to {r}
"""

_LOGARITHM = """
%most = arith.maximumf %x, %y : KIND
%difference = arith.subf %x, %y : KIND
%is_nan = arith.cmpf une, %difference, %difference : KIND
%apart = math.absf %difference : KIND
%less = arith.negf %apart : KIND
%power = math.exp %less : KIND
%rest = math.log1p %power : KIND
%sum = arith.addf %most, %rest : KIND
%s = arith.select %is_nan, %most, %sum : KIND
"""


def _scan(x: Any, dim: int, kind: str, start: str, body: str) -> Any:
    """Reduce the elements up to each along a dimension of a tensor of dynamic sizes.

    `body` computes `%s` of type `kind` from `%x` and `%y`, with the neutral element `start`.
    """
    every = [axis for axis, size in enumerate(x.shape) if not isinstance(size, int)]
    sizes = [
        f"%c{axis} = arith.constant {axis} : index\n%d{axis} = tensor.dim %a0, %c{axis} : {{0}}"
        for axis in every
    ]
    shape = [str(x.shape[axis]) if axis not in every else "?" for axis in range(x.dim())]
    text = _SCAN.replace("SIZES", "\n".join(sizes)).replace("BODY", body).replace("DIM", str(dim))
    text = text.replace("ROW_SHAPE", f"[{', '.join(shape[:dim] + shape[dim + 1 :])}]")
    text = text.replace("ROW", ", ".join(f"%d{axis}" for axis in every if axis != dim))
    text = text.replace("ALL", ", ".join(f"%d{axis}" for axis in every))
    text = text.replace("START", start).replace("KIND", kind)
    return emit_elementwise(text, x)


def _window(x: Any, dim: int) -> str:
    """Return the window of all elements up to each along a dimension."""
    sizes, padding = [1] * x.dim(), [[0, 0] for _ in range(x.dim())]
    sizes[dim], padding[dim][0] = x.shape[dim], x.shape[dim] - 1
    listed = ", ".join(map(str, sizes))
    kind = f"tensor<{x.dim()}x2xi64>"
    return f"window_dimensions = array<i64: {listed}>, padding = dense<{padding}> : {kind}"


def _least(dtype: Any) -> str:
    """Return the text of the least number of a type, the identity of maxima."""
    if not dtype.is_floating_point:
        return str(torch.iinfo(dtype).min)
    return f"0x{int(_most(dtype), 16) + (1 << torch.finfo(dtype).bits - 1):X}"


def _most(dtype: Any) -> str:
    if not dtype.is_floating_point:
        return str(torch.iinfo(dtype).max)
    # All bits of the exponent of infinity are set, and none of its fraction.
    found = torch.finfo(dtype)
    return f"0x{(1 << found.bits - 1) - round(1 / found.eps):0{found.bits // 4}X}"


def _running_extremum(order: str, x: Any, dim: int) -> Any:
    """Return the running extremum, and where it is: the last of equal elements, or the last NaN."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    dim %= x.dim()
    if not is_static(x.shape):
        return _ranked_extremum(order, x, dim)
    require(x.numel())
    numbers = x.to(torch.uint8) if x.dtype == torch.bool else x
    start = _least(numbers.dtype) if order == "GE" else _most(numbers.dtype)
    indices = f"tensor<{'x'.join(map(str, x.shape))}xi64>"
    body = _EXTREMUM.replace("START", start).replace("DIM", str(dim)).replace("ORDER", order)
    body = body.replace("INDICES", indices).replace("WINDOW", _window(x, dim))
    results = [(x.shape, numbers.dtype), (x.shape, torch.int64)]
    found, places = emit_results(body, results, numbers)
    return found.to(x.dtype), places


def _ranked_extremum(order: str, x: Any, dim: int) -> Any:
    """Return a running extremum of dynamic sizes, by the largest place in the sorted order."""
    keys = x.to(torch.uint8) if x.dtype == torch.bool else x
    if order == "LE":
        keys = -keys if keys.dtype.is_floating_point else ~keys
    # Equal elements keep their order, and NaN is the last.
    places = torch.ops.aten.sort.default(keys, dim, False)[1]
    ranks = torch.ops.aten.sort.default(places, dim, False)[1]
    most = _scan(ranks, dim, "i64", "0", "%s = arith.maxsi %x, %y : KIND")
    found = places.gather(dim, most)
    return x.gather(dim, found), found


@decomposition("cummax.default")
def cummax(x: Any, dim: int) -> Any:
    return _running_extremum("GE", x, dim)


@decomposition("cummin.default")
def cummin(x: Any, dim: int) -> Any:
    return _running_extremum("LE", x, dim)


@decomposition("logcumsumexp.default")
def logcumsumexp(x: Any, dim: int) -> Any:
    """Add logarithms; plain sums of exponentials would overflow."""
    if x.dim() == 0:
        return x.clone()
    require(not x.is_complex())
    wide = widened(x)
    if not is_static(x.shape):
        kind = "f64" if wide.dtype == torch.float64 else "f32"
        return _scan(wide, dim % x.dim(), kind, _least(wide.dtype), _LOGARITHM).to(x.dtype)
    require(x.numel())
    body = _LOGARITHMS.replace("START", _least(wide.dtype))
    return emit_elementwise(body.replace("WINDOW", _window(x, dim % x.dim())), wide).to(x.dtype)


@decomposition("cumprod.default")
def cumprod(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Convert numbers first, and multiply bytes in i32, and complex numbers.

    torch-mlir has no conversion to another type, and crashes on the others.
    """
    kind = x.dtype if dtype is None else dtype
    if kind == torch.uint8:
        return torch.cumprod(x.to(torch.int32), dim).to(kind)
    if dtype is not None and not kind.is_complex:
        return torch.ops.aten.cumprod.default(x.to(kind), dim)
    require(kind.is_complex)
    found = as_complex(x, kind)
    if not found.dim():
        return found
    size, step = found.shape[dim], 1
    require(isinstance(size, int))
    while step < size:
        before, after = (found.narrow(dim, start, size - step) for start in (0, step))
        found = torch.cat((found.narrow(dim, 0, step), before * after), dim)
        step *= 2
    return found


@decomposition("cumsum.default")
def cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Sum bytes in i32, and complex numbers by parts: torch-mlir crashes."""
    operation = torch.ops.aten.cumsum.default
    if dtype == torch.uint8:
        return operation(x, dim, dtype=torch.int32).to(dtype)
    return by_parts(operation, x, dim, dtype=dtype)
