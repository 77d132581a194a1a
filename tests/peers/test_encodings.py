"""The encoding dialects and passes against IREE 3.13.

Of every program in tests/cases/encoding, iree-compile's own IR before it specialises encodings must
be read by us and printed so that iree-opt reads it as the same; our specialised program must group
dispatches into variants as IREE's does, and must be read by iree-opt.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import tool_runs
from breadth import NIGHTLY, sampled
from peer_tools import iree_opt, iree_tool

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
PLACED = [case for case in COMPARED if case not in NO_PLACE]


def mesh_opt(text: str, *arguments: str) -> tuple[int, str, str]:
    code, output, errors = tool_runs.mesh_opt(*arguments, text=text)
    return code, spelled_out(output), errors


def spelled_out(text: str) -> str:
    """The encodings in the place of their aliases."""
    aliases = dict(re.findall(r"^(#encoding\d*) = (.*)$", text, re.MULTILINE))
    head, start, body = text.partition("\nbuiltin.module") if aliases else ("", "", text)
    return head + start + re.sub(r"#encoding\d*", lambda found: aliases[found[0]], body)


_dumps: dict[str, tuple[str, str]] = {}


def dumped_by_iree(source: Path) -> dict[str, str]:
    """A program before and after IREE specialises its encodings."""
    done = subprocess.run(
        [
            iree_tool("iree-compile"),
            str(source),
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
    dumps = re.findall(
        r"^(// -----// IR Dump \w+ \w+).*?//\n(.*?)(?=^// -----//|^\S+:\d+:\d+: |\Z)",
        done.stderr,
        flags=re.MULTILINE | re.DOTALL,
    )
    return dict(dumps)


def specialized_by_iree(case: str) -> tuple[str, str]:
    """A program of the cases before and after; compiled once."""
    if case not in _dumps:
        dumps = dumped_by_iree(CASES / f"{case}.mlir")
        _dumps[case] = dumps[BEFORE], dumps.get(AFTER, "")
    return _dumps[case]


def variants(text: str) -> list[int]:
    """For each dispatch of a program the number of its kernel: equal if two run the same."""
    entries = re.findall(r"stream\.\w+\.dispatch .*?(@[\w$.-]+::@[\w$.-]+)", text)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(entry, len(numbers)) for entry in entries]


@pytest.mark.parametrize("case", sampled(COMPARED, 4))
def test_dumps_round_trip(case: str) -> None:
    before, _ = specialized_by_iree(case)
    code, output, errors = mesh_opt(before, "--verify-roundtrip")
    assert code == 0, errors
    assert iree_opt(output) == iree_opt(before)


@pytest.mark.parametrize("case", sampled(PLACED, 4))
def test_variants(case: str) -> None:
    before, after = specialized_by_iree(case)
    code, output, errors = mesh_opt(before, "--specialize-encodings")
    assert code == 0, errors
    assert variants(output) == variants(after)
    iree_opt(output)
    code, output, errors = mesh_opt(output, "--encode-host-tensors", "--encode-device-tensors")
    assert code == 0, errors
    iree_opt(output)


@pytest.mark.parametrize("case", sampled(PLACED, 4, 2))
def test_variants_in_the_spelling_of_2024(case: str) -> None:
    before, after = specialized_by_iree(case)
    code, respelled, errors = mesh_opt(before, "--spelling=2024")
    assert code == 0, errors
    code, output, errors = mesh_opt(respelled, "--specialize-encodings")
    assert code == 0, errors
    assert variants(output) == variants(after)
    assert "iree_encoding.layout" not in output


def test_the_demo_of_2024() -> None:
    """Its program in today's words is what IREE reads; only the processor is another."""
    text = (CASES / "seed_demo_2024_spelling.mlir").read_text()
    code, today, errors = mesh_opt(text, "--spelling=today")
    assert code == 0, errors
    same = (CASES / "seed_demo_today_spelling.mlir").read_text()
    theirs, ours = (
        [line for line in iree_opt(t).splitlines() if "cpu =" not in line] for t in (same, today)
    )
    assert ours == theirs


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            "c17_unrecognized",
            "'stream.tensor.dispatch' op passes an encoded tensor to @f, but the ker",
        ),
        ("c19b_no_exe_targets", "'stream.tensor.sizeof' op runs on @d, whose executable targets"),
    ],
)
def test_undefined_in_iree_is_located_error(case: str, message: str) -> None:
    text = (CASES / f"{case}.mlir").read_text()
    assert iree_opt(text)
    code, output, errors = mesh_opt(text, "--specialize-encodings")
    assert code == 1 and not output
    assert re.match(rf"^<stdin>:\d+:\d+: error: {re.escape(message)}", errors), errors


def on_second_device(target: str) -> str:
    """A product on each of two devices: AVX-512, and something else."""
    text = (CASES / "c01_homog.mlir").read_text()
    other, count = re.subn(r"^#exe_b0x = .*", f"#exe_b0x = {target}", text, flags=re.MULTILINE)
    assert count == 1
    return other


def avx2(solver: str) -> str:
    return (
        f'#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {{{solver}cpu_features = '
        '"+avx,+avx2", native_vector_size = 32 : i64, '
        'target_triple = "x86_64-unknown-unknown-eabi-elf"}>'
    )


