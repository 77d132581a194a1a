"""Collectives over threads, over our MPI communicator, and MPI's own, in one run.

    python -m benchmarks.collectives [--devices 4] [--rounds 3]

Each round measures threads and then, in ranks of their own, MPI; figures are medians over the
rounds of the time of one collective in microseconds. "loop" is a collective inside a command
buffer, where no Python runs; "call" is one call from Python. With more devices than cores,
times are those of an oversubscribed machine.
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
from mesh_opt.runtime.abi.elements import F32
from mesh_opt.runtime.collectives import Collective, Group
from mesh_opt.runtime.commands import Buffer, run_commands
from mesh_opt.runtime.communicator import Communicator
from mesh_opt.runtime.threads import ThreadCommunicator, ThreadGroup

SIZES = [1 << 10, 1 << 16, 1 << 20, 1 << 23]
"""Bytes that each device contributes to an all-reduce, and that an all-gather gathers."""

Times = dict[str, float]


def collective(kind: str, group: Group, size: int) -> Collective:
    count = size // 4
    if kind == "all_reduce":
        return Collective(kind, group, (count,), F32, (count,), F32)
    return Collective(kind, group, (count // group.size,), F32, (count,), F32)


def repeats(size: int) -> int:
    return max(5, min(300, (1 << 24) // size))


def seconds(run: Callable[[], object], count: int) -> float:
    run()
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def loop_on_threads(communicator: ThreadCommunicator, kind: str, size: int) -> float:
    wanted = collective(kind, communicator.world, size)
    source = Buffer(4 * wanted.source_shape[0])
    target = Buffer(4 * wanted.result_shape[0])
    count = repeats(size)
    commands = communicator.commands(wanted, source, target, kind)
    memory = {each: np.zeros(each.size, np.uint8) for each in (source, target)}
    return seconds(lambda: run_commands(commands, memory), count)


def calls(communicator: Communicator, kind: str, size: int) -> float:
    wanted = collective(kind, communicator.world, size)
    source = np.ones(wanted.source_shape, np.float32)
    return seconds(lambda: communicator.perform(wanted, source), max(5, repeats(size) // 5))


def measure_threads(group: ThreadGroup) -> Times:
    times: Times = {}
    for kind in ("all_reduce", "all_gather"):
        for size in SIZES:
            loops = group.run(lambda c, k=kind, s=size: loop_on_threads(c, k, s))
            times[f"{kind} {size} loop"] = max(loops)
            times[f"{kind} {size} call"] = max(group.run(lambda c, k=kind, s=size: calls(c, k, s)))
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
            native = seconds(lambda r=run, s=source, t=target: r(s, t), repeats(size))
            times[f"{kind} {size} mpi"] = native
            times[f"{kind} {size} own mpi"] = calls(communicator, kind, size)
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
    group = ThreadGroup(options.devices)
    rounds = [measure_threads(group) | measure_mpi(options.devices) for _ in range(options.rounds)]
    columns = ("loop", "call", "mpi", "own mpi")
    print(f"{'microseconds':24}" + "".join(f"{each:>10}" for each in columns) + "  mpi / loop")
    for kind in ("all_reduce", "all_gather"):
        for size in SIZES:
            row = [
                statistics.median(each[f"{kind} {size} {column}"] for each in rounds) * 1e6
                for column in columns
            ]
            figures = "".join(f"{each:10.1f}" for each in row)
            print(f"{kind + ' ' + str(size):24}{figures}{row[2] / row[0]:12.2f}")


if __name__ == "__main__":
    main()
