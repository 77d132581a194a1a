"""Custom forms of xDSL's operations that lose something there, read and printed whole.

xDSL 0.74 drops the attributes of arguments of function declarations, both when it reads and when
it prints `func.func private @f(tensor<4xf32> {x.a = 1 : i32})`. The definition itself is fine,
and other passes look for xDSL's class, so the two directions are mended here and the class stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
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
    if argument is not None:
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


def print_function(printer: Printer, operation: Operation) -> bool:
    """Print a declaration whose arguments or results have attributes; else leave it to xDSL."""
    from xdsl.dialects.func import FuncOp

    if not isinstance(operation, FuncOp) or operation.body.blocks:
        return False
    arguments, results = operation.arg_attrs, operation.res_attrs
    if arguments is None and results is None:
        return False
    printer.print_string("func.func ")
    if operation.sym_visibility is not None:
        printer.print_string(f"{operation.sym_visibility.data} ")
    printer.print_symbol_name(operation.sym_name.data)
    _print_types(printer, operation.function_type.inputs.data, arguments)
    outputs = operation.function_type.outputs.data
    if outputs:
        printer.print_string(" -> ")
        _print_types(printer, outputs, results)
    printer.print_op_attributes(operation.attributes, print_keyword=True)
    if printer.print_debuginfo:
        printer.print_string(" ")
        printer.print_attribute(operation.location)
    return True


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


PARSERS: dict[str, Callable[[Parser], Operation]] = {"func.func": parse_function}
"""By operation name: reads the operation after its name."""

PRINTERS: dict[str, Callable[[Printer, Operation], bool]] = {"func.func": print_function}
"""By operation name: prints the operation and returns true, or returns false."""

WITHOUT_ATTRIBUTES = frozenset({"arith.cmpf", "arith.cmpi", "tensor.empty"})
"""xDSL's operations whose custom forms leave out attributes that are not their own."""
