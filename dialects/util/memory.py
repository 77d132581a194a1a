"""Ops of the `util` dialect on host buffers, lists, ranges, strings and generic values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.irdl import BaseAttr
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Parsed, directive, values
from ...ir.syntax.directives import verify_returned
from ...ir.syntax.region_headers import BoundRegion
from ...ir.syntax.repeated import Repeated
from ...ir.syntax.rows import PURE, READS, SIGNLESS, Rows
from ...ir.syntax.typed_values import ConstantValue
from .types import BufferType, ListType, ObjectType, PointerType, VariantType

Tensor = TensorType[Attribute]
row = Rows(
    "util",
    {
        "buffer": BufferType(),
        "formatted": SIGNLESS | BaseAttr(BufferType),
        "list": ListType,
        "pointer": PointerType,
    },
)

END = " attr-dict-with-keyword"
OF_OPERAND = "$operand : type($operand){$operand_size}"
OF_SOURCE = "$source[$source_offset for $length] : type($source){$source_size} -> type($result)"
TO_TARGET = "$target[$target_offset for $length]"
OPERANDS = " $operands_ attr-dict : type($result, $operands_)"

RANGES = Repeated("[$offsets for $lengths]", delimiter=Parser.Delimiter.NONE, in_lines=False)
ITEMS = Repeated("$values_ : type($values_)", delimiter=Parser.Delimiter.SQUARE, in_lines=False)


@directive("list-element")
@dataclass(eq=False)
class ListElement:
    """`!util.list<T>`, or `!util.list<?> -> T` for a list that does not fix its element type.

    For an op that stores an element, the element comes first: `T -> !util.list<?>`.
    """

    first: str
    second: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        position = parser.pos
        type_ = parser.parse_type()
        if parser.parse_optional_punctuation("->") is not None:
            parsed.types[self.first] = [type_]
            parsed.types[self.second] = [parser.parse_type()]
            return
        if not isinstance(type_, ListType):
            parser.raise_error("expected a list and the type of its element", position)
        for name in (self.first, self.second):
            parsed.types[name] = [type_ if name == "list" else type_.element]

    def print(self, printer: Printer, operation: Operation) -> None:
        first, second = (values(operation, name)[0].type for name in (self.first, self.second))
        types = {self.first: first, self.second: second}
        list_ = cast(ListType, types.pop("list"))
        if list_.element in types.values():
            printer.print_attribute(list_)
        else:
            printer.print_attribute(first)
            printer.print_string(" -> ")
            printer.print_attribute(second)


def _are_objects(*types: Attribute) -> bool:
    """Return whether values of these types are reference-counted objects."""
    return all(
        isinstance(type_, ObjectType | BufferType | ListType)
        or (isinstance(type_, TypeAttribute) and type_.name.startswith("hal."))
        for type_ in types
    )


def _can_be(source: Attribute, target: Attribute) -> bool:
    """Return whether a value can be cast: to or from an object, or to a tensor of another shape."""
    types = (source, target)
    if isinstance(source, TensorType) and isinstance(target, TensorType):
        one, other = cast(Tensor, source), cast(Tensor, target)
        return one.element_type == other.element_type
    return source == target or (ObjectType() in types and _are_objects(*types))


def _holds(list_: Attribute, value: Attribute) -> bool:
    element = cast(ListType, list_).element
    return isinstance(element, VariantType) or _can_be(value, element)


def _verify_get(get: Operation) -> None:
    (list_, _), (result,) = get.operand_types, get.result_types
    if not _holds(list_, result):
        element = cast(ListType, list_).element
        raise VerifyException(f"list contains '{element}' and cannot be accessed as '{result}'")


def _verify_set(operation: Operation) -> None:
    list_, _, value = operation.operand_types
    if not _holds(list_, value):
        element = cast(ListType, list_).element
        raise VerifyException(f"list contains '{element}' and cannot be mutated as '{value}'")


def _verify_items(construct: Operation) -> None:
    (list_,) = construct.result_types
    for index, item in enumerate(construct.operand_types):
        if not _holds(list_, item):
            element = cast(ListType, list_).element
            raise VerifyException(
                f"list[{index}] type '{item}' cannot be be cast to list type '{element}'"
            )


def _verify_conversion(operation: Operation) -> None:
    (region,), types = operation.regions, operation.operand_types
    if len(region.blocks) != 1 or region.block.arg_types != types:
        raise VerifyException(
            f"expects a region of one block with arguments of types ({', '.join(map(str, types))})"
        )
    message = "expects its region to return values of the types of its results"
    verify_returned(region, operation.result_types, message)


def _verify_operands(operation: Operation) -> None:
    if not operation.operands:
        raise VerifyException("expected 1 or more operands, but found 0")


def _verify_cast(operation: Operation) -> None:
    (source,), (result,) = operation.operand_types, operation.result_types
    if not (_are_objects(source, result) and _can_be(source, result)):
        raise VerifyException(
            f"operand type '{source}' and result type '{result}' are cast incompatible"
        )


PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(?P<placeholder>[^{}]*)\}|(?P<alone>[{}])")
"""Braces in a format string: escaped (doubled), a placeholder, or unmatched."""


def _verify_format(operation: Operation) -> None:
    """Check that a format string has one argument per placeholder. Raises VerifyException."""
    format_ = cast(StringAttr, operation.properties["format"]).data
    placeholders: list[str] = []
    for found in PLACEHOLDER.finditer(format_):
        if found["alone"] == "{":
            raise VerifyException("unclosed '{' in format string")
        if found["alone"] == "}":
            raise VerifyException("unmatched '}' in format string")
        if (placeholder := found["placeholder"]) is None:
            continue
        if placeholder and not placeholder.isdecimal():
            raise VerifyException(
                f"invalid placeholder '{found[0]}' in format string; expected '{{}}' or '{{N}}'"
            )
        placeholders.append(placeholder)
    given = len(operation.operands)
    sequential = "" in placeholders
    if sequential and any(placeholders):
        raise VerifyException("cannot mix sequential '{}' and explicit '{N}' placeholders")
    indices = range(len(placeholders)) if sequential else map(int, placeholders)
    taken = max(indices, default=-1) + 1
    if taken != given:
        raise VerifyException(
            f"format string placeholder count does not match the {given} provided argument(s)"
        )


NullOp = row(
    "null",
    "-> result:any",
    " attr-dict : type($result)",
    traits=PURE,
    doc="Return the null of a type.",
)


ROWS = (
    # Host memory.
    row(
        "buffer.alloc",
        "storage_size -> result:buffer | alignment:indexattr?",
        (" uninitialized", "struct($alignment) attr-dict : type($result){$storage_size}"),
    ),
    row("buffer.dealloc", "operand:buffer operand_size", f" {OF_OPERAND}{END}"),
    row(
        "buffer.slice",
        "source:buffer source_size source_offset result_size"
        " -> result:buffer | alignment:indexattr?",
        " $source[$source_offset]struct($alignment) attr-dict : type($source){$source_size}"
        " -> type($result){$result_size}",
    ),
    row(
        "buffer.subspan",
        "source:buffer source_size source_offset result_size -> result:buffer",
        " $source[$source_offset] : type($source){$source_size} -> type($result){$result_size}"
        f"{END}",
        traits=PURE,
    ),
    row(
        "buffer.size",
        "operand:buffer -> result",
        f" $operand : type($operand){END}",
        traits=PURE,
    ),
    row(
        "buffer.storage",
        "operand:buffer operand_size -> result:memref offset",
        f" {OF_OPERAND} -> (type($result), type($offset)){END}",
        traits=PURE,
    ),
    row(
        "buffer.copy",
        "source:buffer source_size source_offset target:buffer target_size target_offset length",
        " $source[$source_offset], $target[$target_offset], $length"
        f" : type($source){{$source_size}} -> type($target){{$target_size}}{END}",
    ),
    row(
        "buffer.compare",
        "lhs:buffer lhs_size lhs_offset rhs:buffer rhs_size rhs_offset length -> result:i1",
        " $lhs[$lhs_offset], $rhs[$rhs_offset], $length"
        f" : type($lhs){{$lhs_size}}, type($rhs){{$rhs_size}}{END}",
        traits=READS,
    ),
    row(
        "buffer.fill",
        "pattern:element target:buffer target_size target_offset length",
        f" $pattern, {TO_TARGET} : type($pattern) -> type($target){{$target_size}}{END}",
    ),
    row(
        "buffer.load",
        "source:buffer source_size source_offset length -> result:element",
        f" {OF_SOURCE}{END}",
        traits=READS,
    ),
    row(
        "buffer.store",
        "source:element target:buffer target_size target_offset length",
        f" $source, {TO_TARGET} : type($source) -> type($target){{$target_size}}{END}",
    ),
    row(
        "buffer.hash",
        "source:buffer source_size source_offset length -> result:i64",
        f" {OF_SOURCE}{END}",
        traits=READS,
    ),
    # Lists.
    row(
        "list.create",
        "initial_capacity? -> result:list",
        "( $initial_capacity)? attr-dict : type($result)",
    ),
    row(
        "list.construct",
        "values_:any* -> result:list",
        (" ", ITEMS, " attr-dict : type($result)"),
        verify=_verify_items,
    ),
    row("list.size", "list:list -> result", " $list attr-dict : type($list)", traits=READS),
    row("list.resize", "list:list new_size", " $list, $new_size attr-dict : type($list)"),
    row(
        "list.get",
        "list:list index -> result:any",
        " $list[$index] attr-dict : list-element($list, $result)",
        verify=_verify_get,
        traits=READS,
    ),
    row(
        "list.set",
        "list:list index value:any",
        " $list[$index], $value attr-dict : list-element($value, $list)",
        verify=_verify_set,
    ),
    # Ranges.
    *(
        row(
            f"range.{which}",
            "operands_* -> result",
            OPERANDS,
            traits=PURE,
            verify=_verify_operands,
        )
        for which in ("min", "max")
    ),
    row(
        "range.extents",
        "offsets* lengths* -> min max",
        (" ", RANGES, " attr-dict : type($min, $max)"),
        traits=PURE,
        same_sizes=True,
    ),
    # Values and types.
    row(
        "cast",
        "operand:any -> result:any",
        " $operand attr-dict : type($operand) to type($result)",
        traits=PURE,
        verify=_verify_cast,
    ),
    *(
        row(
            f"cmp.{comparison}",
            "lhs:any rhs:any -> result:i1",
            " $lhs, $rhs attr-dict : type($lhs, $rhs)",
            traits=PURE,
        )
        for comparison in ("eq", "ne")
    ),
    row(
        "numeric.optional_narrow",
        "operand:any -> result:any | semantic_type:type min_value:int? max_value:int?",
        " $operand : type($operand, $result) as type($semantic_type)"
        "struct($min_value, $max_value) attr-dict",
        traits=PURE,
    ),
    row("sizeof", "-> size | sizedType:type", f" type($sizedType){END}", traits=PURE),
    row(
        "unfoldable_constant",
        "-> result:any | value:attr",
        (" attr-dict ", ConstantValue()),
    ),
    row(
        "hoistable_conversion",
        "inputs:any* -> results_:any* | tag:str inverseTag:str | body",
        (" $tag inverts($inverseTag) ", BoundRegion("inputs", "results_", "body"), " attr-dict"),
        verify=_verify_conversion,
    ),
    # Strings and assertions.
    row(
        "string.format",
        "args:formatted* -> result:buffer | format:str",
        " $format($args) attr-dict : (type($args)) -> type($result)",
        traits=PURE,
        verify=_verify_format,
    ),
    row(
        "string.itoa",
        "value:signless -> result:buffer",
        " $value attr-dict : type($value) -> type($result)",
        traits=PURE,
    ),
    row("status.check_ok", "status:i32 | message:str?", " $status(, $message)? attr-dict"),
    row("scf.unreachable", "| message:str?", "( $message)? attr-dict"),
    row("unreachable", "| message:str?", "( $message)? attr-dict", traits=(IsTerminator(),)),
)
