"""Extract help texts from the docstrings of passes, operations and attributes."""

from __future__ import annotations

from inspect import cleandoc
from textwrap import fill

WIDTH = 100
"""The width of help texts in characters."""


def paragraphs(described: type[object]) -> list[str]:
    """Return the paragraphs of a class's docstring."""
    text = cleandoc(described.__doc__ or "")
    # Generated docstrings do not count: the name alone, or the signature that `dataclass` sets.
    own = f"`{getattr(described, 'name', '')}`."
    if text == own or text.startswith(f"{described.__name__}("):
        return []
    return text.split("\n\n") if text else []


def summary(described: type[object]) -> str:
    """Return the first sentence of a docstring."""
    first = " ".join(next(iter(paragraphs(described)), "").split())
    sentence, stop, _ = first.partition(". ")
    return sentence + stop.rstrip()


def details(described: type[object]) -> list[str]:
    """Return the paragraphs of a docstring without its first sentence."""
    found = paragraphs(described)
    if not found:
        return []
    rest = " ".join(found[0].split())[len(summary(described)) :].strip()
    return [*([fill(rest, WIDTH)] if rest else []), *found[1:]]


def table_row(name: str, text: str) -> str:
    """Return one row of a table of names and descriptions."""
    return f"  {name:<40} {text}".rstrip()
