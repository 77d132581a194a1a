"""Fourier transforms of rows: kernels for lengths without prime factors above 13."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from backend_checks import check, function
from breadth import sampled
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.explain import explain_kernels
from mesh_opt.codegen.kernels.linear_algebra.fourier import MAX_LENGTH
from mesh_opt.ir.diagnostics import Remark, remarks_to
from mesh_opt.runtime.abi.values import dtype_of, static_shape
from xdsl.ir import Attribute

LENGTHS = [
    2,
    3,
    4,
    5,
    6,
    8,
    9,
    10,
    12,
    15,
    16,
    25,
    27,
    30,
    64,
    90,
    125,
    128,
    250,
    512,
    1000,
    MAX_LENGTH,
    7,
    77,
    143,
    343,
    1001,
]


def transform(batch: tuple[int, ...], lengths: int | list[int], kind: str, element: str) -> str:
    lengths = [lengths] if isinstance(lengths, int) else lengths
    *others, length = lengths
    whole, half = length, length // 2 + 1
    sizes = {"RFFT": (whole, half), "IRFFT": (half, whole)}.get(kind, (whole, whole))
    elements = [
        element if is_real else f"complex<{element}>"
        for is_real in (kind == "RFFT", kind == "IRFFT")
    ]
    source, result = (
        f"tensor<{'x'.join(map(str, (*batch, *others, size)))}x{each}>"
        for size, each in zip(sizes, elements, strict=True)
    )
    body = f"""  %0 = stablehlo.fft %a0, type = {kind}, length = {lengths} : ({source}) -> {result}
  return %0 : {result}"""
    return function([source], result, body)


def check_transform(text: str, *, is_kernel: bool = True) -> None:
    """Errors are small beside the root of the mean square of the result."""
    program = api.compile(text)
    main = program["main"]
    given = numbers(main.argument_types[0])
    (expected,) = main.reference([given])
    (found,) = CompiledProgram(program.module).run("main", [given])
    (again,) = CompiledProgram(program.module, workers=2).run("main", [given])
    assert found.tobytes() == again.tobytes()
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = np.sqrt(np.mean(np.abs(expected) ** 2)) if expected.size else 1
    tolerance = 4 * np.finfo(found.dtype).eps * np.log2(max(4, given.shape[-1]))
    assert np.max(np.abs(found - expected), initial=0) <= tolerance * scale
    remarks: list[Remark] = []
    with remarks_to(remarks.append):
        explain_kernels(program.module)
    assert is_kernel is not any(each.category == "backend" for each in remarks)


def numbers(kind: Attribute) -> np.ndarray:
    rng, shape = np.random.default_rng(3), static_shape(kind)
    parts = rng.standard_normal(shape), rng.standard_normal(shape)
    dtype = dtype_of(kind)
    return (parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]).astype(dtype)


@pytest.mark.parametrize(("length", "kind"), sampled([*product(LENGTHS, ("FFT", "IFFT"))], 5))
def test_lengths(length: int, kind: str) -> None:
    check_transform(transform((3,), length, kind, "f32"))


REAL = [*product((4, 6, 8, 10, 12, 26, 30, 64, 100, 250, 1024), ("RFFT", "IRFFT"))]


@pytest.mark.parametrize(("length", "kind"), sampled(REAL, 3))
def test_real_rows(length: int, kind: str) -> None:
    check_transform(transform((3,), length, kind, "f32"))


BATCHES = [*product([(), (0,), (2, 5), (3, 1, 2)], ("IFFT", "RFFT", "IRFFT"))]


@pytest.mark.parametrize(("batch", "kind"), sampled(BATCHES, 2))
def test_batches_of_doubles(batch: tuple[int, ...], kind: str) -> None:
    check_transform(transform(batch, 60, kind, "f64"))


@pytest.mark.parametrize(
    ("length", "kind"),
    [(1, "FFT"), (17, "FFT"), (38, "IFFT"), (4 * MAX_LENGTH, "FFT"), (9, "RFFT"), (2, "IRFFT")],
)
def test_other_lengths(length: int, kind: str) -> None:
    """SciPy computes them."""
    check_transform(transform((2,), length, kind, "f32"), is_kernel=False)


SEVERAL = [((), [6, 8]), ((2,), [5, 1, 12]), ((3,), [4, 4])]


@pytest.mark.parametrize(
    ("kind", "sizes"), sampled([*product(("FFT", "IFFT", "RFFT", "IRFFT"), SEVERAL)], 2)
)
def test_several_dimensions(kind: str, sizes: tuple[tuple[int, ...], list[int]]) -> None:
    batch, lengths = sizes
    check_transform(transform(batch, lengths, kind, "f32"), is_kernel=1 not in lengths)


def test_empty_batches_of_planes() -> None:
    check_transform(transform((0,), [4, 6], "RFFT", "f32"), is_kernel=False)


def test_rows_that_are_moved() -> None:
    """The operand is a slice, a transposed tensor or a constant; the result is read in parts."""
    source, turned, part = (f"tensor<{each}xcomplex<f32>>" for each in ("12x6", "6x12", "6x5"))
    body = f"""  %e = tensor.empty() : {turned}
  %t = linalg.transpose ins(%a0 : {source}) outs(%e : {turned}) permutation = [1, 0]
  %0 = stablehlo.fft %t, type = FFT, length = [12] : ({turned}) -> {turned}
  %p = tensor.extract_slice %0[0, 3] [6, 5] [1, 2] : {turned} to {part}
  %1 = stablehlo.fft %p, type = IFFT, length = [5] : ({part}) -> {part}
  %c = complex.constant [1.0 : f32, -2.0 : f32] : complex<f32>
  %s = tensor.splat %c : {part}
  %2 = stablehlo.fft %s, type = FFT, length = [5] : ({part}) -> {part}
  return %1, %2 : {part}, {part}"""
    check(function([source], f"{part}, {part}", body))
