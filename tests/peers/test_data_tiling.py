"""iree-opt reads what the stages of `data-tile` leave, of every program on several devices."""

from __future__ import annotations

from pathlib import Path

import pytest
from peer_tools import iree_opt
from tool_runs import printed

CASES = Path(__file__).parent.parent / "cases" / "encoding"
MEAN_NOTHING = {"c17_unrecognized", "c19b_no_exe_targets", "c19c_no_affinity"}
PROGRAMS = sorted(path.stem for path in CASES.glob("*.mlir") if path.stem not in MEAN_NOTHING)

TENSORS = (
    "assign-devices,inline-calls,convert-elementwise-to-linalg,set-encoding,propagate-encodings"
)
FLOW = f"{TENSORS},form-dispatches,hoist-encodes-to-initializers"
STREAM = f"{FLOW},wrap-entry-points{{inline=true}},convert-to-stream"
SETTLED = f"{STREAM},specialize-encodings,merge-globals,place-relayouts"
TILED = f"{SETTLED},iree-stream-materialize-encodings"
SOME = ("c01b_homog_fused", "c06_batch_matmul", "c08_shared_const", "c13_enc_transfer")
"""Programs that are compared after every stage; the others at the end."""

STAGES = {"tensors": TENSORS, "flow": FLOW, "stream": STREAM, "specialized": TILED}


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        *((name, "specialized") for name in PROGRAMS),
        *((name, stage) for name in SOME for stage in ("tensors", "flow", "stream")),
    ],
)
def test_iree_reads_each_stage(name: str, stage: str) -> None:
    pipeline = f"--pass-pipeline=builtin.module({STAGES[stage]})"
    text = (CASES / f"{name}.mlir").read_text()
    ours = printed(pipeline, "--spelling=today", text=text)
    iree_opt(ours)
