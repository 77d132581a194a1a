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
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from .tracing import user_line
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
    """What a program assumes about the sizes of its arguments."""

    def __init__(self, sizes: Sequence[_Size], assumptions: Sequence[_Assumption]) -> None:
        self._sizes, self._assumptions = sizes, assumptions
        self._places = [(each.argument, each.dimension) for each in sizes]
        self._accepted: set[tuple[int, ...]] = set()

    def check(self, tensors: Sequence[Any]) -> None:
        """Raise TypeError if the arguments of a call have other sizes than the program assumes."""
        given = tuple([tensors[at].shape[dimension] for at, dimension in self._places])
        if given in self._accepted:
            return
        first: dict[Any, tuple[int, _Size]] = {}
        for size, number in zip(self._sizes, given, strict=True):
            known, other = first.setdefault(size.value, (number, size))
            if known != number:
                raise TypeError(
                    f"the program was traced with {other.label} equal to {size.label}, but they are"
                    f" {known} and {number} in this call"
                )
        values = {symbol: number for symbol, (number, _) in first.items()}
        for each in self._assumptions:
            if not each.condition.subs(values):
                raise TypeError(each.message)
        self._accepted.add(given)


def assumed_sizes(
    torch: Any, exported: Any, names: Sequence[str], dynamic_shapes: Mapping[str, Any] | None
) -> AssumedSizes:
    """Return what a program that `torch.export` traced assumes about the sizes of its arguments.

    `names` are the user's names for the arguments, and `dynamic_shapes` what `open_sizes` returned.
    Sizes that depend on elements are left out.
    """
    values = {each.name: each.meta["val"] for each in exported.graph.nodes if "val" in each.meta}
    sizes: list[_Size] = []
    environment: Any = None
    rows = zip(exported.graph_signature.user_inputs, names, strict=True)
    for argument, (own, name) in enumerate(rows):
        shape: Any = getattr(values.get(own), "shape", ())
        for dimension, size in enumerate(shape):
            if not isinstance(size, int):
                label = f"{name}.shape[{dimension}]"
                sizes.append(_Size(argument, dimension, size.node.expr, label))
                environment = size.node.shape_env
    if environment is None:
        return AssumedSizes((), ())
    labels = {each.value: each.label for each in reversed(sizes)}
    found = [*_squeezes(torch, exported, labels), *_branches(torch, environment, labels)]
    declared: Mapping[str, Any] = dynamic_shapes["tensors"] if dynamic_shapes else {}
    for size in sizes:
        found += _range(size, declared.get(names[size.argument]))
    return AssumedSizes(sizes, found)


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


def _branches(torch: Any, environment: Any, labels: Labels) -> Iterator[_Assumption]:
    """Yield the conditions on sizes that modules have branched on.

    Conditions of PyTorch itself, as whether a tensor is contiguous, do not change results.
    """
    package = Path(torch.__file__).parent
    names = {str(symbol): label for symbol, label in labels.items()}
    for guard in environment.guards:
        frame = guard.sloc.framework_loc
        file = Path(getattr(frame, "filename", package / "unknown"))
        condition = environment.replace(guard.expr)
        if package in file.parents and package / "nn" not in file.parents:
            continue
        if not condition.free_symbols <= labels.keys():
            continue
        text = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), str(condition))
        yield _Assumption(
            condition,
            f"{file}:{frame.lineno}: the program was traced with sizes for which this holds:"
            f" {text}. Compile it again for the sizes of this call",
        )
