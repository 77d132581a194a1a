"""Functions of the `util` dialect, whose results may be tied to arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import CallOp as FuncDialectCall
from xdsl.dialects.func import FuncOp as FuncDialectFunction
from xdsl.dialects.func import ReturnOp as FuncDialectReturn
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import CallableOpInterface, IsolatedFromAbove, IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...ir.symbols import (
    find_symbol,
    root_symbol,
    verify_declaration,
    verify_prefixes,
    verify_visibility,
    visibility,
    visible_names,
)
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.resource_directives import (
    RESOURCE,
    TiedFunctionType,
    ValueForm,
    operand_key,
    parse_tied_type,
    print_results,
    print_tied_type,
    tied_operands,
    ties_fit,
    ties_of,
    verify_ties,
)
from ...ir.syntax.symbol_directives import parse_visibility
from ...ir.usage_error import did_you_mean

ANY_RESOURCE = f"!{RESOURCE}<*>"
EMPTY = DictionaryAttr({})
SIGNATURE = frozenset(
    {"sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs", "tied_operands"}
)


class FunctionCallable(CallableOpInterface):
    """The callable interface of `util.func`."""

    @classmethod
    def get_callable_region(cls, op: Operation) -> Region:
        return cast(Function, op).body

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return cast(Function, op).function_type.inputs.data

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return cast(Function, op).function_type.outputs.data


def dictionaries(entries: Sequence[DictionaryAttr]) -> ArrayAttr[DictionaryAttr] | None:
    """Return the attributes of all arguments or results; `None` if all are empty."""
    return ArrayAttr(entries) if any(entry.data for entry in entries) else None


@dataclass(slots=True)
class Inputs:
    """The parsed arguments of a function."""

    arguments: list[Parser.Argument] = field(default_factory=list[Parser.Argument])
    names: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    types: list[Attribute] = field(default_factory=list[Attribute])
    attributes: list[DictionaryAttr] = field(default_factory=list[DictionaryAttr])


def parse_attributes(parser: Parser) -> DictionaryAttr:
    """Parse the attributes of one argument or result."""
    return DictionaryAttr(parser.parse_optional_dictionary_attr_dict())


def print_attributes(printer: Printer, attributes: DictionaryAttr) -> None:
    """Print the attributes of one argument or result: the inverse of `parse_attributes`."""
    if attributes.data:
        printer.print_string(" ")
        printer.print_attr_dict(attributes.data)


class Function(IRDLOperation):
    """A function; a result `%arg0 as T` is tied to an argument and shares its storage."""

    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    inlining_policy = opt_prop_def(Attribute)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), FunctionCallable())

    # Custom parser: arguments belong to the region and have attributes; results may be tied to
    # them.
    @classmethod
    def parse(cls, parser: Parser) -> Function:
        sym_visibility = parse_visibility(parser)
        name = parser.parse_symbol_name()
        inputs = Inputs()
        parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: cls.parse_argument(parser, inputs)
        )
        names, types = inputs.names, inputs.types
        results: list[Attribute] = []
        result_attributes: list[DictionaryAttr] = []
        ties: list[int] = []

        def parse_result_type() -> None:
            tie, type_ = parse_tied_type(parser, names, types)
            ties.append(tie)
            results.append(type_)

        def parse_result() -> None:
            parse_result_type()
            result_attributes.append(parse_attributes(parser))

        if parser.parse_optional_punctuation("->") is not None:
            delimiter = parser.Delimiter.PAREN
            if parser.parse_optional_comma_separated_list(delimiter, parse_result) is None:
                # Without parentheses a brace opens the body, not attributes of the last result.
                parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_result_type)
                result_attributes += [EMPTY] * len(results)
        attributes = parser.parse_optional_attr_dict_with_keyword(SIGNATURE)
        body = parser.parse_optional_region(inputs.arguments)
        properties: dict[str, Attribute | None] = {
            "sym_visibility": sym_visibility,
            "sym_name": name,
            "function_type": FunctionType.from_lists(types, results),
            "tied_operands": tied_operands(ties) if ties else None,
            "arg_attrs": dictionaries(inputs.attributes),
            "res_attrs": dictionaries(result_attributes),
        }
        others = {} if attributes is None else dict(attributes.data)
        properties["inlining_policy"] = others.pop("inlining_policy", None)
        return cls.create(
            properties={key: value for key, value in properties.items() if value is not None},
            attributes=others,
            regions=[Region() if body is None else body],
        )

    @classmethod
    def parse_argument(cls, parser: Parser, inputs: Inputs) -> None:
        """Parse `%a: T {attributes}`, or a type alone."""
        argument = parser.parse_optional_argument(expect_type=True)
        if argument is not None:
            inputs.arguments.append(argument)
            inputs.names.append(operand_key(UnresolvedOperand(argument.name, 0)))
        inputs.types.append(parser.parse_type() if argument is None else argument.type)
        inputs.attributes.append(parse_attributes(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {visibility(self)} ")
        printer.print_symbol_name(self.sym_name.data)
        inputs, outputs = self.function_type.inputs.data, self.function_type.outputs.data
        block = self.body.blocks.first

        def print_argument(tie: int) -> None:
            if block is not None:
                printer.print_ssa_value(block.args[tie])
            else:
                printer.print_string(f"%arg{tie}")

        def print_result(index: int) -> None:
            print_tied_type(printer, outputs[index], ties[index], inputs, print_argument)
            print_attributes(printer, output_attributes.data[index])

        self.print_arguments(printer)
        if outputs:
            ties = ties_of(self, len(outputs))
            output_attributes = self.res_attrs or ArrayAttr([EMPTY] * len(outputs))
            printer.print_string(" -> ")
            always = bool(output_attributes.data[0].data)
            print_results(printer, range(len(outputs)), print_result, always=always)
        rest = {
            name: value
            for name, value in (self.properties | self.attributes).items()
            if name not in SIGNATURE
        }
        if rest:
            printer.print_string(" attributes ")
            printer.print_attr_dict(rest)
        if block is not None:
            printer.print_string(" ")
            printer.print_region(self.body, print_entry_block_args=False)

    def print_arguments(self, printer: Printer) -> None:
        """Print the arguments of the body, or the types of a declaration."""
        inputs = self.function_type.inputs.data
        block = self.body.blocks.first
        attributes = self.arg_attrs or ArrayAttr([EMPTY] * len(inputs))

        def print_argument(index: int) -> None:
            if block is not None:
                printer.print_block_argument(block.args[index])
            else:
                printer.print_string(f"%arg{index}: ")
                printer.print_attribute(inputs[index])
            print_attributes(printer, attributes.data[index])

        with printer.in_parens():
            printer.print_list(range(len(inputs)), print_argument)

    def prints_generically(self) -> bool:
        """Return whether the custom syntax would lose or add something."""
        listed = (self.arg_attrs, self.res_attrs)
        return not ties_fit(self, len(self.function_type.outputs)) or any(
            entries is not None and dictionaries(entries.data) is None for entries in listed
        )

    def verify_(self) -> None:
        inputs, outputs = self.function_type.inputs.data, self.function_type.outputs.data
        for what, attributes, types in (
            ("argument", self.arg_attrs, inputs),
            ("result", self.res_attrs, outputs),
        ):
            if attributes is not None and len(attributes) != len(types):
                raise VerifyException(
                    f"expected {len(types)} attribute dictionaries, one for "
                    f"each {what}, found {len(attributes)}"
                )
            verify_prefixes(what, attributes or ())
        verify_visibility(self)
        verify_declaration(self, self.body)
        verify_ties(self, len(inputs), len(outputs))
        block = self.body.blocks.first
        if block is not None and tuple(block.arg_types) != inputs:
            raise VerifyException("expected entry block arguments to match the function's type")


_Symbol = TypeVar("_Symbol", bound=Operation)


def symbol_of(user: Operation, name: str, kind: type[_Symbol], what: str) -> _Symbol:
    """Return the op of class `kind` that a property refers to.

    `what` stands between "undefined" and the name in the message. Raises VerifyException if the
    symbol is undefined or names another kind of op.
    """
    found_name = root_symbol(user, name)
    found = find_symbol(user, found_name)
    if not isinstance(found, kind):
        hint = did_you_mean(found_name, visible_names(user, (kind.name,)))
        raise VerifyException(f"undefined{what}{found_name}{hint}")
    return found


def callee_of(call: Operation, kind: type[Function]) -> Function:
    """Return the function that a call refers to. Raises VerifyException if there is none."""
    what = "/incompatible callee: " if kind is FuncOp else " external call: "
    return symbol_of(call, "callee", kind, what)


def verify_callee(call: Operation, kind: type[Function], operands: Sequence[Attribute]) -> Function:
    """Check a call against its function and return the function.

    A resource type with the lifetime `*` accepts any lifetime. Raises VerifyException if the callee
    is undefined or the types differ.
    """
    function = callee_of(call, kind)
    # The function itself may not have been verified yet.
    function_type = cast(Attribute, function.function_type)
    if not isinstance(function_type, FunctionType):
        raise VerifyException(f"expects a callee of a function type, but has '{function_type}'")
    results = [result.type for result in call.results]
    for wanted, found in (
        (function_type.inputs.data, operands),
        (function_type.outputs.data, results),
    ):
        if len(wanted) != len(found) or any(
            one != other and (one.name != other.name or str(one) != ANY_RESOURCE)
            for one, other in zip(wanted, found, strict=True)
        ):
            asked = FunctionType.from_lists(operands, results)
            raise VerifyException(
                f"function type mismatch; expected '{asked}' but callee is '{function_type}'"
            )
    return function


@irdl_op_definition
class FuncOp(Function):
    """Define or declare a function of the `util` dialect."""

    name = "util.func"


@irdl_op_definition
class ReturnOp(SyntaxOperation):
    """Return from a function with its results, or from an initializer without values.

    The verifier compares the types with those of the function.
    """

    name = "util.return"
    arguments = var_operand_def()
    traits = traits_def(IsTerminator())

    SYNTAX: ClassVar[Syntax] = " attr-dict( $arguments : type($arguments))?"

    def verify_(self) -> None:
        super().verify_()
        function = self.parent_op()
        if function is None or function.name not in ("util.func", "util.initializer"):
            return
        expected = function.function_type.outputs.data if isinstance(function, FuncOp) else ()
        found = tuple(argument.type for argument in self.arguments)
        if len(found) != len(expected):
            raise VerifyException(
                f"has {len(found)} operands, but enclosing function-like op returns {len(expected)}"
            )
        for index, (one, other) in enumerate(zip(found, expected, strict=True)):
            if one != other:
                raise VerifyException(
                    f"type of return operand {index} ('{one}') doesn't match "
                    f"function result type ('{other}')"
                )


@irdl_op_definition
class CallOp(SyntaxOperation):
    """Call a function of the module.

    The verifier compares operand and result types and tied results with those of the function.
    """

    name = "util.call"
    callee = prop_def(SymbolRefAttr)
    tied_operands = opt_prop_def(ArrayAttr[IntegerAttr[IndexType]])
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    arguments = var_operand_def()
    results_ = var_result_def()

    SYNTAX: ClassVar[Syntax] = (
        " @$callee($arguments)struct($arg_attrs, $res_attrs) attr-dict : ",
        TiedFunctionType(ValueForm.PLAIN, "arguments", "", "results_", ""),
    )

    def verify_(self) -> None:
        super().verify_()
        function = verify_callee(self, FuncOp, self.arguments.types)
        results = len(self.results_)
        if ties_of(self, results) != ties_of(function, results):
            raise VerifyException(
                "results are not tied to the same operands as those of the function"
            )


def call_like(
    function: Operation, callee: SymbolRefAttr, arguments: Sequence[SSAValue]
) -> Operation:
    """Build a call with the type of a function, in the function's dialect."""
    properties: dict[str, Attribute] = {"callee": callee}
    if "tied_operands" in function.properties:
        properties["tied_operands"] = function.properties["tied_operands"]
    type_ = cast(FunctionType, function.properties["function_type"])
    return (FuncDialectCall if function.name == FuncDialectFunction.name else CallOp).create(
        operands=arguments, result_types=type_.outputs.data, properties=properties
    )


def return_like(function: Operation, values: Sequence[SSAValue]) -> Operation:
    """Build a return from a function, in the function's dialect."""
    is_func = function.name == FuncDialectFunction.name
    return (FuncDialectReturn if is_func else ReturnOp).create(operands=values)
