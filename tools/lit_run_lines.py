"""Run the RUN lines of a lit test inside this process, about twenty times faster.

`mesh-opt`, `mesh-run`, `filecheck`, `not` and `cat` are called as functions; other programs are
started as processes. Supported shell syntax: `|`, `&&`, `;`, quotes, `<`, `>`, `>>`, `2>`, `2>&1`,
`NAME=value` before a command, and lit's substitutions `%s %S %p %t %T %basename_t %%`. A backslash
continues a line.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

Tool = Callable[[Sequence[str], TextIO, TextIO, TextIO], int]

_RUN = re.compile(r"\bRUN:\s?(.*)$", re.MULTILINE)
_NOT_IN_SHELL = 'not() { "$@"; test $? -eq 1; }'
"""LLVM's `not`, which few machines have: succeeds if a command fails without crashing."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class Outcome:
    """The result of a test; the report describes a failure."""

    passed: bool
    report: str


@dataclass
class _Command:
    """One command of a shell pipeline with its redirections."""

    words: list[str] = field(default_factory=list[str])
    environment: dict[str, str] = field(default_factory=dict[str, str])
    input_path: str | None = None
    output_path: str | None = None
    output_appends: bool = False
    error_path: str | None = None
    errors_to_output: bool = False
    """Standard error goes where standard output goes: `2>&1` after a `>` or without one."""
    errors_to_pipe: bool = False
    """Standard error goes to the pipe and output to a file: `2>&1` before a `>`."""


def run_script(path: Path) -> list[str]:
    """Return the RUN lines of a test file, with continued lines joined."""
    lines: list[str] = []
    continued = False
    for match in _RUN.finditer(path.read_text(encoding="utf-8")):
        text = match.group(1).strip()
        if continued:
            lines[-1] = f"{lines[-1]} {text}"
        else:
            lines.append(text)
        continued = lines[-1].endswith("\\")
        if continued:
            lines[-1] = lines[-1][:-1].rstrip()
    return lines


def substitutions(path: Path, temporary: Path) -> dict[str, str]:
    """Return lit's substitutions for a test; `temporary` is its own folder."""
    stem = temporary / f"{path.name}.tmp"
    return {
        "%%": "%",
        "%s": str(path),
        "%S": str(path.parent),
        "%p": str(path.parent),
        "%t": str(stem),
        "%T": str(temporary),
        "%basename_t": stem.name,
    }


def substitute(line: str, names: Mapping[str, str]) -> str:
    """Replace lit's substitutions in a RUN line, each once."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"({pattern})(?![A-Za-z_])|%%", lambda match: names[match.group(0)], line)


def run_test(path: Path, temporary: Path, *, shell: bool = False) -> Outcome:
    """Run the RUN lines of a test file up to the first failure."""
    lines = run_script(path)
    if not lines:
        return Outcome(False, f"{path}: no RUN line")
    temporary.mkdir(parents=True, exist_ok=True)
    names = substitutions(path, temporary)
    run_line = _run_line_in_shell if shell else _run_line
    for line in lines:
        command = substitute(line, names)
        code, output, errors = run_line(command, temporary)
        if code != 0:
            report = f"RUN: {command}\nexit code {code}\n"
            for title, text in (("standard output", output), ("standard error", errors)):
                if text:
                    report += f"-- {title}:\n{text.rstrip()}\n"
            return Outcome(False, report)
    return Outcome(True, "")


def _run_line_in_shell(line: str, folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{_NOT_IN_SHELL}; {line}"],
        cwd=folder,
        env={**os.environ, "PATH": _search_path()},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def _search_path() -> str:
    """Return the search path for programs, starting with the folder of the running Python."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def _run_line(line: str, folder: Path) -> tuple[int, str, str]:
    code, output, errors = 0, "", ""
    for operator, commands in _parse_line(line):
        if operator == "&&" and code != 0:
            continue
        code, text, more_errors = _run_pipeline(commands, folder)
        output += text
        errors += more_errors
        if code != 0 and operator != "&&":
            break
    return code, output, errors


