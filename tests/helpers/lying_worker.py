"""Runs lying programs in the interpreter and natively, and prints where the two differ.

`python lying_worker.py FIRST COUNT` prints a line before each program and a verdict behind it, so
that who reads it knows which one has ended the process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

import numpy as np
from lying_operations import program
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.run import run
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.imports.conversions import for_kernels
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError, VerifyException

Arrays = Sequence[np.ndarray]
Refusal = tuple[Operation | None, str]
Outcome = tuple[Arrays, Refusal | None]


def outcome(execute: Callable[[], Arrays]) -> Outcome:
    """The results, or what was refused and where."""
    try:
        return execute(), None
    except OperationError as error:
        if "out of memory" in error.message:
            # Native code does not allocate where the interpreter does.
            return (), (None, "out of memory")
        return (), (error.operation, error.message)
    except MemoryError:
        return (), (None, "out of memory")


def _text(refusal: Refusal) -> str:
    operation, message = refusal
    return f"'{operation.name if operation else ''}' {message}"


def difference(found: Arrays, expected: Arrays) -> str | None:
    for got, wanted in zip(found, expected, strict=True):
        if got.shape != wanted.shape or got.dtype != wanted.dtype:
            return f"{got.dtype}{got.shape} for {wanted.dtype}{wanted.shape}"
        if not np.allclose(got, wanted, rtol=1e-4, atol=1e-4, equal_nan=True):
            return f"{got.tolist()} for {wanted.tolist()}"
    return None


def examine(text: str, inputs: Arrays) -> tuple[str, str]:
    """A verdict on a program, and what is to be said about it."""
    try:
        module = parse_module(new_context(), Source(text, "<program>"))
        module.verify()
    except (ParseError, VerifyException) as error:
        return "no program", str(error)
    assert isinstance(module, ModuleOp)
    module = for_kernels(module)
    # The second call has other numbers.
    others = [-each if each.dtype.kind == "f" else each for each in inputs]
    calls = [
        (each, outcome(lambda each=each: run(module, "main", each))) for each in (inputs, others)
    ]
    for guard in (False, True):
        program = CompiledProgram(module, guard=guard)
        for given, expected in calls:
            copies = [np.array(array) for array in given]
            found = outcome(lambda program=program, given=given: program.run("main", given))
            verdict = compare(found, expected)
            if verdict is None and not all(map(np.array_equal, given, copies)):
                verdict = "inputs overwritten", ""
            if verdict is not None:
                return verdict[0], f"guard={guard}: {verdict[1]}"
    refused = calls[0][1][1]
    return ("refused", refused[1]) if refused else ("run", "")


def compare(found: Outcome, expected: Outcome) -> tuple[str, str] | None:
    """What is wrong with an outcome."""
    if expected[1] is None and found[1] is not None:
        return "wrongly refused", _text(found[1])
    if expected[1] is not None and found[1] is None:
        return "wrongly accepted", _text(expected[1])
    if found[1] is not None and expected[1] is not None and found[1] != expected[1]:
        return "other error", f"{_text(found[1])} for {_text(expected[1])}"
    wrong = difference(found[0], expected[0])
    return None if wrong is None else ("other result", wrong)


def main(first: int, count: int) -> None:
    for number in range(first, first + count):
        print(json.dumps({"number": number}), flush=True)
        text, inputs = program(number)
        try:
            verdict, message = examine(text, inputs)
        except Exception as error:
            verdict, message = "fault", f"{type(error).__name__}: {error}"
        print(json.dumps({"verdict": verdict, "message": message}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
