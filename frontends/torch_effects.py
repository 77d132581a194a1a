"""What a module writes in place: its buffers, its parameters, its inputs.

    self.count += 1; return x  ->  return count + 1, x

A program gives the new values before its results, and a call copies them to where the old ones are.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class EffectError(ValueError):
    """A module writes what is neither its own nor given to it."""


def results_of_writes(taken_apart: Any) -> list[int]:
    """Make results of what a program writes: the numbers of these inputs among its own.

    What is written shows where a program is taken apart, and of some operations not before.
    Raises EffectError.
    """
    signature = taken_apart.graph_signature
    inputs = [spec.arg.name for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
    results_kind = import_module("torch.export.graph_signature").OutputKind.USER_OUTPUT
    written: list[int] = []
    for spec in signature.output_specs:
        if spec.kind.name == "USER_INPUT_MUTATION":
            written.append(inputs.index(spec.target))
            spec.kind, spec.target = results_kind, None
        elif spec.kind.name != "USER_OUTPUT":
            raise EffectError(
                f"the module writes {spec.target} ({spec.kind.name}), which is none of its buffers:"
                " register_buffer makes it one"
            )
    return written
