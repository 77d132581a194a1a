"""`mesh-run --device`: which devices there are, and programs that name them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tool_runs import mesh_run

FOLDER = Path(__file__).parents[2] / "cases" / "encoding"
DEMO = Path(__file__).parents[3] / "examples" / "two_devices.mlir"
INPUTS = ("--function=foo", "--input=2x3xf32=1,2,3,4,5,6", "--input=3x5xf32=1")
EXPECTED = """EXEC @foo
result[0]: hal.buffer_view
2x5xf32=[12 12 12 12 12][30 30 30 30 30]
"""


@pytest.mark.parametrize(
    "program",
    [DEMO, FOLDER / "seed_demo_2024_spelling.mlir", FOLDER / "seed_demo_today_spelling.mlir"],
    ids=lambda path: path.stem,
)
def test_the_two_device_demo(program: Path) -> None:
    code, stdout, stderr = mesh_run(
        str(program), *INPUTS, "--device=local-task", "--device=local-task"
    )
    assert (code, stdout, stderr) == (0, EXPECTED, "")


def test_the_demo_is_checked_against_the_program_before_all_passes() -> None:
    code, stdout, _ = mesh_run(
        str(DEMO), *INPUTS, "--device=local-task", "--device=local-sync", "--check"
    )
    assert code == 0
    assert stdout.startswith(EXPECTED)
    assert "CHECK @foo agrees with the reference" in stdout


def test_a_missing_device_is_an_error_where_it_is_named() -> None:
    code, _, stderr = mesh_run(str(DEMO), *INPUTS, "--device=local-task")
    assert code == 1
    assert "two_devices.mlir:" in stderr
    assert 'device @device_b needs device #1 of kind "local", but the devices are' in stderr


def test_a_device_of_another_kind_does_not_do() -> None:
    code, _, stderr = mesh_run(str(DEMO), *INPUTS, "--device=hip", "--device=local-task")
    assert code == 1
    assert "but the devices are hip, local-task" in stderr


def test_an_unknown_kind_is_refused() -> None:
    code, _, stderr = mesh_run(str(DEMO), *INPUTS, "--device=abacus")
    assert code == 1
    assert stderr.startswith("mesh-run: --device=abacus: there are ")


def test_an_optional_device_may_be_missing() -> None:
    program = str(FOLDER / "c09c_select_rev.mlir")
    code, _, stderr = mesh_run(program, "--random-inputs=0", "--device=local-task", "--check")
    assert (code, stderr) == (0, "")


def test_a_program_without_devices_runs_as_it_is() -> None:
    text = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"
    code, output, _ = mesh_run("-", "--input=2xf32=1,2", "--device=local-task", text=text)
    assert code == 0
    assert "2xf32=1 2" in output


def test_devices_are_listed() -> None:
    code, stdout, _ = mesh_run(str(DEMO), "--device=list")
    assert code == 0
    assert stdout == (
        "@device_a: local #0 (llvm-cpu embedded-elf-x86_64)\n"
        "@device_b: local #1 (vmvx vmvx-bytecode-fb)\n"
    )
    _, stdout, _ = mesh_run(str(FOLDER / "c09c_select_rev.mlir"), "--device=list")
    assert " or " in stdout
