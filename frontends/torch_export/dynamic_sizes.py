"""Dynamic sizes: find what a traced program assumes about them, and check it in each call.

`torch.export` follows one way through a module. Where Python branches on a size it takes the way of
the example, and `squeeze`, which drops a dimension only if its size is 1, never drops one:

    if x.shape[0] > 3:              # The program is right for more than 3 rows alone.
        return x.squeeze() * 2      # ... and only if no other size is 1.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from .tracing import FRONT_ENDS, user_line
from .trees import fits


def open_sizes(
    given: Mapping[str, Any] | Sequence[Any] | None,
    weights: Mapping[str, Any],
    names: Sequence[str],
) -> Mapping[str, Any] | None:
    """Return the dynamic shapes for the arguments of a `_caller`. Raises ValueError."""
    if given is None:
        return None
    if not isinstance(given, Mapping):  # like torch.export, accept the order of the inputs
        if len(given) != len(names):
            raise ValueError(
                f"dynamic_shapes for {len(given)} inputs, but the inputs are {', '.join(names)}"
            )
        given = dict(zip(names, given, strict=True))
    unused = {key for key in given if not any(fits(name, key) for name in names)}
    if unused:
        raise ValueError(
            f"dynamic_shapes for {', '.join(sorted(unused))}, but the inputs are {', '.join(names)}"
        )
    fitting = [[key for key in given if fits(name, key)] for name in names]
    found = [given[keys[0]] if keys else None for keys in fitting]
    tensors = dict(zip(names, found, strict=True))
    return {"weights": dict.fromkeys(weights), "tensors": tensors}


@dataclass(frozen=True, slots=True)
class _Size:
    """A dynamic size of an argument."""

    argument: int
    dimension: int
    value: Any
    """An expression of SymPy, mostly a symbol."""
    label: str


@dataclass(frozen=True, slots=True)
class _Assumption:
    """A condition on dynamic sizes, and the message if a call does not meet it."""

    condition: Any
    """A truth value of SymPy."""
    message: str


class AssumedSizes:
    """What a program that `torch.export` traced assumes about the sizes of its arguments.

    Sizes that depend on elements are left out.
    """

    def __init__(
        self, torch: Any, exported: Any, names: Sequence[str], dynamic: Mapping[str, Any] | None
    ) -> None:
        """Find the assumptions of a traced program, without those of `add_branches`.

        `names` are the user's names for the arguments, `dynamic` is what `open_sizes` returned.
        """
        self._sizes: list[_Size] = []
        self._environment: Any = None
        values = {
            each.name: each.meta["val"] for each in exported.graph.nodes if "val" in each.meta
        }
        rows = zip(exported.graph_signature.user_inputs, names, strict=True)
        for argument, (own, name) in enumerate(rows):
            shape: Any = getattr(values.get(own), "shape", ())
            for dimension, size in enumerate(shape):
                if not isinstance(size, int):
                    label = f"{name}.shape[{dimension}]"
                    self._sizes.append(_Size(argument, dimension, size.node.expr, label))
                    self._environment = size.node.shape_env
        self._places = [(each.argument, each.dimension) for each in self._sizes]
        self._accepted: set[tuple[int, ...]] = set()
        self._labels = {
            each.value: each.label for each in reversed(self._sizes) if each.value.is_Symbol
        }
        self._assumptions = [*_squeezes(torch, exported, self._labels)]
        declared: Mapping[str, Any] = dynamic["tensors"] if dynamic else {}
        for size in self._sizes:
            self._assumptions += _range(size, declared.get(names[size.argument]))

    def add_branches(self, torch: Any) -> None:
        """Add the conditions on sizes that modules and decompositions have branched on.

        Conditions of other parts of PyTorch, as whether a tensor is contiguous, do not change
        results. Call it after the program has been decomposed.
        """
        environment, self._environment = self._environment, None
        if environment is None:
            return
        self._sizes = [replace(each, value=environment.replace(each.value)) for each in self._sizes]
        package = Path(torch.__file__).parent
        deciding = package / "nn", package / "_decomp", package / "functional.py"
        for guard in environment.guards:
            frame = guard.sloc.framework_loc
            file = Path(getattr(frame, "filename", package / "unknown"))
            condition = environment.replace(guard.expr)
            if not condition.free_symbols <= self._labels.keys():
                continue
            if package in file.parents and not {file, *file.parents} & {*deciding}:
                continue
            own = package in file.parents or FRONT_ENDS in file.parents
            place = "" if own else f"{file}:{frame.lineno}: "
            self._assumptions.append(
                _Assumption(
                    condition,
                    f"{place}the program was traced with sizes for which this holds:"
                    f" {self._phrase(condition)}. Compile it again for the sizes of this call",
                )
            )

    def check(self, tensors: Sequence[Any]) -> None:
        """Raise TypeError if the arguments of a call have other sizes than the program assumes."""
        given = tuple([tensors[at].shape[dimension] for at, dimension in self._places])
        if given in self._accepted:
            return
        rows = list(zip(self._sizes, given, strict=True))
        values = {each.value: number for each, number in reversed(rows) if each.value.is_Symbol}
        for size, number in rows:
            expected = size.value.subs(values)
            if expected.is_number and expected != number:
                raise TypeError(
                    f"the program was traced with {size.label} equal to {self._phrase(size.value)},"
                    f" but it is {number} instead of {expected} in this call"
                )
        for each in self._assumptions:
            if each.condition.subs(values) == False:  # noqa: E712 (a truth value of SymPy)
                raise TypeError(each.message)
        self._accepted.add(given)

    def _phrase(self, expression: Any) -> str:
        """Return an expression with the user's names for sizes."""
        names = {str(symbol): label for symbol, label in self._labels.items()}
        return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), str(expression))


