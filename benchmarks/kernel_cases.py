"""Cases of `benchmarks.kernels`: programs, their inputs, and references in NumPy or JAX."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy knows bfloat16 by it)
import numpy as np

MODELS = Path(__file__).parents[1] / "tests" / "cases" / "models"

F32, BF16, I8 = "float32", "bfloat16", "int8"


@dataclass(frozen=True)
class Case:
    """One row of the table.

    - `text`: the program in MLIR, for us and for IREE;
    - `inputs`: shapes and element types of random inputs;
    - `reference`: the same computation on arrays. Its first two arguments are NumPy and `None`, or
      `jax.numpy` and `jax`; `None` for programs that only IREE reads;
    - `numpy`: whether NumPy can run the reference;
    - `multiply_adds`: the number of f32 multiply-adds if they bound the time, as in large products;
    - `is_memory_bound`: whether reading the inputs and writing the result bounds the time.
    """

    text: str
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    reference: Callable[..., Any] | None
    numpy: bool = True
    multiply_adds: int = 0
    is_memory_bound: bool = False


def random_arrays(case: Case) -> list[np.ndarray]:
    """Return random inputs of a case, the same in every process."""
    rng = np.random.default_rng(0)
    return [
        rng.integers(-9, 9, shape).astype(dtype)
        if dtype.startswith("int")
        else rng.standard_normal(shape, dtype=np.float32).astype(np.dtype(dtype))
        for shape, dtype in case.inputs
    ]


LARGE_PRODUCT = 1000
"""A product is large if its rows, columns and depth all exceed this."""


def f32(*shapes: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Return inputs of `f32`."""
    return tuple((shape, F32) for shape in shapes)


def tensor(shape: tuple[int, ...], element: str = "f32") -> str:
    """Return the text of a tensor type."""
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def program(arguments: list[str], result: str, body: str) -> str:
    """Return the text of a function `main` of `%a`, `%b`, ... that returns `%r`."""
    given = ", ".join(f"%{chr(97 + i)}: {kind}" for i, kind in enumerate(arguments))
    return f"func.func @main({given}) -> {result} {{\n{body}\n  return %r : {result}\n}}"


def filled(result: str, element: str, value: str) -> str:
    """Return the text that defines `%i`, a tensor filled with one value."""
    return f"""  %z = arith.constant {value} : {element}
  %e = tensor.empty() : {result}
  %i = linalg.fill ins(%z : {element}) outs(%e : {result}) -> {result}"""


def product(
    operation: str,
    left: tuple[int, ...],
    right: tuple[int, ...],
    out: tuple[int, ...],
    source: str = "f32",
    total: str = "f32",
) -> str:
    """Return a program with a named product of two tensors and a zero initial value."""
    a, b, r = tensor(left, source), tensor(right, source), tensor(out, total)
    zero = "0.0" if total.startswith("f") else "0"
    body = f"""{filled(r, total, zero)}
  %r = linalg.{operation} ins(%a, %b : {a}, {b}) outs(%i : {r}) -> {r}"""
    return program([a, b], r, body)


def matmul(rows: int, depth: int, columns: int) -> Case:
    """Return a matrix product."""
    shapes = (rows, depth), (depth, columns)
    text = product("matmul", *shapes, (rows, columns))
    return Case(
        text,
        f32(*shapes),
        lambda np, jax, a, b: a @ b,
        multiply_adds=rows * depth * columns if min(rows, depth, columns) > LARGE_PRODUCT else 0,
        is_memory_bound=min(rows, columns) == 1,
    )


def narrow_matmul(size: int, source: str, dtype: str, total: str, wide: str) -> Case:
    """Return a product of narrow numbers that accumulates in a wide type."""
    shape = (size, size)
    return Case(
        product("matmul", shape, shape, shape, source, total),
        ((shape, dtype), (shape, dtype)),
        lambda np, jax, a, b: jax.lax.dot(a, b, preferred_element_type=wide),
        numpy=False,
    )


def batch_matmul(batch: int, rows: int, depth: int, columns: int) -> Case:
    """Return a batched matrix product."""
    shapes = (batch, rows, depth), (batch, depth, columns)
    text = product("batch_matmul", *shapes, (batch, rows, columns))
    return Case(text, f32(*shapes), lambda np, jax, a, b: np.matmul(a, b))


