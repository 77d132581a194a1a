"""Load a machine description (for cost prediction) from a preset or a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence

from ..sharding.machine import Machine, MachineError, machine_from_table
from ..sharding.machine_presets import PRESETS
from .text.source import Source, read_source
from .usage_error import UsageError


def read_machine(name: str) -> Machine:
    """Return the preset of that name, or parse the TOML file of that name.

    Raises UsageError, with the position in the file, if it does not describe a machine.
    """
    preset = PRESETS.get(name)
    if preset is not None:
        return preset
    if not name.endswith(".toml"):
        raise UsageError(
            f"there is no machine '{name}', expected {', '.join(PRESETS)} or a file that ends in "
            ".toml"
        )
    return parse_machine(read_source(name))


def parse_machine(source: Source) -> Machine:
    """Parse a machine description. Raises UsageError with the position in the text."""
    try:
        return machine_from_table(tomllib.loads(source.content))
    except tomllib.TOMLDecodeError as problem:
        found = re.search(r"(.*) \(at line (\d+), column (\d+)\)$", str(problem), re.DOTALL)
        if found is None:
            # For an error at the end of the document, tomllib gives no line.
            message = str(problem).removesuffix(" (at end of document)")
            raise _located(source, len(source.line_starts), 1, message) from problem
        line, column = int(found.group(2)), int(found.group(3))
        raise _located(source, line, column, found.group(1)) from problem
    except MachineError as problem:
        line, column = _place(source, problem.path)
        what = "'" + ".".join(map(str, problem.path)) + "'" if problem.path else "the machine"
        raise _located(source, line, column, f"{what} {problem}") from problem
    except RecursionError as problem:
        raise _located(source, 1, 1, "values are nested too deeply") from problem
    except ValueError as problem:  # An integer with too many digits.
        raise _located(source, 1, 1, str(problem)) from problem


def _located(source: Source, line: int, column: int, message: str) -> UsageError:
    text = (source.line_text(line) or "").expandtabs(1)
    excerpt = f"\n{text}\n{' ' * (column - 1)}^" if text.strip() and len(text) < 160 else ""
    return UsageError(f"{source.name}:{line}:{column}: {message}{excerpt}")


def _place(source: Source, path: Sequence[str | int]) -> tuple[int, int]:
    """Return the line and column of a key path, or of its longest prefix that is in the text."""
    for length in range(len(path), 0, -1):
        for found, line, column in _keys(source):
            if found == tuple(path[:length]):
                return line, column
    return 1, 1


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*([^\s=#][^=#]*?)\s*=")


def _keys(source: Source) -> Iterator[tuple[tuple[str | int, ...], int, int]]:
    """Yield the key path of each table header and key, with its line and column."""
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for line in range(1, len(source.line_starts) + 1):
        text = source.line_text(line) or ""
        if header := _HEADER.match(text):
            table = _parts(header.group(2))
            if header.group(1) == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, line, header.start(1) + 1
        elif key := _KEY.match(text):
            yield (*table, *_parts(key.group(1))), line, key.start(1) + 1


def _parts(text: str) -> tuple[str | int, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
