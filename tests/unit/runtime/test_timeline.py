"""Timelines: what devices did, in the format that Perfetto and Chrome read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import mesh_opt
import numpy as np
from mesh_opt import api
from mesh_opt.runtime.host.timeline import Event, Timeline

PROGRAM = """
shard.grid @g(shape = 2x2)
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = arith.addf %a, %a : tensor<4xf32>
  %s = shard.all_reduce %b on @g grid_axes = [1] : tensor<4xf32> -> tensor<4xf32>
  %r = arith.mulf %s, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}"""


def written(timeline: Timeline) -> list[dict[str, Any]]:
    file = io.BytesIO()
    timeline.write(file)
    return json.loads(file.getvalue())["traceEvents"]


def test_a_collective_waits_for_the_last_to_come() -> None:
    timeline = Timeline()
    for process, start in ((0, 1000), (1, 4000)):
        occurrence = timeline.next_occurrence(process, 7)
        timeline.add(Event("collective", "sum", process, 0, start, 5000, 64, (0, 1), occurrence))
    # The next time they meet is another one.
    for process, start in ((1, 6000), (0, 6500)):
        occurrence = timeline.next_occurrence(process, 7)
        timeline.add(Event("collective", "sum", process, 0, start, 7000, 64, (0, 1), occurrence))
    found = [
        (each["tid"] // 256, each["name"], round(1000 * each["dur"]))
        for each in written(timeline)
        if each["ph"] == "X"
    ]
    assert found == [
        (0, "wait", 3000),
        (0, "sum", 1000),
        (1, "sum", 1000),
        (1, "wait", 500),
        (1, "sum", 500),
        (0, "sum", 500),
    ]


LOOPS = """
func.func @main(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.addf %a, %a : tensor<4xf32>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%b = %0) -> tensor<4xf32> {
    func.call @log() : () -> ()
    %2 = arith.mulf %b, %a : tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  %3 = scf.for %i = %c0 to %c1 step %c1 iter_args(%b = %1) -> tensor<4xf32> {
    func.call @log() : () -> ()
    %4 = arith.subf %b, %a : tensor<4xf32>
    scf.yield %4 : tensor<4xf32>
  }
  return %3 : tensor<4xf32>
}
func.func private @log() { return }"""


def test_kernels_of_loops_are_compiled_together() -> None:
    """A loop whose bound is an argument may not run: its kernels wait until it does."""
    program = api.compile(LOOPS)
    program.timeline = Timeline()
    a = np.ones(4, np.float32)
    assert program.main(a, 2).tolist() == [1, 1, 1, 1]
    rows = written(program.timeline)
    assert [row["args"]["kernels"] for row in rows if row.get("cat") == "compile"] == [1, 2]


def test_a_run_tells_what_each_device_did(tmp_path: Path) -> None:
    program = api.compile(PROGRAM)
    program.save(tmp_path / "p.meshprog")
    a = np.ones(4, np.float32)
    for each in (program, mesh_opt.load(tmp_path / "p.meshprog")):
        each.timeline = Timeline()
        for _ in range(2):
            assert each.main(a).tolist() == [4, 4, 4, 4]
        rows = written(each.timeline)
        names = [row["args"]["name"] for row in rows if row["name"] == "thread_name"]
        assert names == [f"process {process}" for process in range(4)]
        # Who comes first compiles, or reads what was saved; it takes both kernels.
        compiled = [row["args"]["kernels"] for row in rows if row.get("cat") == "compile"]
        assert each is not program or (compiled and set(compiled) == {2})
        for process in range(4):
            own = [row for row in rows if row["tid"] == 256 * process and row["ph"] == "X"]
            ran = [row for row in own if row["cat"] not in ("wait", "compile")]
            done = [row["name"] for row in ran]
            assert done == ["arith.addf_0", "shard.all_reduce", "arith.mulf_1"] * 2
            met = ran[1]
            first = process // 2 * 2
            assert met["args"] == {"bytes": 16, "devices": [first, first + 1]}
            # One after the other.
            ends = [row["ts"] + row["dur"] for row in own]
            assert all(end <= row["ts"] + 1e-6 for end, row in zip(ends, own[1:], strict=False))
