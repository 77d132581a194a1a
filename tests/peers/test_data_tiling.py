"""iree-opt reads what the stages of `data-tile` leave, of every program on several devices."""

from __future__ import annotations

import os
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from mesh_opt.tools.mesh_opt import main

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


def _iree_opt() -> str:
    python = os.environ.get("MESH_OPT_PEERS_PYTHON")
    found = None if python is None else shutil.which(str(Path(python).with_name("iree-opt")))
    if found is None:
        message = "iree-opt is not there: MESH_OPT_PEERS_PYTHON names no Python with IREE"
        if os.environ.get("MESH_OPT_REQUIRE_PEERS") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        *((name, "specialized") for name in PROGRAMS),
        *((name, stage) for name in SOME for stage in ("tensors", "flow", "stream")),
    ],
)
def test_iree_reads_each_stage(name: str, stage: str) -> None:
    tool = _iree_opt()
    output, errors = StringIO(), StringIO()
    pipeline = f"--pass-pipeline=builtin.module({STAGES[stage]})"
    text = (CASES / f"{name}.mlir").read_text()
    assert main(["-", pipeline, "--spelling=today"], StringIO(text), output, errors) == 0
    done = subprocess.run(
        [tool, "-"], input=output.getvalue(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
