"""Parse MLIR text: a faster version of xDSL's parser with a location on every operation.

Additions to xDSL's `Parser`:

* a lexer of one regular expression, and types parsed once per spelling and file;
* `operation.location` is file:line:col of the operation's name unless the text has `loc(...)`;
* an undefined value is reported at its first use, an unknown operation at its name;
* isolated regions are separate scopes, as in MLIR, and entering a region costs nothing;
* nesting is limited, so hostile text causes an error and not a crash;
* any other exception while parsing becomes a `ParseError` with a location.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from string import digits
from typing import Any, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnregisteredAttr,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Block, Data, Operation, ParametrizedAttribute, Region, TypeAttribute
from xdsl.parser import Parser, ParserState
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import ParseError, PyRDLError, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from ..attribute_access import operation_name
from ..constraint_errors import refused_while_reading
from ..diagnostics import OperationError
from ..garbage_collection import without_garbage_collection
from ..nesting_limits import (
    MAXIMUM_ALIAS_SIZE,
    MAXIMUM_INTEGER_WIDTH,
    MAXIMUM_NESTING,
    deep_recursion,
)
from .aliases import AliasSizes
from .lexer import SourceLexer
from .scope_parser import ScopeParser
from .source import Source
from .unknown_names import unknown_attribute, unknown_operation
from .xdsl_compat.custom_forms import PARSERS, UNKNOWN_PROPERTIES

_TYPE_SPELLING = re.compile(r"[!a-zA-Z_][\w$.]*+(?:<(?:[^<>\"-]++|<[^<>\"-]*+>)*+>)?", re.ASCII)
"""The text of most types. A type is cached only if the parser consumes exactly this text."""

_INTEGER_TYPE = re.compile(r"[su]?i([0-9]+)")

_LOCATION_ALIAS = re.compile(r"^(#[\w$.-]+)\s*=\s*loc\(", re.MULTILINE | re.ASCII)
_UNREGISTERED = re.compile(r"'(.*)' is not registered")
_NAME = re.compile(r"[\w.]+")
_OPAQUE_NAME = re.compile(r"\s*[A-Za-z_]", re.ASCII)

_TYPE_STARTS = frozenset((MLIRTokenKind.BARE_IDENT, MLIRTokenKind.EXCLAMATION_IDENT))
_CLOSERS = frozenset((MLIRTokenKind.CARET_IDENT, MLIRTokenKind.R_BRACE))


AFTER_READING: dict[str, Callable[[ModuleOp], None]] = {}
"""Hooks for modules that use a dialect, by dialect name. They upgrade old forms of its operations.

