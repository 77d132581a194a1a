"""Complex numbers in native code: the same bits as in the interpreter, except for functions that
are computed in another way."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt import api

PARTS = [0.0, -0.0, 1.0, -1.0, 2.5, -3.25, np.inf, -np.inf, np.nan, 1e-40, 3e38, 1e-3]
UNARY = {
    **dict.fromkeys(("neg", "conj", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt"), "C"),
    **dict.fromkeys(("sin", "cos", "tan", "tanh"), "C"),
    **dict.fromkeys(("re", "im", "abs", "angle"), "F"),
}
BINARY = {**dict.fromkeys(("add", "sub", "mul", "div", "pow"), "C"), "eq": "i1", "neq": "i1"}

ULPS = {
    **dict.fromkeys(("exp", "sin", "cos", "tan", "tanh", "sqrt"), 1),
    **{"expm1": 2, "log": 2, "rsqrt": 2, "log1p": 4, "pow": 4, "angle": 4},
}
"""Units in the last place by which results differ. Those of complex floats are rounded once."""


def program(real: str) -> str:
    """All operations on two tensors, each to a result of its own."""
    types = {"C": f"complex<{real}>", "F": real, "i1": "i1"}
    of = types["C"]
    kinds = [types[kind] for kind in (*UNARY.values(), *BINARY.values(), "C")]
    lines = [f"%r{i} = complex.{name} %x : {of}" for i, name in enumerate(UNARY)]
    lines += [f"%r{i} = complex.{name} %x, %y : {of}" for i, name in enumerate(BINARY, len(lines))]
    last = len(lines)
    lines += [
        f"%k = complex.constant [1.5 : {real}, -2.0 : {real}] : {of}",
        f"%m = complex.create %r{list(UNARY).index('im')}, %r{list(UNARY).index('re')} : {of}",
        f"%e = complex.eq %m, %x : {of}",
        f"%r{last} = arith.select %e, %k, %m : {of}",
    ]
    tensors = ", ".join(f"tensor<?x{kind}>" for kind in kinds)
    outs = ", ".join(f"%o{i}" for i in range(len(kinds)))
    maps = ", ".join(["affine_map<(d0) -> (d0)>"] * (len(kinds) + 2))
    empties = "\n".join(
        f"%o{i} = tensor.empty(%d) : tensor<?x{kind}>" for i, kind in enumerate(kinds)
    )
    out_arguments = ", ".join(f"%z{i}: {kind}" for i, kind in enumerate(kinds))
    body = "\n".join(lines)
    yielded = ", ".join(f"%r{i}" for i in range(len(kinds)))
    results = ", ".join(f"%all#{i}" for i in range(len(kinds)))
    return f"""func.func @main(%a: tensor<?x{of}>, %b: tensor<?x{of}>) -> ({tensors}) {{
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x{of}>
  {empties}
  %all:{len(kinds)} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins(%a, %b : tensor<?x{of}>, tensor<?x{of}>) outs({outs} : {tensors}) {{
  ^bb0(%x: {of}, %y: {of}, {out_arguments}):
    {body}
    linalg.yield {yielded} : {", ".join(kinds)}
  }} -> ({tensors})
  return {results} : {tensors}
}}"""


@pytest.mark.parametrize(("real", "dtype"), [("f32", np.complex64), ("f64", np.complex128)])
def test_operations(real: str, dtype: type[np.complexfloating]) -> None:
    numbers = np.empty(len(PARTS) ** 2, dtype)
    numbers.real, numbers.imag = np.repeat(PARTS, len(PARTS)), np.tile(PARTS, len(PARTS))
    random = np.random.default_rng(0)
    one, other = (numbers[random.permutation(numbers.size)] for _ in range(2))
    compiled = api.compile(program(real))
    compiled.require_native = True
    found = compiled.main.run([one, other])
    with np.errstate(all="ignore"):
        expected = compiled.main.reference([one, other])
    names = (*UNARY, *BINARY, "create")
    for name, actual, wanted in zip(names, found, expected, strict=True):
        within = ULPS.get(name, 0) * float(np.finfo(dtype).eps)
        if name == "pow":
            check_powers(other, actual, wanted, within)
            continue
        np.testing.assert_allclose(actual, wanted, rtol=within, atol=0, err_msg=name)
        if name in ("sin", "cos", "tan", "tanh"):
            for part in ("real", "imag"):
                got, want = getattr(actual, part), getattr(wanted, part)
                np.testing.assert_allclose(got, want, rtol=within, atol=0, err_msg=name)
                zero = (want == 0) & ~np.isnan(wanted)  # beside NaN, C leaves the sign open
                np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize(("real", "dtype"), [("f32", np.complex64), ("f64", np.complex128)])
@pytest.mark.parametrize("name", ["log", "log1p"])
def test_logarithms_whose_magnitude_overflows(
    name: str, real: str, dtype: type[np.complexfloating]
) -> None:
    most = np.finfo(dtype).max
    given = np.array([complex(x, y) for x in (most, -most, 1) for y in (most, -most)], dtype)
    of = f"tensor<6xcomplex<{real}>>"
    main = api.compile(f"""func.func @main(%a: {of}) -> {of} {{
  %e = tensor.empty() : {of}
  %r = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%a : {of}) outs(%e : {of}) {{
  ^bb0(%x: complex<{real}>, %z: complex<{real}>):
    %y = complex.{name} %x : complex<{real}>
    linalg.yield %y : complex<{real}>
  }} -> {of}
  return %r : {of}
}}""")["main"]
    magnitude = np.log(most) + np.log(2) / 2 * np.array([1, 1, 1, 1, 0, 0])
    angle = np.angle([1 + 1j, 1 - 1j, -1 + 1j, -1 - 1j, 1j, -1j])
    for backend in ("interpreter", "native"):
        (found,) = main.run([given], backend=backend)
        expected = (magnitude + 1j * angle).astype(dtype)
        np.testing.assert_allclose(found, expected, rtol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("real", "dtype"), [("f32", np.complex64), ("f64", np.complex128)])
def test_absolute_values_of_any_size(real: str, dtype: type[np.complexfloating]) -> None:
    random, limits = np.random.default_rng(0), np.finfo(dtype)
    lowest, highest = np.log2(float(limits.smallest_subnormal)), np.log2(float(limits.max))
    scales = 2 ** random.uniform(lowest, highest - 1, 4096)
    ratios = 2 ** random.uniform(-30, 0, 4096)
    given = (scales * (random.uniform(-1, 1, 4096) + 1j * ratios)).astype(dtype)
    of, kind = f"tensor<4096xcomplex<{real}>>", f"tensor<4096x{real}>"
    program = api.compile(f"""func.func @main(%a: {of}) -> {kind} {{
  %0 = stablehlo.abs %a : ({of}) -> {kind}
  return %0 : {kind}
}}""")
    program.require_native = True
    (found,), (wanted,) = program.main.run([given]), program.main.reference([given])
    assert (np.abs(found - wanted) <= np.spacing(wanted)).all()
    assert np.mean(found == wanted) > 0.99


SUMS = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<4x6xcomplex<f32>>, %b: tensor<6x5xcomplex<f32>>)
    -> (tensor<4x5xcomplex<f32>>, tensor<6x7xcomplex<f32>>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %x = shard.shard %a to %s : tensor<4x6xcomplex<f32>>
  %zero = complex.constant [0.0 : f32, 0.0 : f32] : complex<f32>
  %i = complex.constant [0.0 : f32, 1.0 : f32] : complex<f32>
  %e = tensor.empty() : tensor<4x5xcomplex<f32>>
  %f = linalg.fill ins(%zero : complex<f32>) outs(%e : tensor<4x5xcomplex<f32>>)
      -> tensor<4x5xcomplex<f32>>
  %p = linalg.matmul ins(%x, %b : tensor<4x6xcomplex<f32>>, tensor<6x5xcomplex<f32>>)
      outs(%f : tensor<4x5xcomplex<f32>>) -> tensor<4x5xcomplex<f32>>
  %q = tensor.pad %b low[0, 1] high[0, 1] {
  ^bb0(%r: index, %c: index):
    tensor.yield %i : complex<f32>
  } : tensor<6x5xcomplex<f32>> to tensor<6x7xcomplex<f32>>
  return %p, %q : tensor<4x5xcomplex<f32>>, tensor<6x7xcomplex<f32>>
}"""


