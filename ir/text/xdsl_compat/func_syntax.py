"""The custom form of `func.func`.

xDSL 0.74 drops the argument attributes of function declarations, both when it parses and when it
prints `func.func private @f(tensor<4xf32> {x.a = 1 : i32})`, and adds `-> ()` to a declaration
without results.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
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
        parser.raise_error("expected names for all arguments or for none", position)
    outputs = _parse_outputs(parser)
    extra = parser.parse_optional_attr_dict_with_keyword(
        ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")
    )
    body = parser.parse_optional_region(arguments or None)
    if body is not None and not body.blocks:
        parser.raise_error("expected a non-empty function body", position)
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


def is_declaration(operation: Operation) -> bool:
    """Return whether a function has no body."""
    return not any(region.blocks for region in operation.regions)


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
        if results is None and len(outputs) == 1 and not isinstance(outputs[0], FunctionType):
            printer.print_attribute(outputs[0])
        else:
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
