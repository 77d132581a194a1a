"""A lexer for MLIR text: one regular expression matches a token and the blanks before it.

It produces the token kinds of xDSL's `MLIRLexer` and replaces it. `Span` objects are created only
when a parser asks for one, which is for a small part of all tokens.
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
"""The token kind of each group of `_TOKEN`; `None` for punctuation, where the text decides."""
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
"""Messages for a character that starts a token which is then malformed."""


class SourceToken(TextToken):
    """A token that stores its text and creates its span on demand."""

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
        """Return the span of the token; for a string literal, one that can decode the contents."""
        if self.kind in (MLIRTokenKind.STRING_LIT, MLIRTokenKind.BYTES_LIT):
            return StringLiteral(self._start, self._end, self._source)
        return Span(self._start, self._end, self._source)

    @property
    def start(self) -> int:
        """Return the offset of the token's first character."""
        return self._start

    @property
    def end(self) -> int:
        """Return the offset after the token's last character."""
        return self._end


class SourceLexer(MLIRLexer):
    """xDSL's lexer interface, implemented with one regular expression."""

    def lex(self) -> SourceToken:
        """Return the next token. Raises ParseError at a character that starts no token."""
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
            # Escaped bytes form a string if they are valid UTF-8. xDSL only accepts ASCII here, and
            # thus reads names that it printed with escapes as byte literals.
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
