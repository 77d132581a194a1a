"""The error of a command line; a module of its own, so that `--help` loads nothing else."""

from __future__ import annotations

from collections.abc import Iterable


class UsageError(Exception):
    """The command line asks for something that does not exist or makes no sense."""


def did_you_mean(name: str, candidates: Iterable[str], mark: str = "") -> str:
    """`; did you mean 'x'?` for the nearest of some names; empty if none is near. `mark` is what
    stands before names in the text, such as `%`, and is not compared."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(candidates), 1)
    return f"; did you mean '{mark}{matches[0]}'?" if matches else ""
