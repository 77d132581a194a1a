"""Text that is not quite text: other ends of lines, bytes that are no UTF-8, marks of encodings."""

from __future__ import annotations

import io

import pytest
from mesh_opt.tools.mesh_opt import main

FUNCTION = "func.func @a() { return }"


def run(text: bytes) -> tuple[int, str]:
    stderr = io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8")
    return main(["-"], stdin, io.StringIO(), stderr), stderr.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"// nothing",
        b"\n \t\x0b\x0c\r\n",
        b"func.func @a() {\r\n  return // here\r\n}\r\n",
        b"func.func @a() {\r  return // here\r}\r",
        b"// caf\xe9\nfunc.func @a() { return }",
        'func.func @"caf\u00e9 \u4e16"() { return }'.encode(),
        b'func.func @"a\\00\\0A\\22"() { return }',
    ],
)
def test_accepted(text: bytes) -> None:
    assert run(text) == (0, "")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (b"\xef\xbb\xbffunc.func @a() { return }", "1:1", "unexpected character '\\ufeff'"),
        (b'func.func @"a\xff"() { return }', "1:14", "byte 0xff is not UTF-8"),
        (b'module attributes {a.b = "\xed\xa0\x80"} {}', "1:27", "byte 0xed is not UTF-8"),
        (b"func.func @a() { \x00 return }", "1:18", "unexpected character '\\x00'"),
    ],
)
def test_refused(text: bytes, place: str, message: str) -> None:
    code, errors = run(text)
    assert code == 1
    assert errors.startswith(f"<stdin>:{place}: error: {message}")
