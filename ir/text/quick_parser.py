"""xDSL's parser with shortcuts in the methods that run for every token.

The methods behave like those that they override; none changes the accepted language. Together with
the lexer and the cache of types they make parsing about twice as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyDenseElement, DenseIntOrFPElementsAttr, RankedStructure
from xdsl.ir import SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRToken,
    MLIRTokenKind,
    PunctuationSpelling,
)

from .dense_literals import LITERAL, pack_numbers, read_numbers
from .lexer import SourceToken


class NamedOperand(UnresolvedOperand):
    """An operand that stores its name and creates its span on demand."""

    __slots__ = ("_token", "index", "operand_name")

    def __init__(self, token: MLIRToken, index: int) -> None:
        self._token = token
        self.index = index
        self.operand_name = token.text[1:]  # pyright: ignore

    @property
    def span(self) -> Span:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return the span of the name."""
        return self._token.span


class QuickParser(Parser):
    """`Parser` with fast token methods: no properties, assertions or intermediate objects."""

    @property
    def _current_token(self) -> SourceToken:
        return self._parser_state.current_token  # pyright: ignore[reportReturnType]

    @property
    def pos(self) -> int:
        """Return the offset of the next token."""
        return self._parser_state.current_token.start  # pyright: ignore

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        state = self._parser_state
        token = state.current_token
        assert expected_kind is None or token.kind is expected_kind
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> MLIRToken | None:
        state = self._parser_state
        token = state.current_token
        if token.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def _parse_token(self, expected_kind: MLIRTokenKind, error_msg: str) -> MLIRToken:
        token = self._parse_optional_token(expected_kind)
        if token is None:
            self.raise_error(error_msg, self._current_token.span)
        return token

    def parse_optional_characters(self, text: str) -> str | None:
        """Read a token with exactly this text if it comes next."""
        state = self._parser_state
        if state.current_token.text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    def parse_optional_punctuation(
        self, punctuation: PunctuationSpelling
    ) -> PunctuationSpelling | None:
        """Read a punctuation token if it comes next."""
        state = self._parser_state
        if state.current_token.kind is not KIND_BY_PUNCTUATION_SPELLING[punctuation]:
            return None
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_punctuation(
        self, punctuation: PunctuationSpelling, context_msg: str = ""
    ) -> PunctuationSpelling:
        """Read a punctuation token. Raises ParseError if it does not come next."""
        state = self._parser_state
        if state.current_token.kind is not KIND_BY_PUNCTUATION_SPELLING[punctuation]:
            self.raise_error(f"expected '{punctuation}'{context_msg}", self._current_token.span)
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        """Read `%name` or `%name#index` if it comes next."""
        token = self._parse_optional_token(MLIRTokenKind.PERCENT_IDENT)
        if token is None:
            return None
        following = self._parse_optional_token(MLIRTokenKind.HASH_IDENT)
        if following is None:
            return NamedOperand(token, 0)
        number = following.text[1:]
        if not (number.isascii() and number.isdecimal()):
            self.raise_error("expected a number behind '#'", following.span)
        return NamedOperand(token, int(number))

    def parse_bound_results(self) -> list[tuple[MLIRToken, int]]:
        """Read `%a, %b:2 =`: the result names of an operation, each with its number of results."""
        results: list[tuple[MLIRToken, int]] = []
        while (token := self._parse_optional_token(MLIRTokenKind.PERCENT_IDENT)) is not None:
            size = 1
            if self._parse_optional_token(MLIRTokenKind.COLON) is not None:
                number = self._parse_token(
                    MLIRTokenKind.INTEGER_LIT, "expected a number of results"
                )
                size = number.kind.get_int_value(number.span)
                if size == 0:
                    self.raise_error("expected at least one result", number.span)
            results.append((token, size))
            if self._parse_optional_token(MLIRTokenKind.COMMA) is None:
                self.parse_punctuation("=", " after the results of an operation")
                return results
        if results:
            self.raise_error("expected a value such as '%0'")
        return results

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.ssa_values or name in self.forward_ssa_references:
            super()._register_ssa_definition(name, values, span)
            return
        self.ssa_values[name] = tuple(values)
        if SSAValue.is_valid_name(name):
            for value in values:
                value.name_hint = name

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        """Read `<...> : type` after `dense`; decimal numbers are parsed all at once."""
        constant = self._parse_plain_dense() if type is None else None
        if constant is not None:
            return constant
        return super().parse_dense_int_or_fp_elements_attr(type)

    def _parse_plain_dense(self) -> DenseIntOrFPElementsAttr | None:
        """Read a literal of decimal numbers and its type. Reads nothing if it has another form."""
        start = self.pos
        match = LITERAL.match(self.lexer.input.content, start)
        numbers = read_numbers(match["numbers"]) if match is not None else None
        if match is None or numbers is None:
            return None
        self._resume_from(match.end())
        constant = pack_numbers(*numbers, self._parse_dense_literal_type())
        if constant is None:
            self._resume_from(start)
        return constant