def transposed_matmul(rows: int, depth: int, columns: int) -> Case:
    """Return a product whose right operand is stored column by column."""
    a, b, r = tensor((rows, depth)), tensor((columns, depth)), tensor((rows, columns))
    maps = ("(d0, d2)", "(d1, d2)", "(d0, d1)")
    spelled = ", ".join(f"affine_map<(d0, d1, d2) -> {each}>" for each in maps)
    body = f"""{filled(r, "f32", "0.0")}
  %r = linalg.matmul indexing_maps = [{spelled}]
    ins(%a, %b : {a}, {b}) outs(%i : {r}) -> {r}"""
    return Case(
        program([a, b], r, body),
        f32((rows, depth), (columns, depth)),
        lambda np, jax, a, b: a @ b.T,
        is_memory_bound=rows == 1,
    )


def convolution(size: int, channels: int, features: int, window: int = 3) -> Case:
    """Return a 2-d convolution in NHWC without padding."""
    padded = size + window - 1
    image, kernel = (1, padded, padded, channels), (window, window, channels, features)
    text = product("conv_2d_nhwc_hwcf", image, kernel, (1, size, size, features))

    def reference(np: Any, jax: Any, a: Any, b: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(a, b, (1, 1), "VALID", dimension_numbers=layout)

    return Case(text, f32(image, kernel), reference, numpy=False)


def depthwise(size: int, channels: int, window: int = 3) -> Case:
    """Return a convolution of each channel with its own window."""
    padded = size + window - 1
    image, kernel = (1, padded, padded, channels), (window, window, channels)
    text = product("depthwise_conv_2d_nhwc_hwc", image, kernel, (1, size, size, channels))

    def reference(np: Any, jax: Any, a: Any, b: Any) -> Any:
        return jax.lax.conv_general_dilated(
            a,
            b.reshape(window, window, 1, channels),
            (1, 1),
            "VALID",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=channels,
        )

    return Case(text, f32(image, kernel), reference, numpy=False)


def elementwise(lines: list[str], reference: Callable[..., Any], size: int = 1 << 20) -> Case:
    """Return a chain of elementwise operations on `%a` and `%b`."""
    kind = tensor((size,))
    body = "\n".join(f"  {line} : {kind}" for line in lines)
    return Case(
        program([kind, kind], kind, body),
        f32((size,), (size,)),
        reference,
        numpy=not any("erf" in line for line in lines),
        is_memory_bound=not any("math." in line for line in lines),
    )


def reduction(rows: int, columns: int, dimension: int) -> Case:
    """Return sums along a dimension."""
    source, result = tensor((rows, columns)), tensor(((columns, rows)[dimension],))
    body = f"""{filled(result, "f32", "0.0")}
  %r = linalg.reduce ins(%a : {source}) outs(%i : {result}) dimensions = [{dimension}]
    (%x: f32, %y: f32) {{
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    }}"""
    return Case(
        program([source], result, body),
        f32((rows, columns)),
        lambda np, jax, a: a.sum(axis=dimension),
        is_memory_bound=True,
    )


def softmax(rows: int, columns: int) -> Case:
    """Return a softmax of each row."""
    kind = tensor((rows, columns))
    body = f"""  %e = tensor.empty() : {kind}
  %r = linalg.softmax dimension(1) ins(%a : {kind}) outs(%e : {kind}) -> {kind}"""

    def reference(np: Any, jax: Any, a: Any) -> Any:
        power = np.exp(a - a.max(axis=1, keepdims=True))
        return power / power.sum(axis=1, keepdims=True)

    return Case(program([kind], kind, body), f32((rows, columns)), reference)


def transpose(shape: tuple[int, ...], permutation: tuple[int, ...]) -> Case:
    """Return a permutation of dimensions."""
    source, result = tensor(shape), tensor(tuple(shape[each] for each in permutation))
    body = f"""  %e = tensor.empty() : {result}
  %r = linalg.transpose ins(%a : {source}) outs(%e : {result}) permutation = {list(permutation)}"""

    def reference(np: Any, jax: Any, a: Any) -> Any:
        moved = np.transpose(a, permutation)
        return moved if jax else np.ascontiguousarray(moved)

    return Case(program([source], result, body), f32(shape), reference, is_memory_bound=True)


def fourier(rows: int, length: int) -> Case:
    """Return transforms of complex rows."""
    kind = tensor((rows, length), "complex<f32>")
    body = f"  %r = stablehlo.fft %a, type = FFT, length = [{length}] : ({kind}) -> {kind}"
    inputs = (((rows, length), "complex64"),)
    return Case(program([kind], kind, body), inputs, lambda np, jax, a: np.fft.fft(a))


def model(name: str) -> Case:
    """Return a model of the tests with random inputs."""
    text = (MODELS / f"{name}.mlir").read_text(encoding="utf-8")
    signature = text[text.index("@main") :].split("->")[0]
    arguments = re.findall(r"%arg\d+: tensor<([\dx]+)xf32>", signature)
    shapes = [tuple(map(int, each.split("x"))) for each in arguments]
    return Case(text, f32(*shapes), None, numpy=False)


CASES: dict[str, Case] = {
    **{f"matmul {size}": matmul(size, size, size) for size in (64, 256, 512, 1024, 2048)},
    "1x4096x4096": matmul(1, 4096, 4096),
    "8x4096x4096": matmul(8, 4096, 4096),
    "4096x4096x1": matmul(4096, 4096, 1),
    "1x4096x4096, b transposed": transposed_matmul(1, 4096, 4096),
    "8x4096x4096, b transposed": transposed_matmul(8, 4096, 4096),
    "batch 16 of 256x64x256": batch_matmul(16, 256, 64, 256),
    "batch 16 of 256x256x64": batch_matmul(16, 256, 256, 64),
    **{
        f"{rows}x{depth}x{columns}": matmul(rows, depth, columns)
        for rows, depth, columns in (
            (1000, 1000, 64),
            (3, 4096, 4096),
            (4096, 33, 1024),
            (33, 1024, 4096),
            (127, 509, 251),
            (509, 7, 1021),
            (17, 4099, 13),
            (1021, 1021, 1021),
        )
    },
    "bf16 matmul 1024": narrow_matmul(1024, "bf16", BF16, "f32", F32),
    "f16 matmul 512": narrow_matmul(512, "f16", "float16", "f32", F32),
    "i8 matmul 1024": narrow_matmul(1024, "i8", I8, "i32", "int32"),
    "conv 3x3 56x56x64x64": convolution(56, 64, 64),
    "depthwise 3x3 56x56x64": depthwise(56, 64),
    "transpose 1024": transpose((1024, 1024), (1, 0)),
    "transpose 2048": transpose((2048, 2048), (1, 0)),
    "permute 8x128x16x64 to 0213": transpose((8, 128, 16, 64), (0, 2, 1, 3)),
    "permute 8x128x16x64 to 0231": transpose((8, 128, 16, 64), (0, 2, 3, 1)),
    "permute 64x128x64x8 to 2103": transpose((64, 128, 64, 8), (2, 1, 0, 3)),
    "permute 64x128x64x8 to 3012": transpose((64, 128, 64, 8), (3, 0, 1, 2)),
    "permute 512x512x3 to 201": transpose((512, 512, 3), (2, 0, 1)),
    "fft of 256 rows of 256": fourier(256, 256),
    "fft of 64 rows of 1000": fourier(64, 1000),
    "mlp": model("mlp"),
    "transformer block": model("transformer_block"),
    "row sums 1024": reduction(1024, 1024, 1),
    "column sums 1024": reduction(1024, 1024, 0),
    "softmax 512x1024": softmax(512, 1024),
    "tanh(a * b), 1 Mi": elementwise(
        ["%0 = arith.mulf %a, %b", "%r = math.tanh %0"], lambda np, jax, a, b: np.tanh(a * b)
    ),
    "erf(a) * b, 1 Mi": elementwise(
        ["%0 = math.erf %a", "%r = arith.mulf %0, %b"],
        lambda np, jax, a, b: jax.scipy.special.erf(a) * b,
    ),
    "exp(a) + b, 1 Mi": elementwise(
        ["%0 = math.exp %a", "%r = arith.addf %0, %b"], lambda np, jax, a, b: np.exp(a) + b
    ),
    "a * b + a, 1 Mi": elementwise(
        ["%0 = arith.mulf %a, %b", "%r = arith.addf %0, %a"], lambda np, jax, a, b: a * b + a
    ),
}
