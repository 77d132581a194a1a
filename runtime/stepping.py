"""Repeated calls of a function from state to state, such as a training step, with checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Protocol

from ..ir.activity import activity
from .abi.arguments import InputError
from .abi.arrays import FunctionTypes
from .abi.device_array import DeviceArray
from .checkpoints import CheckpointError, Checkpoints, resume


class Steppable(Protocol):
    """A function of a program."""

    name: str
    types: FunctionTypes

    def place(self, argument: int, array: Any) -> DeviceArray:
        """Scatter an array-like to the devices; each reads its own shard."""
        ...


def state_size(function: Steppable) -> int:
    """Return the number of arguments that are the state.

    These are the first arguments whose types equal those of the results at the same positions.
    Raises InputError if there are none.
    """
    arguments, results = function.types.arguments, function.types.results
    count = 0
    for argument, result in zip(arguments, results, strict=False):
        if argument.text != result.text:
            break
        count += 1
    if not count:
        shown = [str(kinds[0]) if kinds else "nothing" for kinds in (arguments, results)]
        raise InputError(
            f"@{function.name} has a first argument of type {shown[0]} and a first result of type "
            f"{shown[1]}, expected the same type"
        )
    return count


def run_repeatedly(
    function: Steppable,
    call: Callable[[Sequence[Any]], Sequence[Any]],
    inputs: Sequence[Any],
    steps: int,
    checkpoints: Checkpoints | None = None,
    every: int = 1,
) -> list[Any]:
    """Call a function until `steps` steps are done; return the results of the last one.

    The results of a step replace the first arguments of the next one. The state is written to
    `checkpoints` after every `every` steps and at the end. If there is a checkpoint already, the
    run resumes from it and ignores the state in `inputs`. Raises the errors of `call`, InputError
    for a function without a state or for numbers below 1, TypeError for others than integers,
    CheckpointError, and OSError.
    """
    steps, every = index(steps), index(every)
    if steps < 1 or every < 1:
        raise InputError(f"steps and every must be at least 1, got {steps} and {every}")
    count = state_size(function)
    types = function.types.results[:count]
    arguments, done = list(inputs), 0
    last = None if checkpoints is None else checkpoints.last()
    if checkpoints is not None and last is not None:
        # A process killed just after writing a checkpoint may have left an older one undeleted.
        checkpoints.clean(last.step)
        done = last.step
        if done > steps:
            raise CheckpointError(
                f"the checkpoint is after step {done}, but {steps} are requested: steps are "
                "counted from the beginning, so request more or use another folder"
            )
        arguments[:count] = resume(last, types, function.place)
    results = list(arguments[:count])
    while done < steps:
        with activity(f"step {done + 1} of {steps}"):
            results = list(call(arguments))
        arguments[:count] = results[:count]
        done += 1
        if checkpoints is not None and (done % every == 0 or done == steps):
            checkpoints.save(done, results[:count], types)
    return results
