"""The encoding dialects and passes against IREE 3.13.

Of every program in tests/cases/encoding, iree-compile's own IR before it specialises encodings must
be read by us and printed so that iree-opt reads it as the same; our specialised program must group
dispatches into variants as IREE's does, and must be read by iree-opt.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from mesh_opt.tools.mesh_opt import main

CASES = Path(__file__).parent.parent / "cases" / "encoding"

# IREE compiles these no further than this; what it says is in the file's name.
BEFORE = "// -----// IR Dump Before SpecializeEncodingsPass"
AFTER = "// -----// IR Dump After SpecializeEncodingsPass"

# A constant encoded in an initializer that runs nowhere in particular: IREE leaves its size
# unspecialised and fails later, we say so at once.
NO_PLACE = {"c08_shared_const", "c08c_dense_const", "c19c_no_affinity"}

# IREE gives up before, or prints an error and goes on.
NOT_COMPARED = {"c17_unrecognized", "c19b_no_exe_targets", "seed_demo_2024_spelling"}

COMPARED = sorted(path.stem for path in CASES.glob("*.mlir") if path.stem not in NOT_COMPARED)


def _tool(name: str) -> str:
    python = os.environ.get("MESH_OPT_PEERS_PYTHON")
    found = None if python is None else shutil.which(str(Path(python).with_name(name)))
    if found is None:
        message = f"{name} is not there: MESH_OPT_PEERS_PYTHON does not name a Python with IREE"
        if os.environ.get("MESH_OPT_REQUIRE_PEERS") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return found


def iree_opt(text: str) -> str:
    done = subprocess.run(
        [_tool("iree-opt"), "-"], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def mesh_opt(text: str, *arguments: str) -> tuple[int, str, str]:
    output, errors = StringIO(), StringIO()
    code = main(["-", *arguments], StringIO(text), output, errors)
    return code, output.getvalue(), errors.getvalue()


_dumps: dict[str, tuple[str, str]] = {}


def specialized_by_iree(case: str) -> tuple[str, str]:
    """A program before and after IREE specialises its encodings."""
    if case not in _dumps:
        done = subprocess.run(
            [
                _tool("iree-compile"),
                str(CASES / f"{case}.mlir"),
                "--iree-opt-data-tiling",
                "--mlir-disable-threading",
                "--mlir-print-ir-before=iree-stream-specialize-encodings",
                "--mlir-print-ir-after=iree-stream-specialize-encodings",
                "--mlir-print-ir-module-scope",
                "--compile-to=stream",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        dumps = {}
        for heading, body in re.findall(
            r"^(// -----// IR Dump \w+ \w+).*?//\n(.*?)(?=^// -----//|^\S+:\d+:\d+: |\Z)",
            done.stderr,
            flags=re.MULTILINE | re.DOTALL,
        ):
            dumps[heading] = body
        _dumps[case] = dumps[BEFORE], dumps.get(AFTER, "")
    return _dumps[case]


def variants(text: str) -> list[int]:
    """For each dispatch of a program the number of its kernel: equal if two run the same."""
    entries = re.findall(r"stream\.\w+\.dispatch .*?(@[\w$.-]+::@[\w$.-]+)", text)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(entry, len(numbers)) for entry in entries]


@pytest.mark.parametrize("case", COMPARED)
def test_dumps_round_trip(case: str) -> None:
    before, _ = specialized_by_iree(case)
    code, output, errors = mesh_opt(before, "--verify-roundtrip")
    assert code == 0, errors
    assert iree_opt(output) == iree_opt(before)


@pytest.mark.parametrize("case", [case for case in COMPARED if case not in NO_PLACE])
def test_variants(case: str) -> None:
    before, after = specialized_by_iree(case)
    code, output, errors = mesh_opt(before, "--specialize-encodings")
    assert code == 0, errors
    assert variants(output) == variants(after)
    iree_opt(output)
    code, output, errors = mesh_opt(output, "--encode-host-tensors", "--encode-device-tensors")
    assert code == 0, errors
    iree_opt(output)


@pytest.mark.parametrize("case", sorted(NO_PLACE))
def test_a_constant_without_a_place_is_a_located_error(case: str) -> None:
    before, _ = specialized_by_iree(case)
    code, output, errors = mesh_opt(before, "--specialize-encodings")
    assert code == 1 and not output
    assert re.search(r"^<stdin>:\d+:\d+: error: 'stream.tensor.sizeof' op has an encoded", errors)


PHASES = ["input", "abi", "global-optimization", "dispatch-creation", "flow", "stream"]


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("case", ["seed_demo_today_spelling", "c18b_param_two_uses"])
@pytest.mark.parametrize("model", ["async-internal", "async-external"])
def test_every_phase_of_iree_compile(phase: str, case: str, model: str) -> None:
    done = subprocess.run(
        [
            _tool("iree-compile"),
            str(CASES / f"{case}.mlir"),
            "--iree-opt-data-tiling",
            f"--iree-execution-model={model}",
            f"--compile-to={phase}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    code, output, errors = mesh_opt(done.stdout, "--verify-roundtrip")
    assert code == 0, errors
    assert iree_opt(output) == iree_opt(done.stdout)


def test_a_constant_read_on_a_second_device() -> None:
    """IREE reads the weight on device_b in device_b's layout: it was encoded on device_a."""
    before, _ = specialized_by_iree("c08c_dense_const")
    default = "module attributes {stream.affinity.default = #hal.device.affinity<@device_a>} {"
    text = re.sub(r"^module \{", default, before, flags=re.MULTILINE)
    code, output, errors = mesh_opt(text, "--specialize-encodings")
    assert code == 0, errors
    on_b = re.search(r"stream.tensor.dispatch on\(#hal.device.affinity<@device_b>\) .*", output)
    assert on_b is not None
    tensors = re.findall(r"tensor<(\w+), #iree_encoding.layout<\[#iree_cpu.(\w+)<", on_b[0])
    assert tensors == [
        ("17x40xf32", "vmvx_encoding_resolver"),
        ("40x33xf32", "cpu_encoding_resolver"),
    ]
    iree_opt(output)


LIT = Path(__file__).parent.parent / "lit" / "dialects"
OF_TODAY = ["hal", "iree_tensor_ext", "stream", "util"]


FILES = [p for name in OF_TODAY for p in sorted((LIT / name).glob("*.mlir")) if p.stem != "invalid"]


@pytest.mark.parametrize(
    "path",
    [*FILES, LIT / "flow" / "tensors.mlir"],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
@pytest.mark.parametrize("form", ["custom", "generic"])
def test_every_operation(path: Path, form: str) -> None:
    text = path.read_text()
    arguments = ["--mlir-print-op-generic"] if form == "generic" else []
    code, output, errors = mesh_opt(text, *arguments)
    assert code == 0, errors
    assert iree_opt(output) == iree_opt(text)
