"""xDSL's parser with short ways through the methods that every token passes.

Each method here does what its namesake in xDSL does; none changes what is accepted. Together with
the lexer and the types that are remembered by their spelling they make reading about twice as
fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.ir import SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRTokenKind,
    PunctuationSpelling,
)

from .lexer import SourceToken


class QuickParser(Parser):
    """The token methods of `Parser` without properties, assertions and objects on the way."""

    @property
    def _current_token(self) -> SourceToken:
        return cast(SourceToken, self._parser_state.current_token)

    @property
    def pos(self) -> int:
        """The offset of the next token."""
        return cast(SourceToken, self._parser_state.current_token).start

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> SourceToken:
        state = self._parser_state
        token = cast(SourceToken, state.current_token)
        assert expected_kind is None or token.kind is expected_kind
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> SourceToken | None:
        state = self._parser_state
        token = cast(SourceToken, state.current_token)
        if token.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token_in(
        self, expected_kinds: Iterable[MLIRTokenKind]
    ) -> SourceToken | None:
        if self._parser_state.current_token.kind not in expected_kinds:
            return None
        return self._consume_token()

    def _parse_token(self, expected_kind: MLIRTokenKind, error_msg: str) -> SourceToken:
        token = self._parse_optional_token(expected_kind)
        if token is None:
            self.raise_error(error_msg, self._current_token.span)
        return token

    def parse_optional_characters(self, text: str) -> str | None:
        """Read a token of exactly this text if it comes next."""
        state = self._parser_state
        if cast(SourceToken, state.current_token).text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    def parse_optional_punctuation(
        self, punctuation: PunctuationSpelling
    ) -> PunctuationSpelling | None:
        """Read a punctuation mark if it comes next."""
        state = self._parser_state
        if state.current_token.kind is not KIND_BY_PUNCTUATION_SPELLING[punctuation]:
            return None
        state.current_token = state.lexer.lex()
        return punctuation

    def parse_punctuation(
        self, punctuation: PunctuationSpelling, context_msg: str = ""
    ) -> PunctuationSpelling:
        """Read a punctuation mark, which must come next."""
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
        index = 0
        following = self._parse_optional_token(MLIRTokenKind.HASH_IDENT)
        if following is not None:
            number = following.text[1:]
            if not (number.isascii() and number.isdecimal()):
                self.raise_error("expected a number behind '#'", following.span)
            index = int(number)
        return UnresolvedOperand(token.span, index)

    def _parse_op_result(self) -> tuple[Span, int]:
        token = self._parse_token(MLIRTokenKind.PERCENT_IDENT, "expected a value such as '%0'")
        if self._parse_optional_token(MLIRTokenKind.COLON) is None:
            return token.span, 1
        size = self._parse_token(MLIRTokenKind.INTEGER_LIT, "expected a number of results")
        return token.span, size.kind.get_int_value(size.span)

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        if self._parser_state.current_token.kind is not MLIRTokenKind.PERCENT_IDENT:
            return []
        results = [self._parse_op_result()]
        while self._parse_optional_token(MLIRTokenKind.COMMA) is not None:
            results.append(self._parse_op_result())
        self.parse_punctuation("=", " after the results of an operation")
        return results

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.ssa_values or name in self.forward_ssa_references:
            super()._register_ssa_definition(name, values, span)
            return
        self.ssa_values[name] = tuple(values)
        if SSAValue.is_valid_name(name):
            for value in values:
                value.name_hint = name