KEY = "iree.encoding.resolver = "
SECOND_DEVICES = {
    "avx2": avx2(f"{KEY}#iree_cpu.cpu_encoding_resolver<>, "),
    "no solver": avx2(""),
    "identity": avx2(f"{KEY}#iree_encoding.identity_resolver, "),
    "junk": avx2(f'{KEY}"junk", '),
    "vmvx": f'#hal.executable.target<"vmvx", "vmvx-bytecode-fb", '
    f'{{{KEY}#iree_cpu.vmvx_encoding_resolver<>, ukernels = "all"}}>',
}


@pytest.mark.parametrize("second", SECOND_DEVICES)
def test_devices_that_cannot_share_code(second: str, tmp_path: Path) -> None:
    """Each product has an executable of its own and reads what its device laid out. IREE links
    these into one again, in which both devices take the first of two ELF files."""
    source = tmp_path / "program.mlir"
    source.write_text(on_second_device(SECOND_DEVICES[second]))
    before = dumped_by_iree(source)[BEFORE]
    code, output, errors = mesh_opt(before, "--specialize-encodings")
    assert code == 0, errors
    assert variants(output) == [0, 1]
    layouts = [
        re.findall(r"tensor<\d+x\d+xf32, #iree_encoding.layout<\[(#[\w.]+(?:<.*?>)?)\]>", line)
        for line in output.splitlines()
        if "stream.tensor.dispatch" in line
    ]
    tiles = [re.findall(r"innerTileSizes = \[(.*?)\]", " ".join(found)) for found in layouts]
    expected = {
        "avx2": ["8, 1"] * 2,
        "no solver": [],
        "identity": [],
        "junk": [],
        "vmvx": ["8, 4"] * 2,
    }
    assert tiles == [["16, 1"] * 2, expected[second]]
    iree_opt(output)


def test_a_solver_that_lays_out_nothing(tmp_path: Path) -> None:
    source = tmp_path / "program.mlir"
    source.write_text(on_second_device(avx2(f"{KEY}#iree_encoding.unsupported_resolver, ")))
    code, output, errors = mesh_opt(dumped_by_iree(source)[BEFORE], "--specialize-encodings")
    assert code == 1 and not output
    message = r"^<stdin>:\d+:\d+: error: .* op failed to resolve the layout of tensor<20x40xf32"
    assert re.search(message, errors), errors


def weight_on_device_b(text: str) -> str:
    """Whose layout the second weight is read in."""
    (dispatch,) = (
        line for line in text.splitlines() if "dispatch on(#hal.device.affinity<@device_b>)" in line
    )
    (solver,) = re.findall(r"tensor<33x20xf32, #iree_encoding.layout<\[#iree_cpu.(\w+)<", dispatch)
    return solver


def test_weights_of_a_chain_over_two_devices(tmp_path: Path) -> None:
    """The second weight is encoded where the initializer runs, on device_a, and read on device_b:
    IREE reads it there as if device_b had encoded it."""
    text = (CASES / "c03f_chain_const_aff_def.mlir").read_text()
    source = tmp_path / "program.mlir"
    source.write_text(re.sub(r" \{stream.affinity = #hal.device.affinity<@\w+>\} =", " =", text))
    dumps = dumped_by_iree(source)
    code, output, errors = mesh_opt(dumps[BEFORE], "--specialize-encodings")
    assert code == 0, errors
    code, by_iree, errors = mesh_opt(dumps[AFTER])
    assert code == 0, errors
    assert weight_on_device_b(output) == "cpu_encoding_resolver"
    assert weight_on_device_b(by_iree) == "vmvx_encoding_resolver"
    iree_opt(output)


@pytest.mark.parametrize("case", sorted(NO_PLACE))
def test_a_constant_without_a_place_is_a_located_error(case: str) -> None:
    before, _ = specialized_by_iree(case)
    code, output, errors = mesh_opt(before, "--specialize-encodings")
    assert code == 1 and not output
    assert re.search(r"^<stdin>:\d+:\d+: error: 'stream.tensor.sizeof' op has an encoded", errors)


PHASES = ["input", "abi", "global-optimization", "dispatch-creation", "flow", "stream"]


MODELS = [
    ("seed_demo_today_spelling", "async-external"),
    ("c18b_param_two_uses", "async-internal"),
    ("seed_demo_today_spelling", "async-internal"),
    ("c18b_param_two_uses", "async-external"),
]


RUNS = [(*model, phase) for phase in PHASES for model in MODELS]
# Each phase of one of the two programs.
RUNS = [run for place, run in enumerate(RUNS) if NIGHTLY or place % 8 in (0, 5)]


@pytest.mark.parametrize(("case", "model", "phase"), RUNS)
def test_every_phase_of_iree_compile(phase: str, case: str, model: str) -> None:
    done = subprocess.run(
        [
            iree_tool("iree-compile"),
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


FILES = [
    p
    for name in OF_TODAY
    for p in sorted((LIT / name).glob("*.mlir"))
    if not p.stem.startswith("invalid")
]


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
