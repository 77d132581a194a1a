"""Compare collectives on threads, on our MPI communicator, and MPI's own, in one run.

    python -m benchmarks.collectives [--devices 4] [--rounds 3]
    python -m benchmarks.collectives --overlap [--devices 2] [--rounds 3]

Each round measures threads and then, in separate ranks, MPI. Figures are the median over the rounds
of the time of one collective in microseconds. Columns:

- "loop": one of many collectives in a compiled program on threads;
- "call": a call of a program with one collective, with global arrays as inputs and results;
- "mpi": MPI's own collective;
- "mpi loop": our collective in a compiled program on ranks;
- "mpi call": our collective, called from Python.

Times of loops and of MPI's own collectives are the least of several tries, which alternate.

`--overlap` measures collectives that run while kernels do: an all-gather and a product that does
not depend on it, each alone and both. It also measures devices that take turns in entering the
all-gather late, by the time of a product. Overlap can hide waiting: for a late device, and for
messages that hardware other than the cores moves. Copies in memory take time on the cores. With
more devices than cores, the times are those of an oversubscribed machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from mesh_opt.api import compile
from mesh_opt.runtime.abi.elements import F32
from mesh_opt.runtime.collectives import Collective, Group
from mesh_opt.runtime.communicator import Communicator

from .processes import run_ranks

SIZES = [1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 23]
"""Bytes that each device contributes to an all-reduce, and that an all-gather returns."""

TRIES = 5
"""Measurements of ours and of MPI's own collectives, which alternate."""

OVERLAP_TURNS = 10
"""Iterations of each loop that measures overlap."""

Times = dict[str, float]


