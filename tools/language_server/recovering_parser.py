"""A parser that continues after errors, for texts that are being edited.

A statement with an error is skipped, and parsing continues at the next one. Values that it would
have defined are assumed to have any type, so that one error does not cause many others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, i1
from xdsl.ir import Attribute, AttributeInvT, Operation, SSAValue
from xdsl.parser import ForwardDeclaredValue, UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind, PunctuationSpelling

from ...ir.text.parser import SourceParser
from ...ir.text.source import Source
from .positions import rest_of_line
from .reused_functions import (
    FUNCTION,
    Extent,
    Mark,
    Places,
    ReusableFunction,
    ReusableFunctions,
    move_to,
    reusable_functions,
)
from .reused_statements import OPERATION, ReusableStatements

MAX_FAILURES = 200
"""The maximum number of errors reported for one text."""

_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[{}\n]')
"""The tokens that matter when skipping a statement; braces in strings and comments do not."""

_STATEMENT = re.compile(
    rf"[ \t]*(?:{OPERATION}|(?:return|module)\b|[#!][\w$.-]+[ \t]*=|\^[\w$.-]+)", re.ASCII
)
"""The start of a line on which a statement begins."""

_RESULTS = re.compile(r"%([\w$.-]+)", re.ASCII)
_SYMBOL = re.compile(r"@([\w$.-]+)", re.ASCII)

_ENDS = (MLIRTokenKind.R_BRACE, MLIRTokenKind.CARET_IDENT)
_AT_TOP = (
    MLIRTokenKind.HASH_IDENT,
    MLIRTokenKind.EXCLAMATION_IDENT,
    MLIRTokenKind.FILE_METADATA_BEGIN,
)


_SCOPE = (
    "_depth",
    "_isolated",
    "_operation_start",
    "ssa_values",
    "forward_ssa_references",
    "blocks",
    "forward_block_references",
    "_first_uses",
    "_definitions",
)
"""The attributes of the parser that describe the scope of a statement."""

_Scope = tuple[tuple[Any, ...], int, int]
"""The values of `_SCOPE`, the number of defined names, and the depth of dialects."""


class Cancelled(Exception):
    """The result is no longer needed."""


class RecoveringParser(SourceParser):
    """Parses everything that is valid; `failures` are the errors."""

    def __init__(
        self,
        context: Context,
        source: Source,
        is_cancelled: Callable[[], bool] = lambda: False,
        functions: ReusableFunctions | None = None,
        statements: ReusableStatements | None = None,
    ) -> None:
        super().__init__(context, source)
        self._is_cancelled = is_cancelled
        self._last_functions = functions or ReusableFunctions()
        self._last_statements = statements or ReusableStatements()
        self._own_statements: ReusableStatements | None = None
        self._function_line = ""
        self._alias_texts: tuple[str, ...] = ()
        self.reused: set[Operation] = set()
        """Functions reused from the previous version of the text."""
        self.marks: list[Mark] = []
        self.failures: list[ParseError] = []
        self.places = Places()
        self.replaced: dict[SSAValue, SSAValue] = {}
        """The values that replaced forward references."""
        self.lost_symbols: set[str] = set()
        """Symbols whose definitions were skipped."""
        self._lost_values: set[str] = set()
        self._lost_aliases: set[str] = set()

    def parse_recovering(self) -> ModuleOp | None:
        """Parse to the end; return `None` if no module results. Raises Cancelled."""
        try:
            operations = self._parse_top_level()
            self._reject_undefined_values()
            module = self._as_module(operations, True)
            self._translate_older_forms(module)
            return module
        except Cancelled:
            raise
        except RecursionError:
            self._fail(ParseError(Span(0, 0, self.source), "the program is nested too deeply"))
        except Exception as problem:
            self._fail(self._as_failure(problem))
        return None

    # Statements

    def parse_optional_operation(self) -> Operation | None:
        """Return the next valid operation before the end of the block, if there is one."""
        while True:
            if self._is_cancelled():
                raise Cancelled
            start, scope = self.pos, self._save()
            try:
                operation = super().parse_optional_operation()
                if operation is not None or self._is_at_end():
                    return operation
                raise ParseError(
                    self._current_token.span, f"expected an operation, found {self._found()}"
                )
            except (Cancelled, RecursionError, MemoryError):
                raise
            except Exception as problem:
                self._fail(self._as_failure(problem))
                self._restore(scope, start)
                self._skip(start)

    def _is_at_end(self) -> bool:
        kind = self._current_token.kind
        if kind is MLIRTokenKind.EOF:
            return True
        return kind in (_ENDS if self._depth else _AT_TOP)

    def parse_operation(self) -> Operation:
        """Read an operation and record its extent."""
        start, first = self.pos, self.places.mark()
        known = self._last_functions.pop(self.source.content, start, self._alias_texts)
        if known is not None and self._is_usable(known, start):
            operation = self._reuse_function(known, start)
        else:
            operation = self._reuse_statement(start) or super().parse_operation()
        content, end = self.source.content, self.pos
        while end > start and content[end - 1].isspace():
            end -= 1
        extent = Extent(start, end)
        if operation.name == FUNCTION:
            last = self.places.mark()
            self.marks.append(Mark(operation, extent, first, last, self._alias_texts))
        self.places.extents[operation] = extent
        return operation

    def _is_usable(self, known: ReusableFunction, start: int) -> bool:
        """Return whether a known function still has its statements and is at the same column."""
        was, now = known.operation.location, self._location(start)
        if isinstance(was, FileLineColLoc) and isinstance(now, FileLineColLoc):
            alike = was.column == now.column
        else:
            alike = True
        return alike and known.operation not in self._last_statements.emptied

    def _reuse_function(self, known: ReusableFunction, start: int) -> Operation:
        """Reuse a function of the previous version at offset `start`."""
        operation = known.operation
        # A cancelled analysis may have left it outside of any block.
        if operation.parent is not None:
            operation.detach()
        self._last_statements.keep_out(operation)
        move_to(operation, self._location(start))
        self.places.add(known.places, start - known.start)
        self.reused.add(operation)
        self._resume_from(start + len(known.text))
        return operation

    def _reuse_statement(self, start: int) -> Operation | None:
        """Reuse a statement of the previous version, if it is known."""
        last = self._last_statements
        if last.aliases != self._alias_texts:
            return None
        dialects = self._parser_state.dialect_stack
        content = self.source.content
        if content.startswith(FUNCTION, start):
            self._function_line = rest_of_line(content, start)
            return None
        found = last.at(content, start, self._function_line, self.ssa_values, dialects)
        if found is None:
            return None
        operation, by = found.operation, start - found.start
        own = [each for each in found.places.definitions if each[2][0].owner is operation]
        inner = [each for each in found.places.definitions if each[2][0].owner is not operation]
        if any(content[begin + 1 : end] in self.ssa_values for begin, end, _ in inner):
            return None
        last.take(found)
        move_to(operation, self._location(start))
        self.places.extents.update((each, extent.moved(by)) for each, extent in found.inner)
        self.places.uses.extend(found.places.uses)
        self.places.definitions.extend(inner)
        for begin, end, values in own:
            span = Span(begin, end, self.source)
            self._register_ssa_definition(content[begin + 1 : end], values, span)
        self._resume_from(start + len(found.text))
        return operation

    def statements(self) -> ReusableStatements:
        """Return the statements parsed without errors, for the next version of the text."""
        if self._own_statements is None:
            self._own_statements = ReusableStatements(self.source.content, self._alias_texts)
            # Errors about lost aliases are not recorded, so their statements look correct.
            if not self._lost_aliases and len(self.failures) < MAX_FAILURES:
                failures = [each.span.start for each in self.failures]
                self._own_statements.fill(self.places, self.replaced, failures)
        return self._own_statements

    def functions(self) -> list[ReusableFunction]:
        """Return the functions parsed without errors, for the next version of the text."""
        failures = [each.span.start for each in self.failures]
        content = self.source.content
        return reusable_functions(content, self.marks, self.places, self.replaced, failures)

    def parse_optional_punctuation(
        self, punctuation: PunctuationSpelling
    ) -> PunctuationSpelling | None:
        """Read a punctuation token; the end of the text closes all regions."""
        if punctuation == "}" and self._current_token.kind is MLIRTokenKind.EOF:
            self._fail(ParseError(self._current_token.span, "expected '}' before the end"))
            return punctuation
        return super().parse_optional_punctuation(punctuation)

    def _parse_top_level(self) -> list[Operation]:
        operations: list[Operation] = []
        while (kind := self._current_token.kind) is not MLIRTokenKind.EOF:
            if kind not in _AT_TOP:
                # There may be no operation after a skipped one, but an alias or the end.
                operation = self.parse_optional_operation()
                operations += [operation] if operation is not None else []
                continue
            start, name = self.pos, self._current_token.text
            try:
                if kind is MLIRTokenKind.FILE_METADATA_BEGIN:
                    self._parse_file_metadata_dictionary()
                else:
                    self._parse_alias_def()
                    self._alias_texts += (self.source.content[start : self.pos].strip(),)
            except Exception as problem:
                self._depth = 0
                self._lost_aliases.add(name)
                self._fail(self._as_failure(problem))
                self._skip(start)
        return operations

    # Names

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        """Return the value of a name; a lost value has any type."""
        name = operand.operand_name
        if name in self._lost_values and name not in self.ssa_values:
            value = cast("SSAValue[AttributeInvT]", ForwardDeclaredValue(type))
        else:
            value = super().resolve_operand(operand, type)
        self.places.uses.append((operand.span.start, operand.span.end, value))
        return value

    def parse_optional_operand(self, type: Attribute | None = None) -> SSAValue | None:  # pyright: ignore
        """Return the value of a name, if there is one.

        xDSL 0.73 passes no type; a lost value is then taken as a condition (i1).
        """
        start, name = self.pos, self._current_token.text[1:]
        is_lost = name in self._lost_values and name not in self.ssa_values
        if type is not None or is_lost:
            operand = self.parse_optional_unresolved_operand()
            return None if operand is None else self.resolve_operand(operand, type or i1)
        value = super().parse_optional_operand()  # pyright: ignore[reportDeprecated]
        if value is not None:
            self.places.uses.append((start, start + 1 + len(name), value))
        return value

    def _register_ssa_definition(self, name: str, values: Any, span: Span) -> None:
        earlier = dict(self.forward_ssa_references.get(name, {}))
        super()._register_ssa_definition(name, values, span)
        self.places.definitions.append((span.start, span.end, tuple(values)))
        self.replaced.update((use, values[index]) for index, use in earlier.items())

    def _reject_undefined_values(self) -> None:
        for name in self.forward_ssa_references:
            span = self._first_uses.get(name)
            if span is not None and name not in self._lost_values:
                self._fail(ParseError(span, self._undefined_value(name)))
        self.forward_ssa_references.clear()

    def _reject_undefined_blocks(self) -> None:
        try:
            super()._reject_undefined_blocks()
        except ParseError as failure:
            self._fail(failure)
            self.forward_block_references = defaultdict(list)

    # Failures

    def _fail(self, failure: ParseError) -> None:
        place = failure.span.start
        if len(self.failures) >= MAX_FAILURES:
            return
        if any(each.span.start == place for each in self.failures[-5:]):
            return
        if not any(f"'{name}'" in failure.msg for name in self._lost_aliases):
            self.failures.append(failure)

    def _as_failure(self, problem: Exception) -> ParseError:
        return problem if isinstance(problem, ParseError) else self._as_parse_error(problem)

    def _save(self) -> _Scope:
        state = tuple(getattr(self, name) for name in _SCOPE)
        return state, len(self._defined_names), len(self._parser_state.dialect_stack)

    def _restore(self, scope: _Scope, start: int) -> None:
        """Return to the scope of a statement that was not parsed to its end."""
        defined = list(self._defined_names)
        state, names, dialects = scope
        for name, value in zip(_SCOPE, state, strict=True):
            setattr(self, name, value)
        for name in defined[names:]:
            place = self._definitions.get(name)
            if place is not None and place.start >= start:
                self.ssa_values.pop(name, None)
        del self._defined_names[names:]
        del self._parser_state.dialect_stack[dialects:]

    def _skip(self, start: int) -> None:
        """Continue parsing at the next statement after the one that begins at `start`."""
        line = rest_of_line(self.source.content, start)
        head, equals, _ = line.partition("=")
        if equals and head.startswith("%"):
            self._lost_values.update(_RESULTS.findall(head))
        if (symbol := _SYMBOL.search(line)) is not None:
            self.lost_symbols.add(symbol[1])
        while True:
            start = self._next_statement(start)
            try:
                self._resume_from(start)
                return
            except ParseError as failure:
                self._fail(failure)

    def _next_statement(self, start: int) -> int:
        """Return the offset of the next statement, or of the end of the block, after `start`."""
        content, depth = self.source.content, 0
        margin = _indentation(content, content.rfind("\n", 0, start) + 1)
        for piece in _PIECE.finditer(content, start):
            match piece[0]:
                case "{":
                    depth += 1
                case "}":
                    depth -= 1
                    if depth < 0 and piece.start() > start:
                        return piece.start()
                    depth = max(depth, 0)
                case "\n":
                    begin = piece.end()
                    indentation = _indentation(content, begin)
                    offset = begin + indentation
                    is_outside = depth == 0 or indentation <= margin
                    if is_outside and _STATEMENT.match(content, begin):
                        return offset
                    if depth and indentation < margin and content[offset : offset + 1] == "}":
                        return offset
                case _:
                    pass
        return len(content)


def _indentation(content: str, begin: int) -> int:
    end = begin
    while end < len(content) and content[end] in " \t":
        end += 1
    return end - begin
