"""Data from a file that nobody vouches for: looked at before it is believed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

LARGEST = (1 << 63) - 1


class DamagedFile(Exception):
    """What is wrong with a file, in words that follow its name."""


class SavedFileError(ValueError):
    """A file that is no saved program, or a damaged one; the text says what was found."""


class Fields:
    """A value of JSON with the way that leads to it; whatever asks for it says what it must be.

    All raise DamagedFile for what is something else.
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
        """A field of an object."""
        found = self._object(f"an object with '{name}'")
        if name not in found:
            raise self._refuse(f"an object with '{name}'")
        return Fields(found[name], f"{self.path}.{name}")

    def entries(self) -> Iterator[tuple[str, Fields]]:
        """The fields of an object."""
        for name, value in self._object("an object").items():
            yield name, Fields(value, f"{self.path}.{name}")

    def items(self, count: int | None = None) -> list[Fields]:
        """The elements of a list, as many as are expected."""
        values = self._list("a list", count)
        return [Fields(each, f"{self.path}[{number}]") for number, each in enumerate(values)]

    @property
    def is_null(self) -> bool:
        """Whether there is nothing."""
        return self._value is None

    @property
    def is_list(self) -> bool:
        """Whether this is a list."""
        return isinstance(self._value, list)

    def integer(self, low: int = -LARGEST - 1, high: int = LARGEST) -> int:
        """A number from `low` to `high`."""
        if type(self._value) is not int or not low <= self._value <= high:
            raise self._refuse(f"a number from {low} to {high}")
        return self._value

    def count(self, high: int = LARGEST) -> int:
        """A number that is not negative."""
        return self.integer(0, high)

    def boolean(self) -> bool:
        """True or false."""
        if not isinstance(self._value, bool):
            raise self._refuse("true or false")
        return self._value

    def text(self) -> str:
        """A text."""
        if not isinstance(self._value, str):
            raise self._refuse("a text")
        return self._value

    def choice(self, *choices: str) -> str:
        """One of some texts."""
        if self._value not in choices:
            raise self._refuse(f"one of {', '.join(choices)}")
        return cast("str", self._value)

    def integers(
        self, low: int = -LARGEST - 1, high: int = LARGEST, count: int | None = None
    ) -> tuple[int, ...]:
        """A list of numbers, as many as are expected."""
        values = self._list("a list of numbers", count)
        if not all(type(each) is int and low <= each <= high for each in values):
            raise self._refuse(f"a list of numbers from {low} to {high}")
        return tuple(cast("list[int]", values))
