"""How the user of a tool wants text printed, for the dialects that can be spelled in two ways.

A dialect's print method asks `print_options()`; a driver prints inside `printing_with(...)`.
A new option is a field here and an option of the same name in `tools/options.py`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Spelling = Literal["today", "2024"]
"""Which names the encoding dialects are printed with: those of IREE 3.13, or those of 2024."""


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """The wishes of whoever reads the text."""

    spelling: Spelling = "today"


_DEFAULTS = PrintOptions()

_options: ContextVar[PrintOptions] = ContextVar("print_options", default=_DEFAULTS)


def print_options() -> PrintOptions:
    """The options of the print that is under way; the defaults outside any."""
    return _options.get()


@contextmanager
def printing_with(options: PrintOptions) -> Generator[None]:
    """Print with these options inside the `with` block."""
    token = _options.set(options)
    try:
        yield
    finally:
        _options.reset(token)
