"""LAPACK on batches of each element type: the same as SciPy's functions on each matrix."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from breadth import sampled
from mesh_opt import api
from mesh_opt.runtime.abi.lapack import WORK, Buffer, lapack_call
from scipy.linalg import get_lapack_funcs

TYPES = {
    **{"f": ("f32", "s"), "d": ("f64", "d")},
    **{"F": ("complex<f32>", "c"), "D": ("complex<f64>", "z")},
}
"""By NumPy's character of a type: its name in a program, and the first letter of functions."""


def matrices(letter: str, *shape: int) -> np.ndarray:
    random = np.random.default_rng(0)
    found = random.standard_normal(shape)
    return (found + 1j * random.standard_normal(shape) if letter in "FD" else found).astype(letter)


def run(name: str, options: str, results: list[Any], *arrays: np.ndarray) -> list[np.ndarray]:
    """Results of a custom call on arrays; `results` are arrays of its types and shapes.

    Native code has the same ones.
    """
    _, prefix = TYPES[arrays[0].dtype.char]
    given, made = ([kind(each) for each in group] for group in (arrays, results))
    names = ", ".join(f"%a{place}" for place in range(len(arrays)))
    arguments = ", ".join(f"%a{place}: {each}" for place, each in enumerate(given))
    found = ", ".join(f"%r#{place}" for place in range(len(made)))
    text = f"""
func.func @main({arguments}) -> ({", ".join(made)}) {{
  %r:{len(made)} = stablehlo.custom_call @lapack_{prefix}{name}_ffi({names})
      {{mhlo.backend_config = {{{options}}}}} : ({", ".join(given)}) -> ({", ".join(made)})
  return {found} : {", ".join(made)}
}}"""
    program = api.compile(text)
    program.require_native = "geev" not in name
    main = program.main
    expected = list(main.run(list(arrays), backend="interpreter"))
    for got, want in zip(main.run(list(arrays)), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    return expected


def kind(array: np.ndarray) -> str:
    element = "i32" if array.dtype == np.int32 else TYPES[array.dtype.char][0]
    return f"tensor<{''.join(f'{each}x' for each in array.shape)}{element}>"


@pytest.mark.parametrize("letter", sampled([*TYPES], 3))
def test_decompositions(letter: str) -> None:
    """Products of their results are the matrices."""
    a = matrices(letter, 2, 3, 5, 5)
    real, complex_type = a.real.dtype, np.result_type(letter, "F")
    small = {"rtol": 0, "atol": 1e-4 if real == np.float32 else 1e-12}
    status, values = np.zeros((2, 3), np.int32), np.zeros((2, 3, 5), real)
    tau = np.zeros((2, 3, 5), letter)

    reflectors, factors = run("geqrf", "", [a, tau], a)
    (q,) = run("ungqr" if letter in "FD" else "orgqr", "", [a], reflectors, factors)
    np.testing.assert_allclose(q @ np.triu(reflectors), a, **small)

    hermitian = a + a.conj().swapaxes(-1, -2)
    name = "heevd" if letter in "FD" else "syevd"
    vectors, found, _ = run(name, "", [a, values, status], hermitian)
    np.testing.assert_allclose(hermitian @ vectors, vectors * found[..., None, :], **small)

    wide = a[..., :3, :].copy()
    u, vt = np.zeros((2, 3, 3, 3), letter), a
    _, s, u, vt, _ = run("gesdd", "", [wide, values[..., :3].copy(), u, vt, status], wide)
    np.testing.assert_allclose((u * s[..., None, :]) @ vt[..., :3, :], wide, **small)

    thin = "mode = 83 : ui8"
    for some in (wide, wide.swapaxes(-1, -2).copy()):
        u, vt = some[..., :, :3].copy(), some[..., :3, :].copy()
        _, s, u, vt, _ = run("gesdd", thin, [some, values[..., :3].copy(), u, vt, status], some)
        np.testing.assert_allclose((u * s[..., None, :]) @ vt, some, **small)

    each = [values, values] if letter in "fd" else [tau]
    both = "compute_left = 86 : ui8, compute_right = 86 : ui8"
    sides = [a.astype(complex_type)] * 2
    *parts, left, right, _ = run("geev", both, [*each, *sides, status], a)
    found = parts[0] if letter in "FD" else parts[0] + 1j * parts[1]
    np.testing.assert_allclose(a @ right, right * found[..., None, :], **small)
    turned = left.conj().swapaxes(-1, -2)
    np.testing.assert_allclose(turned @ a, found[..., None] * turned, **small)

    vectors = "mode = 86 : ui8, sort = 78 : ui8"
    t, z, *_ = run("gees", vectors, [a, a, *each, status, status], a)
    np.testing.assert_allclose(z @ t @ z.conj().swapaxes(-1, -2), a, **small)


@pytest.mark.parametrize("letter", sampled([*TYPES], 2))
def test_reductions_and_solves(letter: str) -> None:
    """Each matrix has SciPy's results; a singular system has a status."""
    a = matrices(letter, 3, 4, 4)
    a += a.conj().swapaxes(-1, -2)
    part = np.zeros((3, 4), a.real.dtype)
    tau, status, pivots = matrices(letter, 3, 3), np.zeros(3, np.int32), np.zeros((3, 4), np.int32)
    name = "hetrd" if letter in "FD" else "sytrd"
    options = "uplo = 76 : ui8"
    results = {
        (name, options, (("lower", 1),)): [a, part, part[:, :3].copy(), tau, status],
        ("gehrd", "", ()): [a, tau, status],
        ("getrf", "", ()): [a, pivots, status],
    }
    for (name, options, words), made in results.items():
        found = run(name, options, made, a)
        (function,) = get_lapack_funcs((name,), dtype=a.dtype)
        for place, matrix in enumerate(a):
            for got, want in zip(found, function(matrix, **dict(words)), strict=True):
                shift = int(got.dtype == np.int32 and got.ndim > 1)  # SciPy's pivots are from 0 on
                np.testing.assert_allclose(got[place], want + shift, rtol=1e-4, atol=1e-5)
    *diagonals, right = matrices(letter, 4, 3, 4)
    right = right[..., None].copy()
    results = [*diagonals, right, status]
    solved = run("gtsv", "", results, *diagonals, right)
    assert not solved[4].any()
    for place in range(3):
        lower, middle, upper = (each[place] for each in diagonals)
        matrix = np.diag(middle) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
        np.testing.assert_allclose(matrix @ solved[3][place], right[place], rtol=1e-3, atol=1e-3)
    singular = [np.zeros_like(right[..., 0])] * 3
    assert run("gtsv", "", results, *singular, right)[4].all()


def test_sizes_beyond_32_bits_are_refused() -> None:
    a = Buffer((2, 2), np.dtype("f"))
    with pytest.raises(
        ValueError, match=r"a size of 2147483648, but LAPACK's integers have 32 bits"
    ):
        lapack_call("geqrf", a.dtype, (2**31, 2, a, 2, a, WORK, a), (a,))


@pytest.mark.parametrize("letter", sampled([*TYPES], 2, 1))
def test_columns_that_come_first(letter: str) -> None:
    """A pivot that is not 0 puts its column before those that are chosen by their norm."""
    a = matrices(letter, 2, 5, 4)
    pivots = np.array([[0, 0, 1, 0], [0, 0, 0, 0]], np.int32)
    factors, found, tau = run("geqp3", "", [a, pivots, a[:, 0].copy()], a, pivots)
    assert found[0, 0] == 3
    (q,) = run("ungqr" if letter in "FD" else "orgqr", "", [a], factors, tau)
    for place in range(2):
        product = q[place] @ np.triu(factors[place, :4])
        np.testing.assert_allclose(product, a[place][:, found[place] - 1], rtol=1e-3, atol=1e-4)


REFUSED = {
    "expected an array of shape 90x90 in a call of potrf, got 90x4": (
        *("potrf", "", [(90, 4)], [(90, 4), "i"]),
    ),
    "expected an array of shape 4xn in a call of trsm, got 90x3": (
        *("trsm", "", [(4, 4), (90, 3)], [(90, 3)]),
    ),
    "expected an array of shape 3x4 in a call of trsm, got 3x90": (
        *("trsm", "side = 82 : ui8", [(4, 4), (3, 90)], [(3, 90)]),
    ),
    "expected an array of shape 4xm in a call of gtsv, got 90x2": (
        *("gtsv", "", [(4,), (4,), (4,), (90, 2)], [(4,), (4,), (4,), (90, 2), "i"]),
    ),
    "expected an array of shape 6x4 in a call of getrf, got 2x2": (
        *("getrf", "", [(6, 4)], [(2, 2), "i4", "i"]),
    ),
    "expected an array of shape 2x3xn in a call of trsm, got 9x3x3": (
        *("trsm", "", [(2, 3, 3), (9, 3, 3)], [(9, 3, 3)]),
    ),
    "expected sizes m >= n >= p of orgqr, got [4, 9, 4]": (
        *("orgqr", "", [(4, 9), (4,)], [(4, 9)]),
    ),
    "expected 1 operands and 3 results of lapack_dgetrf_ffi, got 1 and 2": (
        *("getrf", "", [(6, 4)], [(6, 4), "i4"]),
    ),
    "expected tensors of i32 in a call of lapack_dgetrf_ffi, got tensor<4xf64>": (
        *("getrf", "", [(6, 4)], [(6, 4), (4,), "i"]),
    ),
    "expected 'mode' of gesdd to be one of ASN, got O": (
        *("gesdd", "mode = 79 : ui8", [(3, 3)], [(3, 3), (3,), (3, 3), (3, 3), "i"]),
    ),
}
"""Errors, each with a function, its options, and the shapes of its operands and results."""


@pytest.mark.parametrize("message", REFUSED)
def test_arrays_that_do_not_fit_are_refused(message: str) -> None:
    """LAPACK would read and write memory behind them."""
    name, options, *shapes = REFUSED[message]
    given, made = (
        [
            np.zeros([int(size) for size in each[1:]], np.int32)
            if isinstance(each, str)
            else np.zeros(each)
            for each in group
        ]
        for group in shapes
    )
    with pytest.raises(api.CompilationError, match=re.escape(message)):
        run(name, options, made, *given)


def test_arrays_of_dynamic_sizes_that_do_not_fit_are_refused() -> None:
    text = """
func.func @main(%a: tensor<?x?xf64>) -> tensor<?x?xf64> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<?x?xf64>
  return %0 : tensor<?x?xf64>
}"""
    main = api.compile(text).main
    for backend in ("interpreter", "native"):
        with pytest.raises(api.ExecutionError, match="expected an array of shape 90x90"):
            main.run([np.eye(90, 4)], backend=backend)
