"""What this machine can do at most, measured by code of our own JIT: multiply-adds, and copies.

The threads of the benchmark do the same at the same time, each on a part of its own.
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
from mesh_opt.codegen.cache import compile_module
from mesh_opt.codegen.microkernels.products import tile_of
from mesh_opt.codegen.microkernels.vectors import accumulate, multiply_add, splat
from mesh_opt.codegen.native_functions import compile_function
from mesh_opt.runtime.abi.elements import F32
from mesh_opt.runtime.abi.native_code import source_of
from mesh_opt.runtime.intrinsics import copy_bytes

from .thread_count import workers

SOURCE = source_of(__file__)

STEPS = 200_000
"""Multiply-adds of each accumulator in one measurement: some milliseconds."""

ROUNDS = 7


def least_seconds(work: Callable[[int], object]) -> float:
    """The least time in which all threads have done their part, `work(thread)`."""
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
    """Of numbers in `f32`, kept in as many registers as a tile of a product has sums."""
    tile = tile_of(F32)
    code = compile_module(f"peak of {tile}", _write_multiply_adds)
    run = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float)(code.address)
    seconds = least_seconds(lambda thread: run(STEPS, 0.5))
    return workers() * STEPS * tile.rows * tile.columns / seconds


def _write_multiply_adds(name: str) -> str:
    """A function `(steps, factor)`: all sums become `sum * factor + factor`, so many times."""
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
    """The time to read half of so many bytes and to write them elsewhere."""
    code = compile_function(copy_part)
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(code.address)
    size = moved // 2 // workers()
    source, target = (np.ones((workers(), size), np.uint8) for _ in range(2))

    def copy(thread: int) -> None:
        run(target[thread].ctypes.data, source[thread].ctypes.data, size)

    return least_seconds(copy)
