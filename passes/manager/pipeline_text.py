"""Parse pass pipelines: MLIR's `builtin.module(func.func(a{k=v},b),c)` and xDSL's `a,b{k=v}`.

Grammar, with blanks allowed between all parts:

    pipeline ::= element (`,` element)*
    element  ::= anchor `(` pipeline? `)` | pass-name (`{` options `}`)?
    options  ::= (key (`=` value)?)*                     separated by blanks
    value    ::= anything without blanks outside of quotes and brackets
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

ANY_ANCHOR = "any"
"""The anchor that matches any op that is isolated from above."""


class PipelineError(Exception):
    """An error at an offset of a pipeline's text."""

    def __init__(
        self, text: str, offset: int, message: str, unknown_pass: str | None = None
    ) -> None:
        super().__init__(message)
        self.text = text
        self.offset = offset
        self.message = message
        self.unknown_pass = unknown_pass
        """The name of the unknown pass, `None` for other errors."""


@dataclass(frozen=True, slots=True)
class PassEntry:
    """A pass name and its options as (name, text or `None`)."""

    name: str
    options: tuple[tuple[str, str | None], ...] = ()
    offset: int = 0

    def __str__(self) -> str:
        if not self.options:
            return self.name
        options = " ".join(k if v is None else f"{k}={v}" for k, v in self.options)
        return f"{self.name}{{{options}}}"


@dataclass(frozen=True, slots=True)
class AnchoredPipeline:
    """Elements to run on every op named `anchor`, or on any isolated op for `ANY_ANCHOR`."""

    anchor: str
    elements: tuple[PassEntry | AnchoredPipeline, ...]
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.elements))})"


Element = PassEntry | AnchoredPipeline

_NAME = re.compile(r"[A-Za-z0-9_][\w.$-]*")
_KEY = re.compile(r"[A-Za-z0-9_][\w-]*")
_BLANKS = re.compile(r"\s*")
_CLOSERS = {"{": "}", "[": "]", "(": ")", "<": ">"}


class _PipelineParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0

    def parse(self) -> tuple[Element, ...]:
        elements = self._elements(end="")
        if self._offset != len(self._text):
            self._fail(f"expected ',' or the end, found '{self._text[self._offset]}'")
        return elements

    def _fail(self, message: str, offset: int | None = None) -> NoReturn:
        raise PipelineError(self._text, self._offset if offset is None else offset, message)

    def _skip_blanks(self) -> None:
        match = _BLANKS.match(self._text, self._offset)
        self._offset = match.end() if match is not None else self._offset

    def _take(self, character: str) -> bool:
        self._skip_blanks()
        if self._text.startswith(character, self._offset):
            self._offset += 1
            return True
        return False

    def _at_end(self, end: str) -> bool:
        self._skip_blanks()
        return self._text[self._offset : self._offset + 1] in (end, "")

    def _elements(self, end: str, depth: int = 0) -> tuple[Element, ...]:
        elements: list[Element] = []
        if depth > 64:
            self._fail("pipelines nested deeper than 64 levels")
        if self._at_end(end):
            return ()
        elements.append(self._element(depth))
        while self._take(","):
            elements.append(self._element(depth))
        return tuple(elements)

    def _element(self, depth: int) -> Element:
        self._skip_blanks()
        start = self._offset
        match = _NAME.match(self._text, start)
        if match is None:
            self._fail("expected the name of a pass or of an operation to run passes on")
        name = match.group()
        self._offset = match.end()
        if self._take("("):
            elements = self._elements(")", depth + 1)
            if not self._take(")"):
                self._fail(f"expected ')' at the end of '{name}(...)'")
            return AnchoredPipeline(name, elements, start)
        options = self._options() if self._take("{") else ()
        return PassEntry(name, options, start)

    def _options(self) -> tuple[tuple[str, str | None], ...]:
        options: list[tuple[str, str | None]] = []
        while not self._take("}"):
            match = _KEY.match(self._text, self._offset)
            if match is None:
                self._fail("expected the name of an option, or '}'")
            self._offset = match.end()
            if self._text.startswith("=", self._offset):
                self._offset += 1
                options.append((match.group(), self._value()))
            else:
                options.append((match.group(), None))
        return tuple(options)

    def _value(self) -> str:
        start = self._offset
        closers: list[str] = []
        while self._offset < len(self._text):
            character = self._text[self._offset]
            if character in "\"'":
                self._skip_quoted(character)
                continue
            if closers and character == closers[-1]:
                closers.pop()
            elif character in _CLOSERS:
                closers.append(_CLOSERS[character])
            elif not closers and (character.isspace() or character == "}"):
                break
            self._offset += 1
        if closers:
            self._fail(f"expected '{closers[-1]}' in the value of an option", start)
        return self._text[start : self._offset]

    def _skip_quoted(self, quote: str) -> None:
        start = self._offset
        self._offset += 1
        while self._offset < len(self._text) and self._text[self._offset] != quote:
            self._offset += 2 if self._text[self._offset] == "\\" else 1
        if self._offset >= len(self._text):
            self._fail("quoted value is not closed", start)
        self._offset += 1


def parse_pipeline(text: str) -> tuple[Element, ...]:
    """Return the elements of a pipeline. Raises PipelineError at the offset of a syntax error."""
    return _PipelineParser(text).parse()


def parse_options(text: str) -> tuple[tuple[str, str | None], ...]:
    """Parse the options of one pass, as written between braces or after `--pass=`.

    Raises PipelineError for a syntax error.
    """
    elements = parse_pipeline(f"pass{{{text}}}")
    if len(elements) != 1 or not isinstance(elements[0], PassEntry):
        raise PipelineError(text, 0, "expected options of the form key=value")
    return elements[0].options


def unquote(value: str) -> str:
    """Return an option's value without surrounding quotes and their escapes."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value
