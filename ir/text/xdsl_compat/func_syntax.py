"""Parsers and printers that replace xDSL's for `func.func` and exact `arith` operations.

xDSL 0.74 drops the argument attributes of function declarations, both when it parses and when it
prints `func.func private @f(tensor<4xf32> {x.a = 1 : i32})`. Other passes look for xDSL's op class,
so the class is kept and only parsing and printing are replaced. The forms of loops are in
`scf_syntax.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, UnitAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.parser import Parser
from xdsl.printer import Printer


def parse_function(parser: Parser) -> Operation:
    """Read a `func.func` after its name."""
    from xdsl.dialects.func import FuncOp

    visibility = parser.parse_optional_visibility_keyword()
    name = parser.parse_symbol_name().data
    position = parser.pos
    inputs = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: _parse_input(parser), " around the arguments"
    )
    arguments = [argument for argument, _, _ in inputs if argument is not None]
    if arguments and len(arguments) != len(inputs):
        parser.raise_error("either all arguments have names or none has", position)
    outputs = _parse_outputs(parser)
    extra = parser.parse_optional_attr_dict_with_keyword(
        ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")
    )
    body = parser.parse_optional_region(arguments or None)
    if body is not None and not body.blocks:
        parser.raise_error("a function's body has at least one block", position)
    function = FuncOp(
        name,
        ([kind for _, kind, _ in inputs], [kind for kind, _ in outputs]),
        body if body is not None else Region(),
        visibility,
        arg_attrs=_attributes_of_values([attributes for _, _, attributes in inputs]),
        res_attrs=_attributes_of_values([attributes for _, attributes in outputs]),
    )
    if extra is not None:
        function.attributes |= extra.data
    return function


_Input = tuple[Parser.Argument | None, Attribute, dict[str, Attribute]]


def _parse_input(parser: Parser) -> _Input:
    argument = parser.parse_optional_argument()
    kind = argument.type if argument is not None else parser.parse_type()
    attributes = parser.parse_optional_dictionary_attr_dict()
    location = parser.parse_optional_location()
    if argument is not None and location is not None:
        argument.location = location
    return argument, kind, attributes


def _parse_outputs(parser: Parser) -> list[tuple[Attribute, dict[str, Attribute]]]:
    if parser.parse_optional_punctuation("->") is None:
        return []
    outputs = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN,
        lambda: _parse_output(parser),
        " around the results",
    )
    return outputs if outputs is not None else [(parser.parse_type(), {})]


def _parse_output(parser: Parser) -> tuple[Attribute, dict[str, Attribute]]:
    return parser.parse_type(), parser.parse_optional_dictionary_attr_dict()


def _attributes_of_values(
    attributes: Sequence[dict[str, Attribute]],
) -> ArrayAttr[DictionaryAttr] | None:
    if not any(attributes):
        return None
    return ArrayAttr(DictionaryAttr(one) for one in attributes)


def is_mended_function(operation: Operation) -> bool:
    """Return whether an op is a declaration with argument or result attributes."""
    properties = operation.properties
    has_body = any(region.blocks for region in operation.regions)
    return not has_body and ("arg_attrs" in properties or "res_attrs" in properties)


def print_function(printer: Printer, operation: Operation) -> None:
    """Print a function declaration after its name."""
    from xdsl.dialects.func import FuncOp

    assert isinstance(operation, FuncOp)
    arguments, results = operation.arg_attrs, operation.res_attrs
    printer.print_string(" ")
    if operation.sym_visibility is not None:
        printer.print_string(f"{operation.sym_visibility.data} ")
    printer.print_symbol_name(operation.sym_name.data)
    _print_types(printer, operation.function_type.inputs.data, arguments)
    outputs = operation.function_type.outputs.data
    if outputs:
        printer.print_string(" -> ")
        _print_types(printer, outputs, results)
    printer.print_op_attributes(operation.attributes, print_keyword=True)


def _print_types(
    printer: Printer, types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None
) -> None:
    with printer.in_parens():
        for index, kind in enumerate(types):
            if index:
                printer.print_string(", ")
            printer.print_attribute(kind)
            if attributes is not None and attributes.data[index].data:
                printer.print_string(" ")
                printer.print_attribute(attributes.data[index])


def _lazily(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports a sibling module at its first call."""

    def call(*arguments: object) -> Any:
        return getattr(import_module(module, __package__), name)(*arguments)

    return call


def _parse_exact(parser: Parser, name: str) -> Operation:
    """Read an integer division or shift with an optional `exact` flag, after its name."""
    unresolved = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    unresolved.append(parser.parse_unresolved_operand())
    exact = parser.parse_optional_keyword("exact") is not None
    attributes = parser.parse_optional_attr_dict()
    if exact:
        attributes["isExact"] = UnitAttr()
    parser.parse_punctuation(":")
    kind = parser.parse_type()
    return parser.ctx.get_op(name).create(
        operands=[parser.resolve_operand(each, kind) for each in unresolved],
        result_types=[kind],
        attributes=attributes,
    )


_LOOPS = ".scf_syntax"

_EXACT = ("arith.divsi", "arith.divui", "arith.shrsi", "arith.shrui")

UNKNOWN_PROPERTIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_EXACT, ("isExact",)),
    "bufferization.alloc_tensor": ("memory_space",),
    "func.call": ("arg_attrs", "no_inline", "res_attrs"),
    "func.call_indirect": ("arg_attrs", "res_attrs"),
    "scf.execute_region": ("no_inline",),
}
"""Properties in MLIR that xDSL's operations lack. They are kept as discardable attributes.

None of them changes what is computed.
"""

PARSERS: dict[str, Callable[[Parser], Operation]] = {
    **{name: partial(_parse_exact, name=name) for name in _EXACT},
    "func.func": parse_function,
    "scf.execute_region": _lazily(_LOOPS, "parse_execute_region"),
    "scf.for": _lazily(_LOOPS, "parse_for"),
    "scf.if": _lazily(_LOOPS, "parse_if"),
    "scf.index_switch": _lazily(_LOOPS, "parse_index_switch"),
    "scf.parallel": _lazily(_LOOPS, "parse_parallel"),
    "scf.reduce": _lazily(_LOOPS, "parse_reduce"),
    "scf.while": _lazily(_LOOPS, "parse_while"),
}
"""Parsers by operation name; they read the operation after its name."""


@dataclass(frozen=True, slots=True)
class MendedForm:
    """A printer of an operation's custom form, and which operations it applies to."""

    print: Callable[[Printer, Operation], None]
    """Prints what follows the name of the operation."""
    applies: Callable[[Operation], bool] = lambda operation: True


PRINTERS: dict[str, MendedForm] = {
    "func.func": MendedForm(print_function, is_mended_function),
    "scf.execute_region": MendedForm(_lazily(_LOOPS, "print_execute_region")),
    "scf.parallel": MendedForm(_lazily(_LOOPS, "print_parallel")),
    "scf.reduce": MendedForm(_lazily(_LOOPS, "print_reduce")),
}
"""Printers of custom forms, by operation name."""

WITHOUT_ATTRIBUTES = frozenset({"arith.cmpf", "arith.cmpi", "tensor.empty"})
"""xDSL's operations whose custom forms omit discardable attributes."""
