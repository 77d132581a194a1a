"""Bind arguments of a compiled function by position or by name, however it was traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CallForm:
    """Which parameters of a function were positional and which were keywords when it was traced."""

    signature: inspect.Signature
    """The signature without static parameters."""
    positional: tuple[str, ...]
    keywords: frozenset[str]

    def arranged(
        self, arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Return the arguments of a call in this form; `None` if it passes other parameters."""
        try:
            bound = self.signature.bind(*arguments, **keywords).arguments
        except TypeError:
            return None
        named: dict[str, Any] = {}
        for name, value in bound.items():
            if self.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                named |= value
            else:
                named[name] = value
        if named.keys() != {*self.positional, *self.keywords}:
            return None
        return (
            tuple(named[name] for name in self.positional),
            {name: named[name] for name in self.keywords},
        )


def call_form(
    function: Callable[..., Any],
    positional: int,
    keywords: Collection[str],
    static_numbers: Collection[int] = (),
    static_names: Collection[str] = (),
) -> CallForm | None:
    """Return how a function was called with `positional` positional arguments and these keywords.

    Static parameters are not counted. Return `None` if the signature is unknown, or has `*args`,
    which have no names.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    parameters = list(signature.parameters.values())
    static = {number % len(parameters) for number in static_numbers if parameters}
    dynamic = [
        parameter
        for number, parameter in enumerate(parameters)
        if number not in static and parameter.name not in static_names
    ]
    kinds = inspect.Parameter
    if any(parameter.kind is kinds.VAR_POSITIONAL for parameter in dynamic):
        return None
    by_position = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in dynamic if parameter.kind in by_position]
    if len(names) < positional:
        return None
    return CallForm(
        signature.replace(parameters=dynamic), tuple(names[:positional]), frozenset(keywords)
    )
