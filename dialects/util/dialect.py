"""The `util` dialect: globals, initializers, functions and what is known of numbers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IndexType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect, TypedAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...ir.symbols import VISIBILITY, verify_visibility
from ...ir.syntax.directives import RegionBody, Symbol
from ...ir.syntax.resource_directives import verify_type
from ...ir.syntax.rows import (
    ATTRIBUTES,
    ATTRIBUTES_WITH_KEYWORD,
    Operand,
    Operands,
    Optional,
    Parsed,
    Syntax,
    SyntaxOperation,
    Type,
    Types,
    build,
    same_types,
    values,
)
from .buffers import BufferConstantOp, CompositeAttr
from .functions import CallOp, FuncOp, ReturnOp
from .types import (
    BufferType,
    BytePatternAttr,
    InlineAlwaysAttr,
    InlineNeverAttr,
    IntAssumptionAttr,
    PointerType,
    UninitializedAttr,
    UnusedType,
)


def type_carried_by(attribute: Attribute) -> Attribute | None:
    """The type that the text of an attribute ends with, if it ends with one."""
    if isinstance(attribute, TypedAttribute):
        return attribute.get_type()
    return getattr(attribute, "type", None)


GLOBAL_PROPERTIES = frozenset(
    {"sym_name", "sym_visibility", "is_mutable", "type", "initial_value", "inlining_policy"}
)


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """A variable of the module: a device, a weight, a number."""

    name = "util.global"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    type = prop_def(Attribute)
    is_mutable = opt_prop_def(UnitAttr)
    initial_value = opt_prop_def(Attribute)
    inlining_policy = opt_prop_def(Attribute)
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> GlobalOp:
        visibility = parser.parse_optional_keyword_in(VISIBILITY)
        mutable = parser.parse_optional_keyword("mutable") is not None
        name = parser.parse_symbol_name()
        policy: Attribute | None = None
        if parser.parse_optional_punctuation("<") is not None:
            parser.parse_keyword("inlining_policy")
            parser.parse_punctuation("=")
            policy = parser.parse_attribute()
            parser.parse_punctuation(">")
        attributes = parser.parse_optional_attr_dict()
        initial_value = type_ = None
        if parser.parse_optional_punctuation("=") is not None:
            initial_value = parser.parse_attribute()
            type_ = type_carried_by(initial_value)
        if type_ is None:
            parser.parse_punctuation(":")
            type_ = parser.parse_type()
        properties: dict[str, Attribute | None] = {
            "sym_visibility": None if visibility is None else StringAttr(visibility),
            "sym_name": name,
            "type": type_,
            "is_mutable": UnitAttr() if mutable else None,
            "initial_value": initial_value,
            "inlining_policy": policy,
        }
        return cls.create(
            properties={key: value for key, value in properties.items() if value is not None},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        printer.print_string(" mutable " if self.is_mutable is not None else " ")
        printer.print_symbol_name(self.sym_name.data)
        if self.inlining_policy is not None:
            printer.print_string(" <inlining_policy = ")
            printer.print_attribute(self.inlining_policy)
            printer.print_string(">")
        rest = {
            name: value
            for name, value in (self.properties | self.attributes).items()
            if name not in GLOBAL_PROPERTIES
        }
        if rest:
            printer.print_string(" ")
            printer.print_attr_dict(rest)
        if self.initial_value is not None:
            printer.print_string(" = ")
            printer.print_attribute(self.initial_value)
            if type_carried_by(self.initial_value) is not None:
                return
        printer.print_string(" : ")
        printer.print_attribute(self.type)

    def verify_(self) -> None:
        verify_visibility(self)
        verify_type("type", self.type)
        if self.initial_value is None:
            return
        carried = type_carried_by(self.initial_value)
        if carried is not None and carried != self.type:
            raise VerifyException(
                f"initial value is of type {carried}, but the global is of type {self.type}"
            )


@irdl_op_definition
class GlobalAddressOp(SyntaxOperation):
    """The address of a global."""

    name = "util.global.address"
    global_ = prop_def(SymbolRefAttr, prop_name="global")
    result = result_def(PointerType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Symbol("global", reference=True),
        ATTRIBUTES,
        " : ",
        Type("result"),
    )


@irdl_op_definition
class GlobalLoadOp(SyntaxOperation):
    """The value of a global."""

    name = "util.global.load"
    global_ = prop_def(SymbolRefAttr, prop_name="global")
    is_immutable = opt_prop_def(UnitAttr)
    result = result_def()

    SYNTAX: ClassVar[Syntax] = (
        Optional((" immutable",), flag="is_immutable"),
        " ",
        Symbol("global", reference=True),
        ATTRIBUTES,
        " : ",
        Type("result"),
    )


@irdl_op_definition
class GlobalStoreOp(SyntaxOperation):
    """Set a global."""

    name = "util.global.store"
    value = operand_def()
    global_ = prop_def(SymbolRefAttr, prop_name="global")

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Operand("value"),
        ", ",
        Symbol("global", reference=True),
        ATTRIBUTES,
        " : ",
        Type("value"),
    )


@irdl_op_definition
class GlobalLoadIndirectOp(SyntaxOperation):
    """The value of the global at an address."""

    name = "util.global.load.indirect"
    global_ = operand_def(PointerType)
    result = result_def()

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Operand("global_"),
        ATTRIBUTES,
        " : ",
        Type("global_"),
        " -> ",
        Type("result"),
    )


@irdl_op_definition
class GlobalStoreIndirectOp(SyntaxOperation):
    """Set the global at an address."""

    name = "util.global.store.indirect"
    value = operand_def()
    global_ = operand_def(PointerType)

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Operand("value"),
        ", ",
        Operand("global_"),
        ATTRIBUTES,
        " : ",
        Type("value"),
        " -> ",
        Type("global_"),
    )


@irdl_op_definition
class InitializerOp(IRDLOperation):
    """Code that runs once, when the module is loaded, to set globals."""

    name = "util.initializer"
    function_type = opt_prop_def(FunctionType)
    body = region_def()
    traits = traits_def(IsolatedFromAbove())

    @classmethod
    def parse(cls, parser: Parser) -> InitializerOp:
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties={"function_type": FunctionType.from_lists([], [])},
            attributes={} if attributes is None else dict(attributes.data),
            regions=[parser.parse_region()],
        )

    def print(self, printer: Printer) -> None:
        ATTRIBUTES_WITH_KEYWORD.print_except(printer, self, frozenset({"function_type"}))
        RegionBody("body").print(printer, self)

    def prints_generically(self) -> bool:
        """Whether the type is not the one that a reader puts in."""
        return self.function_type != FunctionType.from_lists([], [])


@irdl_op_definition
class OptimizationBarrierOp(SyntaxOperation):
    """Values that nothing may be concluded of from where they come."""

    name = "util.optimization_barrier"
    sources = var_operand_def()
    results_ = var_result_def()

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Operands("sources"),
        ATTRIBUTES,
        " : ",
        Types("sources", "results_"),
    )


@irdl_op_definition
class AlignOp(SyntaxOperation):
    """A number rounded up to a multiple of another."""

    name = "util.align"
    value = operand_def()
    alignment = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " ",
        Operand("value"),
        ", ",
        Operand("alignment"),
        ATTRIBUTES,
        " : ",
        Type("value", ("alignment", "result")),
    )


@irdl_op_definition
class AssumeIntOp(IRDLOperation):
    """Numbers with what is known of them: for each one set of facts, or one for each caller."""

    name = "util.assume.int"
    values_ = var_operand_def()
    assumptions = prop_def(ArrayAttr[ArrayAttr[IntAssumptionAttr]])
    results_ = var_result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> AssumeIntOp:
        facts: list[ArrayAttr[IntAssumptionAttr]] = []

        def parse_fact() -> IntAssumptionAttr:
            return IntAssumptionAttr.new(IntAssumptionAttr.parse_parameters(parser))

        def parse_value() -> UnresolvedOperand:
            operand = parser.parse_unresolved_operand()
            several = parser.parse_optional_comma_separated_list(
                parser.Delimiter.SQUARE, parse_fact
            )
            facts.append(ArrayAttr(several or [parse_fact()]))
            return operand

        parsed = Parsed()
        parsed.operands["values_"] = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parse_value
        )
        parsed.attributes["assumptions"] = ArrayAttr(facts)
        parser.parse_punctuation(":")
        Types("values_", "results_").parse(parser, parsed)
        return build(cls, parser, parsed)

    def print(self, printer: Printer) -> None:
        def print_fact(fact: IntAssumptionAttr) -> None:
            fact.print_parameters(printer)

        def print_value(index: int) -> None:
            printer.print_ssa_value(self.values_[index])
            facts = self.assumptions.data[index]
            if len(facts) == 1:
                print_fact(facts.data[0])
                return
            with printer.in_square_brackets():
                printer.print_list(facts, print_fact)

        printer.print_string(" ")
        printer.print_list(range(len(self.values_)), print_value)
        printer.print_string(" : ")
        printer.print_list([v.type for v in values(self, "values_")], printer.print_attribute)

    def prints_generically(self) -> bool:
        """Whether results have other types than the values that they are."""
        return not same_types(self, "values_", ("results_",))

    def verify_(self) -> None:
        if len(self.assumptions) != len(self.values_):
            raise VerifyException(
                f"{len(self.values_)} values, but assumptions about {len(self.assumptions)}"
            )


@irdl_op_definition
class SwitchOp(SyntaxOperation):
    """The value at an index of a list, or another value if the index is not in the list."""

    name = "util.switch"
    index = operand_def(IndexType)
    default_value = operand_def()
    values_ = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> SwitchOp:
        type_ = parser.parse_type()
        parser.parse_keyword("from")
        listed = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        parser.parse_keyword("at")
        index = parser.parse_unresolved_operand()
        parser.parse_keyword("else")
        default = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            operands=[
                parser.resolve_operand(index, IndexType()),
                parser.resolve_operand(default, type_),
                *(parser.resolve_operand(value, type_) for value in listed),
            ],
            result_types=[parser.parse_type()],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.default_value.type)
        printer.print_string(" from ")
        with printer.in_square_brackets():
            printer.print_list(self.values_, printer.print_ssa_value)
        printer.print_string(" at ")
        printer.print_ssa_value(self.index)
        printer.print_string(" else ")
        printer.print_ssa_value(self.default_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        types = {value.type for value in (*self.values_, self.default_value, self.result)}
        if len(types) > 1:
            raise VerifyException(
                "expected values, default and result of one type, found "
                + " and ".join(sorted(map(str, types)))
            )


Util = Dialect(
    "util",
    [
        AlignOp,
        AssumeIntOp,
        BufferConstantOp,
        CallOp,
        FuncOp,
        GlobalAddressOp,
        GlobalLoadIndirectOp,
        GlobalLoadOp,
        GlobalOp,
        GlobalStoreIndirectOp,
        GlobalStoreOp,
        InitializerOp,
        OptimizationBarrierOp,
        ReturnOp,
        SwitchOp,
    ],
    [
        BufferType,
        BytePatternAttr,
        CompositeAttr,
        InlineAlwaysAttr,
        InlineNeverAttr,
        IntAssumptionAttr,
        PointerType,
        UninitializedAttr,
        UnusedType,
    ],
)
