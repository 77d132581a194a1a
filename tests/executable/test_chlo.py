"""Operations of CHLO that carry values or go by groups, functions of `mhlo`, and random bits, in both
backends: each program checks itself."""

# ruff: noqa: E501

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from breadth import covering
from mesh_opt import api
from self_checks import run

PROGRAMS = {
    "scan": """
func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %z = stablehlo.constant dense<1> : tensor<2xi32>
  %0:2 = chlo.scan(%a) inits (%z) dimension=1 {
  ^bb0(%x: tensor<2xi32>, %c: tensor<2xi32>):
    %s = stablehlo.multiply %x, %c : tensor<2xi32>
    %t = stablehlo.add %s, %x : tensor<2xi32>
    stablehlo.return %t, %s : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[[2, 4, 9], [8, 25, 126]]> : tensor<2x3xi32>
  check.expect_eq_const %0#1, dense<[6, 120]> : tensor<2xi32>
  %1:2 = chlo.scan(%a) inits (%z) dimension=1 attributes {is_reverse = true} {
  ^bb0(%x: tensor<2xi32>, %c: tensor<2xi32>):
    %s = stablehlo.add %x, %c : tensor<2xi32>
    stablehlo.return %s, %s : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %1#0, dense<[[7, 6, 4], [16, 12, 7]]> : tensor<2x3xi32>
  return
}""",
    "scan_without_inputs": """
func.func @main() {
  %two = stablehlo.constant dense<2> : tensor<i64>
  %0:2 = "chlo.scan"(%two) <{dimension = 0 : i64, scan_dim_size = 4 : i64, operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%c: tensor<i64>):
    %s = stablehlo.multiply %c, %c : tensor<i64>
    stablehlo.return %c, %s : tensor<i64>, tensor<i64>
  }) : (tensor<i64>) -> (tensor<4xi64>, tensor<i64>)
  check.expect_eq_const %0#0, dense<[2, 4, 16, 256]> : tensor<4xi64>
  check.expect_eq_const %0#1, dense<65536> : tensor<i64>
  return
}""",
    "scan_of_open_size": """
func.func @main() {
  %n = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %a = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi32>) -> tensor<?x2xf32>
  %z = stablehlo.constant dense<1.0> : tensor<2xf32>
  %0:2 = chlo.scan(%a) inits (%z) dimension=0 {
  ^bb0(%x: tensor<2xf32>, %c: tensor<2xf32>):
    %s = stablehlo.add %x, %c : tensor<2xf32>
    stablehlo.return %s, %s : tensor<2xf32>, tensor<2xf32>
  } : (tensor<?x2xf32>, tensor<2xf32>) -> (tensor<?x2xf32>, tensor<2xf32>)
  check.expect_eq_const %0#1, dense<4.0> : tensor<2xf32>
  return
}""",
    # The factors of terms that add nothing overflow.
    "zeta_of_large_numbers": """
func.func @main() {
  %x = stablehlo.constant dense<[50.5, 89.0, 1000.0, 0xFF800000, 3.0]> : tensor<5xf32>
  %q = stablehlo.constant dense<[1.0, 0.5, 2.0, 0.0, 0x7F800000]> : tensor<5xf32>
  %0 = chlo.zeta %x, %q : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
  %w = stablehlo.constant dense<[1.0, 6.189700196E+26, 0.0, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>
  check.expect_close %0, %w : tensor<5xf32>, tensor<5xf32>
  return
}""",
    "bounds_in_both_spellings": """
func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.set_dimension_size %a, %n, dim = 1 : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x?xi32, #stablehlo.bounds<?, 3>>
  %1 = stablehlo.add %0, %0 : tensor<2x?xi32, #stablehlo.type_extensions<bounds = [?, 3]>>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x?xi32, #stablehlo.bounds<?, 3>>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %2, dense<24> : tensor<i32>
  return
}""",
    # Rows 0 and 1 go with the first matrix, row 2 with the last one, row 3 with none.
    "ragged_rows": """
func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %b = stablehlo.constant dense<[[[1.0], [1.0]], [[9.0], [9.0]], [[1.0], [-1.0]]]> : tensor<3x2x1xf32>
  %n = stablehlo.constant dense<[2, 0, 1]> : tensor<3xi32>
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x2xf32>, tensor<3x2x1xf32>, tensor<3xi32>) -> tensor<4x1xf32>
  check.expect_eq_const %0, dense<[[3.0], [7.0], [-1.0], [0.0]]> : tensor<4x1xf32>
  return
}""",
    # A sum for each group, with sizes of its own for each batch; nothing of infinity reaches another group.
    "ragged_sums": """
func.func @main() {
  %a = stablehlo.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 0x7F800000]]]> : tensor<2x1x3xf32>
  %b = stablehlo.constant dense<1.0> : tensor<2x3x1xf32>
  %n = stablehlo.constant dense<[[1, 2], [2, 0]]> : tensor<2x2xi64>
  %0 = "chlo.ragged_dot"(%a, %b, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2], rhs_group_dimensions = []>}> : (tensor<2x1x3xf32>, tensor<2x3x1xf32>, tensor<2x2xi64>) -> tensor<2x2x1x1xf32>
  check.expect_eq_const %0, dense<[[[[1.0]], [[9.0]]], [[[5.0]], [[0.0]]]]> : tensor<2x2x1x1xf32>
  return
}""",
    "mhlo_calls": """
func.func @main() {
  %a = stablehlo.constant dense<[0.0, 0.5, -0.5]> : tensor<3xf32>
  %0 = stablehlo.custom_call @mhlo.erf(%a) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  check.expect_almost_eq_const %0, dense<[0.0, 0.520499878, -0.520499878]> : tensor<3xf32>
  %1:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  check.expect_eq_const %1#0, dense<[0.5, 0.0]> : tensor<2xf32>
  check.expect_eq_const %1#1, dense<[1, 0]> : tensor<2xi32>
  return
}""",
    # asin(z) is atan2(z.real, w.real) and sign(z.imag) * w.imag.
    "asin_acos_kernel": """
func.func @main() {
  %z = stablehlo.constant dense<[(0.5, 0.25), (-2.0, -1.0)]> : tensor<2xcomplex<f64>>
  %w = "chlo._asin_acos_kernel"(%z) : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %x = stablehlo.real %z : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  %y = stablehlo.imag %z : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  %u = stablehlo.real %w : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  %v = stablehlo.imag %w : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  %0 = stablehlo.atan2 %x, %u : tensor<2xf64>
  %s = stablehlo.sign %y : tensor<2xf64>
  %1 = stablehlo.multiply %s, %v : tensor<2xf64>
  %2 = stablehlo.complex %0, %1 : tensor<2xcomplex<f64>>
  %3 = chlo.asin %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  check.expect_almost_eq %2, %3 : tensor<2xcomplex<f64>>
  return
}""",
    # Poles are infinite for even numbers; infinity is not even.
    "zeta": """
func.func @main() {
  %x = stablehlo.constant dense<[2.0, 2.0, 3.0, 0x7F800000]> : tensor<4xf32>
  %q = stablehlo.constant dense<[1.0, -2.0, -2.0, -2.0]> : tensor<4xf32>
  %0 = chlo.zeta %x, %q : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %0, dense<[1.64493406, 0x7F800000, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>
  return
}""",
    # Numbers of SciPy; the poles below 0 lie on both sides of these.
    "zeta_of_negative_numbers": """
func.func @main() {
  %x = stablehlo.constant dense<[2.0, 2.0, 4.0, 3.0, 2.0]> : tensor<5xf32>
  %q = stablehlo.constant dense<[-0.5, -7.25, -7.25, -100.75, -2.5]> : tensor<5xf32>
  %0 = chlo.zeta %x, %q : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
  check.expect_almost_eq_const %0, dense<[8.9348022, 19.6103545, 259.756866, 62.0126021, 9.53924665]> : tensor<5xf32>
  return
}""",
    # The numbers of XLA: the lower word of the counter carries into the upper one.
    "philox_of_three_words": """
func.func @main() {
  %s = stablehlo.constant dense<[18446744073709551615, 18446744073709551615, 7]> : tensor<3xui64>
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<5xui32>)
  check.expect_eq_const %0, dense<[18446744073709551615, 1, 8]> : tensor<3xui64>
  check.expect_eq_const %1, dense<[3810451230, 3150102689, 2147545394, 199829246, 2149400778]> : tensor<5xui32>
  return
}""",
    # Floats have the bits of integers of their width.
    "random_floats": """
func.func @main() {
  %s = stablehlo.constant dense<[5, 6]> : tensor<2xui64>
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui16>)
  %2, %3 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xbf16>)
  %4 = stablehlo.bitcast_convert %3 : (tensor<3x5xbf16>) -> tensor<3x5xui16>
  check.expect_eq %1, %4 : tensor<3x5xui16>
  check.expect_eq %0, %2 : tensor<2xui64>
  return
}""",
}


