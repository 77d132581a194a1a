"""Find which leaves of a JAX function's arguments are arguments of the program.

JAX drops arguments that a jitted function does not use. The others keep their order, their types,
and names that consist of a parameter and a path:

    f(p, x, y) with p = {"a": ..., "b": ...}  ->  @main(%arg0 loc("p['b']"), %arg1 loc("y"))
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.ir import BlockArgument

from ..passes.sharding.shard_annotate import located_name
from .call_forms import CallForm
from .entry_function import shape_and_type

_ELEMENTS = {"bool": "i1", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}


@dataclass(frozen=True, slots=True)
class _Leaf:
    name: str
    """A pattern for the names that JAX may give it."""
    kind: tuple[tuple[int, ...], str] | None
    """Shape and element type; `None` for types that only JAX knows."""

    def is_argument(self, argument: BlockArgument) -> bool:
        """Return whether an argument of the program may be this leaf."""
        name, kind = located_name(argument.location), shape_and_type(argument)
        if name is not None and not re.fullmatch(self.name, name):
            return False
        return kind is None or self.kind is None or kind == self.kind


def kept_leaves(
    jax: Any,
    arguments: Sequence[BlockArgument],
    in_tree: Any,
    in_avals: Sequence[Any],
    form: CallForm | None,
) -> list[int]:
    """Return the leaves that are arguments of the program.

    Arguments are matched by names and types, from the front and from the back. Raises ValueError if
    the two matches differ.
    """
    leaves = list(_leaves(jax, in_tree, in_avals, form))
    if len(arguments) == len(leaves):
        return list(range(len(leaves)))
    first = _aligned(arguments, leaves)
    last = [len(leaves) - 1 - leaf for leaf in _aligned(arguments[::-1], leaves[::-1])[::-1]]
    if first != last or len(first) != len(arguments):
        raise ValueError(
            f"the program takes {len(arguments)} of {len(leaves)} arrays, and JAX does not say"
            " which; give keep_unused=True to jax.jit"
        )
    return first


def _leaves(
    jax: Any, in_tree: Any, in_avals: Sequence[Any], form: CallForm | None
) -> Iterator[_Leaf]:
    util = jax.tree_util
    whole = jax.tree.unflatten(in_tree, range(in_tree.num_leaves))
    for (path, _), aval in zip(util.tree_flatten_with_path(whole)[0], in_avals, strict=True):
        group, first, *rest = cast(Sequence[Any], path)
        if group.idx:  # Keywords have their own names, or are values of a variadic parameter.
            parameter = rf"({first.key}|\w+\['{first.key}'\])"
        elif form is not None:
            parameter = form.positional[int(first.idx)]
        else:
            parameter = rf"\w+(\[{first.idx}\])?"
        yield _Leaf(parameter + re.escape(util.keystr(tuple(rest))), _kind(aval))


def _kind(aval: Any) -> tuple[tuple[int, ...], str] | None:
    try:
        name: str = np.dtype(aval.dtype).name
    except TypeError:
        return None  # PRNG keys, which are arrays of ui32 in the program.
    for prefix, written in (("uint", "ui"), ("int", "i")):
        if name.startswith(prefix):
            name = written + name.removeprefix(prefix)
            break
    return tuple(aval.shape), _ELEMENTS.get(name, name)


def _aligned(arguments: Sequence[BlockArgument], leaves: Sequence[_Leaf]) -> list[int]:
    """Match each argument to the first fitting leaf after the previous match."""
    found: list[int] = []
    places = iter(range(len(leaves)))
    for argument in arguments:
        place = next((place for place in places if leaves[place].is_argument(argument)), None)
        if place is None:
            break
        found.append(place)
    return found