@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
def test_sums_of_products_on_devices(pipeline: str) -> None:
    random = np.random.default_rng(0)
    a, b = (
        (random.integers(-3, 4, shape) + 1j * random.integers(-3, 4, shape)).astype(np.complex64)
        for shape in ((4, 6), (6, 5))
    )
    compiled = api.compile(SUMS, pipeline)
    compiled.require_native = True
    product, padded = compiled.main(a, b)
    np.testing.assert_array_equal(product, a @ b)
    np.testing.assert_array_equal(padded, np.pad(b, ((0, 0), (1, 1)), constant_values=1j))


def test_a_constant_in_uneven_shards() -> None:
    """The sizes of its shards are open, so a splat takes its place."""
    text = """
shard.grid @g(shape = 2)
func.func @main(%x: tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<5xcomplex<f32>>
  %c = arith.constant dense<(1.0, -2.0)> : tensor<5xcomplex<f32>>
  %a = linalg.map {complex.add} ins(%xs, %c : tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>)
      outs(%c : tensor<5xcomplex<f32>>)
  return %a : tensor<5xcomplex<f32>>
}"""
    values = np.arange(5).astype(np.complex64)
    compiled = api.compile(text, "spmd")
    np.testing.assert_array_equal(compiled.main(values), values + (1 - 2j))


