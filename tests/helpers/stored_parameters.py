"""Files of parameters as bytes, for tests to read and to damage."""

from __future__ import annotations

import json
import struct


def archive(entries: dict[str, bytes], splats: dict[str, tuple[bytes, int]]) -> bytes:
    """An archive as IREE writes it: a header, its entries, names, contents."""
    names, table, contents = b"", b"", b""
    for key, data in [*entries.items(), *splats.items()]:
        if isinstance(data, bytes):
            kind, body = 2, struct.pack("<QQ", len(contents), len(data))
            contents += data
        else:
            pattern, count = data
            kind = 1
            body = struct.pack("<Q16sB", len(pattern) * count, pattern, len(pattern))
        size = 60 + len(body)
        table += struct.pack("<QIQQQQQQ", size, kind, 0, len(names), len(key), 0, 0, 16) + body
        table += bytes(-len(table) % 16)
        names += key.encode()
    header = 96
    segments = (
        *(header, len(table)),
        *(header + len(table), len(names)),
        *(header + len(table) + len(names), len(contents)),
    )
    count = len(entries) + len(splats)
    start = struct.pack("<IHHQQQQQQQQQQ", 0x41505249, 0, 0, 88, 0, 0, count, *segments)
    return start + bytes(header - len(start)) + table + names + contents


def tensors(description: object, data: bytes = b"") -> bytes:
    """A `.safetensors` file."""
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    return struct.pack("<Q", len(text)) + text + data
