"""A lexer for MLIR text: one regular expression finds a token with the blanks before it.

It produces the token kinds of xDSL's `MLIRLexer` and stands in for it. Positions become `Span`
objects only where a parser asks for one, which is a small part of all tokens.
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRTokenKind,
    StringLiteral,
)

from .xdsl_compat.text_classes import TextToken

_SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
_BARE = r"[a-zA-Z_][a-zA-Z0-9_$.]*"
_STRING = r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'

_TOKEN = re.compile(
    r"(?:[ \t\r\n\v\f]|//[^\n\r]*)*+(?:"
    rf"(?P<BARE_IDENT>{_BARE})"
    rf"|(?P<PERCENT_IDENT>%{_SUFFIX})"
    r"|(?P<PUNCTUATION>->|\{-#|#-\}|\.\.\.|[:,(){}\[\]<>=+/*?|-])"
    r"|(?P<INTEGER_HEX>0x[0-9a-fA-F]+)"
    r"|(?P<FLOAT_LIT>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<INTEGER_LIT>[0-9]+)"
    rf"|(?P<AT_IDENT>@(?:{_BARE}|{_STRING}))"
    rf"|(?P<HASH_IDENT>\#{_SUFFIX})"
    rf"|(?P<EXCLAMATION_IDENT>!{_SUFFIX})"
    rf"|(?P<CARET_IDENT>\^{_SUFFIX})"
    rf"|(?P<STRING_LIT>{_STRING})"
    r"|(?P<EOF>\Z)"
    r")"
)
_BLANKS = re.compile(r"(?:[ \t\r\n\v\f]|//[^\n\r]*)*+")

_KINDS: list[MLIRTokenKind | None] = [None] * (_TOKEN.groups + 1)
"""The kind of token that a group of `_TOKEN` stands for; None for punctuation, told by text."""
for _name, _index in _TOKEN.groupindex.items():
    if _name != "PUNCTUATION":
        _KINDS[_index] = MLIRTokenKind[{"INTEGER_HEX": "INTEGER_LIT"}.get(_name, _name)]

_PUNCTUATION: dict[str, MLIRTokenKind] = {
    str(spelling): kind for spelling, kind in KIND_BY_PUNCTUATION_SPELLING.items()
}

_UNFINISHED = {
    '"': "string literal is not closed on its line, or holds an unknown escape",
    "@": "expected a name or a string literal after '@'",
    "#": "expected a name after '#'",
    "!": "expected a name after '!'",
    "^": "expected a name after '^'",
    "%": "expected a name after '%'",
}
"""What to say about a character that starts a token which then does not come."""


class SourceToken(TextToken):
    """A token that knows its text and makes its span when asked."""

    __slots__ = ("_end", "_source", "_start", "kind", "text")

    def __init__(
        self, kind: MLIRTokenKind, text: str, start: int, end: int, source: Input[str]
    ) -> None:
        self.kind = kind
        self.text = text  # pyright: ignore[reportIncompatibleMethodOverride, reportAttributeAccessIssue]
        self._start = start
        self._end = end
        self._source = source

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Where the token is; a string literal's span can tell its contents."""
        if self.kind in (MLIRTokenKind.STRING_LIT, MLIRTokenKind.BYTES_LIT):
            return StringLiteral(self._start, self._end, self._source)
        return Span(self._start, self._end, self._source)

    @property
    def start(self) -> int:
        """The offset of the token's first character."""
        return self._start

    @property
    def end(self) -> int:
        """The offset just after the token."""
        return self._end


class SourceLexer(MLIRLexer):
    """xDSL's lexer interface over one regular expression."""

    def lex(self) -> SourceToken:
        """The next token. Raises ParseError at a character that starts none."""
        source = self.input
        match = _TOKEN.match(source.content, self.pos)
        if match is None:
            raise self._error()
        group = match.lastindex or 0
        start, end = match.span(group)
        self.pos = end
        text = source.content[start:end]
        kind = _KINDS[group]
        if kind is None:
            kind = _PUNCTUATION[text]
        elif kind is MLIRTokenKind.STRING_LIT and "\\" in text:
            # Escaped bytes are text if they can be. xDSL says so too, but asks for ASCII, and
            # then reads a name that it printed with escapes as something else.
            try:
                StringLiteral(start, end, source).bytes_contents.decode("utf-8")
            except UnicodeDecodeError:
                kind = MLIRTokenKind.BYTES_LIT
        return SourceToken(kind, text, start, end, source)

    def _error(self) -> ParseError:
        source = self.input
        blanks = _BLANKS.match(source.content, self.pos)
        start = blanks.end() if blanks is not None else self.pos
        character = source.content[start]
        message = _UNFINISHED.get(character, f"unexpected character {character!r}")
        return ParseError(Span(start, start + 1, source), message)
