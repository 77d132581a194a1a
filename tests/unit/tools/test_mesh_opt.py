"""The driver as a function: exit codes, streams, and that bad input never ends in a traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import mesh_opt.tools.mesh_opt as tool
import pytest
import tool_runs
from mesh_opt.ir.diagnostics import OperationError, remark
from mesh_opt.ir.text import source
from mesh_opt.passes import registry
from mesh_opt.passes.sharding import strip_annotations
from mesh_opt.tools import remarks
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

PROGRAM = "func.func @f(%a: i32) -> i32 {\n  %x = arith.addi %a, %a : i32\n  return %x : i32\n}\n"


@dataclass(frozen=True)
class Misbehave(ModulePass):
    """A pass that fails in a way that its option chooses."""

    name = "misbehave"

    how: str = "quietly"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inner = next(o for o in op.walk() if o.name == "arith.addi")
        match self.how:
            case "refuse":
                raise OperationError(inner, "is not wanted")
            case "fail":
                raise PassFailedException("no way")
            case "crash":
                raise KeyError("lost")
            case "deep":
                self.apply(ctx, op)
            case "invalid":
                inner.operands = [inner.results[0], inner.results[0]]
            case "remark":
                remark("testing", inner, "was seen")
                remark("other", inner, "was seen twice")
            case _:
                pass


@pytest.fixture(autouse=True)
def _pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.OWN_PASSES, "misbehave", lambda: Misbehave)
    monkeypatch.setattr(remarks, "REMARKS", (*remarks.REMARKS, "testing"))


def run(*arguments: str, text: str = PROGRAM) -> tuple[int, str, str]:
    return tool_runs.mesh_opt(*arguments, text=text)


def test_reads_standard_input() -> None:
    code, output, errors = run()
    assert code == 0 and "arith.addi %a, %a" in output and not errors
    assert run("-")[:2] == (0, output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nonsense"], "no option or pass '--nonsense'"),
        (["--emit-bytecode"], "no option or pass '--emit-bytecode': programs are written as text"),
        (["--canonicalise"], "did you mean '--canonicalize'?"),
        (["no-such-file.mlir"], "cannot read 'no-such-file.mlir': No such file"),
        (["."], "cannot read '.'"),
        (["-o", "no/such/folder/x"], "cannot write 'no/such/folder/x'"),
        (["-o"], "option '-o' needs a value"),
        (["a", "b"], "more than one input"),
        (["--verify-each=maybe"], "true or false"),
        (["--spelling=1999"], "today or 2024"),
        (["--mlir-elide-elementsattrs-if-larger=x"], "takes an integer"),
        (["--pass-pipeline=builtin.module(", "-p", "cse"], "more than one way"),
        (["--pass-pipeline=builtin.module("], "expected ')'"),
        (["--cse=max=1"], "no option 'max'"),
        (["-p", "shard-partition{abi=x}"], "option 'abi' cannot be 'x'; expected 'local' or"),
        (
            ["-p", "iree-dispatch-creation-annotate-data-tiling-hints{data-tiling-op-types=x}"],
            "option 'data-tiling-op-types' cannot be 'x'; expected a list of 'matmul' or",
        ),
        (["-p", "cse,cost-report"], "--cost-report is an option, not a pass"),
        (["--run-reproducer"], "does not contain a pipeline"),
        (["--shell-completion=tcsh"], "bash, zsh or fish"),
        (["--help-pass=spdm"], "there is no pass 'spdm'; did you mean 'spmd'?"),
        (["--mlir-print-ir-before=cze"], "there is no pass 'cze'; did you mean"),
        (["--mlir-print-ir-after=cse,nothing-like-it"], "there is no pass 'nothing-like-it'"),
    ],
)
def test_bad_usage(arguments: list[str], message: str) -> None:
    code, output, errors = run(*arguments)
    assert code == 1 and not output and message in errors


def test_a_device_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAXIMUM_STREAM", 1 << 16)
    code, output, errors = run("/dev/zero")
    assert (code, output) == (1, "")
    assert errors == "mesh-opt: cannot read '/dev/zero': it has more than 65536 bytes\n"


def test_a_pipe_is_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "program"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("func.func private @f()",))
    writer.start()
    assert "@f" in run(str(pipe))[1]
    writer.join()


def test_input_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "x.mlir").write_bytes(b"func.func @f() {\n  \xff\xfe\x00")
    code, _, errors = run(str(tmp_path / "x.mlir"))
    assert code == 1 and "is not UTF-8: byte 0xff at line 2, column 3" in errors


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_output(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert run("-o", str(tmp_path / "x"))[0] == 1


def test_error_of_a_pass_has_its_place_and_line() -> None:
    code, output, errors = run("--misbehave=how=refuse")
    assert code == 1 and not output
    assert errors == (
        "<stdin>:2:8: error: 'arith.addi' op is not wanted\n"
        "  %x = arith.addi %a, %a : i32\n"
        "       ^\n"
    )


def test_pass_that_gives_up() -> None:
    code, _, errors = run("--misbehave=how=fail")
    assert code == 1 and "error: pass 'misbehave' failed: no way" in errors


def test_a_missing_diagnostic_is_shown_as_it_is_written() -> None:
    text = "// expected-error-re @+1 {{is {{[a-z]+}} wanted}}\nfunc.func @f() { return }\n"
    _, _, errors = run("--verify-diagnostics", text=text)
    assert 'expected error "is {{[a-z]+}} wanted" was not produced' in errors


def test_endless_recursion_of_a_pass() -> None:
    code, _, errors = run("--misbehave=how=deep")
    assert code == 1 and "nested too deeply" in errors


def test_fault_of_ours_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(strip_annotations, "import_annotations", None)
    option = f"--mlir-pass-pipeline-crash-reproducer={tmp_path / 'again.mlir'}"
    code, _, errors = run("--strip-annotations", option)
    assert code == 1
    assert "pass 'strip-annotations' crashed: this is a bug in mesh-opt, not in the " in errors
    assert "(TypeError: 'NoneType' object is not callable)" in errors


def test_fault_leaves_a_reproducer(tmp_path: Path) -> None:
    path = tmp_path / "again.mlir"
    option = f"--mlir-pass-pipeline-crash-reproducer={path}"
    code, _, errors = run("--misbehave=how=crash", option)
    assert code == 1
    assert f"error: in pass {Misbehave.__module__}.Misbehave: KeyError: 'lost'" in errors
    assert str(path) in errors
    code, _, errors = run("--run-reproducer", str(path), option)
    assert code == 1 and "KeyError: 'lost'" in errors


def test_reproducer_without_a_path_goes_to_a_temporary_file(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _, _, errors = run("--misbehave=how=crash")
    (path,) = tmp_path.iterdir()
    assert str(path) in errors and "func.func @f" in path.read_text()


def test_debug_shows_the_traceback() -> None:
    code, _, errors = run("--debug", "--misbehave=how=crash")
    assert code == 1
    assert "Traceback" in errors


def test_invalid_ir_after_a_pass() -> None:
    code, output, errors = run("--misbehave=how=invalid")
    assert code == 1 and not output and "does not dominate" in errors
    code, _, errors = run("--misbehave=how=invalid", "--verify-each")
    assert code == 1 and "note: pass 'misbehave' produced this" in errors


def test_verify_each_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tool.VERIFY_EACH_VARIABLE, "1")
    assert "produced this" in run("--misbehave=how=invalid")[2]
    errors = run("--misbehave=how=invalid", "--verify-each=false")[2]
    assert "the passes produced this; --verify-each shows which one" in errors


def test_remarks_by_category() -> None:
    assert not run("--misbehave=how=remark")[2]
    code, _, errors = run("--misbehave=how=remark", "--remarks=testing")
    assert code == 0
    assert errors.startswith("<stdin>:2:8: remark: 'arith.addi' op [testing] was seen\n")
    assert "twice" not in errors
    assert "twice" in run("--misbehave=how=remark", "--remarks=all")[2]


def test_remarks_can_be_expected() -> None:
    text = PROGRAM.replace("  %x", "  // expected-remark @+1 {{was seen}}\n  %x")
    arguments = ("--misbehave=how=remark", "--verify-diagnostics")
    assert run(*arguments, "--remarks=testing", text=text)[0] == 0
    assert run(*arguments, text=text)[0] == 1


def test_information() -> None:
    code, output, _ = run("--list-passes")
    assert code == 0 and "  licm\n" in output and "  misbehave " in output
    code, output, _ = run("--show-dialects")
    assert code == 0 and "shard\n" in output
    code, output, _ = run("--help")
    assert code == 0 and "--pass-pipeline" in output
    code, output, _ = run("--version")
    assert code == 0 and f"xDSL {version('xdsl')}" in output


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--split"], "--split-input-file"),
        (["--canoni"], "--canonicalize"),
        (["-p", "spmd,canoni"], "spmd,canonicalize"),
        (["--emit", "=", "pro"], "program"),
        (["--emit=pro"], "--emit=program"),
        (["--help-pass", "="], "shard-search"),
        (["--cost-report", "js"], None),
        (["examples/mlp"], None),
    ],
)
def test_completion_script_completes(words: list[str], found: str | None) -> None:
    script = run("--shell-completion")[1]
    ask = f"COMP_WORDS=(mesh-opt {' '.join(words)}); COMP_CWORD={len(words)}; _mesh_opt"
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}; echo ${{COMPREPLY[@]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    # Without an answer the shell looks for files.
    assert (found in done.stdout.split()) if found else not done.stdout.split(), done.stderr


def test_completion_script_for_fish() -> None:
    """Each line is one `complete` with an option; fish quotes here as a POSIX shell does."""
    lines = [shlex.split(line) for line in run("--shell-completion=fish")[1].splitlines()]
    assert all(words[:3] == ["complete", "-c", "mesh-opt"] for words in lines)
    assert ["complete", "-c", "mesh-opt", "-l", "spmd"] in lines
    told = {words[words.index("-l") + 1]: words for words in lines}
    assert "program" in told["emit"][told["emit"].index("-a") + 1].split()
    assert "spmd" in told["passes"][told["passes"].index("-a") + 1].split()


def test_long_lines_are_cut_around_the_error() -> None:
    text = '"a.b"() {x = [' + "1, " * 5000 + "%" + ", 1" * 5000 + "]} : () -> ()"
    code, _, errors = run("--allow-unregistered-dialect", text=text)
    assert code == 1 and max(map(len, errors.split("\n"))) < 250
    line, caret = errors.split("\n")[1:3]
    assert line[caret.index("^")] == "%"


@pytest.mark.parametrize("name", ["a.b; import os", "x" * 10_000, "\\22", "é", " ", "0"])
def test_names_of_any_kind(name: str) -> None:
    call = f'func.func @g() {{ func.call @"{name}"() : () -> () return }}'
    text = f'func.func @"{name}"() {{ return }}\n{call}'
    code, output, errors = run("--verify-roundtrip", text=text)
    assert code == 0, errors
    assert run(text=output)[1] == output


def test_alias_chains_do_not_crash() -> None:
    lines = [f"#a{i + 1} = [#a{i}]" for i in range(5000)]
    text = "#a0 = [1]\n" + "\n".join(lines) + '\n"a.b"() {x = #a5000} : () -> ()'
    code, _, errors = run("--allow-unregistered-dialect", text=text)
    assert code == 1 and "nested too deeply" in errors


def test_calls_do_not_influence_each_other() -> None:
    limit = sys.getrecursionlimit()
    before = run()
    run("--nonsense")
    run("--misbehave=how=deep")
    run("--allow-unregistered-dialect", text='"a.b"() : () -> ()')
    assert run() == before
    assert run(text='"a.b"() : () -> ()')[0] == 1
    assert sys.getrecursionlimit() == limit


def test_broken_pipe_is_silent() -> None:
    big = "".join(f"func.func private @f{i}()\n" for i in range(3000))
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m mesh_opt.tools.mesh_opt | head -1"],
        input=big,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
