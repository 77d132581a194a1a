"""Measure the peak rates of this machine by code of our JIT: multiply-adds and copies.

All threads of the benchmark run the same code at the same time, each on its own data.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier
from time import perf_counter
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from mesh_opt.codegen.cache import compile_functions, compile_llvm
from mesh_opt.codegen.microkernels.products import tile_of
from mesh_opt.codegen.microkernels.vectors import accumulate, multiply_add, splat
from mesh_opt.runtime.abi.elements import F32
from mesh_opt.runtime.abi.native_code import source_of
from mesh_opt.runtime.intrinsics import copy_bytes

from .thread_count import workers

SOURCE = source_of(__file__)

STEPS = 200_000
"""Multiply-adds of each accumulator in one measurement, which takes some milliseconds."""

ROUNDS = 7


def least_seconds(work: Callable[[int], object]) -> float:
    """Return the least time in which all threads finish their part, `work(thread)`."""
    together = Barrier(workers())

    def measured(thread: int) -> float:
        together.wait()
        start = perf_counter()
        work(thread)
        return perf_counter() - start

    with ThreadPoolExecutor(workers()) as pool:
        return min(max(pool.map(measured, range(workers()))) for _ in range(ROUNDS))


@cache
def multiply_adds_per_second() -> float:
    """Measure f32 multiply-adds, with as many accumulators as a product's tile."""
    tile = tile_of(F32)
    code = compile_llvm(f"peak of {tile}", _write_multiply_adds)
    run = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float)(code.address)
    seconds = least_seconds(lambda thread: run(STEPS, 0.5))
    return workers() * STEPS * tile.rows * tile.columns / seconds


def _write_multiply_adds(name: str) -> str:
    """Emit a function `(steps, factor)`.

    It computes `sum * factor + factor` for all sums, `steps` times.
    """
    tile = tile_of(F32)
    module: Any = ir.Module(name)
    llvm: Any = llvmlite.binding
    module.triple = llvm.get_process_triple()
    number = ir.FloatType()
    function: Any = ir.Function(module, ir.FunctionType(number, (ir.IntType(64), number)), name)
    steps, factor = function.args
    builder: Any = ir.IRBuilder(function.append_basic_block())
    factors = splat(builder, factor, tile.lanes)

    def add(step: Any, sums: list[Any]) -> list[Any]:
        return [multiply_add(builder, each, factors, factors) for each in sums]

    count = tile.rows * tile.columns // tile.lanes
    first, *others = accumulate(builder, steps, factors.type, count, add)
    for each in others:
        first = builder.fadd(first, each)
    builder.ret(builder.extract_element(first, ir.Constant(ir.IntType(32), 0)))
    return str(module)


def copy_part(target: int, source: int, size: int) -> None:
    """Copy bytes."""
    copy_bytes(target, source, size)


@cache
def copy_seconds(moved: int) -> float:
    """Return the time to read `moved / 2` bytes and write them elsewhere."""
    (code,) = compile_functions([copy_part])
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(code.address)
    size = moved // 2 // workers()
    source, target = (np.ones((workers(), size), np.uint8) for _ in range(2))

    def copy(thread: int) -> None:
        run(target[thread].ctypes.data, source[thread].ctypes.data, size)

    return least_seconds(copy)
