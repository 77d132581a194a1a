"""The compilation driver of the Python API: parse, verify, run the passes, keep the stages."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import ParseError

from ..interpreter.parameters import Parameters, provide_parameters
from ..ir.activity import activity
from ..ir.diagnostics import Note, OperationError
from ..ir.garbage_collection import without_garbage_collection
from ..ir.regions import walk
from ..ir.text.parser import parse_module
from ..ir.text.printer import print_operation
from ..ir.text.source import Source, decoded_source
from ..ir.usage_error import UsageError
from ..ir.verification import verification_errors
from ..passes.imports.conversions import conversions_of, lowerings_for_kernels, lowerings_of_loops
from ..passes.imports.import_annotations import import_annotations
from ..passes.manager.pass_manager import (
    InternalFault,
    Observer,
    PassFailure,
    Step,
    build_root_steps,
    run_steps,
)
from ..passes.manager.pipeline_text import PipelineError, parse_pipeline
from ..passes.registry import all_passes
from ..runtime.abi.errors import CompilationError
from ..tools.diagnostics import (
    Diagnostic,
    error,
    from_operation_error,
    from_parse_error,
    position_of,
    render,
)
from ..tools.plugins import PassLookup


@dataclass(frozen=True, slots=True)
class Stage:
    """The program text after one pass; the first stage, `input`, is the program as it was read."""

    name: str
    text: str

    def __repr__(self) -> str:
        """Return the name and the number of lines, since the text is meant to be printed."""
        return f"<Stage {self.name}, {self.text.count(chr(10)) + 1} lines>"


@dataclass(frozen=True, slots=True)
class Compiled:
    """The result of a pass pipeline.

    - `read`: returns the program as it was read, a new copy each time;
    - `source`: returns the program before the pipeline, in operations that the interpreter runs,
      the same each time;
    - `module`: the program after all passes;
    - `texts`: the source texts, which error messages quote;
    - `run_again`: runs all passes on a copy from `read`; those of a loaded program are unknown.

    Most programs are only run: what `read` and `source` return is made when it is asked for.
    """

    read: Callable[[], ModuleOp]
    source: Callable[[], ModuleOp]
    module: ModuleOp
    texts: Sequence[Source]
    run_again: Callable[[ModuleOp, Sequence[Observer]], None] = lambda copy, observers: None


class StageKeeper(Observer):
    """Pass observer that keeps the text of a program before the passes and after each."""

    def __init__(self, module: ModuleOp) -> None:
        self.stages = [Stage("input", print_operation(module))]

    def after(self, current: ModulePass, operation: Operation) -> None:
        self.stages.append(Stage(current.name, print_operation(operation)))


@without_garbage_collection()
def run_pipeline(
    source: str | os.PathLike[str] | ModuleOp | Source,
    pipeline: str | ModulePass | Sequence[ModulePass],
    context: Context,
    parameters: Parameters | None,
    observers: Sequence[Observer],
) -> Compiled:
    """Read a program and run a pass pipeline on it, as `api.compile` describes.

    Raises CompilationError, and OSError for a file that cannot be read.
    """
    steps = _steps(pipeline)
    is_lowered = bool(steps)
    read, texts = _reader(source, context)
    module = read()
    _verify(module, texts)
    with _located(texts):
        conversions = conversions_of(module)
        if conversions and not is_lowered:
            steps = lowerings_of_loops()
        run_steps(context, module, conversions, observers)
        is_manual = any(operation.name == "sdy.manual_computation" for operation in walk(module))
        if is_manual and not is_lowered:
            import_annotations(module)
        run_steps(context, module, steps, observers)
        for_kernels = lowerings_for_kernels(module)
        run_steps(context, module, for_kernels, observers)
    if steps or conversions or for_kernels:
        _verify(module, texts, Note("the passes produced this; it is not in the input program"))
    if parameters is not None:
        with _located(texts):
            provide_parameters(module, parameters)

    @cache
    @without_garbage_collection()
    def original() -> ModuleOp:
        found = read()
        with _located(texts):
            run_steps(context, found, conversions)
            if is_manual:
                # `sdy.manual_computation` cannot run on one device, so the reference is the program
                # after its import.
                import_annotations(found)
            if parameters is not None:
                provide_parameters(found, parameters)
        return found

    if parameters is not None:
        original()  # Only this program has the types that parameters are checked against.

    def run_again(copy: ModuleOp, observers: Sequence[Observer]) -> None:
        run_steps(context, copy, [*conversions, *steps, *for_kernels], observers)

    return Compiled(read, original, module, texts, run_again)


def _steps(pipeline: str | ModulePass | Sequence[ModulePass]) -> Sequence[Step]:
    if not isinstance(pipeline, str):
        steps = tuple(pipeline) if isinstance(pipeline, Iterable) else (pipeline,)
        for step in steps:
            if not isinstance(step, ModulePass):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"expected pass objects, as in [SpmdPass()], got {step!r}")
        return steps
    if not pipeline.strip():
        return ()
    try:
        return build_root_steps(parse_pipeline(pipeline), pipeline, PassLookup(all_passes()))
    except PipelineError as problem:
        text = Source(problem.text, "pass-pipeline")
        line, column = text.line_and_column(problem.offset)
        raise CompilationError(
            f"pass-pipeline:{line}:{column}: error: {problem.message}"
        ) from problem


_FILES = (".mlir", ".mlirbc", ".meshprog")
"""Suffixes of strings that are paths. For the last two, the error names the tool that reads them.
"""


def _reader(
    source: str | os.PathLike[str] | ModuleOp | Source, context: Context
) -> tuple[Callable[[], ModuleOp], list[Source]]:
    """Return a function that returns a new copy of a program each time, and its source texts."""
    if isinstance(source, ModuleOp):
        return source.clone().clone, []
    if isinstance(source, os.PathLike) or (
        isinstance(source, str) and source.endswith(_FILES) and "\n" not in source
    ):
        path = Path(cast(str, source))
        try:
            source = decoded_source(path.read_bytes(), str(path))
        except UsageError as problem:
            raise CompilationError(str(problem)) from problem
    text = Source(source, "<string>") if isinstance(source, str) else source
    if not isinstance(text, Source):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"expected MLIR text, the path of a file or a builtin.module, got {source!r}"
        )
    return lambda: _read(text, context), [text]


def _read(source: Source, context: Context) -> ModuleOp:
    try:
        with activity(f"reading {source.name}"):
            return parse_module(context, source)
    except ParseError as failure:
        raise _compilation_error(from_parse_error(failure), [source]) from failure


def _verify(module: ModuleOp, texts: Sequence[Source], *notes: Note) -> None:
    for failure in verification_errors(module):
        failure.notes += notes
        raise _compilation_error(from_operation_error(failure), texts) from failure


@contextmanager
def _located(texts: Sequence[Source]) -> Generator[None]:
    """Convert errors of operations and passes in a `with` block to CompilationErrors."""
    try:
        yield
    except OperationError as failure:
        raise _compilation_error(from_operation_error(failure), texts) from failure
    except (PassFailure, InternalFault) as failure:
        diagnostic = error(failure.describe(), position_of(failure.operation))
        raise _compilation_error(diagnostic, texts) from failure


def _compilation_error(diagnostic: Diagnostic, texts: Sequence[Source]) -> CompilationError:
    return CompilationError(render(diagnostic, texts).rstrip())
