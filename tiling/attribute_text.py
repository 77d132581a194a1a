"""Text of attributes as a list of `key = value`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def entries_text(entries: Iterable[tuple[str, object]]) -> str:
    """Return entries as text: `intrinsic = MFMA_F32_16x16x4_F32, intrinsics_m = 4`."""
    return ", ".join(f"{key} = {value}" for key, value in entries)


def parse_entries(text: str) -> dict[str, str]:
    """Return the values by key of what `entries_text` returned."""
    pairs = (entry.partition(" = ") for entry in text.split(", "))
    return {key: value for key, _, value in pairs}


def larger_counts(tile: object, names: Sequence[str]) -> list[tuple[str, int]]:
    """Return the fields of a tile that are more than 1, by name; 1 is the default of each."""
    counts = [(name, getattr(tile, name)) for name in names]
    return [(name, count) for name, count in counts if count > 1]


def parse_count(text: str) -> int | None:
    """Return a number below a million that is not negative; `None` for other text."""
    return int(text) if re.fullmatch(r"0|[1-9]\d{0,5}", text) else None
