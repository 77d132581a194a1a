"""The `util` dialect: globals, initializers, functions and assumptions about integers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    ContainerType,
    FunctionType,
    ShapedType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
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
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...ir.dialect_extension import dialect_of
from ...ir.syntax.assembly_format import Parsed, Syntax
from ...ir.syntax.directives import Implied, verify_same_type, verify_type
from ...ir.syntax.lines import print_lines
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.resource_directives import RESOURCE
from ...ir.syntax.rows import PURE, READS, SIGNLESS
from ...ir.syntax.symbol_directives import Visibility
from ...ir.syntax.typed_values import type_carried_by
from . import functions, memory, types
from .memory import row
from .types import IntAssumptionAttr, PointerType


@irdl_attr_definition
class CompositeAttr(ParametrizedAttribute):
    """`#util.composite<64xi8, [part, part,]>`: the concatenation of parts in memory."""

    name = "util.composite"
    type: VectorType[Attribute]
    """The number and type of the elements of all parts; the syntax omits `vector`."""
    parts: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        parts: list[Attribute] = []
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            parser.parse_punctuation("[")
            # A comma may follow the last part.
            while parser.parse_optional_punctuation("]") is None:
                parts.append(parser.parse_attribute())
                if parser.parse_optional_punctuation(",") is None:
                    parser.parse_punctuation("]")
                    break
        return [VectorType(element, shape), ArrayAttr(parts)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for size in self.type.get_shape():
                printer.print_string(f"{size}x")
            printer.print_attribute(self.type.element_type)
            printer.print_string(", [\n")
            for part in self.parts:
                printer.print_string("    ")
                printer.print_attribute(part)
                printer.print_string(",\n")
            printer.print_string("]")


def _verify_bytes(constant: Operation) -> None:
    value = constant.properties["value"]
    if not isinstance(value, StringAttr) and not isinstance(type_carried_by(value), ShapedType):
        raise VerifyException(f"expects the bytes of a buffer as its value, found {value}")


BufferConstantOp = row(
    "buffer.constant",
    "-> result:buffer | name:str? value:attr alignment:indexattr? mime_type:str?",
    "( $name)?struct($alignment, $mime_type) attr-dict : type($result) = $value",
    traits=PURE,
    verify=_verify_bytes,
    doc="Constant bytes in host memory.",
)


@dataclass(frozen=True, slots=True)
class InitialValue:
    """` : T`, ` = 1 : i32`, or ` : T = #value : U` if the value is of another type."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("initial_value", "type")

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        type_: Attribute | None = None
        if parser.parse_optional_punctuation(":") is not None:
            type_ = parser.parse_type()
            if parser.parse_optional_punctuation("=") is not None:
                parsed.attributes["initial_value"] = parser.parse_attribute()
        else:
            parser.parse_punctuation("=")
            value = parsed.attributes["initial_value"] = parser.parse_attribute()
            type_ = type_carried_by(value)
            if type_ is None:
                parser.parse_punctuation(":")
                type_ = parser.parse_type()
        parsed.attributes["type"] = type_

    def print(self, printer: Printer, operation: Operation) -> None:
        type_, value = operation.properties["type"], operation.properties.get("initial_value")
        if type_carried_by(value) != type_:
            printer.print_string(" : ")
            printer.print_attribute(type_)
        if value is not None:
            printer.print_string(" = ")
            printer.print_attribute(value)

    def verify(self, operation: Operation) -> None:
        type_ = operation.properties["type"]
        verify_type("type", type_)
        carried = type_carried_by(operation.properties.get("initial_value"))
        if carried is not None and not _initializes(carried, type_):
            raise VerifyException(
                f"initial value is of type {carried}, but the global is of type {type_}"
            )


def _initializes(value: Attribute, type_: Attribute) -> bool:
    """Return whether a global of `type_` may start as a value of another type.

    The bytes of a tensor may be the contents of a resource, and sizes may be dynamic.
    """
    if isinstance(value, ShapedType) and type_.name == RESOURCE:
        return True
    return type_ == value or fits_in(value, type_)


