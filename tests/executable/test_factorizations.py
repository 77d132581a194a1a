"""Factorizations and triangular solves: kernels of small matrices, and kernels that call LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from breadth import covering
from kernel_records import record_kernels
from mesh_opt import api
from mesh_opt.codegen.kernels.linear_algebra.factorizations import FACTORIZATIONS, MAX_SOLVE_ROWS


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the operations that became kernels."""
    return record_kernels(monkeypatch, FACTORIZATIONS)


def positive(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Matrices that are positive definite."""
    some = np.random.default_rng(seed).standard_normal(shape)
    size = shape[-1]
    return (some @ some.swapaxes(-1, -2) + size * np.eye(size)).astype(dtype)


def kind(array: np.ndarray) -> str:
    sizes = "".join(f"{each}x" for each in array.shape)
    if array.dtype.kind == "c":
        return f"tensor<{sizes}complex<f{array.dtype.itemsize * 4}>>"
    return f"tensor<{sizes}{'i' if array.dtype.kind == 'i' else 'f'}{array.dtype.itemsize * 8}>"


def same_as_the_interpreter(text: str, *inputs: np.ndarray) -> list[np.ndarray]:
    """The results of native code, which are close to those of the interpreter."""
    program = api.compile(text)
    program.require_native = True
    main = program["main"]
    found, expected = (main.run(list(inputs), backend=each) for each in ("native", "interpreter"))
    for got, want in zip(found, expected, strict=True):
        tolerance = 1e-4 if want.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    return list(found)


BOOLEANS = ("true", "false")
SQUARES = [(1, 1), (7, 7), (3, 33, 33), (2, 3, 8, 8), (0, 4, 4), (2, 0, 0)]


@pytest.mark.parametrize(("shape", "dtype", "lower"), covering(SQUARES, ("f4", "f8"), BOOLEANS))
def test_cholesky(shape: tuple[int, ...], dtype: str, lower: str, written: list[str]) -> None:
    """Only one triangle is read; the other triangle of the factor is zero."""
    a = positive(shape, dtype)
    unread = np.triu(np.ones(shape, bool), 1)
    a[unread if lower == "true" else unread.swapaxes(-1, -2)] = np.nan
    text = f"""
func.func @main(%a: {kind(a)}) -> {kind(a)} {{
  %0 = stablehlo.cholesky %a, lower = {lower} : {kind(a)}
  return %0 : {kind(a)}
}}"""
    same_as_the_interpreter(text, a)
    assert written


def test_matrices_without_a_factor(written: list[str]) -> None:
    """They are NaN as a whole; NaN in one goes on. LAPACK's status is the first bad pivot."""
    a = positive((4, 5, 5), "f4")
    a[1, 3, 3] = -1
    a[2, 0, 0] = np.nan
    text = f"""
func.func @main(%a: {kind(a)}) -> {kind(a)} {{
  %0 = stablehlo.cholesky %a, lower = true : {kind(a)}
  return %0 : {kind(a)}
}}"""
    (found,) = same_as_the_interpreter(text, a)
    np.testing.assert_array_equal(np.isnan(found).all((1, 2)), [False, True, False, False])
    np.testing.assert_array_equal(np.isnan(found[2]), np.tri(5, dtype=bool))
    options = "mhlo.backend_config = {uplo = 76 : ui8}"
    text = f"""
func.func @main(%a: {kind(a)}) -> ({kind(a)}, tensor<4xi32>) {{
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {{{options}}} : ({kind(a)}) -> ({kind(a)}, tensor<4xi32>)
  return %0#0, %0#1 : {kind(a)}, tensor<4xi32>
}}"""  # noqa: E501
    a[1:3] = a[0]
    a[3, 3, 3] = -1
    main = api.compile(text)["main"]
    for backend in ("native", "interpreter"):
        factors, status = main.run([a], backend=backend)
        np.testing.assert_array_equal(status, [0, 0, 0, 4])
        # The other triangle is as it was.
        np.testing.assert_array_equal(np.triu(factors[:3], 1), np.triu(a[:3], 1))
        np.testing.assert_allclose(np.tril(factors[:3]), np.linalg.cholesky(a[:3]), rtol=1e-4)
    assert len(written) == 2


FORMS = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
SOLVES = covering(BOOLEANS, BOOLEANS, BOOLEANS, FORMS, ((), (3,)), (1, 9), meeting=3)


@pytest.mark.parametrize(("left", "lower", "unit", "form", "batch", "columns"), SOLVES)
def test_solves(
    left: str,
    lower: str,
    unit: str,
    form: str,
    batch: tuple[int, ...],
    columns: int,
    written: list[str],
) -> None:
    """All forms of the triangle, of which the other half is not read."""
    dtype = "f4" if batch else "f8"
    rng = np.random.default_rng(1)
    shape = (7, columns) if left == "true" else (columns, 7)
    b = rng.standard_normal((*batch, *shape)).astype(dtype)
    a = positive((*batch, 7, 7), dtype) / 10
    unread = np.triu(np.ones(a.shape, bool), 0 if unit == "true" else 1)
    a[unread if lower == "true" else unread.swapaxes(-1, -2)] = np.nan
    options = f"left_side = {left}, lower = {lower}, unit_diagonal = {unit}"
    text = f"""
func.func @main(%a: {kind(a)}, %b: {kind(b)}) -> {kind(b)} {{
  %0 = "stablehlo.triangular_solve"(%a, %b) <{{{options},
    transpose_a = #stablehlo<transpose {form}>}}> : ({kind(a)}, {kind(b)}) -> {kind(b)}
  return %0 : {kind(b)}
}}"""
    same_as_the_interpreter(text, a, b)
    assert written


def test_a_computed_triangle(written: list[str]) -> None:
    """The matrix and the right side are computed in the same program."""
    a, b = positive((6, 6), "f4"), np.ones((6, 4), np.float32)
    text = f"""
func.func @main(%a: {kind(a)}, %b: {kind(b)}) -> {kind(b)} {{
  %s = stablehlo.add %a, %a : {kind(a)}
  %l = stablehlo.cholesky %s, lower = true : {kind(a)}
  %c = stablehlo.negate %b : {kind(b)}
  %0 = "stablehlo.triangular_solve"(%l, %c) <{{left_side = true, lower = true,
    unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}}>
    : ({kind(a)}, {kind(b)}) -> {kind(b)}
  return %0 : {kind(b)}
}}"""
    same_as_the_interpreter(text, a, b)
    assert len(written) == 2


@pytest.mark.parametrize("lower", ["true", "false"])
@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_matrices_for_lapack(dtype: str, lower: str, written: list[str]) -> None:
    """Large or complex ones: one without a factor is NaN, and triangles are solved with."""
    size = MAX_SOLVE_ROWS + 1 if dtype == "f4" else 5
    a = positive((3, size, size), dtype)
    if dtype == "c16":
        a += 1j * np.tri(size, k=-1) - 1j * np.tri(size, k=-1).T
    a[1, 2, 2] = -1
    b = np.ones((3, size, 2), dtype)
    text = f"""
func.func @main(%a: {kind(a)}, %b: {kind(b)}) -> ({kind(a)}, {kind(b)}) {{
  %0 = stablehlo.cholesky %a, lower = {lower} : {kind(a)}
  %1 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = true, lower = {lower},
    unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>}}>
    : ({kind(a)}, {kind(b)}) -> {kind(b)}
  return %0, %1 : {kind(a)}, {kind(b)}
}}"""
    factors, _ = same_as_the_interpreter(text, a, b)
    np.testing.assert_array_equal(np.isnan(factors).any((1, 2)), [False, True, False])
    assert not written


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (3, 33, 33), (2, 3, 4, 6), (5, 6, 2), (2, 0, 0)])
def test_lu(shape: tuple[int, ...], dtype: str, written: list[str]) -> None:
    """Rows change places; the first pivot that is 0 is reported, and the others go on."""
    a = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    if a.ndim > 2 and a.size:
        a[1, ..., 1] = 0
    pivots = np.zeros((*shape[:-2], min(shape[-2:])), "i4")
    info = np.zeros(shape[:-2], "i4")
    types = ", ".join(map(kind, (a, pivots, info)))
    call = "lapack_sgetrf_ffi" if dtype == "f4" else "lapack_dgetrf_ffi"
    text = f"""
func.func @main(%a: {kind(a)}) -> ({types}) {{
  %0:3 = stablehlo.custom_call @{call}(%a) {{api_version = 4 : i32}} : ({kind(a)}) -> ({types})
  return %0#0, %0#1, %0#2 : {types}
}}"""
    same_as_the_interpreter(text, a)
    assert written
