"""Print a list with a line for each entry, as IREE does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from xdsl.printer import Printer

Entry = TypeVar("Entry")


def print_lines(
    printer: Printer,
    entries: Iterable[Entry],
    print_entry: Callable[[Entry], object],
    delimiters: tuple[str, str] = ("{", "}"),
) -> None:
    """Print `{`, the entries on indented lines, and `}` on a line of its own."""
    opening, closing = delimiters
    printer.print_string(opening)
    with printer.indented():
        for index, entry in enumerate(entries):
            printer.print_string(",\n" if index else "\n")
            print_entry(entry)
    printer.print_string(f"\n{closing}")
