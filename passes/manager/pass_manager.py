"""Run pipelines of passes, nested ones too, notify observers, and classify errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ...ir.activity import activity
from ...ir.diagnostics import OperationError
from ...ir.foreign_code import exception_text, foreign_origin, is_foreign, name_of
from ...ir.garbage_collection import without_garbage_collection
from ...ir.nesting_limits import deep_recursion
from ..registry import FOLLOW_CALLS, NEED_SYMBOLS
from .named_pipeline import NamedPipeline
from .nested_pipeline import SymbolsAround, alone_in_module, anchored_operations
from .pass_options import PassTable, build_pass, describe_pass
from .pipeline_text import ANY_ANCHOR, AnchoredPipeline, Element, PipelineError

ROOT = "builtin.module"


@dataclass(frozen=True)
class AnchoredPasses:
    """Passes to run on every op named `anchor` directly inside the current op."""

    anchor: str
    steps: tuple[Step, ...]


Step = ModulePass | AnchoredPasses


class PassFailure(Exception):
    """A pass rejected a program by an error that names no op."""

    def __init__(self, failed: ModulePass, operation: Operation, message: str) -> None:
        super().__init__(message)
        self.failed = failed
        self.operation = operation

    def describe(self) -> str:
        """Return a message that names the pass."""
        return f"pass '{self.failed.name}' failed: {self}"


class InternalFault(Exception):
    """A pass raised an unexpected exception: a bug in the compiler, not in the program."""

    def __init__(self, failed: ModulePass, operation: Operation, cause: Exception) -> None:
        super().__init__(str(cause))
        self.failed = failed
        self.operation = operation
        self.cause = cause

    def describe(self) -> str:
        """Return a message that names the faulty component and the exception."""
        kind, why = type(self.failed), exception_text(self.cause)
        function = foreign_origin(self.cause)
        if function is not None and not function.startswith(f"{name_of(kind)}."):
            return f"pass '{self.failed.name}' crashed in {function}: {why}"
        if is_foreign(kind.__module__):
            return f"in pass {name_of(kind)}: {why}"
        return (
            f"pass '{self.failed.name}' crashed: this is a bug in mesh-opt, not in the program"
            f" ({why})"
        )


class Observer:
    """Is notified before and after each pass; a subclass overrides the methods that it needs."""

    def before(self, current: ModulePass, operation: Operation) -> None:
        """Called before a pass runs on an op."""

    def after(self, current: ModulePass, operation: Operation) -> None:
        """Called after a pass succeeded."""

    def failed(self, current: ModulePass, operation: Operation) -> None:
        """Called after a pass raised an exception."""

    def enter(self, anchor: str) -> None:
        """Called before the passes of an anchored pipeline."""

    def leave(self, anchor: str) -> None:
        """Called after the passes of an anchored pipeline."""


def build_steps(elements: Sequence[Element], text: str, table: PassTable) -> tuple[Step, ...]:
    """Instantiate the passes of a pipeline.

    Raises PipelineError for unknown passes and bad options.
    """
    return tuple(
        AnchoredPasses(element.anchor, build_steps(element.elements, text, table))
        if isinstance(element, AnchoredPipeline)
        else build_pass(element, text, table)
        for element in elements
    )


def build_root_steps(elements: Sequence[Element], text: str, table: PassTable) -> tuple[Step, ...]:
    """Instantiate the passes of a whole pipeline, in `builtin.module(...)` or `any(...)` or bare.

    Raises PipelineError for another anchor, unknown passes and bad options.
    """
    if len(elements) == 1 and isinstance(root := elements[0], AnchoredPipeline):
        if root.anchor not in (ROOT, ANY_ANCHOR):
            raise PipelineError(
                text, root.offset, f"cannot run a '{root.anchor}' pipeline on a '{ROOT}'"
            )
        elements = root.elements
    return build_steps(elements, text, table)


def describe_steps(steps: Sequence[Step], anchor: str = ROOT) -> str:
    """Return the pipeline in the syntax of `--pass-pipeline`."""
    parts = [
        describe_steps(step.steps, step.anchor)
        if isinstance(step, AnchoredPasses)
        else describe_pass(step)
        for step in steps
    ]
    return f"{anchor}({','.join(parts)})"


def run_steps(
    context: Context, module: ModuleOp, steps: Sequence[Step], observers: Sequence[Observer] = ()
) -> None:
    """Run passes on a module in order.

    Raises OperationError or PassFailure if a pass rejects the program, InternalFault if a pass
    raises an unexpected exception.
    """
    with deep_recursion():
        for step in _single_passes(steps):
            if isinstance(step, AnchoredPasses):
                _run_anchored(context, module, step, observers)
            else:
                _run_pass(context, module, module, step, observers)


def _run_anchored(
    context: Context, parent: ModuleOp, anchored: AnchoredPasses, observers: Sequence[Observer]
) -> None:
    for observer in observers:
        observer.enter(anchored.anchor)
    on_functions = anchored.anchor == FuncOp.name
    for follows_calls, steps in groupby(
        _single_passes(anchored.steps), lambda step: on_functions and _follows_calls(step)
    ):
        if follows_calls:
            run_steps(context, parent, tuple(steps), observers)
        else:
            _run_on_each(context, parent, anchored.anchor, tuple(steps), observers)
    for observer in reversed(observers):
        observer.leave(anchored.anchor)


def _single_passes(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps, with named pipelines expanded to their passes."""
    for step in steps:
        if isinstance(step, NamedPipeline):
            yield from _single_passes(step.passes())
        else:
            yield step


