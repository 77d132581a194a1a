"""Compare native kernels with NumPy, JAX and IREE, on one thread each or on several.

    MESH_OPT_PEERS_PYTHON=... python -m benchmarks.kernels --rounds 9 --only matmul --workers 2

Prints the machine and all versions, then a table: our kernels without passes (`plain`) and after
`compile`, NumPy, and JAX and IREE if the Python of the peers has them. A round runs all of them in
turn. Figures are the least milliseconds of all rounds; `ratio` is the best of the others over the
better of ours, so that larger is better. `limit` is the share of the machine's peak, measured in
the same run by code of our JIT: of multiply-adds for large f32 products, of copies where memory
bounds the time. Run it on an otherwise idle machine. All processes are bound to as many CPUs as
they have threads.
"""

# Libraries count CPUs when they are loaded: bind the process before importing them.
# ruff: noqa: E402

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import sys
import time
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from typing import Any

from .thread_count import keep_to_cpus, workers

keep_to_cpus(workers())
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(workers())

import llvmlite
import numpy as np
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.microkernels.vectors import vector_bits

from .kernel_cases import CASES, Case, random_arrays
from .machine_limits import copy_seconds, multiply_adds_per_second
from .processes import Peer

CACHE_LINE = 64

Run = Callable[[], Any]
COLUMNS = ("plain", "compile", "numpy", "jax", "iree")


def in_whole_lines(array: np.ndarray) -> np.ndarray:
    """Return a copy that starts at a cache line, as the results of all frameworks do.

    NumPy's arrays start anywhere: vectors then cross cache lines, and copies take a third longer.
    """
    memory = np.empty(array.nbytes + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    aligned = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    aligned[...] = array
    return aligned


def seconds(run: Run, repeats: int) -> float:
    """Return the least time of several runs, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def runners(case: Case, given: list[np.ndarray]) -> tuple[dict[str, Run], int]:
    """Return functions to measure in this process, with checked results, and the result's bytes."""
    found: dict[str, Run] = {}
    results: list[np.ndarray] = []
    for name, pipeline in (("plain", ()), ("compile", "compile")):
        module = api.compile(case.text, pipeline).module
        compiled = CompiledProgram(module, workers=workers())
        results.append(compiled.run("main", given)[0])
        found[name] = lambda program=compiled: program.run("main", given)
    reference = case.reference
    if case.numpy and reference is not None:
        found["numpy"] = lambda: reference(np, None, *given)
        results.append(found["numpy"]())
    for each in results[1:]:
        np.testing.assert_allclose(each, results[0], rtol=1e-2, atol=1e-2)
    return found, results[0].nbytes


def measure(name: str, case: Case, peers: Peer, rounds: int) -> dict[str, float]:
    """Return milliseconds by column, and `limit`, the share of the machine's peak, if known."""
    given = [in_whole_lines(each) for each in random_arrays(case)]
    found, result_bytes = runners(case, given)
    for peer in ("jax", "iree"):
        if peers.ask("prepare", peer, name) == "ok":
            found[peer] = lambda: None
    best = dict.fromkeys(found, float("inf"))
    repeats = max(1, min(20, int(0.01 / seconds(found["plain"], 2))))
    for _ in range(rounds):
        for column, run in found.items():
            if column in ("jax", "iree"):
                taken = float(peers.ask("run", column, str(repeats)))
            else:
                taken = seconds(run, repeats)
            best[column] = min(best[column], taken)
    ours = min(best["plain"], best["compile"])
    shares: dict[str, float] = {}
    if case.multiply_adds:
        shares["limit"] = case.multiply_adds / multiply_adds_per_second() / ours
    elif case.is_memory_bound:
        moved = sum(each.nbytes for each in given) + result_bytes
        shares["limit"] = copy_seconds(moved) / ours
    return {**{column: 1e3 * taken for column, taken in best.items()}, **shares}


def blas() -> str:
    """Return the version and kernels that NumPy's OpenBLAS reports."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    for path in {line.split()[-1] for line in lines if "openblas" in line}:
        library = ctypes.CDLL(path)
        for name in ("scipy_openblas_get_config64_", "openblas_get_config64_"):
            function = getattr(library, name, None)
            if function is not None:
                function.restype = ctypes.c_char_p
                return str(function().decode())
    return "its BLAS"


def machine() -> str:
    """Return the name of the CPU."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def print_setting(peers: Peer) -> None:
    """Print the machine and the versions."""
    print(f"{machine()}, vectors of {vector_bits()} bits, {workers()} of {os.cpu_count()} CPUs")
    print(f"llvmlite {llvmlite.__version__}, NumPy {np.__version__} with {blas()}")
    print(f"peers: {peers.ask('versions', '-', '-')}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="rows whose names hold this")
    parser.add_argument("--workers", type=int, default=1, help="threads of everyone")
    options = parser.parse_args()
    python = os.environ.get("MESH_OPT_PEERS_PYTHON")
    peers = Peer(python, "kernel_peers", "--workers", str(workers()))
    print_setting(peers)
    print(
        f"{'case':28}",
        *(f"{each:>8}" for each in (*COLUMNS, "ratio", "limit")),
        f"load {os.getloadavg()[0]:.1f}",
    )
    ratios: list[float] = []
    shares: dict[str, list[float]] = {}
    for name, case in CASES.items():
        if options.only not in name:
            continue
        times = measure(name, case, peers, options.rounds)
        cells = [f"{times[each]:8.3f}" if each in times else f"{'':8}" for each in COLUMNS]
        others = [times[each] for each in COLUMNS[2:] if each in times]
        if others:
            ratios.append(min(others) / min(times["plain"], times["compile"]))
        cells.append(f"{ratios[-1]:8.2f}" if others else f"{'':8}")
        if "limit" in times:
            what = "multiply-adds" if case.multiply_adds else "copies"
            shares.setdefault(what, []).append(times["limit"])
            cells.append(f"{times['limit']:8.2f}")
        print(f"{name:28}", *cells)
        sys.stdout.flush()
    if ratios:
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}")
    for what, found in shares.items():
        print(f"at least {min(found):.2f} of the machine's {what}")
    peers.close()


if __name__ == "__main__":
    main()
