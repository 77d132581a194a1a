"""Turn in-place writes of a module to its buffers, parameters and inputs into results.

    self.count += 1; return x  ->  return count + 1, x

A program returns the new values before its own results, and a call copies them into the written
tensors.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .tracing import user_line


class EffectError(ValueError):
    """A module writes a tensor that is neither its own nor an input."""


def results_of_writes(taken_apart: Any) -> list[int]:
    """Make results of the inputs that a decomposed program writes; return their numbers.

    Some writes become visible only in the decomposed program. Raises EffectError.
    """
    signature = taken_apart.graph_signature
    inputs = [spec.arg.name for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
    results_kind = import_module("torch.export.graph_signature").OutputKind.USER_OUTPUT
    written: list[int] = []
    for spec in signature.output_specs:
        if spec.kind.name == "USER_INPUT_MUTATION":
            written.append(inputs.index(spec.target))
            spec.kind, spec.target = results_kind, None
        elif spec.kind.name == "TOKEN":
            raise EffectError(_effects(taken_apart.graph))
        elif spec.kind.name != "USER_OUTPUT":
            raise EffectError(
                f"the module writes {spec.target} ({spec.kind.name}), which is not a buffer: "
                "register it by register_buffer"
            )
    return written


def _effects(graph: Any) -> str:
    """Name the operations that do more than compute results, and their lines in the module."""
    found = [node for node in graph.nodes if str(node.target) == "with_effects"]
    names = dict.fromkeys(str(node.args[1]) for node in found)
    traces = ("\n".join(reversed((node.stack_trace or "").splitlines())) for node in found)
    lines = dict.fromkeys(line for trace in traces if (line := user_line(trace)))
    where = f", which is written at {', '.join(lines)}" if lines else ""
    return f"the module runs {', '.join(names)}{where}: a program only computes its results"