BACKENDS = ("interpreter", "native")
SIZES = [(3, 4), (4, 2), (3, 5), (5, 5), (7,), (2, 0), ()]


@pytest.mark.parametrize(
    ("sizes", "algorithm", "backend"), covering(SIZES, ("THREE_FRY", "PHILOX"), BACKENDS)
)
def test_bits_of_open_sizes(sizes: tuple[int, ...], algorithm: str, backend: str) -> None:
    """As many numbers as a run asks for are those of a type that says how many."""
    known, open_ = ("".join(f"{size}x" for size in kind) for kind in (sizes, "?" * len(sizes)))
    n, rule = f"tensor<{len(sizes)}xi32>", f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>"
    taken, results = f"%s: tensor<2xui64>, %n: {n}", "tensor<2xui64>, tensor<{}ui32>"
    text = f"""
func.func @known({taken}) -> ({results.format(known)}) {{
  %0:2 = "stablehlo.rng_bit_generator"(%s) <{{{rule}}}> : (tensor<2xui64>) -> ({results.format(known)})
  return %0#0, %0#1 : {results.format(known)}
}}
func.func @open({taken}) -> ({results.format(open_)}) {{
  %0:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, %n) {{{rule}}} : (tensor<2xui64>, {n}) -> ({results.format(open_)})
  return %0#0, %0#1 : {results.format(open_)}
}}"""
    inputs = [np.array([7, 2**64 - 3], np.uint64), np.array(sizes, np.int32)]
    program = api.compile(text, backend=backend)
    program.require_native = backend == "native"
    for one, other in zip(program["known"].run(inputs), program["open"].run(inputs), strict=True):
        assert one.shape == other.shape
        assert np.array_equal(one, other)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_check_themselves(name: str, backend: str) -> None:
    assert run(PROGRAMS[name], f"--backend={backend}") == (0, "")


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("element", ["f32", "bf16", "f64"])
def test_normal_numbers(element: str, backend: str) -> None:
    """As many as the shape says at run time, around their mean."""
    text = f"""
func.func @main(%m: tensor<{element}>, %d: tensor<{element}>, %n: tensor<2xi64>) -> tensor<?x?x{element}> {{
  %0 = stablehlo.rng %m, %d, %n, distribution = NORMAL : (tensor<{element}>, tensor<{element}>, tensor<2xi64>) -> tensor<?x?x{element}>
  return %0 : tensor<?x?x{element}>
}}"""
    dtype = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}[element]
    inputs = [np.array(3, dtype), np.array(2, dtype), np.array([100, 200])]
    (drawn,) = api.compile(text, backend=backend)["main"].run(inputs)
    numbers = drawn.astype(np.float64)
    assert drawn.shape == (100, 200) and np.isfinite(numbers).all()
    assert abs(numbers.mean() - 3) < 0.05
    assert abs(numbers.std() - 2) < 0.05


