"""What classes of passes, operations and attributes say of themselves."""

from __future__ import annotations

from inspect import cleandoc
from textwrap import fill

WIDTH = 100
"""Of a line of text."""


def paragraphs(described: type[object]) -> list[str]:
    """The paragraphs of a docstring."""
    text = cleandoc(described.__doc__ or "")
    # What stands for one where there is none: the own name, or what `dataclass` makes up.
    own = f"`{getattr(described, 'name', '')}`."
    if text == own or text.startswith(f"{described.__name__}("):
        return []
    return text.split("\n\n") if text else []


def summary(described: type[object]) -> str:
    """The first sentence of a docstring."""
    first = " ".join(next(iter(paragraphs(described)), "").split())
    sentence, stop, _ = first.partition(". ")
    return sentence + stop.rstrip()


def details(described: type[object]) -> list[str]:
    """The paragraphs of a docstring, without its first sentence."""
    found = paragraphs(described)
    if not found:
        return []
    rest = " ".join(found[0].split())[len(summary(described)) :].strip()
    return [*([fill(rest, WIDTH)] if rest else []), *found[1:]]


def table_row(name: str, text: str) -> str:
    """One line of a table of names and what is said of them."""
    return f"  {name:<40} {text}".rstrip()
