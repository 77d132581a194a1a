"""Functions that map a state to a state, such as training steps: many calls, with checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..ir.activity import activity
from .abi.arguments import InputError
from .abi.device_array import DeviceArray
from .abi.value_types import FunctionTypes
from .checkpoints import CheckpointError, Checkpoints, resume


class Steppable(Protocol):
    """A function of a program."""

    name: str
    types: FunctionTypes

    def place(self, argument: int, array: Any) -> DeviceArray:
        """Put an array on the devices: each reads its own part."""
        ...


def state_size(function: Steppable) -> int:
    """How many arguments are the state: those from the first on that have the types of the
    results in their places. Raises InputError if there are none."""
    arguments, results = function.types.arguments, function.types.results
    count = 0
    for argument, result in zip(arguments, results, strict=False):
        if argument.text != result.text:
            break
        count += 1
    if not count:
        shown = [str(kinds[0]) if kinds else "nothing" for kinds in (arguments, results)]
        raise InputError(
            f"@{function.name} maps no state to a state: its first argument is {shown[0]}, its"
            f" first result {shown[1]}, and they must be of one type"
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
    """Call a function until `steps` steps are done; returns the results of the last one.

    The results of a step take the places of the first arguments at the next one. After every
    `every` steps and at the end the state is written to `checkpoints`. If there is one, the run
    goes on from it: of `inputs`, those of the state are not looked at. Raises what `call` does,
    InputError for a function without a state or numbers below 1, CheckpointError, and OSError.
    """
    if steps < 1 or every < 1:
        raise InputError(f"steps and every must be at least 1, got {steps} and {every}")
    count = state_size(function)
    types = function.types.results[:count]
    arguments, done = list(inputs), 0
    last = None if checkpoints is None else checkpoints.last()
    if checkpoints is not None and last is not None:
        # Who was killed behind the last checkpoint has left the one before the last two.
        checkpoints.clean(last.step)
        done = last.step
        if done > steps:
            raise CheckpointError(
                f"the checkpoint is after step {done}, and {steps} are wanted: steps are counted"
                " from the beginning, so ask for more, or for another folder"
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
