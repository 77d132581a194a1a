"""Runs of `mesh-run`: one call or several steps, with checkpoints and a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...ir.activity import activity
from ...ir.usage_error import UsageError
from ...programs.backends import NATIVE
from ...runtime.abi.arrays import Array
from ...runtime.checkpoints import Checkpoints
from ...runtime.host.timeline import Timeline
from ...runtime.stepping import run_repeatedly
from ..output_files import open_output, write_output
from .options import RunOptions
from .ranks import MPI
from .results import check_given

if TYPE_CHECKING:
    from ...api import Program
    from .results import AnyFunction


def run_function(
    options: RunOptions,
    function: AnyFunction,
    inputs: Sequence[Array],
    writes_output: bool,
) -> list[Array]:
    """Run a function for the requested number of steps and return the results.

    On several ranks only the one that `writes_output` writes files.

    Raises UsageError for files that cannot be written.
    """
    if options.trace is None and options.report is None:
        return _results(options, function, inputs, writes_output)
    program = function.program
    program.timeline = timeline = Timeline()
    results = _results(options, function, inputs, writes_output)
    if options.backend == MPI:
        from ...runtime.mpi.rank_calls import timeline_of_ranks

        # A collective call, which ranks that write no files make too.
        timeline = timeline_of_ranks(timeline)
    if not writes_output:
        return results
    if options.trace is not None:
        with open_output(options.trace) as file:
            timeline.write(file)
    if options.report is not None:
        write_output(options.report, cast("Program", program).report(timeline=timeline))
    return results


def _results(
    options: RunOptions,
    function: AnyFunction,
    inputs: Sequence[Array],
    writes_output: bool,
) -> list[Array]:
    if options.steps is None:
        if options.backend == MPI:
            # Another rank may have been started with --steps.
            _agree_on_steps(1, None)
        with activity(f"running @{function.name}"):
            return function.run(inputs)

    def call(own: Sequence[Any]) -> Sequence[Any]:
        keeps_on_devices = options.backend == NATIVE
        return function.run_on_devices(*own) if keeps_on_devices else function.run(own)

    try:
        checkpoints = None
        if options.checkpoint is not None:
            checkpoints = Checkpoints(options.checkpoint, writes=writes_output)
        if options.backend == MPI:
            _agree_on_steps(options.steps, checkpoints)
        found = run_repeatedly(function, call, inputs, options.steps, checkpoints, options.every)
    except OSError as problem:
        if options.checkpoint is None or problem.filename is None:
            raise
        message = f"cannot write '{problem.filename}': {problem.strerror}"
        if isinstance(problem, FileExistsError):
            message = (
                f"--checkpoint={options.checkpoint} is a file, expected a folder or a new name"
            )
        raise UsageError(message) from problem
    check_given(function, found, options)
    return list(map(np.asarray, found))


def _agree_on_steps(steps: int, checkpoints: Checkpoints | None) -> None:
    from ...runtime.mpi.rank_calls import agree_on_steps

    last = None if checkpoints is None else checkpoints.last()
    agree_on_steps(steps, 0 if last is None else last.step)
