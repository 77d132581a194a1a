"""Saved programs that lie under the right checksums are refused in words, or run: none ends the
process.

What is changed is all that a header says but code: constants, numbers of host code, and which
machine code is which. Programs run in processes of their own, so that one that ends its process is
known. `python tests/helpers/hostile_worker.py FILE N 1 FOLDER` repeats case N.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from breadth import breadth
from mesh_opt import api

ROOT = Path(__file__).parents[2]
COUNT = breadth(10, 500)
WORKER = ROOT / "tests" / "helpers" / "hostile_worker.py"
FINE = ("run", "refused")

GATHER = """
shard.grid @g(shape = 2)
func.func @main(%a: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  %g = shard.all_gather %a on @g grid_axes = [0] gather_axis = 0
    : tensor<?x3xf32> -> tensor<?x3xf32>
  %s = shard.shift %g on @g grid_axes = [0] shift_axis = 0 offset = 1 rotate
    : tensor<?x3xf32> -> tensor<?x3xf32>
  return %g, %s : tensor<?x3xf32>, tensor<?x3xf32>
}
"""
PROGRAMS: dict[str, tuple[Path | str, str]] = {
    "a_grid": (ROOT / "docs" / "examples" / "product.mlir", "spmd"),
    "a_loop": (ROOT / "docs" / "examples" / "iterate.mlir", ""),
    "open_sizes": (GATHER, ""),
    "named_devices": (ROOT / "examples" / "two_devices.mlir", "data-tile"),
}


def verdicts(path: Path, count: int) -> Iterator[tuple[str, str, str]]:
    """What was changed in each file, the verdict on it, and what is to be said about it."""
    number = 0
    while number < count:
        rest = [str(path), str(number), str(count - number), str(path.parent)]
        command = [sys.executable, str(WORKER), *rest]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        change = ""
        for line in done.stdout.splitlines():
            said = json.loads(line)
            change = said.get("change", change)
            if "verdict" in said:
                yield change, said["verdict"], said["message"]
                number += 1
        if number < count:
            yield change, f"ended the process with {done.returncode}", done.stderr[-500:]
            number += 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_headers_that_lie(name: str, tmp_path: Path) -> None:
    source, pipeline = PROGRAMS[name]
    path = tmp_path / "p.meshprog"
    api.compile(source, pipeline).save(path)
    found = list(verdicts(path, COUNT))
    wrong = [
        f"{change}: {verdict}: {text}" for change, verdict, text in found if verdict not in FINE
    ]
    assert not wrong, "\n".join(wrong)
    assert all(text for _, verdict, text in found if verdict == "refused")
    assert sum(verdict == "refused" for _, verdict, _ in found) >= COUNT // 3
