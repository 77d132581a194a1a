"""Our lexer against xDSL's: the same tokens, or an error on both sides."""

from __future__ import annotations

import random

import pytest
from breadth import cases
from mesh_opt.ir.text.lexer import SourceLexer
from mesh_opt.ir.text.source import Source
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

PIECES = [
    "func.func",
    "%0",
    "%arg_1",
    "%a#1",
    "@f",
    '@"a b"',
    "#map",
    "#map1",
    "!t.x",
    "^bb0",
    "^bb0:",
    "1",
    "0x1F",
    "0xi32",
    "0x",
    "1.5",
    "1.e5",
    "1.5e-3",
    "4x8xf32",
    "?x4xf32",
    '"text"',
    '"a\\0A\\n\\""',
    '"\\ff"',
    "->",
    "-",
    "-1",
    "...",
    "{-#",
    "#-}",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ":",
    ",",
    "=",
    "+",
    "*",
    "/",
    "|",
    "?",
    "// comment\n",
    "\n",
    "\t",
    " ",
    "::",
    "@",
    "#",
    "!",
    "^",
    "%",
    '"',
    "..",
    ".",
    "&",
    "'",
    "\\",
    "é",
    "$",
    "_x",
    "x.y$z",
    "{ -#",
    "1e5",
    "0b1",
    "",
]


def _tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, str, int]] | None:
    found: list[tuple[MLIRTokenKind, str, int]] = []
    try:
        while True:
            token = lexer.lex()
            found.append((token.kind, token.text, token.span.start))
            if token.kind is MLIRTokenKind.EOF:
                return found
    except ParseError:
        return None


def _both(text: str) -> tuple[object, object]:
    return _tokens(SourceLexer(Source(text, "x"))), _tokens(MLIRLexer(Input(text, "x")))


@pytest.mark.parametrize("seed", cases(5, 100))
def test_same_tokens_as_xdsl(seed: int) -> None:
    chooser = random.Random(seed)
    for _ in range(200):
        separator = chooser.choice(["", " ", "\n"])
        text = separator.join(chooser.choices(PIECES, k=chooser.randint(0, 8)))
        ours, theirs = _both(text)
        if theirs is None and ours is not None:
            pytest.fail(f"xDSL refuses {text!r}, we read {ours}")
        if "é" not in text:  # a letter to xDSL, which then reads the rest of a name of ASCII
            assert ours == theirs, repr(text)


def test_error_names_the_character_and_its_place() -> None:
    with pytest.raises(ParseError) as raised:
        SourceLexer(Source("  // all\n  &", "x")).lex()
    assert raised.value.span.start == 11
    assert "'&'" in raised.value.msg


def test_many_blanks_and_comments_take_linear_time() -> None:
    text = "// " + "/ " * 200_000 + "\n" + " " * 200_000 + "x"
    assert SourceLexer(Source(text, "x")).lex().text == "x"