@irdl_op_definition
class GlobalOp(SyntaxOperation):
    """Define a global of the module, such as a device, a weight or a number.

    If the initial value carries a type, the verifier asks that it is the type of the global.
    """

    name = "util.global"
    sym_visibility = opt_prop_def(StringAttr)
    sym_name = prop_def(StringAttr)
    type = prop_def(Attribute)
    is_mutable = opt_prop_def(UnitAttr)
    initial_value = opt_prop_def(Attribute)
    inlining_policy = opt_prop_def(Attribute)
    traits = traits_def(SymbolOpInterface())

    SYNTAX: ClassVar[Syntax] = (
        Visibility(),
        "( mutable$is_mutable)? @$sym_name( <inlining_policy = $inlining_policy>)? attr-dict",
        InitialValue(),
    )

    def __init__(
        self,
        name: str,
        type_: Attribute,
        initial_value: Attribute | None = None,
        attributes: Mapping[str, Attribute | None] | None = None,
        *,
        mutable: bool = False,
    ) -> None:
        """Build a private global; `attributes` are discardable attributes."""
        properties = {
            "sym_visibility": StringAttr("private"),
            "sym_name": StringAttr(name),
            "type": type_,
            "is_mutable": UnitAttr() if mutable else None,
            "initial_value": initial_value,
        }
        super().__init__(properties=properties, attributes=attributes)


def global_at(operation: Operation) -> GlobalOp:
    """Return the global that an op's property refers to. Raises VerifyException if undefined."""
    return functions.symbol_of(operation, "global", GlobalOp, " global: @")


def _element(type_: Attribute) -> Attribute:
    return cast("ContainerType[Attribute]", type_).get_element_type()


def fits_in(value: Attribute, type_: Attribute) -> bool:
    """Return whether shaped types have the same elements, and sizes that are equal or dynamic."""
    if not (isinstance(value, ShapedType) and isinstance(type_, ShapedType)):
        return False
    sizes = zip(type_.get_shape(), value.get_shape(), strict=False)
    return (
        type_.get_num_dims() == value.get_num_dims()
        and all(one == other or DYNAMIC_INDEX in (one, other) for one, other in sizes)
        and _element(type_) == _element(value)
    )


def verify_global_type(global_type: Attribute, value_type: Attribute, what: str) -> None:
    """Check that a global of a type may hold values of another. Raises VerifyException.

    Dynamic sizes and lifetimes of resources are compatible with any.
    """
    if isinstance(global_type, ShapedType) and isinstance(value_type, ShapedType):
        fits = fits_in(value_type, global_type)
    else:
        fits = global_type == value_type or global_type.name == value_type.name == RESOURCE
    if not fits:
        raise VerifyException(
            f"{what} is of type {global_type}, but the value is of type {value_type}"
        )


GlobalAddressOp = row(
    "global.address",
    "-> result:pointer | global:symbol is_immutable:unit?",
    "( immutable$is_immutable)? @$global attr-dict : type($result)",
    traits=PURE,
    verify=global_at,
    doc="Return the address of a global.",
)


@irdl_op_definition
class GlobalLoadOp(SyntaxOperation):
    """Load the value of a global.

    The types must be compatible; `immutable` requires a global that is not mutable.
    """

    name = "util.global.load"
    global_ = prop_def(SymbolRefAttr, prop_name="global")
    is_immutable = opt_prop_def(UnitAttr)
    result = result_def()
    traits = traits_def(*READS)

    SYNTAX: ClassVar[Syntax] = "( immutable$is_immutable)? @$global attr-dict : type($result)"

    def __init__(self, name: str, type_: Attribute) -> None:
        super().__init__(result_types=[type_], properties={"global": SymbolRefAttr(name)})

    def verify_(self) -> None:
        super().verify_()
        global_ = global_at(self)
        verify_global_type(global_.type, self.result.type, f"'@{global_.sym_name.data}'")
        if self.is_immutable is not None and global_.is_mutable is not None:
            raise VerifyException(
                f"is marked as immutable but the global is mutable: '@{global_.sym_name.data}'"
            )


@irdl_op_definition
class GlobalStoreOp(SyntaxOperation):
    """Store a value in a global of a compatible type."""

    name = "util.global.store"
    value = operand_def()
    global_ = prop_def(SymbolRefAttr, prop_name="global")

    SYNTAX: ClassVar[Syntax] = " $value, @$global attr-dict : type($value)"

    def __init__(self, value: SSAValue, name: str) -> None:
        super().__init__(operands=[value], properties={"global": SymbolRefAttr(name)})

    def verify_(self) -> None:
        super().verify_()
        global_ = global_at(self)
        verify_global_type(global_.type, self.value.type, f"'@{global_.sym_name.data}'")


def verify_indirect(operation: Operation) -> None:
    """Check that a value fits the type in the address of its global. Raises VerifyException."""
    (value,) = (*operation.results, *operation.operands[:-1])
    global_type = cast(PointerType, operation.operands[-1].type).target
    verify_global_type(global_type, value.type, "the global")