@pytest.mark.parametrize(
    ("operation", "result", "message"),
    [
        (
            """%0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2xui32>)""",
            "tensor<3xui64>",
            "has a state of type tensor<3xui64>, expected tensor<2xui64>",
        ),
        (
            """%0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2xf4E2M1FN>)""",
            "tensor<3xui64>",
            "returns bits of type f4E2M1FN, expected integers or floats of 8, 16, 32 or 64 bits",
        ),
        (
            """%0, %1 = stablehlo.custom_call @mhlo.topk(%s) {mhlo.attributes = {k = 1 : i64, largest = false}} : (tensor<3xui64>) -> (tensor<1xui64>, tensor<1xi32>)""",
            "tensor<1xui64>",
            "has largest = false, expected true: the smallest elements are not supported",
        ),
        (
            """%0 = "chlo.scan"(%s) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 0>, resultSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%c: tensor<ui64>):
    stablehlo.return %c : tensor<ui64>
  }) : (tensor<3xui64>) -> tensor<3xui64>""",
            "tensor<3xui64>",
            "expected tensor<3xui64> to have the dimension 1",
        ),
    ],
)
def test_refused(operation: str, result: str, message: str) -> None:
    text = f"func.func @main(%s: tensor<3xui64>) -> {result} {{\n  {operation}\n  return %0 : {result}\n}}"
    with pytest.raises(api.CompilationError, match=message.replace("<", "[<]")) as caught:
        api.compile(text)
    assert ":2:" in str(caught.value)


