"""Saved programs that are changed, and still have the right checksums."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from mesh_opt.runtime.saved.file_format import HEAD, Container, write_container

HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 64, 1.5, "", "f32", "x" * 5000,
    [], [0], [-1], [1 << 40] * 3, [[]], {}, {"a": 1},
)  # fmt: skip
NAMES = ("f64", "i8", "tensor<4xf64>", "all_to_all", "shift", "update_halo", "gather", "max")


def _contents(path: Path) -> tuple[dict[str, Any], dict[str, list[bytes]]]:
    """The header of a file without its table of sections, and the sections."""
    file = Container(path)
    data = path.read_bytes()
    length = HEAD.unpack_from(data)[4]
    header = json.loads(data[HEAD.size : HEAD.size + length])
    return header, {name: [bytes(file.section(name))] for name in header.pop("sections")}


def altered(path: Path, target: Path, change: Callable[[Any], None]) -> Path:
    """Write a file whose header is another."""
    header, sections = _contents(path)
    change(header)
    write_container(target, header, sections)
    return target


def with_section(path: Path, target: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """Write a file one of whose sections is another."""
    header, sections = _contents(path)
    write_container(target, header, {**sections, name: [change(sections[name][0])]})
    return target


def with_words(path: Path, target: Path, change: Callable[[Any], None]) -> Path:
    """Write a file whose host code has other words, of the same number."""

    def changed(code: bytes) -> bytes:
        words = np.frombuffer(code, np.int64).copy()
        change(words)
        return words.tobytes()

    return with_section(path, target, "code", changed)


def slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a header where something may be put."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from slots(inner)


def mutate(place: Any, key: Any, source: random.Random) -> None:
    """Put something else into a place of a header."""
    old, kind = place[key], source.random()
    if kind < 0.1:
        del place[key]
    elif type(old) is int and kind < 0.7:
        place[key] += source.choice([-4096, -64, -8, -2, -1, 1, 2, 8, 64, 4096])
    elif isinstance(old, list) and kind < 0.4:
        place[key] = old * source.choice([2, 3, 50])
    elif isinstance(old, list) and kind < 0.6:
        place[key] = old[::-1]
    elif isinstance(old, str) and kind < 0.6:
        place[key] = source.choice(NAMES)
    else:
        place[key] = deepcopy(source.choice(HOSTILE))
