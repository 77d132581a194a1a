"""Errors in command lines. A separate module so that `--help` loads nothing else."""

from __future__ import annotations

from collections.abc import Iterable


class UsageError(Exception):
    """An error in the command line or in a file that it names."""


def did_you_mean(name: str, candidates: Iterable[str], mark: str = "") -> str:
    """Return `; did you mean 'x'?` for the closest candidate; empty if none is close.

    `mark` is a prefix of names in the text, such as `%`. It is not compared.
    """
    from difflib import get_close_matches

    matches = get_close_matches(name, list(candidates), 1)
    return f"; did you mean '{mark}{matches[0]}'?" if matches else ""
