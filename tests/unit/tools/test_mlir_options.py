"""Options of mlir-opt: what they do here, apart from how IR is printed (`tests/lit/tools`)."""

from __future__ import annotations

import io
import itertools
import json
import re
from pathlib import Path

import mesh_opt
import pytest
import tool_runs
from mesh_opt.ir.text import portable_artifact
from mesh_opt.tools import mesh_run, observers
from mesh_opt.tools.mesh_opt import main

ROOT = Path(__file__).parents[3]
EXAMPLE = str(ROOT / "examples" / "mlp_dp_tp.mlir")
WRONG = (
    'func.func @f(%a: i32) -> i32 {\n  %b = "arith.addi"(%a) : (i32) -> i32\n  return %b : i32\n}'
)
FINE = "func.func @f(%a: i32) -> i32 {\n  %b = arith.addi %a, %a : i32\n  return %a : i32\n}\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*arguments: str, text: str = FINE) -> tuple[int, str, str]:
    return tool_runs.mesh_opt(*arguments, text=text)


def test_the_operation_with_a_diagnostic() -> None:
    assert "see current operation" not in run(text=WRONG)[2]
    code, _, errors = run("--mlir-print-op-on-diagnostic", text=WRONG)
    assert code == 1
    assert re.search(r'^<stdin>:2:8: note: see current operation: .*"arith.addi"\(%', errors, re.M)


def test_the_stack_with_a_diagnostic() -> None:
    errors = run("--mlir-print-stacktrace-on-diagnostic", text=WRONG)[2]
    assert re.search(r"note: diagnostic emitted with trace:\n  File .*verification.py", errors)


def test_notes_can_be_switched_off() -> None:
    options = ("--mlir-print-op-on-diagnostic", "--mlir-disable-diagnostic-notes")
    assert "note:" not in run(*options, text=WRONG)[2]


def test_the_least_diagnostic_that_is_shown() -> None:
    remarks = (EXAMPLE, "--spmd", "--remarks=all")
    assert "remark:" in run(*remarks)[2]
    assert not run(*remarks, "--mlir-diagnostic-verbosity-level=warnings")[2]
    code, _, errors = run("--mlir-diagnostic-verbosity-level=errors", text=WRONG)
    assert code == 1 and "error:" in errors


def test_colours_on_a_terminal() -> None:
    plain = run(text=WRONG)[2]
    colored = run("--color", text=WRONG)[2]
    assert "\x1b[1;31merror: \x1b[0m" in colored and "\x1b[1;32m^\x1b[0m\n" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    for option, is_colored in (("--debug=false", True), ("--color=false", False)):
        stderr = Terminal()
        main([option], io.StringIO(WRONG), io.StringIO(), stderr)
        assert ("\x1b" in stderr.getvalue()) == is_colored


def test_only_expected_diagnostics_are_checked() -> None:
    expected = WRONG.replace("  %b =", "  // expected-error @+1 {{'arith.addi' op}}\n  %b =")
    assert run("--verify-diagnostics", text=expected)[0] == 0
    assert run("--verify-diagnostics=all", text=WRONG)[0] == 1
    assert run("--verify-diagnostics=only-expected", text=WRONG)[0] == 0
    missing = f"// expected-error @below {{{{no such thing}}}}\n{FINE}"
    assert run("--verify-diagnostics=only-expected", text=missing)[0] == 1


def test_input_without_verification() -> None:
    twice = "func.func private @f()\nfunc.func private @f()"
    assert run(text=twice)[0] == 1
    option = "--mlir-very-unsafe-disable-verifier-on-parsing"
    code, output, _ = run(option, text=twice)
    assert code == 0 and output.count("@f") == 2
    assert run(option, "--cse", text=twice)[0] == 1


def test_the_line_between_outputs() -> None:
    both = f"{FINE}// -----\n{FINE}"
    output = run("--split-input-file", "--output-split-marker=// ===", text=both)[1]
    assert output.count("// ===\n") == 1 and "// -----" not in output


def test_a_reproducer_of_the_pass_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "again.mlir"
    text = (
        "func.func @f(%a: i32) -> i32 {\n  %t = arith.constant true\n"
        "  %d = arith.addi %a, %a : i32\n  %u = arith.addi %a, %a : i32\n"
        "  %s = arith.select %t, %u, %d : i32\n  return %s : i32\n}"
    )
    code, _, _ = run(
        "--pass-pipeline=cse,canonicalize{max-iterations=0 test-convergence},cse",
        f"--mlir-pass-pipeline-crash-reproducer={path}",
        "--mlir-pass-pipeline-local-reproducer",
        text=text,
    )
    assert code == 1
    stored = path.read_text()
    assert 'pipeline: "builtin.module(canonicalize{' in stored and ",cse" not in stored
    # What `cse` removed is not in the program any more.
    assert text.count("addi") == 2 and stored.count("addi") == 1
    assert run("--run-reproducer", str(path))[0] == 1