COMPLEX_FUNCTIONS = {
    **{f"chlo.{name}": getattr(np, f"arc{name[1:]}") for name in ("acos", "acosh", "asin")},
    **{f"chlo.{name}": getattr(np, f"arc{name[1:]}") for name in ("asinh", "atan", "atanh")},
    **{f"chlo.{name}": getattr(np, name) for name in ("cosh", "sinh")},
    # NumPy's own loses small numbers in 1 + z.
    "stablehlo.log_plus_one": lambda z: np.where(np.abs(z) < 1e-8, z - z * z / 2, np.log1p(z)),
    "stablehlo.exponential_minus_one": np.expm1,
}


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_complex_functions_of_large_numbers_and_near_poles(backend: str) -> None:
    parts = np.array(
        [0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, 1e3, 1e-9, 1 + 1e-9, 1e200, -1e300]
    )
    numbers = np.empty(len(parts) ** 2, np.complex128)
    numbers.real, numbers.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    of = f"tensor<{len(numbers)}xcomplex<f64>>"
    results = ", ".join([of] * len(COMPLEX_FUNCTIONS))
    lines = [
        f"%{index} = {name} %a : {of}{f' -> {of}' if name.startswith('chlo') else ''}"
        for index, name in enumerate(COMPLEX_FUNCTIONS)
    ]
    names = ", ".join(f"%{index}" for index in range(len(lines)))
    text = "\n".join(
        [f"func.func @main(%a: {of}) -> ({results}) {{", *lines, f"return {names} : {results}", "}"]
    )
    found = api.compile(text, "spmd", backend=backend).main.run([numbers])
    for (name, function), actual in zip(COMPLEX_FUNCTIONS.items(), found, strict=True):
        with np.errstate(all="ignore"):
            wanted = np.array(function(numbers))
        # What periodic functions make of infinite angles is another matter.
        is_angle = not name.startswith("chlo.a") and "log" not in name
        checked = ~np.isnan(wanted) & (np.isfinite(numbers.imag) | (not is_angle))
        size = np.where(np.isfinite(wanted), np.abs(wanted), 1.0)
        for part in ("real", "imag"):
            one, other = getattr(actual, part)[checked], getattr(wanted, part)[checked]
            near = np.isclose(one, other, rtol=0, atol=2e-15 * size[checked])
            assert near.all(), (name, part, numbers[checked][~near], one[~near], other[~near])


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_inverse_functions_of_infinities_beside_numbers_and_nan(backend: str) -> None:
    """As in annex G of C, where it says what the results are."""
    inf, nan = np.inf, np.nan
    wanted = {
        "acos": {complex(3, inf): complex(np.pi / 2, -inf), complex(inf, 3): complex(0.0, -inf),
                 complex(nan, inf): complex(nan, -inf), complex(inf, nan): complex(nan, -inf)},
        "asin": {complex(3, inf): complex(0.0, inf), complex(-3, -inf): complex(-0.0, -inf),
                 complex(inf, nan): complex(nan, inf), complex(nan, -inf): complex(nan, -inf)},
        "acosh": {complex(inf, -3): complex(inf, -0.0), complex(nan, inf): complex(inf, nan)},
        "asinh": {complex(-inf, 3): complex(-inf, 0.0), complex(-inf, nan): complex(-inf, nan)},
        "atan": {complex(-inf, nan): complex(-np.pi / 2, 0.0)},
        "atanh": {complex(nan, -inf): complex(0.0, -np.pi / 2), complex(inf, nan): complex(0.0, nan)},
    }  # fmt: skip
    lines: list[str] = []
    for name, results in wanted.items():
        of = f"tensor<{len(results)}xcomplex<f64>>"
        lines.append(
            f"func.func @{name}(%a: {of}) -> {of} {{ %0 = chlo.{name} %a : {of} -> {of} return %0 : {of} }}"
        )
    program = api.compile("\n".join(lines), backend=backend)
    for name, results in wanted.items():
        numbers, expected = (np.array(list(each)) for each in (results, results.values()))
        (found,) = program[name].run([numbers])
        for part in ("real", "imag"):
            one, other = getattr(found, part), getattr(expected, part)
            np.testing.assert_allclose(one, other, rtol=1e-15)
            known = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(one[known]), np.signbit(other[known]))


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("element", ["i8", "ui16", "i32", "i64", "ui64"])
def test_upper_half_of_products(element: str, backend: str) -> None:
    kind, width = f"tensor<50x{element}>", int(element.lstrip("ui"))
    dtype = np.dtype(f"{'uint' if element.startswith('u') else 'int'}{width}")
    text = f"""
func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{
  %0 = chlo.mulhi %a, %b : {kind}, {kind} -> {kind}
  return %0 : {kind}
}}"""
    random, limits = np.random.default_rng(1), np.iinfo(dtype)
    a, b = (random.integers(limits.min, limits.max, 50, dtype, endpoint=True) for _ in range(2))
    (found,) = api.compile(text, backend=backend)["main"].run([a, b])
    assert found.tolist() == [(int(x) * int(y)) >> width for x, y in zip(a, b, strict=True)]