Labels = Mapping[Any, str]
"""For each symbol the user's name for a size of an argument that it is."""


def _squeezes(torch: Any, exported: Any, labels: Labels) -> Iterator[_Assumption]:
    """Yield that the sizes that `squeeze` keeps are not 1."""
    aten, unequal = torch.ops.aten, import_module("sympy").Ne
    squeezes = (aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)
    for node in exported.graph.nodes:
        if node.op != "call_function" or node.target not in squeezes:
            continue
        shape = node.args[0].meta["val"].shape
        for dimension in _dimensions(node.args[1:], len(shape)):
            size = shape[dimension]
            if isinstance(size, int) or not size.node.expr.free_symbols <= labels.keys():
                continue
            trace = "\n".join(reversed((node.stack_trace or "").splitlines()))
            yield _Assumption(
                unequal(size.node.expr, 1),
                f"{user_line(trace)}: squeeze of a dynamic size that is 1 in this call would change"
                " the rank of its result, which the program has fixed: name a dimension whose size"
                " is always 1, or compile for this size without dynamic_shapes",
            )


def _dimensions(options: Sequence[Any], rank: int) -> list[int]:
    """Return the dimensions that a `squeeze` of a tensor of this rank names."""
    if not options or not rank:
        return list(range(rank))
    named: Any = options[:1] if isinstance(options[0], int) else options[0]
    return [each % rank for each in named]


def _range(size: _Size, declared: Any) -> Iterator[_Assumption]:
    """Yield that a size is in its declared range, within which PyTorch has decided branches.

    `declared` are the `dynamic_shapes` of the argument: a `torch.export.Dim` for some dimensions.
    """
    listed = cast("Sequence[Any]", declared)
    dimensions: dict[int, Any] = (
        dict(enumerate(listed)) if isinstance(declared, tuple | list) else declared or {}
    )
    dimension = dimensions.get(size.dimension)
    for name, relation, word in (("min", operator.ge, "least"), ("max", operator.le, "most")):
        bound = getattr(dimension, name, None)
        if isinstance(bound, int):
            message = f"dynamic_shapes declares that {size.label} is at {word} {bound}"
            yield _Assumption(relation(size.value, bound), message)