def test_time_as_a_list_and_as_json() -> None:
    pipeline = "--pass-pipeline=builtin.module(func.func(cse),cse)"
    errors = run(pipeline, "--mlir-timing", "--mlir-timing-display=list")[2]
    names = [line.split(")", 1)[1].strip() for line in errors.splitlines()[6:]]
    assert names.count("CommonSubexpressionElimination") == 1 and names[-2:] == ["Rest", "Total"]
    rows = json.loads(run(pipeline, "--mlir-timing", "--mlir-output-format=json")[2])
    depths = {row["name"]: row["depth"] for row in rows}
    assert depths["'func.func' Pipeline"] == 0 and depths["Total"] == 0
    assert [row["depth"] for row in rows if row["name"] == "CommonSubexpressionElimination"] == [
        1,
        0,
    ]
    assert rows[-1]["wall"]["percentage"] == 100.0


def test_time_of_a_pipeline_inside_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(observers.time, "perf_counter", lambda: next(seconds))
    timing, stream = observers.Timing(), io.StringIO()
    for step in (timing.enter, timing.enter, timing.leave, timing.leave):
        step("builtin.module")
    timing.report(stream, "list", "json")
    rows = {row["name"]: row["wall"]["duration"] for row in json.loads(stream.getvalue())}
    assert rows == {"'builtin.module' Pipeline": 3, "Rest": 2, "Total": 5}


def test_statistics_of_passes() -> None:
    pipeline = "--pass-pipeline=builtin.module(func.func(cse),canonicalize)"
    errors = run(pipeline, "--mlir-pass-statistics")[2]
    assert "... Pass statistics report ...\n" in errors
    assert errors.partition("'func.func' Pipeline\n")[2] == (
        "  CommonSubexpressionElimination\n"
        "    (S) 3 num-ops-before - Operations before it\n"
        "    (S) 2 num-ops-after - Operations after it\n"
        "CanonicalizePass\n"
        "  (S) 3 num-ops-before - Operations before it\n"
        "  (S) 3 num-ops-after - Operations after it\n"
    )
    twice = run("--cse", "--cse", "--mlir-pass-statistics", "--mlir-pass-statistics-display=list")[
        2
    ]
    assert "CommonSubexpressionElimination\n  (S) 7 num-ops-before" in twice


def test_actions_are_logged_and_profiled(tmp_path: Path) -> None:
    errors = run("--cse", "--log-actions-to=-")[2]
    assert re.fullmatch(
        r"\[thread \w+\] begins Action `pass-execution` running `CommonSubexpressionElimination`"
        r" on Operation `builtin.module`\n\[thread \w+\] completed `pass-execution`\n",
        errors,
    )
    functions = "--pass-pipeline=builtin.module(func.func(cse))"
    where = "--log-mlir-actions-filter"
    for place, lines in (("<stdin>:1", 2), ("<stdin>:9", 0)):
        options = (functions, "--log-actions-to=-", f"{where}={place}")
        assert run(*options)[2].count("\n") == lines
    tenth = "\n" * 9 + "func.func @f() { return }\n"
    for place, lines in (("<stdin>:1", 0), ("<stdin>:10", 2), ("<stdin>:10:1", 2)):
        options = (functions, "--log-actions-to=-", f"{where}={place}")
        assert run(*options, text=tenth)[2].count("\n") == lines
    assert run("--cse", f"{where}=here")[2] == f"mesh-opt: {where}=here is not file:line:col\n"
    path = tmp_path / "trace.json"
    assert run("--cse", "--canonicalize", f"--profile-actions-to={path}")[0] == 0
    events = json.loads(path.read_text())
    assert [event["ph"] for event in events] == ["B", "E"] * 2
    assert [event["args"]["pass"] for event in events[::2]] == ["cse", "canonicalize"]
    assert events[0]["ts"] <= events[1]["ts"]


def test_indices_have_32_or_64_bits() -> None:
    message = "option '--iree-stream-resource-index-bits' is 64 or 32, not '7'"
    assert message in run("--iree-stream-resource-index-bits=7")[2]


def test_remarks_by_regular_expressions(tmp_path: Path) -> None:
    everything = run(EXAMPLE, "--compile", "--remarks=all")[2]
    assert run(EXAMPLE, "--compile", "--remarks-filter=.*")[2] == everything
    some = run(EXAMPLE, "--compile", "--remarks-filter-passed=^shard|disp")[2]
    assert set(re.findall(r" op \[(\w+)\]", some)) == {"sharding", "dispatch"}
    assert not run(EXAMPLE, "--compile", "--remarks-filter-missed=sharding")[2]
    assert not run(EXAMPLE, "--compile", "--remarks-filter-failed=.")[2]
    assert "is not a valid regular expression" in run("--remarks-filter=(")[2]


def test_remarks_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "remarks.yaml"
    options = (EXAMPLE, "--spmd", "--remarks=sharding")
    code, _, errors = run(*options, "--remark-format=yaml", f"--remarks-output-file={path}")
    assert code == 0 and not errors
    documents = path.read_text().split("--- ")[1:]
    assert len(documents) == run(*options)[2].count(" remark: ")
    assert documents[0].startswith("!Passed\nPass:            sharding\nName:            ")
    assert f'DebugLoc:        {{ File: "{EXAMPLE}", Line: ' in documents[0]
    assert documents[0].endswith("\n...\n") and "\n  - Remark:        " in documents[0]


