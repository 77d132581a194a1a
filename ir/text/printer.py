"""IR to text: xDSL's printer with a quicker inside, and with what it loses put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    Builtin,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    ModuleOp,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)
from xdsl.irdl import IRDLOperation
from xdsl.printer import Printer

from ..attribute_access import is_splat
from ..nesting_limits import deep_recursion
from .aliases import AliasDefinitions, alias_name
from .dense_literals import to_stored
from .xdsl_compat.func_syntax import PRINTERS, WITHOUT_ATTRIBUTES

_LISTED = 100
"""Constants of at most so many elements are printed as lists of them, as MLIR does."""


@dataclass(frozen=True, slots=True)
class _Printed:
    attribute: Attribute
    """Held, so that no other attribute gets its `id`."""
    text: str
    depth: int
    """How deep aliases nest in it, see `alias_definitions.py`; none do in zero."""


class ModulePrinter(Printer):
    """Prints into a text in memory.

    An operation may have a method `prints_generically() -> bool`: it tells that the custom form
    would lose something of this one.
    """

    def __init__(
        self,
        *,
        generic: bool = False,
        locations: bool = False,
        elide_larger: int | None = None,
        aliases: bool = True,
    ) -> None:
        super().__init__(print_generic_format=generic, print_debuginfo=locations)
        self._elide_larger = elide_larger
        self._abbreviates = aliases
        self._text = StringIO()
        self.stream = self._text
        self._aliases = AliasDefinitions()
        self._printed: dict[int, _Printed] = {}
        self._depth = 0
        self._met_in_generic_order = False

    def finish(self) -> str:
        """All that was printed, after the definitions of the aliases in it."""
        return self._aliases.finish(self._text.getvalue())

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Write a fragment; xDSL's way through `print` is only needed for line breaks."""
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self._current_column += len(text)
            self._text.write(text)

    def print_op(self, op: Operation) -> None:
        """Print one operation, with the mended form where there is one."""
        if self.print_generic_format:
            self._print_generically(op)
            return
        if isinstance(op, UnregisteredOp):
            self._print_generically(op)
        elif self._loses(op):
            self.print_generic_format = True
            self._print_generically(op)
            self.print_generic_format = False
        elif (mended := PRINTERS.get(op.name)) is not None and mended.applies(op):
            self._print_results(op)
            self.print_string(op.name)
            mended.print(self, op)
            self._print_location(op)
        else:
            super().print_op(op)

    def print_operation_type(self, op: Operation) -> None:
        """Write `(T) -> U`. xDSL adds the location, which custom forms have behind all else."""
        self.print_function_type(op.operand_types, op.result_types)

    def print_op_with_default_format(self, op: Operation) -> None:
        """Write the generic form after the name, and the location at its end."""
        super().print_op_with_default_format(op)
        self._print_location(op)

    def _print_location(self, op: Operation) -> None:
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(op.location)

    def _print_generically(self, op: Operation) -> None:
        if self._met_in_generic_order:
            super().print_op(op)
            return
        self._meet_in_generic_order(op)
        self._met_in_generic_order = True
        super().print_op(op)
        self._met_in_generic_order = False

    def _meet_in_generic_order(self, operation: Operation) -> None:
        """Number aliases as MLIR does for the generic form: regions first, attributes by name."""
        for region in operation.regions:
            for block in region.blocks:
                self._meet(block.arg_types)
                for inner in block.ops:
                    self._meet_in_generic_order(inner)
        self._meet(operation.operand_types)
        self._meet(operation.result_types)
        attributes = operation.properties | operation.attributes
        self._meet(attributes[name] for name in sorted(attributes))

    def _meet(self, attributes: Iterable[Attribute]) -> None:
        for attribute in attributes:
            if id(attribute) not in self._printed:
                self._print_first_time(attribute)

    @staticmethod
    def _loses(op: Operation) -> bool:
        """Whether the custom form would lose something of an operation."""
        attributes = op.attributes
        if attributes and op.name in WITHOUT_ATTRIBUTES:
            return True
        if attributes and isinstance(op, IRDLOperation):
            # Custom forms do not tell an attribute from the property of its name.
            properties = op.get_irdl_definition().properties
            if not attributes.keys().isdisjoint((*properties, *op.properties)):
                return True
        loses: Callable[[], bool] | None = getattr(op, "prints_generically", None)
        return loses is not None and loses()

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute or type, or the alias of it.

        Big constants are left out if the user wants that.
        """
        printed = self._printed.get(id(attribute))
        if printed is None:
            printed = self._print_first_time(attribute)
        self._depth = max(self._depth, printed.depth)
        self.print_string(printed.text)

    def _print_first_time(self, attribute: Attribute) -> _Printed:
        outer_text, outer_depth = self._text, self._depth
        self._text = self.stream = StringIO()
        self._depth = 0
        self._print_in_full(attribute)
        text, depth = self._text.getvalue(), self._depth
        self._text = self.stream = outer_text
        self._depth = outer_depth
        name = alias_name(attribute) if self._abbreviates else None
        if name is not None or depth:
            depth += 1
        if name is not None:
            is_type = isinstance(attribute, TypeAttribute)
            text = self._aliases.mark(name, text, depth=depth, is_type=is_type)
        printed = _Printed(attribute, text, depth)
        # Locations are spelled otherwise within locations, and lines are indented.
        if not self.printing_location and "\n" not in text:
            self._printed[id(attribute)] = printed
        return printed

    def _print_in_full(self, attribute: Attribute) -> None:
        if self._is_elided(attribute):
            constant = cast(DenseIntOrFPElementsAttr, attribute)
            self.print_string("dense_resource<__elided__> : ")
            self.print_attribute(constant.type)
            return
        if self._print_dense(attribute):
            return
        affine = affine_text(attribute)
        if affine is not None:
            self.print_string(affine)
        else:
            super().print_attribute(attribute)

    def _print_dense(self, attribute: Attribute) -> bool:
        """Write a constant if it is a dense one; xDSL loses signs of zeros, and MLIR's bytes.

        Big constants are bytes as MLIR stores them, but for truth values: versions of MLIR store
        these in different ways.
        """
        if not isinstance(attribute, DenseIntOrFPElementsAttr):
            return False
        constant = cast(DenseIntOrFPElementsAttr[Any], attribute)
        element, shape = constant.get_element_type(), constant.get_shape()
        self.print_string("dense<")
        if is_splat(constant):
            first = constant.data.data[: element.compile_time_size]
            self._print_number(element.unpack(first, 1)[0], element)
        elif len(constant) > _LISTED and (data := to_stored(constant)) is not None:
            self.print_string(f'"0x{data.hex().upper()}"')
        elif len(constant):
            whole = shape if prod(shape) == len(constant) else (len(constant),)
            self._print_numbers(constant.get_values(), whole, element)
        self.print_string("> : ")
        self.print_attribute(constant.get_type())
        return True

    def _print_numbers(self, numbers: Sequence[Any], shape: Sequence[int], element: Any) -> None:
        """Write `[[1, 2], [3, 4]]`."""
        with self.in_square_brackets():
            if len(shape) == 1:
                self.print_list(numbers, lambda number: self._print_number(number, element))
                return
            step = len(numbers) // shape[0]
            rows = (numbers[at : at + step] for at in range(0, len(numbers), step))
            self.print_list(rows, lambda row: self._print_numbers(row, shape[1:], element))

    def _print_number(self, number: Any, element: Any) -> None:
        if isinstance(element, IntegerType | IndexType):
            self.print_int(number, cast(IndexType, element))
        elif isinstance(element, ComplexType):
            self.print_complex(number, cast(ComplexType[Any], element))
        else:
            self.print_float(number, element)

    def _is_elided(self, attribute: Attribute) -> bool:
        if self._elide_larger is None or not isinstance(attribute, DenseIntOrFPElementsAttr):
            return False
        constant = cast(DenseIntOrFPElementsAttr[Any], attribute)
        return len(constant) > self._elide_larger and not is_splat(constant)


def print_operation(
    operation: Operation,
    *,
    generic: bool = False,
    locations: bool = False,
    elide_larger: int | None = None,
    aliases: bool = True,
) -> str:
    """The text of an operation, without a newline at its end, after the aliases in it.

    After a whole module comes the data of the resources that its constants refer to.
    """
    printer = ModulePrinter(
        generic=generic, locations=locations, elide_larger=elide_larger, aliases=aliases
    )
    with deep_recursion():
        printer.print_op(operation)
    if isinstance(operation, ModuleOp) and operation.parent is None:
        printer.print_metadata((Builtin,))
    return printer.finish().rstrip("\n")


def affine_text(attribute: Attribute) -> str | None:
    """The text of an affine map or set; None for any other attribute."""
    if isinstance(attribute, AffineMapAttr):
        affine_map = attribute.data
        results = ", ".join(map(_expression, affine_map.results))
        space = _space(affine_map.num_dims, affine_map.num_symbols)
        return f"affine_map<{space} -> ({results})>"
    if isinstance(attribute, AffineSetAttr):
        affine_set = attribute.data
        constraints = ", ".join(
            f"{_expression(one.lhs)} {one.kind.value} {_expression(one.rhs)}"
            for one in affine_set.constraints
        )
        space = _space(affine_set.num_dims, affine_set.num_symbols)
        return f"affine_set<{space} : ({constraints})>"
    return None


def _space(dimensions: int, symbols: int) -> str:
    text = f"({', '.join(f'd{index}' for index in range(dimensions))})"
    if symbols:
        text += f"[{', '.join(f's{index}' for index in range(symbols))}]"
    return text


def _expression(expression: AffineExpr) -> str:
    match expression:
        case AffineConstantExpr(value):
            return str(value)
        case AffineDimExpr(position):
            return f"d{position}"
        case AffineSymExpr(position):
            return f"s{position}"
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add):
            return _sum(expression)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, left, AffineConstantExpr(-1)):
            return f"-{_factor(left)}"
        case AffineBinaryOpExpr(kind, left, right):
            return f"{_factor(left)} {_OPERATORS[kind]} {_factor(right)}"
        case _:
            return str(expression)


_OPERATORS = {
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.Mod: "mod",
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.CeilDiv: "ceildiv",
}


def _sum(expression: AffineExpr) -> str:
    """All terms of a sum; of long ones, which grow to the left, without recursion."""
    terms: list[str] = []
    while isinstance(expression, AffineBinaryOpExpr) and expression.kind is AffineBinaryOpKind.Add:
        terms.append(_signed_term(expression.rhs))
        expression = expression.lhs
    return _expression(expression) + "".join(reversed(terms))


def _signed_term(term: AffineExpr) -> str:
    match term:
        case AffineConstantExpr(value) if value < 0:
            return f" - {-value}"
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, inner, AffineConstantExpr(-1)):
            is_sum = isinstance(inner, AffineBinaryOpExpr) and inner.kind is AffineBinaryOpKind.Add
            return f" - {_factor(inner) if is_sum else _expression(inner)}"
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, inner, AffineConstantExpr(value)) if (
            value < -1
        ):
            return f" - {_factor(inner)} * {-value}"
        case _:
            return f" + {_expression(term)}"


def _factor(expression: AffineExpr) -> str:
    text = _expression(expression)
    return f"({text})" if isinstance(expression, AffineBinaryOpExpr) else text