A hook raises OperationError if it cannot upgrade an operation.
"""


def parse_module(context: Context, source: Source, *, implicit_module: bool = True) -> ModuleOp:
    """Parse a module; top-level operations without one are wrapped in an implicit module.

    Raises ParseError with a span in `source` for any error in the text.
    """
    with without_garbage_collection(), deep_recursion():
        return SourceParser(context, source).parse_whole_module(implicit_module)


class _Aliases(dict[str, Attribute]):
    """Attributes by alias. Location aliases, defined after their uses, are read on demand."""

    def __init__(self, parser: SourceParser) -> None:
        super().__init__()
        self._parser = parser
        self._later: dict[str, int] | None = None
        self._sizes = AliasSizes()

    def __setitem__(self, name: str, attribute: Attribute) -> None:
        if self._sizes.size(attribute) > MAXIMUM_ALIAS_SIZE:
            self._parser.raise_error(
                f"alias '{name}' expands to more than {MAXIMUM_ALIAS_SIZE} attributes"
            )
        super().__setitem__(name, attribute)

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        if self._later is None:
            text = self._parser.source.content
            self._later = {m.group(1): m.end() for m in _LOCATION_ALIAS.finditer(text)}
        offset = self._later.pop(name, None) if isinstance(name, str) else None
        if offset is None:
            return False
        self[str(name)] = self._parser.parse_location_at(offset)
        return True

    def defined(self, name: str) -> bool:
        """Return whether the definition of the alias has been read, in order or on demand."""
        return super().__contains__(name)


class SourceParser(ScopeParser):
    """The parser of this module. One parser reads one source once."""

    source: Source

    def __init__(self, context: Context, source: Source) -> None:
        super().__init__(context, "", source.name)
        self.source = source
        self._parser_state = ParserState(SourceLexer(source))
        self._aliases = _Aliases(self)
        self.attribute_aliases: dict[str, Attribute] = self._aliases
        self._types: dict[str, TypeAttribute] = {}
        self._depth = 0
        self._operation_start: int | None = None
        self._file_name = StringAttr(source.name)
        self._numbers: dict[int, IntAttr] = {}

    # Whole files

    def parse_whole_module(self, implicit_module: bool = True) -> ModuleOp:
        """Read the whole source. Raises ParseError for any error in the text."""
        try:
            operations = self._parse_top_level()
            self._reject_undefined_values()
            module = self._as_module(operations, implicit_module)
            self._translate_older_forms(module)
            return module
        except (ParseError, ImportError, MemoryError, NameError, PyRDLError):
            raise
        except RecursionError:
            self._raise_nesting_error()
        except Exception as error:
            raise self._as_parse_error(error) from error

    def _translate_older_forms(self, module: ModuleOp) -> None:
        if AFTER_READING:
            for dialect in self.ctx.loaded_dialects:
                if dialect.name in AFTER_READING:
                    AFTER_READING[dialect.name](module)

    def _as_parse_error(self, error: Exception) -> ParseError:
        """Convert an exception to a ParseError at the current operation.

        xDSL's parsing code and the constructors that it calls raise many kinds of exceptions on bad
        input. Nearly all of them are caused by the text.
        """
        start = self._operation_start if self._operation_start is not None else self.pos
        message = str(error).strip() or type(error).__name__
        if isinstance(error, UnicodeEncodeError):
            # A byte that is not UTF-8 was decoded to a lone surrogate.
            start = self.source.content.find(error.object[error.start])
            message = f"byte {ord(error.object[error.start]) & 0xFF:#x} is not UTF-8"
        elif isinstance(error, OperationError):
            start = self._offset(error.operation.location)
            message = f"'{operation_name(error.operation)}' op {message}"
        elif isinstance(error, VerifyException):
            refused = refused_while_reading(error)
            if refused is not None and (name := _NAME.match(self.source.content, start)):
                message = f"'{name[0]}' op {refused}"
        elif "set_int_max_str_digits" in message:
            before = self.source.content[: self.pos].rstrip()
            start, message = len(before.rstrip(digits)), "integer constant out of range"
        return ParseError(Span(start, start, self.source), message)

    def _parse_top_level(self) -> list[Operation]:
        operations: list[Operation] = []
        while (kind := self._current_token.kind) is not MLIRTokenKind.EOF:
            if kind in (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT):
                self._parse_alias_def()
            elif kind is MLIRTokenKind.FILE_METADATA_BEGIN:
                self._parse_file_metadata_dictionary()
            elif (operation := self.parse_optional_operation()) is not None:
                operations.append(operation)
            else:
                self.raise_error(f"expected an operation, found {self._found()}")
        return operations

    def _as_module(self, operations: list[Operation], implicit_module: bool) -> ModuleOp:
        if len(operations) == 1 and isinstance(module := operations[0], ModuleOp):
            return module
        if not implicit_module:
            self.raise_error("expected a single 'builtin.module' at the top level", 0)
        module = ModuleOp(operations)
        module.location = self._location(0)
        return module

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        aliases = self._aliases
        if name.startswith("#") and _LOCATION_ALIAS.match(self.source.content, self.pos):
            known = aliases.defined(name)
            self._consume_token()
            self.parse_punctuation("=")
            location = self.parse_optional_location()
            if not known and location is not None:
                aliases[name] = location
            return
        if aliases.defined(name):
            self.raise_error(f"redefinition of alias '{name}'")
        self._consume_token()
        self.parse_punctuation("=", " after alias name")
        aliases[name] = self.parse_attribute()

    def parse_location_at(self, offset: int) -> LocationAttr:
        """Read the contents of a `loc(...)` elsewhere in the text, then return to this position."""
        here = self._current_token
        position = self.lexer.pos
        self._resume_from(offset)
        location = self._parse_location()
        self.lexer.pos = position
        self._parser_state.current_token = here
        return location

    # Operations

    def parse_operation(self) -> Operation:
        """Read one operation in its custom or generic form, with its results."""
        results_position = self.pos
        bound_results = self.parse_bound_results()
        token = self._current_token
        outer_start, outer_isolated = self._operation_start, self._isolated
        self._operation_start = start = token.start
        dialect_stack = self._parser_state.dialect_stack

        if token.kind is MLIRTokenKind.BARE_IDENT:
            self._consume_token()
            operation_type = self._get_op_by_name(token.text)
            if issubclass(operation_type, UnregisteredOp):
                self.raise_error(unknown_operation(self.ctx, token.text), start)
            self._isolated = operation_type.has_trait(IsolatedFromAbove)
            dialect_stack.append(operation_type.dialect_name())
            parse = PARSERS.get(operation_type.name, operation_type.parse)
            operation = parse(self)
            location = self.parse_optional_location()
            if location is not None:
                operation.location = location
        else:
            name = self.expect(self.parse_optional_str_literal, "expected an operation name")
            operation_type = self._get_op_by_name(name)
            self._isolated = operation_type.has_trait(
                IsolatedFromAbove, value_if_unregistered=False
            )
            dialect_stack.append(operation_type.dialect_name())
            operation = self._parse_generic_operation(operation_type)

        dialect_stack.pop()
        if operation.location is UNKNOWN_LOC:
            operation.location = self._location(start)
        if bound_results:
            self._bind_results(operation, bound_results, results_position)
        self._operation_start, self._isolated = outer_start, outer_isolated
        return operation

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        operation = super()._parse_generic_operation(op_type)
        for name in UNKNOWN_PROPERTIES.get(operation.name, ()):
            if name in operation.properties:
                operation.attributes[name] = operation.properties.pop(name)
        return operation

    def _bind_results(
        self, operation: Operation, bound_results: list[tuple[MLIRToken, int]], position: int
    ) -> None:
        results = operation.results
        count = sum(size for _, size in bound_results)
        if count != len(results):
            self.raise_error(
                f"'{operation_name(operation)}' op has {len(results)} results, but {count} are"
                " named",
                position,
            )
        index = 0
        for token, size in bound_results:
            values = results[index : index + size]
            self._register_ssa_definition(token.text[1:], values, token.span)
            index += size

    def _get_op_by_name(self, name: str) -> type[Operation]:
        operation_type = self.ctx.get_optional_op(
            name, dialect_stack=self._parser_state.dialect_stack
        )
        if operation_type is not None:
            return operation_type
        start = self._operation_start if self._operation_start is not None else self.pos
        self.raise_error(unknown_operation(self.ctx, name), start)

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Any:
        """Read what follows `!` or `#`; the text of `!unknown<"a", 1>` begins with no name."""
        name, token = attr_or_dialect_name, self._current_token
        if (
            "." not in name
            and token.kind is MLIRTokenKind.LESS
            and self.ctx.allow_unregistered
            and self.ctx.get_optional_dialect(name) is None
            and _OPAQUE_NAME.match(self.source.content, token.end) is None
        ):
            find = self.ctx.get_optional_type if is_type else self.ctx.get_optional_attr
            found: Any = find(f"{name}.")
            return found(f"{name}.", is_type, True, self._parse_dialect_symbol_body())
        return super()._parse_extended_type_or_attribute(name, is_type)

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> UnregisteredAttr | ParametrizedAttribute | Data[Any]:
        mark = "!" if is_type else "#"
        start = self.source.content.rfind(mark + attr_name.partition(".")[0], 0, self.pos)
        try:
            return super()._parse_dialect_type_or_attribute_body(
                attr_name, is_type, is_opaque, starting_opaque_pos
            )
        except ParseError as failure:
            unknown = _UNREGISTERED.fullmatch(failure.msg)
            if unknown is None:
                raise
            name = unknown[1]
            message = unknown_attribute(self.ctx, name, is_type)
            raise ParseError(Span(start, start, self.source), message) from failure

    def _location(self, offset: int) -> LocationAttr:
        """Return a `FileLineColLoc`, created without xDSL's check of its three parameters."""
        line, column = self.source.line_and_column(offset)
        location = FileLineColLoc.__new__(FileLineColLoc)
        object.__setattr__(location, "filename", self._file_name)
        object.__setattr__(location, "line", self._number(line))
        object.__setattr__(location, "column", self._number(column))
        return location

    def _offset(self, location: LocationAttr) -> int:
        """Return the offset of a location in this source; 0 if it is not in this source."""
        source = self.source
        if isinstance(location, FileLineColLoc) and location.filename.data == source.name:
            line = location.line.data - source.first_line
            if 0 <= line < len(source.line_starts):
                return source.line_starts[line] + location.column.data - 1
        return 0

    def _number(self, value: int) -> IntAttr:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = IntAttr(value)
        return number

    # Regions

    def parse_optional_region(
        self, arguments: Iterable[Parser.Argument] | None = None
    ) -> Region | None:
        """Read `{ ... }` if there is one; `arguments` become the arguments of the entry block."""
        if self.parse_optional_punctuation("{") is None:
            return None
        self._enter()
        with self._scope():
            region = Region()
            if arguments is not None:
                if self._current_token.kind is MLIRTokenKind.CARET_IDENT:
                    self.raise_error(
                        "a region with named arguments must not begin with a block label"
                    )
                region.add_block(self._parse_entry_block(list(arguments)))
            elif self._current_token.kind not in _CLOSERS:
                block = Block()
                self._parse_block_body(block)
                region.add_block(block)
            while self.parse_optional_punctuation("}") is None:
                if self._current_token.kind is not MLIRTokenKind.CARET_IDENT:
                    self.raise_error(f"expected an operation or '}}', found {self._found()}")
                region.add_block(self._parse_block())
            self._reject_undefined_blocks()
        self._depth -= 1
        return region

    def parse_optional_argument(self, expect_type: bool = True) -> Any:
        """Read `%name: type loc(...)`, or `%name` without a type, if it comes next."""
        argument = super().parse_optional_argument(expect_type)
        if isinstance(argument, Parser.Argument):
            argument.location = self.parse_optional_location()
        return argument

    def _parse_entry_block(self, arguments: list[Parser.Argument]) -> Block:
        block = Block(arg_types=[argument.type for argument in arguments])
        for value, argument in zip(block.args, arguments, strict=True):
            self._register_ssa_definition(argument.name.text[1:], (value,), argument.name)
            value.location = argument.location or self._location(argument.name.start)
        self._parse_block_body(block)
        return block

    def _parse_block(self) -> Block:
        token = self._current_token
        block = super()._parse_block()
        for argument in block.args:
            if argument.location is UNKNOWN_LOC:
                argument.location = self._location(token.span.start)
        return block

    # Attributes and types

    def parse_optional_type(self) -> TypeAttribute | None:
        """Read a type if there is one. Spellings that occurred before in this source are cached."""
        spelling, known = self._look_up_type()
        if known is not None:
            return known
        start = self.pos
        if spelling is not None:
            self._reject_huge_integer_type(spelling)
        self._enter()
        parsed = super().parse_optional_type()
        self._depth -= 1
        if parsed is not None and spelling is not None:
            # Cache it only if the parser consumed exactly this text and blanks after it.
            between = self.source.content[start + len(spelling) : self.pos]
            if self.pos >= start + len(spelling) and (not between or between.isspace()):
                self._types[spelling] = parsed
        return parsed

    def parse_optional_attribute(self) -> Attribute | None:
        """Read an attribute, which may be a type, if there is one."""
        _, known = self._look_up_type()
        if known is not None:
            return known
        self._enter()
        parsed = super().parse_optional_attribute()
        self._depth -= 1
        return parsed

    def _look_up_type(self) -> tuple[str | None, TypeAttribute | None]:
        """Return the spelling of a type at this position, if any, and the cached type."""
        token = self._current_token
        if token.kind not in _TYPE_STARTS:
            return None, None
        match = _TYPE_SPELLING.match(self.source.content, token.start)
        if match is None:
            return None, None
        spelling = match.group()
        known = self._types.get(spelling)
        if known is not None:
            self._resume_from(match.end())
        return spelling, known

    def _reject_huge_integer_type(self, spelling: str) -> None:
        """Raise ParseError for integers wider than in MLIR, whose bounds would exhaust memory."""
        match = _INTEGER_TYPE.fullmatch(spelling)
        if match is not None and (
            len(match.group(1)) > 8 or int(match.group(1)) > MAXIMUM_INTEGER_WIDTH
        ):
            self.raise_error(f"an integer type may have at most {MAXIMUM_INTEGER_WIDTH} bits")

    # Errors

    def _found(self) -> str:
        """Return the next token as quoted text for error messages."""
        text = self._current_token.text
        return f"'{text}'" if text else "the end of the text"

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAXIMUM_NESTING:
            self._raise_nesting_error()

    def _raise_nesting_error(self) -> NoReturn:
        self.raise_error(f"nested deeper than {MAXIMUM_NESTING} levels")