def test_remarks_whenever_they_are_made() -> None:
    twice = ("--sharding-propagation", "--sharding-propagation", "--remarks=sharding", EXAMPLE)
    every = run(*twice, "--remark-policy=all")[2].count(" remark: ")
    assert every >= run(*twice)[2].count(" remark: ") > 0


def test_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_plugin.py").write_text(
        "from dataclasses import dataclass\n"
        "from xdsl.dialects.builtin import StringAttr\n"
        "from xdsl.ir import Dialect\n"
        "from xdsl.irdl import IRDLOperation, irdl_op_definition\n"
        "from xdsl.passes import ModulePass\n"
        "@irdl_op_definition\n"
        "class Hello(IRDLOperation):\n"
        "    name = 'acme.hello'\n"
        "    assembly_format = 'attr-dict'\n"
        "ACME = Dialect('acme', [Hello])\n"
        "@dataclass(frozen=True)\n"
        "class Mark(ModulePass):\n"
        "    name = 'acme-mark'\n"
        "    word: str = 'x'\n"
        "    def apply(self, ctx, op):\n"
        "        op.attributes['acme.mark'] = StringAttr(self.word)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    dialect = "--load-dialect-plugin=acme_plugin:ACME"
    assert "acme.hello" in run(dialect, text="acme.hello")[1]
    assert "unknown operation 'acme.hello'" in run(text="acme.hello")[2]
    marking = ("--load-pass-plugin=acme_plugin:Mark", "--acme-mark=word=y")
    assert 'attributes {acme.mark = "y"}' in run(*marking)[1]
    for option in ("--load-pass-plugin", "-load-pass-plugin"):
        assert "acme.mark" in run(option, "acme_plugin:Mark", "--acme-mark")[1]
    assert "no option or pass '--acme-mark" in run("--acme-mark")[2]
    for option, message in (
        ("--load-pass-plugin=acme_plugin:ACME", "is not a subclass of ModulePass"),
        ("--load-dialect-plugin=acme_plugin:Mark", "is not a Dialect"),
        ("--load-dialect-plugin=acme_plugin", "is not of the form module:NAME"),
        ("--load-dialect-plugin=no_such_module_at_all:X", "cannot load"),
    ):
        assert message in run(option)[2]


@pytest.mark.parametrize(
    ("content", "what", "advice"),
    [
        (
            b"ML\xefR\x0dMLIR22.1.8\x00",
            "MLIR bytecode, expected text: ",
            "`mlir-opt program.mlirbc -o program.mlir`",
        ),
        (
            b"ML\xefR\x0dStableHLO_v1.8.0\x00",
            "a portable artifact of StableHLO, which is read by jaxlib: install mesh-opt[jax]; or ",
            "`stablehlo-translate --deserialize program.mlirbc -o program.mlir`",
        ),
    ],
)
def test_bytecode_is_refused_with_advice(
    content: bytes, what: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portable_artifact, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    Path("program.mlirbc").write_bytes(content)
    code, _, errors = run("program.mlirbc")
    assert code == 1
    assert errors == f"mesh-opt: 'program.mlirbc' is {what}{advice} writes it as text\n"
    for compiled in ("program.mlirbc", Path("program.mlirbc")):
        with pytest.raises(mesh_opt.CompilationError, match=re.escape(what + advice)):
            mesh_opt.compile(compiled)
    # Standard input has no name that a command could have.
    for tool, name in ((main, "mesh-opt"), (mesh_run.main, "mesh-run")):
        stderr = io.StringIO()
        assert tool([], io.TextIOWrapper(io.BytesIO(content)), io.StringIO(), stderr) == 1
        assert stderr.getvalue().startswith(f"{name}: '<stdin>' is {what}")
        assert advice.replace("program.mlirbc", "FILE") in stderr.getvalue()


def test_saved_programs_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mlp.meshprog").write_bytes(b"MESHPROG\x01\x00\xc1")
    code, _, errors = run("mlp.meshprog")
    assert code == 1
    assert errors == (
        "mesh-opt: 'mlp.meshprog' is a saved program, expected text: `mesh-run mlp.meshprog` runs"
        " it, and `mesh_opt.load` in Python\n"
    )
    for compiled in ("mlp.meshprog", Path("mlp.meshprog")):
        with pytest.raises(mesh_opt.CompilationError, match=r"and `mesh_opt\.load` in Python"):
            mesh_opt.compile(compiled)
    stdin, stderr = io.TextIOWrapper(io.BytesIO(b"MESHPROG\x01\xc1")), io.StringIO()
    assert mesh_run.main(["-"], stdin, io.StringIO(), stderr) == 1
    assert (
        "'<stdin>' is a saved program, expected text: `mesh-run FILE` runs it" in stderr.getvalue()
    )
