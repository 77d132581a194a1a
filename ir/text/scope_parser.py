"""Scopes of value and block names in the parser, and errors about names.

Isolated regions are separate scopes, as in MLIR. Entering a region costs nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NoReturn, cast

from xdsl.context import Context
from xdsl.ir import AttributeInvT, Block, SSAValue
from xdsl.parser import ForwardDeclaredValue, UnresolvedOperand
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from ..usage_error import did_you_mean
from .literal_parser import LiteralParser


class ScopeParser(LiteralParser):
    """The part of the parser that resolves names."""

    def __init__(self, context: Context, text: str, name: str) -> None:
        super().__init__(context, text, name)
        self._defined_names: list[str] = []
        self._definitions: dict[str, Span] = {}
        """The last definition of each name."""
        self._first_uses: dict[str, Span] = {}
        """The first use of each value that is not yet defined."""
        self._isolated = False

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        """Return the value of a name, or a forward reference, whose first use is recorded."""
        name, index = operand.operand_name, operand.index
        values = self.ssa_values.get(name)
        if values is None:
            self._first_uses.setdefault(name, operand.span)
            references = self.forward_ssa_references.setdefault(name, {})
            found = references.get(index)
            if found is None:
                value = references[index] = ForwardDeclaredValue(type)
                return value
        elif index < len(values):
            found = values[index]
        else:
            message = f"there is no '%{name}#{index}': '%{name}' has {_counted(len(values))}"
            self._raise_at(operand.span, message, name, "defined here")
        if found.type != type:
            message = (
                f"use of value '%{name}' expects different type than prior uses: '{type}' vs"
                f" '{found.type}'"
            )
            self._raise_at(operand.span, message, name, "prior use here")
        return cast("SSAValue[AttributeInvT]", found)

    def _raise_at(self, span: Span, message: str, name: str, note: str) -> NoReturn:
        """Raise an error with a note at the definition of a name, or at its first use."""
        place = self._definitions.get(name) if name in self.ssa_values else None
        place = place or self._first_uses.get(name)
        raise _error(span, message, place, note)

    def _reject_undefined_values(self) -> None:
        for name in self.forward_ssa_references:
            span = self._first_uses.get(name)
            raise ParseError(
                span if span is not None else self._current_token.span,
                self._undefined_value(name),
            )

    def _undefined_value(self, name: str) -> str:
        hint = did_you_mean(name, self.ssa_values, "%")
        return f"use of undefined value '%{name}'{hint}"

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.ssa_values:
            message = f"redefinition of SSA value '%{name}'"
            self._raise_at(span, message, name, "previously defined here")
        if (uses := self.forward_ssa_references.get(name)) is not None:
            self._check_earlier_uses(name, uses, values, span)
        super()._register_ssa_definition(name, values, span)
        self._definitions[name] = span
        self._defined_names.append(name)

    def _check_earlier_uses(
        self,
        name: str,
        uses: Mapping[int, SSAValue],
        values: Sequence[SSAValue],
        span: Span,
    ) -> None:
        for index, use in uses.items():
            if index >= len(values):
                message = f"definition of SSA value '%{name}' has {_counted(len(values))}"
                self._raise_at(span, message, name, f"'%{name}#{index}' is used here")
            if use.type != values[index].type:
                result = f"%{name}" if len(values) == 1 else f"%{name}#{index}"
                message = f"definition of SSA value '{result}' has type '{values[index].type}'"
                self._raise_at(span, message, name, f"previously used here with type '{use.type}'")

    def _parse_block(self) -> Block:
        token = self._current_token
        name = token.text[1:]
        known = self.blocks.get(name)
        if known is not None and name not in self.forward_block_references:
            message = f"redefinition of block '{token.text}'"
            raise _error(token.span, message, known[1], "previously defined here")
        block = super()._parse_block()
        # A block that was referenced before its definition has no span yet.
        self.blocks[name] = block, token.span
        return block

    @contextmanager
    def _scope(self) -> Generator[None]:
        """Open a scope: names defined inside end with it; isolated regions see none from
        outside.
        """
        outer_blocks, self.blocks = self.blocks, {}
        outer_references = self.forward_block_references
        self.forward_block_references = defaultdict(list)
        isolated = self._isolated
        outer_values = self.ssa_values
        outer_uses, outer_definitions = self._first_uses, self._definitions
        outer_forward, self.forward_ssa_references = self.forward_ssa_references, {}
        mark = len(self._defined_names)
        if isolated:
            self.ssa_values, self._first_uses, self._definitions = {}, {}, {}
        yield
        if isolated:
            self._reject_undefined_values()
            self.ssa_values = outer_values
            self._first_uses, self._definitions = outer_uses, outer_definitions
        else:
            for name in self._defined_names[mark:]:
                del self.ssa_values[name]
            self._hand_outwards(outer_forward)
        self.forward_ssa_references = outer_forward
        del self._defined_names[mark:]
        self.blocks = outer_blocks
        self.forward_block_references = outer_references

    def _hand_outwards(self, outer: dict[str, dict[int, ForwardDeclaredValue]]) -> None:
        """Move unresolved forward references of a region to the enclosing scope."""
        for name, references in self.forward_ssa_references.items():
            known = outer.setdefault(name, {})
            for index, value in references.items():
                other = known.setdefault(index, value)
                if other.type != value.type:
                    self.raise_error(
                        f"uses of value '%{name}' expect different types: '{other.type}' vs"
                        f" '{value.type}'",
                        self._first_uses.get(name),
                    )
                if other is not value:
                    value.replace_all_uses_with(other)

    def _reject_undefined_blocks(self) -> None:
        if not self.forward_block_references:
            return
        first, *others = chain.from_iterable(self.forward_block_references.values())
        raise MultipleSpansParseError(
            first,
            f"reference to undefined block '{first.text}'",
            None,
            [(span, f"reference to undefined block '{span.text}'") for span in others],
        )


def _error(span: Span, message: str, place: Span | None, note: str) -> MultipleSpansParseError:
    return MultipleSpansParseError(
        span, message, None, [(place, note)] if place is not None else []
    )


def _counted(results: int) -> str:
    return f"{results} result{'' if results == 1 else 's'}"