def _follows_calls(step: Step) -> bool:
    return isinstance(step, ModulePass) and step.name in FOLLOW_CALLS


def _run_on_each(
    context: Context,
    parent: ModuleOp,
    anchor: str,
    steps: Sequence[Step],
    observers: Sequence[Observer],
) -> None:
    """Run passes on every op named `anchor` directly inside a module, one op after the other."""
    around = SymbolsAround(parent)
    for operation in anchored_operations(context, parent, anchor):
        if isinstance(operation, ModuleOp):
            run_steps(context, operation, steps, observers)
            continue
        for step in steps:
            if isinstance(step, ModulePass) and step.name in NEED_SYMBOLS:
                raise OperationError(
                    operation,
                    f"was scheduled to run under {step.name}, but does not define a symbol table",
                )
        with alone_in_module(operation, around) as module:
            _run_inside(context, module, operation, steps, observers)


def _run_inside(
    context: Context,
    module: ModuleOp,
    operation: Operation,
    steps: Sequence[Step],
    observers: Sequence[Observer],
) -> None:
    """Run passes on an op that is not a module but was moved into one."""
    for step in _single_passes(steps):
        if isinstance(step, AnchoredPasses):
            around = SymbolsAround(operation)
            for inner in anchored_operations(context, operation, step.anchor):
                with alone_in_module(inner, around) as inner_module:
                    _run_inside(context, inner_module, inner, step.steps, observers)
        else:
            _run_pass(context, module, operation, step, observers)


def _run_pass(
    context: Context,
    module: ModuleOp,
    shown: Operation,
    current: ModulePass,
    observers: Sequence[Observer],
) -> None:
    """Run one pass on a module; observers are told the op that the module was made for."""
    for observer in observers:
        observer.before(current, shown)
    try:
        with activity(f"pass {current.name}"), without_garbage_collection():
            current.apply(context, module)
    except OperationError:
        _tell_failure(current, shown, observers)
        raise
    except DiagnosticException as failure:
        _tell_failure(current, shown, observers)
        raise PassFailure(current, shown, str(failure)) from failure
    except RecursionError as failure:
        _tell_failure(current, shown, observers)
        raise PassFailure(current, shown, "the program is nested too deeply") from failure
    except Exception as failure:
        _tell_failure(current, shown, observers)
        raise InternalFault(current, shown, failure) from failure
    for observer in reversed(observers):
        observer.after(current, shown)


def _tell_failure(current: ModulePass, shown: Operation, observers: Sequence[Observer]) -> None:
    for observer in reversed(observers):
        observer.failed(current, shown)