GlobalLoadIndirectOp = row(
    "global.load.indirect",
    "global_:pointer -> result:any | is_immutable:unit?",
    "( immutable$is_immutable)? $global_ attr-dict : type($global_) -> type($result)",
    verify=verify_indirect,
    doc="Load the value of the global at an address.",
)


GlobalStoreIndirectOp = row(
    "global.store.indirect",
    "value:any global_:pointer",
    " $value, $global_ attr-dict : type($value) -> type($global_)",
    verify=verify_indirect,
    doc="Store a value in the global at an address.",
)


@irdl_op_definition
class InitializerOp(SyntaxOperation):
    """Run code once when the module is loaded, to initialise globals."""

    name = "util.initializer"
    function_type = opt_prop_def(FunctionType)
    body = region_def()
    traits = traits_def(IsolatedFromAbove())

    SYNTAX: ClassVar[Syntax] = (
        Implied("function_type", FunctionType.from_lists([], [])),
        " attr-dict-with-keyword $body",
    )

    def __init__(self, body: Block) -> None:
        """Build the op from a block; a `util.return` is appended to it."""
        body.add_op(functions.ReturnOp.build(operands=[()]))
        properties = {"function_type": FunctionType.from_lists([], [])}
        super().__init__(properties=properties, regions=[Region(body)])


OptimizationBarrierOp = row(
    "optimization_barrier",
    "sources:any* -> results_:any*",
    " attr-dict $sources : type($sources, $results_)",
    doc="Return the operands, hidden from optimisations.",
)


AlignOp = row(
    "align",
    "value:signless alignment:signless -> result:signless",
    " $value, $alignment attr-dict : type($value, $alignment, $result)",
    traits=PURE,
    doc="Round an integer up to a multiple of another.",
)


@dataclass(frozen=True, slots=True)
class AssumedValues:
    """`%a<umin = 1>, %b[<umax = 4>, <umax = 8>]`: values with the assumptions about each."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("assumptions",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
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

        parsed.operands["values_"] = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parse_value
        )
        parsed.attributes["assumptions"] = ArrayAttr(facts)

    def print(self, printer: Printer, operation: Operation) -> None:
        assumptions = cast(
            "ArrayAttr[ArrayAttr[IntAssumptionAttr]]", operation.properties["assumptions"]
        )

        def print_fact(fact: IntAssumptionAttr) -> None:
            fact.print_parameters(printer)

        def print_value(index: int) -> None:
            printer.print_ssa_value(operation.operands[index])
            facts = assumptions.data[index]
            if len(facts) == 1:
                print_fact(facts.data[0])
                return
            with printer.in_square_brackets():
                printer.print_list(facts, print_fact)

        if len(operation.operands) == 1:
            print_value(0)
            return
        with printer.indented():
            print_lines(printer, range(len(operation.operands)), print_value, ("", ""))


@irdl_op_definition
class AssumeIntOp(SyntaxOperation):
    """Attach assumptions to integers: one set for each value, or one for each call site.

    The verifier asks that values with several sets have equally many.
    """

    name = "util.assume.int"
    values_ = var_operand_def(SIGNLESS)
    assumptions = prop_def(ArrayAttr[ArrayAttr[IntAssumptionAttr]])
    results_ = var_result_def(SIGNLESS)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (" ", AssumedValues(), " : type($values_, $results_) attr-dict")

    def verify_(self) -> None:
        super().verify_()
        if len(self.assumptions) != len(self.values_):
            raise VerifyException(
                f"expected {len(self.values_)} assumptions, one for each value, found "
                f"{len(self.assumptions)}"
            )
        counts = [len(facts) for facts in self.assumptions]
        wanted = next((count for count in counts if count > 1), 1)
        for index, count in enumerate(counts):
            if count not in (1, wanted):
                raise VerifyException(
                    f"expected operand #{index} to have {wanted} assumptions but it has {count}"
                )


SwitchOp = row(
    "switch",
    "index default_value:any values_:any* -> result:any",
    " type($default_value, $values_) from [$values_] at $index else $default_value"
    " attr-dict : type($result)",
    traits=PURE,
    verify=lambda op: verify_same_type(op, ("default_value", "result")),
    doc="""Return the value at an index of a list, or the default value for other indices.

    Default value and result have the same type.
    """,
)


Util = dialect_of("util", sys.modules[__name__], functions, memory, types)