def collective(kind: str, group: Group, size: int) -> Collective:
    count = size // 4
    if kind == "all_reduce":
        return Collective(kind, group, (count,), F32, (count,), F32)
    return Collective(kind, group, (count // group.size,), F32, (count,), F32)


def repeats(size: int) -> int:
    return max(5, min(2000, (1 << 24) // size))


def seconds(run: Callable[[], object], count: int) -> float:
    run()
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def calls(communicator: Communicator, kind: str, size: int) -> float:
    wanted = collective(kind, communicator.world, size)
    source = np.ones(wanted.source_shape, np.float32)
    return seconds(lambda: communicator.perform(wanted, source), max(5, repeats(size) // 5))


LOOP = """
shard.grid @g(shape = {devices})
func.func @main(%a: tensor<{own}xf32>, %n: index) -> tensor<1xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<1xf32>
  %q = scf.for %i = %c0 to %n step %c1 iter_args(%t = %z) -> (tensor<1xf32>) {{
    %r = shard.{kind} %a on @g grid_axes = [0]{axis} : tensor<{own}xf32> -> tensor<{whole}xf32>
    %e = tensor.extract_slice %r[0] [1] [1] : tensor<{whole}xf32> to tensor<1xf32>
    scf.yield %e : tensor<1xf32>
  }}
  return %q : tensor<1xf32>
}}
"""


class Loop:
    """A compiled program that runs a collective a given number of times."""

    def __init__(self, text: str, inputs: Sequence[npt.NDArray[np.float32]], backend: str) -> None:
        self._run = compile(text, "", backend=backend)["main"]
        self._inputs = inputs
        self.seconds(2)

    @staticmethod
    def of(kind: str, devices: int, size: int, backend: str) -> Loop:
        """Compile a loop over one collective."""
        whole = size // 4
        own = whole if kind == "all_reduce" else whole // devices
        axis = "" if kind == "all_reduce" else " gather_axis = 0"
        text = LOOP.format(devices=devices, own=own, whole=whole, kind=kind, axis=axis)
        return Loop(text, [np.ones(own, np.float32)], backend)

    def seconds(self, count: int) -> float:
        """Return the time of a call with `count` iterations, in seconds."""
        start = time.perf_counter()
        self._run(*self._inputs, count)
        return time.perf_counter() - start


BESIDE = """
shard.grid @g(shape = {devices})
func.func @main(%a: tensor<{own}xf32>, %x: tensor<{m}x{m}xf32>, %n: index) -> tensor<1xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = shard.process_linear_index on @g : index
  %first = arith.cmpi eq, %p, %c0 : index
  %second = arith.cmpi eq, %p, %c1 : index
  %zero = arith.constant dense<0.0> : tensor<{m}x{m}xf32>
  %z = arith.constant dense<0.0> : tensor<1xf32>
  %q = scf.for %i = %c0 to %n step %c1 iter_args(%t = %z) -> (tensor<1xf32>) {{
    {lines}
    scf.yield %e : tensor<1xf32>
  }}
  return %q : tensor<1xf32>
}}
"""

GATHER = """%r{n} = shard.all_gather %a{n} on @g grid_axes = [0] gather_axis = 0
      : tensor<{own}xf32> -> tensor<{whole}xf32>"""
PRODUCT = """%y = linalg.matmul ins(%x, %x : tensor<{m}x{m}xf32>, tensor<{m}x{m}xf32>)
      outs(%zero : tensor<{m}x{m}xf32>) -> tensor<{m}x{m}xf32>"""
LATE = """%a{n} = scf.if %{who} -> (tensor<{own}xf32>) {{
      %w = linalg.matmul ins(%x, %x : tensor<{m}x{m}xf32>, tensor<{m}x{m}xf32>)
        outs(%zero : tensor<{m}x{m}xf32>) -> tensor<{m}x{m}xf32>
      %v = tensor.extract_slice %w[0, 0] [1, 1] [1, 1] : tensor<{m}x{m}xf32> to tensor<1xf32>
      %o = tensor.insert_slice %v into %a[0] [1] [1] : tensor<1xf32> into tensor<{own}xf32>
      scf.yield %o : tensor<{own}xf32>
    }} else {{
      scf.yield %a : tensor<{own}xf32>
    }}"""
OF_GATHER = "%e = tensor.extract_slice %r{n}[0] [1] [1] : tensor<{whole}xf32> to tensor<1xf32>"
OF_PRODUCT = (
    "%{f} = tensor.extract_slice %y[0, 0] [1, 1] [1, 1] : tensor<{m}x{m}xf32> to tensor<1xf32>"
)
OF_BOTH = """%e = linalg.add ins(%f, %d : tensor<1xf32>, tensor<1xf32>) outs(%z : tensor<1xf32>)
      -> tensor<1xf32>"""
OF_FIRST = OF_GATHER.replace("%e", "%d")

OVERLAPS = {
    "gather": (GATHER, OF_GATHER),
    "product": (PRODUCT, OF_PRODUCT.format(f="e", m="{m}")),
    "both": (GATHER, PRODUCT, OF_PRODUCT.format(f="f", m="{m}"), OF_FIRST, OF_BOTH),
    "late": (
        *(LATE.replace("{who}", "first").replace("{n}", "1"), GATHER.replace("{n}", "1")),
        *(PRODUCT, OF_FIRST.replace("{n}", "1"), OF_PRODUCT.format(f="f", m="{m}")),
        *(LATE.replace("{who}", "second").replace("{n}", "2"), GATHER.replace("{n}", "2")),
        OF_GATHER.replace("{n}", "2"),
    ),
}
"""The body of an iteration. In `late`, device 0 enters the first all-gather late and device 1 the
second; a product does not depend on the first one."""

OVERLAP_SIZES = ((1 << 16, 128), (1 << 18, 256), (1 << 20, 512), (1 << 22, 1024), (1 << 23, 512))
"""Bytes that are gathered, and rows and columns of the factors of a product. The bytes are those of
one factor, as in a layer; the last all-gather is larger."""


def measure_overlap(devices: int, backend: str) -> Times:
    times: Times = {}
    for size, m in OVERLAP_SIZES:
        own, whole = size // 4 // devices, size // 4
        arrays = [np.ones(own, np.float32), np.ones((m, m), np.float32)]
        loops: dict[str, Loop] = {}
        for name, pieces in OVERLAPS.items():
            numbers = {"own": own, "whole": whole, "m": m}
            lines = "\n    ".join(each.format(n="", **numbers) for each in pieces)
            text = BESIDE.format(devices=devices, lines=lines, **numbers)
            loops[name] = Loop(text, arrays, backend)
        tries = [
            {name: (loop.seconds(OVERLAP_TURNS), loop.seconds(0)) for name, loop in loops.items()}
            for _ in range(TRIES)
        ]
        for name in loops:
            full, empty = (
                min(column) for column in zip(*(each[name] for each in tries), strict=True)
            )
            times[f"{size} {m} {name}"] = (full - empty) / OVERLAP_TURNS
    return times


def measure_threads(devices: int) -> Times:
    times: Times = {}
    for kind in ("all_reduce", "all_gather"):
        for size in SIZES:
            ours, count = Loop.of(kind, devices, size, "native"), repeats(size)
            tries = [(ours.seconds(count), ours.seconds(0)) for _ in range(TRIES)]
            full, empty = (min(column) for column in zip(*tries, strict=True))
            times[f"{kind} {size} loop"] = (full - empty) / count
            times[f"{kind} {size} call"] = statistics.median(ours.seconds(1) for _ in range(count))
    return times


def measure_rank() -> None:
    """Measure in one MPI rank; the first rank prints the times as JSON."""
    from mesh_opt.runtime.mpi.communicator import MpiCommunicator
    from mpi4py import MPI

    world: Any = MPI.COMM_WORLD
    communicator = MpiCommunicator()
    times: Times = {}
    for kind in ("all_reduce", "all_gather"):
        for size in SIZES:
            wanted = collective(kind, communicator.world, size)
            source = np.ones(wanted.source_shape, np.float32)
            target = np.empty(wanted.result_shape, np.float32)
            run = world.Allreduce if kind == "all_reduce" else world.Allgather
            ours = Loop.of(kind, communicator.world.size, size, "mpi")
            tries: list[tuple[float, ...]] = []
            count = repeats(size)
            for _ in range(TRIES):
                world.Barrier()
                own = ours.seconds(count), ours.seconds(0)
                world.Barrier()
                native = seconds(lambda r=run, s=source, t=target: r(s, t), count)
                tries.append((*own, native))
            full, empty, native = (min(column) for column in zip(*tries, strict=True))
            times[f"{kind} {size} mpi loop"] = (full - empty) / count
            times[f"{kind} {size} mpi"] = native
            times[f"{kind} {size} mpi call"] = calls(communicator, kind, size)
    if world.Get_rank() == 0:
        print(json.dumps(times))


def measure_mpi(devices: int, *options: str) -> Times:
    return json.loads(run_ranks(devices, "collectives", "--rank", *options))


def measure_overlap_on_rank(devices: int) -> None:
    """Measure overlap in one MPI rank; the first rank prints the times as JSON."""
    from mpi4py import MPI

    times = measure_overlap(devices, "mpi")
    if MPI.COMM_WORLD.Get_rank() == 0:
        print(json.dumps(times))


def show_overlap(devices: int, rounds: int) -> None:
    """Print a row per engine and size. The last two columns are ratios to perfect overlap."""
    found = [
        (
            measure_overlap(devices, "native"),
            measure_mpi(devices, "--overlap", f"--devices={devices}"),
        )
        for _ in range(rounds)
    ]
    head = "".join(f"{name:>10}" for name in OVERLAPS)
    print(f"{'microseconds':24}{head}  both / longer  late / 2 products")
    for number, engine in enumerate(("threads", "mpi")):
        for size, m in OVERLAP_SIZES:
            each = {
                name: statistics.median(times[number][f"{size} {m} {name}"] for times in found)
                * 1e6
                for name in OVERLAPS
            }
            figures = "".join(f"{value:10.1f}" for value in each.values())
            hidden = each["both"] / max(each["gather"], each["product"])
            late = each["late"] / (2 * each["product"])
            print(f"{f'{engine} {size} {m}':24}{figures}{hidden:15.2f}{late:19.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int)
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    devices = options.devices or (2 if options.overlap else 4)
    if options.rank:
        measure_overlap_on_rank(devices) if options.overlap else measure_rank()
        return
    if options.overlap:
        show_overlap(devices, options.rounds)
        return
    rounds = [measure_threads(devices) | measure_mpi(devices) for _ in range(options.rounds)]
    columns = ("loop", "call", "mpi", "mpi loop", "mpi call")
    print(f"{'microseconds':24}" + "".join(f"{each:>10}" for each in columns) + "  mpi loop / mpi")
    for kind in ("all_reduce", "all_gather"):
        for size in SIZES:
            row = [
                statistics.median(each[f"{kind} {size} {column}"] for each in rounds) * 1e6
                for column in columns
            ]
            figures = "".join(f"{each:10.1f}" for each in row)
            print(f"{kind + ' ' + str(size):24}{figures}{row[3] / row[2]:16.2f}")


if __name__ == "__main__":
    main()
