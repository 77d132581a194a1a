"""Checked access to JSON data from an untrusted file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ..abi.arrays import MAX_INT64


class DamagedFile(Exception):
    """A file is invalid; the message follows the file's name."""


class SavedFileError(ValueError):
    """A file is not a saved program, or is damaged; the message says what was found."""


class Fields:
    """A JSON value with its path; each accessor states the expected type.

    All accessors raise DamagedFile for other values.
    """

    __slots__ = ("_value", "path")

    def __init__(self, value: object, path: str) -> None:
        self._value = value
        self.path = path

    def _refuse(self, expected: str) -> DamagedFile:
        shown = repr(self._value)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        return DamagedFile(f"has {shown} as {self.path}, expected {expected}")

    def _object(self, expected: str) -> dict[str, object]:
        value = self._value
        if not isinstance(value, dict):
            raise self._refuse(expected)
        return cast("dict[str, object]", value)

    def _list(self, expected: str, count: int | None = None) -> list[object]:
        value = self._value
        values = cast("list[object]", value) if isinstance(value, list) else None
        if values is None or count not in (None, len(values)):
            raise self._refuse(expected if count is None else f"{expected} of {count}")
        return values

    def __getitem__(self, name: str) -> Fields:
        """Return a field of an object."""
        found = self._object(f"an object with '{name}'")
        if name not in found:
            raise self._refuse(f"an object with '{name}'")
        return Fields(found[name], f"{self.path}.{name}")

    def entries(self) -> Iterator[tuple[str, Fields]]:
        """Yield the fields of an object."""
        for name, value in self._object("an object").items():
            yield name, Fields(value, f"{self.path}.{name}")

    def items(self, count: int | None = None) -> list[Fields]:
        """Return the elements of a list, which must have `count` elements if that is given."""
        values = self._list("a list", count)
        return [Fields(each, f"{self.path}[{number}]") for number, each in enumerate(values)]

    @property
    def is_null(self) -> bool:
        """Whether the value is null."""
        return self._value is None

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self._value, list)

    @property
    def is_text(self) -> bool:
        """Whether the value is a string."""
        return isinstance(self._value, str)

    def integer(self, low: int = -MAX_INT64 - 1, high: int = MAX_INT64) -> int:
        """Return an integer from `low` to `high`."""
        if type(self._value) is not int or not low <= self._value <= high:
            raise self._refuse(f"a number from {low} to {high}")
        return self._value

    def count(self, high: int = MAX_INT64) -> int:
        """Return an integer that is not negative."""
        return self.integer(0, high)

    def boolean(self) -> bool:
        """Return a boolean."""
        if not isinstance(self._value, bool):
            raise self._refuse("true or false")
        return self._value

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self._value, str):
            raise self._refuse("a text")
        return self._value

    def choice(self, *choices: str) -> str:
        """Return a string that is one of `choices`."""
        if self._value not in choices:
            raise self._refuse(f"one of {', '.join(choices)}")
        return cast("str", self._value)

    def integers(
        self, low: int = -MAX_INT64 - 1, high: int = MAX_INT64, count: int | None = None
    ) -> tuple[int, ...]:
        """Return a list of integers, of length `count` if that is given."""
        values = self._list("a list of numbers", count)
        if not all(type(each) is int and low <= each <= high for each in values):
            raise self._refuse(f"a list of numbers from {low} to {high}")
        return tuple(cast("list[int]", values))
