"""`--verify-diagnostics`: check diagnostics against `expected-error {{...}}` comments.

The syntax is MLIR's: `expected-(error|warning|remark|note)`, then optionally `-re` for a text with
regular expressions in `{{...}}`, optionally `@+N`, `@-N`, `@above`, `@below` or `@unknown` for the
line, and a text that must be part of the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...ir.text.source import Source
from ..diagnostics import Diagnostic, Severity, SourcePosition, error

_EXPECTATION = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?\s*"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)
_MAYBE_EXPECTATION = re.compile(r"expected-(?:error|warning|remark|note)\b.*\{\{")


@dataclass
class _Expectation:
    severity: Severity
    line: int | None
    """The line of the diagnostic; `None` for one without a position."""
    text: str
    position: SourcePosition
    pattern: str | None = None
    """The regular expression that the text is, if it is one."""
    found: bool = False

    def matches(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.severity is not self.severity:
            return False
        position = diagnostic.position
        line = (
            position.line if position is not None and position.file == self.position.file else None
        )
        if line != self.line:
            return False
        if self.pattern is not None:
            return re.search(self.pattern, diagnostic.message) is not None
        return self.text in diagnostic.message


def check_expectations(
    source: Source, diagnostics: list[Diagnostic], *, only: bool = False
) -> list[Diagnostic]:
    """Return an error for each missing expected and each unexpected diagnostic.

    With `only`, unexpected diagnostics are ignored.
    """
    expectations, wrong = _read_expectations(source)
    for diagnostic in _flat(diagnostics):
        expectation = next((e for e in expectations if not e.found and e.matches(diagnostic)), None)
        if expectation is not None:
            expectation.found = True
        elif diagnostic.severity is not Severity.NOTE and not only:
            severity = diagnostic.severity.value
            wrong.append(error(f"unexpected {severity}: {diagnostic.message}", diagnostic.position))
    wrong += [
        error(f'expected {e.severity.value} "{e.text}" was not produced', e.position)
        for e in expectations
        if not e.found
    ]
    return sorted(wrong, key=lambda one: one.position.line if one.position is not None else 0)


def _flat(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return [one for diagnostic in diagnostics for one in (diagnostic, *diagnostic.notes)]


def _read_expectations(source: Source) -> tuple[list[_Expectation], list[Diagnostic]]:
    expectations: list[_Expectation] = []
    wrong: list[Diagnostic] = []
    waiting: list[_Expectation] = []
    last_plain_line = source.first_line
    for number, line in enumerate(source.content.split("\n"), start=source.first_line):
        match = _EXPECTATION.search(line)
        if match is None:
            for expectation in waiting:
                expectation.line = number
            waiting = []
            last_plain_line = number
            maybe = _MAYBE_EXPECTATION.search(line)
            if maybe is not None:
                position = SourcePosition(source.name, number, maybe.start() + 1)
                wrong.append(
                    error("expectation is not of the form expected-error {{text}}", position)
                )
            continue
        position = SourcePosition(source.name, number, match.start() + 1)
        expectation = _Expectation(Severity(match["severity"]), number, match["text"], position)
        if match["regex"] is not None:
            expectation.pattern, problem = _regex(expectation.text)
            if problem is not None:
                wrong.append(error(f"regular expression does not compile: {problem}", position))
                continue
        match match["where"]:
            case None:
                pass
            case "above":
                expectation.line = last_plain_line
            case "below":
                waiting.append(expectation)
            case "unknown":
                expectation.line = None
            case offset:
                expectation.line = number + int(offset)
        expectations.append(expectation)
    return expectations, wrong


def _regex(text: str) -> tuple[str, str | None]:
    """Return the pattern of a text with regular expressions in `{{...}}`, and any error."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    pattern = "".join(
        f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts)
    )
    try:
        re.compile(pattern)
    except re.error as problem:
        return "", str(problem)
    return pattern, None
