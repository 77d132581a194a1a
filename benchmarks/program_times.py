"""Compare whole programs with loops, caches and devices: ours and JAX's, on the same text.

    MESH_OPT_PEERS_PYTHON=... python -m benchmarks.program_times [--rounds 9] [--only lstm]

The peer lowers each program to StableHLO with shardings. We run that after `spmd` and after
`compile`, on arrays that stay on the devices. A round runs each program once in turn. Columns: the
seconds from text to the first result; the least and the median milliseconds of a call; our median
over JAX's; and the time of the first call after compilation over the median. The machine should be
otherwise idle.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from statistics import median
from typing import Any

import numpy as np
from mesh_opt import api

from .processes import Peer
from .program_inputs import random_arrays

PROGRAMS = (
    "add_16",
    "while_on_data",
    "ten_thousand_iterations",
    "running_maxima",
    "cheapest_paths",
    "jacobi",
    "lstm",
    "gru",
    "flash_attention",
    "n_body",
    "decode_step",
    "gpt2",
    "transformer_block",
    "one_token",
    "training_step",
    "convnet",
    *(
        f"{what}_{how}_{n}"
        for what in ("block", "step")
        for how in ("data", "tensor")
        for n in (2, 4)
    ),
)
PIPELINES = ("spmd", "compile")


def measure(peer: Peer, name: str, rounds: int) -> None:
    """Print a line for each pipeline, and for JAX, of one program."""
    answer = json.loads(peer.ask("prepare", name))
    given = random_arrays(answer["arguments"])
    runs: dict[str, Any] = {}
    placed: dict[str, list[Any]] = {}
    whole: dict[str, float] = {"jax": answer["compile"]}
    first: dict[str, float] = {"jax": answer["first"]}
    for pipeline in PIPELINES:
        start = time.perf_counter()
        main = api.compile(answer["text"], pipeline)["main"]
        placed[pipeline] = [main.put(array, index) for index, array in enumerate(given)]
        main.compile()
        called = time.perf_counter()
        results = main.run_on_devices(*placed[pipeline])
        end = time.perf_counter()
        whole[pipeline], first[pipeline] = end - start, end - called
        for found, wanted in zip(results, answer["results"], strict=True):
            np.testing.assert_allclose(found, np.asarray(wanted), rtol=2e-4, atol=2e-4)
        runs[pipeline] = main
    times: dict[str, list[float]] = {pipeline: [] for pipeline in (*PIPELINES, "jax")}
    for _ in range(rounds):
        for pipeline, main in runs.items():
            start = time.perf_counter()
            main.run_on_devices(*placed[pipeline])
            times[pipeline].append(time.perf_counter() - start)
        times["jax"] += json.loads(peer.ask("run", name, 1))
    theirs = median(times["jax"])
    for column, found in times.items():
        least, middle = min(found) * 1e3, median(found)
        print(
            f"{name:24} {column:8} {whole[column]:7.2f} {least:9.3f} {middle * 1e3:9.3f}"
            f" {middle / theirs:8.2f} {first[column] / middle:8.2f}",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    python = os.environ.get("MESH_OPT_PEERS_PYTHON")
    if python is None:
        parser.error("MESH_OPT_PEERS_PYTHON must name a Python with JAX, which writes programs")
    peer = Peer(python, "program_peers")
    head = f"{'program':24} {'':8} {'first s':>7} {'least ms':>9} {'median':>9}"
    print(f"{head} {'to JAX':>8} {'1st call':>8}")
    for name in PROGRAMS:
        if options.only in name:
            measure(peer, name, options.rounds)
    peer.close()


if __name__ == "__main__":
    main()