@pytest.mark.parametrize("kind", ["sum", "product", "average"])
@pytest.mark.parametrize("result", ["f32", "f64"])
def test_reductions_across_devices(kind: str, result: str) -> None:
    """Parts are converted before they are combined."""
    types = [f"tensor<4xcomplex<{part}>>" for part in ("f32", result)]
    text = f"""
shard.grid @g(shape = 3)
func.func @main(%x: {types[0]}) -> {types[1]} {{
  %a = shard.all_reduce %x on @g grid_axes = [0] reduction = {kind} : {types[0]} -> {types[1]}
  return %a : {types[1]}
}}"""
    values = (np.arange(4) - 2 + 1j * np.arange(4)).astype(np.complex64)
    compiled = api.compile(text)
    compiled.require_native = True
    combined = {"sum": values * 3, "product": values**3, "average": values}[kind]
    found = compiled.main(values)
    assert found.dtype == {"f32": np.complex64, "f64": np.complex128}[result]
    np.testing.assert_allclose(found, combined, rtol=1e-6)


def test_quotients_of_infinite_numbers() -> None:
    """As C's annex G has them; NumPy's own have NaN and lose the sign of a zero divisor."""
    text = """
func.func @main(%a: tensor<?xcomplex<f64>>, %b: tensor<?xcomplex<f64>>) -> tensor<?xcomplex<f64>> {
  %q = linalg.map {complex.div} ins(%a, %b : tensor<?xcomplex<f64>>, tensor<?xcomplex<f64>>)
      outs(%a : tensor<?xcomplex<f64>>)
  return %q : tensor<?xcomplex<f64>>
}"""
    inf = np.inf
    cases = [
        (1 + 2j, complex(inf, inf), 0j),
        (1 + 2j, complex(-0.0, 0.0), complex(-inf, -inf)),
        (complex(inf, inf), 2 + 0j, complex(inf, inf)),
    ]
    one, other, wanted = (np.array(column) for column in zip(*cases, strict=True))
    program = api.compile(text)
    program.require_native = True
    for found in (program.main.run([one, other]), program.main.reference([one, other])):
        np.testing.assert_array_equal(found[0], wanted)


