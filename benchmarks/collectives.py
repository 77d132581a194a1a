"""Collectives over threads, over our MPI communicator, and MPI's own, in one run.

    python -m benchmarks.collectives [--devices 4] [--rounds 3]

Each round measures threads and then, in ranks of their own, MPI; figures are medians over the
rounds of the time of one collective in microseconds. "loop" is one of many in a compiled program
on threads, and "call" a call of a program with one, whole arrays in and out. "mpi" is MPI's own
collective, "mpi loop" ours in a compiled program, "mpi call" one from Python. Loops and MPI's own
are the least of several tries, which take turns.
With more devices than cores, times are those of an oversubscribed machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mesh_opt.api import compile
from mesh_opt.runtime.abi.elements import F32
from mesh_opt.runtime.collectives import Collective, Group
from mesh_opt.runtime.communicator import Communicator

SIZES = [1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 23]
"""Bytes that each device contributes to an all-reduce, and that an all-gather gathers."""

TRIES = 5
"""Of ours and of MPI's own, in turns."""

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
    """A compiled program that carries out a collective as often as it is told."""

    def __init__(self, kind: str, devices: int, size: int, backend: str) -> None:
        whole = size // 4
        own = whole if kind == "all_reduce" else whole // devices
        axis = "" if kind == "all_reduce" else " gather_axis = 0"
        text = LOOP.format(devices=devices, own=own, whole=whole, kind=kind, axis=axis)
        self._run = compile(text, "", backend=backend, stages=False)["main"]
        self._source = np.ones(own, np.float32)
        self.seconds(1)

    def seconds(self, count: int) -> float:
        """The time of a call with so many."""
        start = time.perf_counter()
        self._run(self._source, count)
        return time.perf_counter() - start


def measure_threads(devices: int) -> Times:
    times: Times = {}
    for kind in ("all_reduce", "all_gather"):
        for size in SIZES:
            ours, count = Loop(kind, devices, size, "numba"), repeats(size)
            tries = [(ours.seconds(count), ours.seconds(0)) for _ in range(TRIES)]
            full, empty = (min(column) for column in zip(*tries, strict=True))
            times[f"{kind} {size} loop"] = (full - empty) / count
            times[f"{kind} {size} call"] = statistics.median(ours.seconds(1) for _ in range(count))
    return times


def measure_rank() -> None:
    """One MPI rank: prints its times as JSON if it is the first."""
    from mesh_opt.runtime.mpi import MpiCommunicator
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
            ours = Loop(kind, communicator.world.size, size, "mpi")
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


def measure_mpi(devices: int) -> Times:
    launcher = Path(sys.prefix) / "bin" / "mpiexec"
    command = [str(launcher), "-n", str(devices), sys.executable, "-m", "mpi4py", __file__]
    done = subprocess.run([*command, "--rank"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        measure_rank()
        return
    rounds = [
        measure_threads(options.devices) | measure_mpi(options.devices)
        for _ in range(options.rounds)
    ]
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