def _parse_line(line: str) -> list[tuple[str, list[_Command]]]:
    """Return pipelines, each with the operator before it (`;` for the first)."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    pipelines: list[tuple[str, list[_Command]]] = [(";", [_Command()])]
    tokens = iter(_split_redirections(list(lexer)))
    for token in tokens:
        commands = pipelines[-1][1]
        command = commands[-1]
        match token:
            case "|":
                commands.append(_Command())
            case "&&" | ";":
                pipelines.append((token, [_Command()]))
            case "<":
                command.input_path = next(tokens)
            case ">" | ">>":
                command.output_path = next(tokens)
                command.errors_to_pipe = command.errors_to_output
                command.errors_to_output = False
                command.output_appends = token == ">>"
            case "2>":
                command.error_path = next(tokens)
            case "2>&1":
                command.errors_to_output = True
            case word if not command.words and _ASSIGNMENT.match(word):
                name, _, value = word.partition("=")
                command.environment[name] = value
            case word:
                command.words.append(word)
    return pipelines


def _split_redirections(tokens: list[str]) -> list[str]:
    """Rejoin `2`, `>&`, `1`, which the shell lexer separates."""
    joined: list[str] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1 : index + 3]
        if token == "2" and following == [">&", "1"]:
            joined.append("2>&1")
            index += 3
        elif token == "2" and following[:1] == [">"]:
            joined.append("2>")
            index += 2
        else:
            joined.append(token)
            index += 1
    return joined


def _run_pipeline(commands: Sequence[_Command], folder: Path) -> tuple[int, str, str]:
    """Run commands one after another, each with the previous one's output as input."""
    text, errors, code = "", "", 0
    for command in commands:
        if command.input_path is not None:
            text = (folder / command.input_path).read_text(encoding="utf-8")
        result, text, more_errors = _run_command(command, text, folder)
        code = code or result
        piped = ""
        if command.errors_to_pipe:
            piped = more_errors
        elif command.error_path is not None:
            (folder / command.error_path).write_text(more_errors, encoding="utf-8")
        else:
            errors += more_errors
        if command.output_path is not None:
            mode = "a" if command.output_appends else "w"
            with open(folder / command.output_path, mode, encoding="utf-8") as file:
                file.write(text)
            text = piped
    return code, text, errors


def _run_command(command: _Command, text: str, folder: Path) -> tuple[int, str, str]:
    words = list(command.words)
    expect_failure = False
    while words and words[0] == "not":
        expect_failure = not expect_failure
        words = words[1:]
    if not words:
        return 2, "", "no command\n"
    tool = TOOLS.get(words[0])
    if tool is None or command.environment:
        code, output, errors = _run_process(words, command, text, folder)
    else:
        stdout = io.StringIO()
        stderr = stdout if command.errors_to_output else io.StringIO()
        code = tool(words[1:], io.StringIO(text), stdout, stderr)
        output = stdout.getvalue()
        errors = "" if stderr is stdout else stderr.getvalue()
    if expect_failure:
        # `not` does not accept a crash as a failure.
        code = 0 if code == 1 else 1
    return code, output, errors


def _run_process(
    words: Sequence[str], command: _Command, text: str, folder: Path
) -> tuple[int, str, str]:
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, "PATH": _search_path(), **command.environment},
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if command.errors_to_output else subprocess.PIPE,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return 127, "", f"{words[0]}: command not found\n"
    return done.returncode, done.stdout, done.stderr or ""


def _mesh_opt(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    from .mesh_opt import main

    return main(argv, stdin, stdout, stderr)


def _mesh_run(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    from .mesh_run import main

    return main(argv, stdin, stdout, stderr)


def _cat(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    for path in argv:
        stdout.write(Path(path).read_text(encoding="utf-8"))
    if not argv:
        stdout.write(stdin.read())
    return 0


def _filecheck(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options
    from filecheck.parser import Parser

    with redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            options = parse_argv_options(["filecheck", *argv])
            if options.input_file == "-":
                content = stdin.read()
            else:
                content = Path(options.input_file).read_text(encoding="utf-8")
            text = FInput.canonicalize_line_ends(content)
            matcher = Matcher(options, FInput(options.input_file, text), Parser.from_opts(options))
            return matcher.run()
        except (RuntimeError, OSError) as problem:
            stderr.write(f"filecheck: {problem}\n")
            return 2


TOOLS: dict[str, Tool] = {
    "cat": _cat,
    "filecheck": _filecheck,
    "mesh-opt": _mesh_opt,
    "mesh-run": _mesh_run,
}
"""The commands that are called as functions."""
