"""Plain `xdsl-opt` with mesh-opt installed: our dialects and passes, and none of its own lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mesh_opt.dialects.registry import OWN_DIALECTS
from mesh_opt.passes.registry import OWN_PASSES

XDSL_OPT = Path(sys.executable).parent / "xdsl-opt"

PROGRAM = """
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %y = shard.shard %x to %s : tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}
"""


def xdsl_opt(*arguments: str, text: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [XDSL_OPT, *arguments], input=text, capture_output=True, text=True, check=False
    )


def test_reads_and_transforms_programs() -> None:
    """Our dialect stands in for its namesake, and other programs are read as before."""
    ours = PROGRAM.replace("to %s :", "to %s annotate_for_users :")
    others = "func.func @f(%a: i32) -> i32 { func.return %a : i32 }"
    text = "// -----\n".join((PROGRAM, ours, others))
    done = xdsl_opt("-p", "sharding-propagation", "--split-input-file", text=text)
    assert done.returncode == 0, done.stderr
    own, in_its_place, other = done.stdout.split("// -----")
    for output in (own, in_its_place):
        assert "shard.sharding @g split_axes = [[0], [1]]" in output
    assert "func.return %a : i32" in other


def test_our_verifier_stands_in_for_its_namesake() -> None:
    bad = xdsl_opt(text=PROGRAM.replace("[[0], [1]]", "[[0], [7]]"))
    assert bad.returncode != 0 and "out of bounds" in bad.stderr


def test_every_dialect_and_pass_is_there_once() -> None:
    code = (
        "from xdsl.universe import Universe; u = Universe.get_multiverse();"
        "print(*u.all_dialects, '|', *u.all_passes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    dialects, passes = (part.split() for part in done.stdout.split("|"))
    assert set(OWN_DIALECTS) <= set(dialects) and {"builtin", "scf"} <= set(dialects)
    assert set(OWN_PASSES) <= set(passes) and {"canonicalize", "cse"} <= set(passes)
