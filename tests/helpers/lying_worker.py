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
from mesh_opt.backend.compile import compile_program
from mesh_opt.dialects.diagnostics import OperationError
from mesh_opt.interpreter.run import run
from mesh_opt.runtime import commands
from mesh_opt.runtime.buffers import Bytes, allocate
from mesh_opt.tools.driver import new_context
from mesh_opt.tools.parsing import parse_module
from mesh_opt.tools.source import Source
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError, VerifyException

Arrays = Sequence[np.ndarray]

POISON = 0xCB


def poisoned(size: int) -> Bytes:
    """Memory whose contents are conspicuous if a program shows them."""
    memory = allocate(size)
    memory[:] = POISON
    return memory


def outcome(execute: Callable[[], Arrays]) -> tuple[Arrays, tuple[Operation | None, str] | None]:
    """The results, or what was refused and where."""
    try:
        return execute(), None
    except OperationError as error:
        return (), (error.operation, error.message)
    except MemoryError:
        return (), (None, "out of memory")


def _text(refusal: tuple[Operation | None, str] | None) -> str:
    if refusal is None:
        return "nothing"
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
    copies = [np.array(array) for array in inputs]
    expected, refused = outcome(lambda: run(module, "main", inputs))
    for guard in (False, True):
        compiled = compile_program(module, guard=guard)
        for turn in ("first", "second"):
            found, error = outcome(lambda: compiled.run("main", inputs))
            how = f"{turn} run, guard={guard}: "
            if refused is None and error is not None:
                return "wrongly refused", how + error[1]
            if refused is not None and error is None:
                return "wrongly accepted", how + refused[1]
            if error != refused:
                return "other error", f"{how}{_text(error)} for {_text(refused)}"
            if refused is None and (text_ := difference(found, expected)) is not None:
                return "other result", how + text_
            if not all(map(np.array_equal, inputs, copies)):
                return "inputs overwritten", how
    return ("refused", refused[1]) if refused else ("run", "")


def main(first: int, count: int) -> None:
    commands.allocate = poisoned
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
