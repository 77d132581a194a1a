"""Kernels of the numba backend against NumPy, on one thread each.

    python -m benchmarks.kernels [--repeats 9]

Every row is measured interleaved: one run of ours, one of NumPy's, and so on; the figures are
medians, and the ratio is NumPy's time over ours, so larger is better. Set OPENBLAS_NUM_THREADS=1
(the default here) for a fair matrix product.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from mesh_opt import api
from mesh_opt.codegen.compile import compile_program

Array = np.ndarray


def matmul(size: int, element: str = "f32") -> str:
    kind = f"tensor<{size}x{size}x{element}>"
    return f"""
func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{
  %z = arith.constant 0.0 : {element}
  %e = tensor.empty() : {kind}
  %i = linalg.fill ins(%z : {element}) outs(%e : {kind}) -> {kind}
  %0 = linalg.matmul ins(%a, %b : {kind}, {kind}) outs(%i : {kind}) -> {kind}
  return %0 : {kind}
}}"""


def packed_matmul(size: int, rows: int, columns: int) -> str:
    """A product of operands that are packed in tiles, as data tiling makes it."""
    plain = f"tensor<{size}x{size}xf32>"
    left = f"tensor<{size // rows}x{size}x{rows}x1xf32>"
    right = f"tensor<{size // columns}x{size}x{columns}x1xf32>"
    out = f"tensor<{size // rows}x{size // columns}x{rows}x{columns}xf32>"
    return f"""
func.func @main(%a: {plain}, %b: {plain}) -> {plain} {{
  %z = arith.constant 0.0 : f32
  %le = tensor.empty() : {left}
  %re = tensor.empty() : {right}
  %oe = tensor.empty() : {out}
  %pe = tensor.empty() : {plain}
  %l = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [{rows}, 1]
    into %le : {plain} -> {left}
  %r = linalg.pack %b outer_dims_perm = [1, 0] inner_dims_pos = [1, 0]
    inner_tiles = [{columns}, 1] into %re : {plain} -> {right}
  %i = linalg.fill ins(%z : f32) outs(%oe : {out}) -> {out}
  %p = linalg.mmt4d ins(%l, %r : {left}, {right}) outs(%i : {out}) -> {out}
  %0 = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [{rows}, {columns}]
    into %pe : {out} -> {plain}
  return %0 : {plain}
}}"""


def chain(kind: str, lines: list[str]) -> str:
    body = "\n".join(f"  {line} : {kind}" for line in lines)
    return f"func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{\n{body}\n  return %r : {kind}\n}}"


def reduction(rows: int, columns: int, dimension: int) -> str:
    source, size = f"tensor<{rows}x{columns}xf32>", (columns, rows)[dimension]
    return f"""
func.func @main(%a: {source}) -> tensor<{size}xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{size}xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<{size}xf32>) -> tensor<{size}xf32>
  %0 = linalg.reduce ins(%a : {source}) outs(%i : tensor<{size}xf32>) dimensions = [{dimension}]
    (%x: f32, %y: f32) {{
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    }}
  return %0 : tensor<{size}xf32>
}}"""


def softmax(rows: int, columns: int) -> str:
    kind = f"tensor<{rows}x{columns}xf32>"
    return f"""
func.func @main(%a: {kind}) -> {kind} {{
  %e = tensor.empty() : {kind}
  %0 = linalg.softmax dimension(1) ins(%a : {kind}) outs(%e : {kind}) -> {kind}
  return %0 : {kind}
}}"""


def transpose(size: int) -> str:
    kind = f"tensor<{size}x{size}xf32>"
    return f"""
func.func @main(%a: {kind}) -> {kind} {{
  %e = tensor.empty() : {kind}
  %0 = linalg.transpose ins(%a : {kind}) outs(%e : {kind}) permutation = [1, 0]
  return %0 : {kind}
}}"""


def numpy_softmax(a: Array) -> Array:
    power = np.exp(a - a.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


SQUARE = ["%0 = arith.mulf %a, %b", "%1 = arith.addf %0, %a", "%r = arith.mulf %1, %1"]

CASES: dict[str, tuple[str, list[tuple[int, ...]], str, Callable[..., Array]]] = {
    "matmul 256 f32": (matmul(256), [(256, 256)] * 2, "f4", np.matmul),
    "matmul 1024 f32": (matmul(1024), [(1024, 1024)] * 2, "f4", np.matmul),
    "packed matmul 1024, 16x16": (
        packed_matmul(1024, 16, 16),
        [(1024, 1024)] * 2,
        "f4",
        np.matmul,
    ),
    "packed matmul 1024, 8x8": (packed_matmul(1024, 8, 8), [(1024, 1024)] * 2, "f4", np.matmul),
    "matmul 512 f64": (matmul(512, "f64"), [(512, 512)] * 2, "f8", np.matmul),
    "(a * b + a)^2, 1 Mi f32": (
        chain("tensor<1048576xf32>", SQUARE),
        [(1 << 20,)] * 2,
        "f4",
        lambda a, b: (a * b + a) ** 2,
    ),
    "exp(a) + b, 1 Mi f32": (
        chain("tensor<1048576xf32>", ["%0 = math.exp %a", "%r = arith.addf %0, %b"]),
        [(1 << 20,)] * 2,
        "f4",
        lambda a, b: np.exp(a) + b,
    ),
    "tanh(a * b), 1 Mi f32": (
        chain("tensor<1048576xf32>", ["%0 = arith.mulf %a, %b", "%r = math.tanh %0"]),
        [(1 << 20,)] * 2,
        "f4",
        lambda a, b: np.tanh(a * b),
    ),
    "row sums, 1024 x 1024": (
        reduction(1024, 1024, 1),
        [(1024, 1024)],
        "f4",
        lambda a: a.sum(axis=1),
    ),
    "column sums, 1024 x 1024": (
        reduction(1024, 1024, 0),
        [(1024, 1024)],
        "f4",
        lambda a: a.sum(axis=0),
    ),
    "softmax, 512 x 1024": (softmax(512, 1024), [(512, 1024)], "f4", numpy_softmax),
    "transpose, 1024 x 1024": (
        transpose(1024),
        [(1024, 1024)],
        "f4",
        lambda a: np.ascontiguousarray(a.T),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    print(f"{'case':28} {'ours ms':>9} {'numpy ms':>9} {'ratio':>7}")
    for name, (text, shapes, dtype, reference) in CASES.items():
        rng = np.random.default_rng(0)
        inputs = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
        program = compile_program(api.compile(text, stages=False).module)
        (result,) = program.run("main", inputs)
        np.testing.assert_allclose(result, reference(*inputs), rtol=1e-2, atol=1e-2)
        ours: list[float] = []
        numpys: list[float] = []
        for _ in range(repeats):
            for times, run in (
                (ours, lambda p=program, i=inputs: p.run("main", i)),
                (numpys, lambda f=reference, i=inputs: f(*i)),
            ):
                start = time.perf_counter()
                run()
                times.append(time.perf_counter() - start)
        own, other = statistics.median(ours) * 1e3, statistics.median(numpys) * 1e3
        print(f"{name:28} {own:9.3f} {other:9.3f} {other / own:7.2f}")


if __name__ == "__main__":
    main()
