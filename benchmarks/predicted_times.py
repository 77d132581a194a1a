"""Check how well predicted times rank programs, against runs on threads or ranks of this machine.

    MESH_OPT_PEERS_PYTHON=... python -m benchmarks.predicted_times [--ranks]

Runs twenty programs of `jax_programs.py`, each with six shardings of its arguments. Predictions are
for this machine as `mesh-run --measure-machine` describes it. The arguments of a run are already on
the devices. Prints a table of milliseconds, predicted / measured, and Spearman's rank correlation.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import groupby, product
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mesh_opt
import numpy as np
from mesh_opt.ir.diagnostics import remarks_to
from mesh_opt.ir.tensor_types import tensor_shape
from mesh_opt.passes.sharding.search.candidates import ProducerAnnotation, annotate
from mesh_opt.passes.sharding.shard_annotate import find_or_create_grid
from mesh_opt.passes.sharding.spmd import SpmdPass
from mesh_opt.programs.function import Function
from mesh_opt.sharding.machine import machine_text
from mesh_opt.sharding.sharding import DimensionAxes
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.run.inputs import random_inputs
from mesh_opt.tools.run.measure_machine import measured_machine
from scipy.stats import spearmanr
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from .processes import run_ranks
from .sharding_choices import peers_figures
from .sharding_search import without_annotations

TOKENS = (256, 1024)
NAMES = (
    "mlp_dp",
    "mlp_bias",
    "mlp_train_dp",
    "attn_heads",
    "rope_heads",
    "decode_heads",
    "gated_seqout",
    "block_dp_tp",
    "softmax_hidden",
    "layernorm_hidden",
)
PLACEMENTS = 6
GRID = (2, 2)
AXES = ((), (0,), (1,), (0, 1))
ROUNDS = 9


def placements(arguments: list[SSAValue], seed: int) -> list[DimensionAxes]:
    """Return a random even sharding of the arguments; seed 0 replicates them."""
    choose = random.Random(seed)
    found: list[DimensionAxes] = []
    for argument in arguments:
        free, axes = {0, 1}, list[tuple[int, ...]]()
        for extent in tensor_shape(argument) or ():
            options = [
                each
                for each in AXES
                if free.issuperset(each) and (extent or 1) % prod(GRID[axis] for axis in each) == 0
            ]
            axes.append(choose.choice(options) if seed else ())
            free.difference_update(axes[-1])
        found.append(tuple(axes))
    return found


def partitioned(text: str, seed: int) -> ModuleOp:
    """Return the program for four devices, with its arguments sharded by `placements`."""
    module = without_annotations(text)
    function = next(each for each in module.walk() if each.name == "func.func")
    arguments = list(function.regions[0].block.args)
    placed = [
        ProducerAnnotation(argument, axes)
        for argument, axes in zip(arguments, placements(arguments, seed), strict=True)
    ]
    grid = find_or_create_grid(module, "x".join(map(str, GRID)))
    values = {argument: argument for argument in arguments}
    annotate(placed, grid, values, {})
    with remarks_to(None):
        SpmdPass().apply(new_context(), module)
    return module


def measured_seconds(function: Function) -> float:
    """Return the least time of several calls with arguments on the devices, in seconds."""
    arrays = random_inputs(0, function.types.arguments, 0, 1)
    inputs = [function.put(array, index) for index, array in enumerate(arrays)]
    function.run_on_devices(*inputs)
    found: list[float] = []
    while len(found) < ROUNDS:
        start = time.perf_counter()
        function.run_on_devices(*inputs)
        found.append(time.perf_counter() - start)
    return min(found)


def programs(texts: Mapping[str, str], backend: str) -> Iterator[tuple[str, Function]]:
    """Yield all programs with all shardings of their arguments, each with its row of the table."""
    for name, tokens in product(NAMES, TOKENS):
        for seed in range(PLACEMENTS):
            module = partitioned(texts[f"{name}/{tokens}"], seed)
            program = mesh_opt.compile(module, backend=backend)
            program.workers = 1
            yield f"{name}, {tokens} tokens", program["main"]


def measure_rank(file: str) -> None:
    """Measure all programs in one MPI rank; the first rank prints the times as JSON."""
    from mpi4py import MPI

    texts = json.loads(Path(file).read_text(encoding="utf-8"))
    world: Any = MPI.COMM_WORLD
    own = [measured_seconds(function) for _, function in programs(texts, "mpi")]
    everybody = world.gather(own)
    if world.Get_rank() == 0:
        print(json.dumps(np.max(everybody, axis=0).tolist()))


def measured_on_ranks(texts: Mapping[str, str]) -> Iterator[float]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        file.write_text(json.dumps(texts), encoding="utf-8")
        printed = run_ranks(prod(GRID), "predicted_times", "--rank", str(file))
    yield from json.loads(printed)


def main() -> int:
    """Print the table, and the rank correlation of predictions and measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", action="store_true", help="measure MPI ranks instead of threads")
    parser.add_argument("--rank", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        measure_rank(options.rank)
        return 0
    found = peers_figures(os.environ.get("MESH_OPT_PEERS_PYTHON", "python3"), TOKENS)
    texts = {key: str(each["linalg"]) for key, each in found.items()}
    machine = measured_machine(prod(GRID))
    print(machine_text(machine))
    print("| program | " + " | ".join(map(str, range(PLACEMENTS))) + " |")
    print("|---" * (1 + PLACEMENTS) + "|")
    on_ranks = measured_on_ranks(texts) if options.ranks else None
    predicted: list[float] = []
    measured: list[float] = []
    for name, row in groupby(programs(texts, "native"), key=lambda each: each[0]):
        cells: list[str] = []
        for _, function in row:
            predicted.append(function.cost(machine).seconds)
            measured.append(measured_seconds(function) if on_ranks is None else next(on_ranks))
            cells.append(f"{predicted[-1] * 1e3:.3g} / {measured[-1] * 1e3:.3g}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    ratios = np.array(predicted) / np.array(measured)
    print(
        f"{len(ratios)} runs; rank correlation {spearmanr(predicted, measured).statistic:.3f};"
        f" predicted / measured: median {np.median(ratios):.2f},"
        f" {np.quantile(ratios, 0.1):.2f} to {np.quantile(ratios, 0.9):.2f} for eight of ten"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
