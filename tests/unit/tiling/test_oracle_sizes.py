"""The whole algebra against 3,000 sizes that IREE 3.13 computed."""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from pathlib import Path

from mesh_opt.tiling.contractions import ContractionOperand
from mesh_opt.tiling.element_types import element_type
from mesh_opt.tiling.packed_layouts import DYNAMIC_TILE
from mesh_opt.tiling.solve import packed_layout
from mesh_opt.tiling.storage_sizes import storage_formula
from mesh_opt.tiling.targets import Target, VmvxTarget, cpu_target

DATA = Path(__file__).parents[2] / "data"

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


@cache
def targets() -> dict[str, Target]:
    def read(kind: str, dictionary: str) -> Target:
        entries = dict(re.findall(r'(\w+) ?= ?"([^"]*)"', dictionary))
        ukernels = entries.get("ukernels", "none")
        if kind == "vmvx":
            return VmvxTarget(ukernels != "none")
        return cpu_target(entries["target_triple"], entries["cpu_features"], ukernels=ukernels)

    rows = json.loads((DATA / "encoding_targets.json").read_text())
    return {name: read(kind, dictionary) for name, (kind, _, dictionary) in rows.items()}


def test_sizes_and_tiles() -> None:
    with (DATA / "encoding_sizes.csv").open() as file:
        rows = list(csv.DictReader(file))
    wrong: list[str] = []
    for row in rows:
        loops, maps = OPERATIONS[row["op"]]
        index = int(row["operand"])
        positions = tuple(tuple(loops.index(loop) for loop in map_) for map_ in maps)
        operand = ContractionOperand(
            index,
            tuple(element_type(row[key]) for key in ("lhs", "rhs", "acc")),
            positions,
            positions[index],
            tuple(int(row[loop]) for loop in loops),
        )
        layout = packed_layout(targets()[row["target"]], operand)
        shape = [int(size) for size in row["shape"].split("x")]
        size = storage_formula(shape, operand.element_types[index], layout).evaluate()
        tiles = "x".join("?" if t == DYNAMIC_TILE else str(t) for t in layout.inner_tiles)
        if (size, tiles) != (int(row["bytes"]), row["inner_tile"].strip("-")):
            wrong.append(f"{row} but {size} bytes with tiles {tiles}")
    assert len(rows) == 3000
    assert wrong == []
