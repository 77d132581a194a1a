"""Saved programs that are changed, and still have the right checksums."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mesh_opt.runtime.saved.container import HEAD, Container, write_container


def altered(path: Path, target: Path, change: Callable[[Any], None]) -> Path:
    """Write a file whose header is another."""
    file = Container(path)
    data = path.read_bytes()
    length = HEAD.unpack_from(data)[4]
    header = json.loads(data[HEAD.size : HEAD.size + length])
    sections = {name: [bytes(file.section(name))] for name in header.pop("sections")}
    change(header)
    write_container(target, header, sections)
    return target
