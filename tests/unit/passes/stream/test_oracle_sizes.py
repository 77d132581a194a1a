"""3,000 storage sizes of IREE 3.13, through the passes, on IR that asks for them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from breadth import NIGHTLY, sampled
from tool_runs import printed

DATA = Path(__file__).parents[3] / "data"

# Loops of each operation by name, and the loops that index left, right and result.
OPERATIONS = {
    "matmul": ("mnk", ("mk", "kn", "mn")),
    "matmul_t_a": ("mnk", ("km", "kn", "mn")),
    "matmul_t_b": ("mnk", ("mk", "nk", "mn")),
    "batch_matmul": ("bmnk", ("bmk", "bkn", "bmn")),
    "matvec": ("mk", ("mk", "k", "m")),
    "vecmat": ("nk", ("k", "kn", "n")),
    "batch_matvec": ("bmk", ("bmk", "bk", "bm")),
}

PIPELINE = "builtin.module(specialize-encodings,encode-host-tensors)"


def encoding(row: dict[str, str], spelling: str) -> str:
    loops, maps = OPERATIONS[row["op"]]
    affine = [f"affine_map<({', '.join(loops)}) -> ({', '.join(map_)})>" for map_ in maps]
    text = (
        f"#iree_encoding.encoding<operand_index = {row['operand']} : index, op_type = matmul, "
        f"element_types = [{row['lhs']}, {row['rhs']}, {row['acc']}], "
        f"user_indexing_maps = [{', '.join(affine)}], "
    )
    if spelling == "today":
        return text + f"iteration_sizes = [{', '.join(row[loop] for loop in loops)}]>"
    # In 2024 M, N and K were listed whether the operation has them or not.
    sizes = ", ".join(row[loop] if loop in loops else "1" for loop in "mnk")
    return text + f"round_dims_to = array<i64: {sizes}>>"


def program(rows: list[dict[str, str]], spelling: str) -> str:
    targets = json.loads((DATA / "encoding_targets.json").read_text())
    lines: list[str] = []
    for name, (backend, format_, dictionary) in targets.items():
        target = f'#hal.executable.target<"{backend}", "{format_}", {dictionary}>'
        if spelling == "2024":
            target = target.replace("iree.encoding.resolver", "encoding_solver")
            target = target.replace("_encoding_resolver", "_encoding_solver")
        device = f'#hal.device.target<"local", [{target}]> : !hal.device'
        lines.append(f"util.global private @{name} = {device}")
    lines.append("util.func public @sizes() {")
    for number, row in enumerate(rows):
        element = row[("lhs", "rhs", "acc")[int(row["operand"])]]
        tensor = f"tensor<{row['shape']}x{element}, {encoding(row, spelling)}>"
        on = f"on(#hal.device.affinity<@{row['target']}>)"
        lines.append(f"  %s{number} = stream.tensor.sizeof {on} {tensor} : index")
        lines.append(f"  %b{number} = util.optimization_barrier %s{number} : index")
    return "\n".join([*lines, "  util.return", "}"])


@pytest.mark.parametrize("spelling", ["today", "2024"])
def test_sizes(spelling: str) -> None:
    with (DATA / "encoding_sizes.csv").open() as file:
        rows = sampled(list(csv.DictReader(file)), 24, 0 if spelling == "today" else 12)
    output = printed(f"--pass-pipeline={PIPELINE}", text=program(rows, spelling))
    numbers = dict(re.findall(r"(%\w+) = arith\.constant (\d+) : index", output))
    sizes = [numbers[name] for name in re.findall(r"util\.optimization_barrier (%\w+)", output)]
    assert len(rows) == len(sizes) == (3000 if NIGHTLY else 125)
    wrong = [
        (row, size) for row, size in zip(rows, sizes, strict=True) if int(row["bytes"]) != int(size)
    ]
    assert wrong == []