def check_powers(
    exponents: np.ndarray, found: np.ndarray, wanted: np.ndarray, within: float
) -> None:
    """Compare powers. Of large exponents, the angle is lost, as is that of an infinite power."""
    is_tame = (np.abs(exponents) < 1000) | ~np.isfinite(exponents)
    found, wanted = found[is_tame], wanted[is_tame]
    is_finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isfinite(found), is_finite)
    np.testing.assert_allclose(found[is_finite], wanted[is_finite], rtol=within, atol=0)


POWERS = [(0, 2, 0), (0, 0, 1), (1j, 2, -1), (-8, 3, -512), (2, -1, 0.5), (np.inf, -1, 0)]
POWERS += [(1 + 1j, 4, -4), (np.inf, 2, np.inf), (4, 0.5, 2), (3 + 4j, -2, -0.0112 - 0.0384j)]
POWERS += [(2j, 1j, np.exp(1j * np.log(2) - np.pi / 2)), (-1, 0.5, 1j)]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_powers(dtype: type[np.complexfloating]) -> None:
    """A power of 0 that is no limit is NaN in both parts; those of infinity may be numbers."""
    base, exponent, wanted = np.array([*POWERS, (0, -1, complex(np.nan, np.nan))]).T.astype(dtype)
    kind = f"tensor<{len(base)}xcomplex<f{base.itemsize * 4}>>"
    program = api.compile(f"""func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{
  %0 = stablehlo.power %a, %b : {kind}
  return %0 : {kind}
}}""")
    program.require_native = True
    for backend in ("native", "interpreter"):
        (found,) = program.main.run([base, exponent], backend=backend)
        np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps, atol=1e-16)


def test_numbers_wider_than_a_register() -> None:
    """A constant that a whole tensor is filled with is in the code of a kernel."""
    program = api.compile("""
func.func @main(%a: tensor<3x3xcomplex<f64>>, %c: tensor<3x3xi1>) -> tensor<3x3xcomplex<f64>> {
  %0 = stablehlo.constant dense<(2.0, -1.0)> : tensor<3x3xcomplex<f64>>
  %1 = stablehlo.select %c, %a, %0 : tensor<3x3xi1>, tensor<3x3xcomplex<f64>>
  return %1 : tensor<3x3xcomplex<f64>>
}""")
    program.require_native = True
    a, c = np.arange(9).reshape(3, 3) * (1 + 2j), np.tri(3, dtype=bool)
    (found,) = program.main.run([a, c])
    np.testing.assert_array_equal(found, np.where(c, a, 2 - 1j))


def test_constants_of_kernels_that_are_wider_than_a_register() -> None:
    """A kernel repeats the constant, which it could not take as a number."""
    program = api.compile(
        """
func.func @main(%a: tensor<3x4xcomplex<f64>>) -> tensor<3xcomplex<f64>> {
  %z = complex.constant [2.0, -1.0] : complex<f64>
  %e = tensor.empty() : tensor<3xcomplex<f64>>
  %f = linalg.fill ins(%z : complex<f64>)
      outs(%e : tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>>
  %0 = linalg.reduce { complex.add } ins(%a : tensor<3x4xcomplex<f64>>)
      outs(%f : tensor<3xcomplex<f64>>) dimensions = [1]
  return %0 : tensor<3xcomplex<f64>>
}""",
        "compile",
    )
    program.require_native = True
    a = np.arange(12).reshape(3, 4) * (1 + 2j)
    (found,) = program.main.run([a])
    np.testing.assert_array_equal(found, a.sum(1) + 2 - 1j)
