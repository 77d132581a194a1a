"""Print IR as text: a faster version of xDSL's printer that omits less."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isfinite, prod
from typing import Any, cast

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    Builtin,
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    UnknownLoc,
    UnregisteredOp,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove

from ..attribute_access import is_splat
from ..nesting_limits import deep_recursion
from ..regions import inner_blocks
from .affine_text import affine_text
from .aliases import LOCATION, AliasDefinitions, alias_name
from .dense_literals import to_stored
from .print_style import PrintStyle, location_name, pretty_location
from .result_names import constant_name, result_groups
from .value_users import UserComments
from .xdsl_compat.custom_forms import PRINTERS, WITHOUT_ATTRIBUTES


@dataclass(frozen=True, slots=True)
class _Printed:
    attribute: Attribute
    """Kept alive so that its `id` stays unique."""
    text: str
    depth: int
    """The nesting depth of aliases in the text (see `aliases.py`); 0 if there are none."""


class ModulePrinter(Printer):
    """Prints to a string in memory.

    An operation may have a method `prints_generically() -> bool`, which returns whether its custom
    form would lose information.
    """

    def __init__(self, style: PrintStyle) -> None:
        super().__init__(print_generic_format=style.generic, print_debuginfo=style.locations)
        self._style = style
        self._text = StringIO()
        self.stream = self._text
        self._aliases = AliasDefinitions()
        self._printed: dict[int, _Printed] = {}
        self._depth = 0
        self._has_generic_alias_order = False
        self._location_aliases: dict[int, tuple[str, int]] = {}
        self._is_defining_location = False
        self._comments = (
            UserComments(self.value_text, self._get_new_valid_name_id)
            if style.value_users
            else None
        )

    def finish(self) -> str:
        """Return the printed text, with the definitions of the aliases in it."""
        return self._aliases.finish(self._text.getvalue())

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Write text. xDSL's slower method is needed only for line breaks."""
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self._current_column += len(text)
            self._text.write(text)

    # Values

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print the name of a value, assigning one if it has none. Returns the name."""
        text = self.value_text(value)
        self.print_string(text)
        return text[1:]

    def value_text(self, value: SSAValue) -> str:
        """Return the name of a value with `%`; results that share a name are `%x#0`, `%x#1`."""
        name = self._ssa_values.get(value)
        if name is None:
            pack = self._pack_of(value) if isinstance(value, OpResult) else ()
            name = self._new_name(value)
            if len(pack) > 1:
                for index, result in enumerate(pack):
                    self._ssa_values[result] = f"{name}#{index}"
                name = self._ssa_values[value]
            else:
                self._ssa_values[value] = name
        return f"%{name}"

    def _new_name(self, value: SSAValue) -> str:
        hint = self._hint(value)
        if not hint:
            return self._get_new_valid_name_id()
        count = self.ssa_names.get(hint, 0)
        self.ssa_names[hint] = count + 1
        return f"{hint}_{count}" if count else hint

    def _hint(self, value: SSAValue) -> str | None:
        named = location_name(value) if self._style.name_locations else None
        return named or constant_name(value) or value.name_hint

    def _pack_of(self, result: OpResult) -> Sequence[OpResult]:
        """Return the results that share a name with `result` (`%x:2`), itself included."""
        if len(result.op.results) == 1:
            return (result,)
        return next(pack for pack in self._packs(result.op) if result in pack)

    def _packs(self, op: Operation) -> Iterable[Sequence[OpResult]]:
        """Split the results of an operation by their names.

        Results of one group share a name if they all have the same name hint.
        """
        for group in result_groups(op):
            if len({self._hint(result) for result in group}) == 1:
                yield group
            else:
                yield from ((result,) for result in group)

    def _print_results(self, op: Operation) -> None:
        results = op.results
        if len(results) < 2:
            super()._print_results(op)
            return
        names: list[str] = []
        for pack in self._packs(op):
            name = self.value_text(pack[0])
            names.append(name if len(pack) == 1 else f"{name.removesuffix('#0')}:{len(pack)}")
        self.print_string(f"{', '.join(names)} = ")

    def exit_scope(self) -> None:
        """Forget the names of an isolated operation, unless names are unique in the whole text."""
        names, numbers = self._ssa_names[-1], self._next_valid_name_id[-1]
        super().exit_scope()
        if self._style.unique_names:
            self._ssa_names[-1] |= names
            self._next_valid_name_id[-1] = numbers

    # Operations

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        """Print attributes by name, which is the order of a dictionary in MLIR."""
        super().print_attr_dict(dict(sorted(attr_dict.items())))

    def print_region(self, region: Region, *arguments: bool, **named: bool) -> None:
        """Print a region, or `{...}` if regions are omitted."""
        if self._style.skip_regions:
            self.print_string("{...}")
        else:
            super().print_region(region, *arguments, **named)

    def print_op(self, op: Operation) -> None:
        """Print one operation, with comments on its users if requested."""
        comments = self._comments
        if comments is None:
            self._print_op(op)
            return
        for line in comments.above(op):
            self.print_string(line)
            self._print_new_line()
        self._print_op(op)
        self.print_string(comments.after(op))

    def _print_op(self, op: Operation) -> None:
        """Print one operation, in the corrected custom form if there is one."""
        if self.print_generic_format:
            self._print_generically(op)
            return
        if isinstance(op, UnregisteredOp):
            self._print_generically(op)
        elif self._custom_form_loses(op):
            self.print_generic_format = True
            self._print_generically(op)
            self.print_generic_format = False
        elif (custom := PRINTERS.get(op.name)) is not None and custom.applies(op):
            self._print_results(op)
            self.print_string(op.name)
            custom.print(self, op)
            self._print_location(op)
        elif type(op).print is Operation.print:
            super().print_op(op)
        else:
            self._print_custom(op)

    def _print_custom(self, op: Operation) -> None:
        is_scope = bool(op.get_traits_of_type(IsolatedFromAbove))
        self._print_results(op)
        if is_scope:
            self.enter_scope()
        self.print_string(op.name)
        op.print(self)
        self._print_location(op)
        if is_scope:
            self.exit_scope()

    def print_operation_type(self, op: Operation) -> None:
        """Write `(T) -> U`, without the location, which xDSL adds here and not at the end."""
        self.print_function_type(op.operand_types, op.result_types)

    def print_op_with_default_format(self, op: Operation) -> None:
        """Write the generic form after the name, and the location at its end."""
        super().print_op_with_default_format(op)
        self._print_location(op)

    def _print_location(self, op: Operation) -> None:
        if self.print_debuginfo:
            self.print_string(" ")
            self._print_place(op.location)

    def _print_place(self, location: LocationAttr) -> None:
        """Print the location of an operation. Only these locations have aliases."""
        style = self._style
        if style.aliases and not style.pretty_locations and not isinstance(location, UnknownLoc):
            self.print_string(f"loc({self._location_alias(location)})")
        else:
            self.print_attribute(location)

    def print_resources(self) -> None:
        """Print the resources that the text refers to, except those that are too long."""
        longest = self._style.elide_longer_resources
        interface = Builtin.get_interface(OpAsmDialectInterface)
        if longest is not None and interface is not None:
            for keys in self._dialect_resources.values():
                found = interface.build_resources(keys)
                keys -= {key for key, text in found.items() if len(text) > longest}
        self.print_metadata((Builtin,))

    def number_locations(self, operation: Operation) -> None:
        """Number location aliases in MLIR's order: enclosing operations first."""
        if self.print_debuginfo and self._style.aliases and not self._style.pretty_locations:
            for op in operation.walk():
                if not isinstance(op.location, UnknownLoc):
                    self._location_alias(op.location)

    def _location_alias(self, location: LocationAttr) -> str:
        """Return the alias of a location, which is defined after the IR."""
        known = self._location_aliases.get(id(location))
        if known is None:
            is_inside, self.printing_location = self.printing_location, False
            is_defining, self._is_defining_location = self._is_defining_location, True
            outer_text, outer_depth = self._text, self._depth
            self._text = self.stream = StringIO()
            self._depth = 0
            super().print_attribute(location)
            text, depth = self._text.getvalue(), self._depth + 1
            self._text = self.stream = outer_text
            self._depth, self.printing_location = outer_depth, is_inside
            self._is_defining_location = is_defining
            mark = self._aliases.mark(LOCATION, text, depth=depth, is_type=False)
            known = self._location_aliases[id(location)] = mark, depth
        self._depth = max(self._depth, known[1])
        return known[0]

    def _print_generically(self, op: Operation) -> None:
        if self._has_generic_alias_order:
            super().print_op(op)
            return
        self._number_aliases_generically(op)
        self._has_generic_alias_order = True
        super().print_op(op)
        self._has_generic_alias_order = False

    def _number_aliases_generically(self, operation: Operation) -> None:
        """Number aliases in MLIR's order for generic ops: regions first, attributes by name."""
        for region in operation.regions:
            for block in region.blocks:
                self._number_aliases(block.arg_types)
                for inner in block.ops:
                    self._number_aliases_generically(inner)
        self._number_aliases(operation.operand_types)
        self._number_aliases(operation.result_types)
        attributes = operation.properties | operation.attributes
        self._number_aliases(attributes[name] for name in sorted(attributes))

    def _number_aliases(self, attributes: Iterable[Attribute]) -> None:
        for attribute in attributes:
            if id(attribute) not in self._printed:
                self._print_first_time(attribute)

    @staticmethod
    def _custom_form_loses(op: Operation) -> bool:
        """Return whether the custom form would lose information."""
        attributes = op.attributes
        if attributes and op.name in WITHOUT_ATTRIBUTES:
            return True
        if attributes and isinstance(op, IRDLOperation):
            # Custom forms do not distinguish an attribute from the property of the same name.
            properties = op.get_irdl_definition().properties
            if not attributes.keys().isdisjoint((*properties, *op.properties)):
                return True
        loses: Callable[[], bool] | None = getattr(op, "prints_generically", None)
        return loses is not None and loses()

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute or type, or its alias.

        Large constants are elided if the style says so.
        """
        if self.printing_location and isinstance(attribute, LocationAttr):
            # Only `loc(#alias)` at the end of an operation may name an alias that is defined after
            # the IR. So locations in attributes are printed in full.
            if self._is_defining_location:
                self.print_string(self._location_alias(attribute))
            else:
                self._print_in_full(attribute)
            return
        printed = self._printed.get(id(attribute))
        if printed is None:
            printed = self._print_first_time(attribute)
        self._depth = max(self._depth, printed.depth)
        self.print_string(printed.text)

    def prints_in_full(self, attribute: Attribute) -> bool:
        """Return whether an attribute that normally has an alias is printed without one."""
        return not self._style.aliases and alias_name(attribute) is not None

    def _print_first_time(self, attribute: Attribute) -> _Printed:
        outer_text, outer_depth = self._text, self._depth
        self._text = self.stream = StringIO()
        self._depth = 0
        self._print_in_full(attribute)
        text, depth = self._text.getvalue(), self._depth
        self._text = self.stream = outer_text
        self._depth = outer_depth
        name = alias_name(attribute) if self._style.aliases else None
        if name is not None or depth:
            depth += 1
        if name is not None:
            is_type = isinstance(attribute, TypeAttribute)
            text = self._aliases.mark(name, text, depth=depth, is_type=is_type)
        printed = _Printed(attribute, text, depth)
        # Do not cache locations, which are printed differently inside locations, and text with line
        # breaks, which depends on the indentation.
        if not self.printing_location and "\n" not in text:
            self._printed[id(attribute)] = printed
        return printed

    def _print_in_full(self, attribute: Attribute) -> None:
        if self._style.pretty_locations and isinstance(attribute, LocationAttr):
            self.print_string(pretty_location(attribute))
            return
        if self._print_dense(attribute):
            return
        if isinstance(attribute, ArrayAttr):
            with self.in_square_brackets():
                self.print_list(cast("ArrayAttr[Attribute]", attribute), self._print_element)
        elif (affine := affine_text(attribute)) is not None:
            self.print_string(affine)
        else:
            super().print_attribute(attribute)

    def _print_element(self, attribute: Attribute) -> None:
        """Print an attribute of an array: MLIR omits the types `i64` and `f64` there."""
        match attribute:
            case IntegerAttr(value=value, type=IntegerType() as kind) if kind == i64:
                self.print_int(value.data)
            case FloatAttr(value=value, type=Float64Type() as kind) if isfinite(value.data):
                self.print_float(value.data, kind)
            case _:
                self.print_attribute(attribute)

    def print_float(self, value: float, type: AnyFloat) -> None:
        """Print a number; infinity and NaN as their bits, in capital letters as MLIR does."""
        if isfinite(value):
            super().print_float(value, type)
        else:
            self.print_string(f"0x{type.pack((value,))[::-1].hex().upper()}")

    def _print_dense(self, attribute: Attribute) -> bool:
        """Print the attribute if it is a dense constant, and return whether it is.

        xDSL loses the sign of zeros and does not use MLIR's hexadecimal data. Large constants are
        printed as such data, except those of `i1`, which MLIR's versions store in different ways.
        """
        if not isinstance(attribute, DenseIntOrFPElementsAttr):
            return False
        constant = cast(DenseIntOrFPElementsAttr[Any], attribute)
        self.print_elements(constant)
        self.print_string(" : ")
        self.print_attribute(constant.get_type())
        return True

    def print_elements(self, attribute: Attribute) -> None:
        """Print a dense constant without its type, which the text of an operation has elsewhere."""
        constant = cast(DenseIntOrFPElementsAttr[Any], attribute)
        if self._is_elided(constant):
            self.print_string("dense_resource<__elided__>")
            return
        element, shape = constant.get_element_type(), constant.get_shape()
        self.print_string("dense<")
        if is_splat(constant):
            first = constant.data.data[: element.compile_time_size]
            self._print_number(element.unpack(first, 1)[0], element)
        elif (
            0 <= self._style.hex_larger < len(constant)
            and (data := to_stored(constant)) is not None
        ):
            self.print_string(f'"0x{data.hex().upper()}"')
        elif len(constant):
            whole = shape if prod(shape) == len(constant) else (len(constant),)
            self._print_numbers(constant.get_values(), whole, element)
        self.print_string(">")

    def _print_numbers(self, numbers: Sequence[Any], shape: Sequence[int], element: Any) -> None:
        """Write nested lists: `[[1, 2], [3, 4]]`."""
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
        largest = self._style.elide_larger
        if largest is None or not isinstance(attribute, DenseIntOrFPElementsAttr):
            return False
        constant = cast(DenseIntOrFPElementsAttr[Any], attribute)
        return len(constant) > largest and not is_splat(constant)


def print_operation(
    operation: Operation,
    style: PrintStyle | None = None,
    *,
    generic: bool = False,
) -> str:
    """Return the text of an operation, with alias definitions, without a trailing newline.

    The text of a top-level module ends with the resources that its constants refer to. `generic` is
    short for `PrintStyle(generic=True)`; it is ignored if `style` is given.
    """
    style = style or PrintStyle(generic=generic)
    printer = ModulePrinter(style)
    with deep_recursion():
        printer.number_locations(operation)
        printer.print_op(operation)
    if isinstance(operation, ModuleOp) and operation.parent is None:
        printer.print_resources()
    return printer.finish().rstrip("\n")


def attribute_text(attribute: Attribute) -> str:
    """Return the text of an attribute or type, without aliases."""
    printer = ModulePrinter(PrintStyle(aliases=False))
    printer.print_attribute(attribute)
    return printer.finish()


def value_names(operation: Operation) -> dict[SSAValue, str]:
    """Return the names that the values inside an isolated operation are printed with, without `%`.

    Results that share a name are `x#0`, `x#1`.
    """
    printer = ModulePrinter(PrintStyle())
    names: dict[SSAValue, str] = {}

    def visit(block: Block) -> None:
        for value in block.args:
            names[value] = printer.value_text(value)[1:]
        for inner in block.ops:
            for value in inner.results:
                names[value] = printer.value_text(value)[1:]
            for nested in inner_blocks(inner):
                visit(nested)

    for block in inner_blocks(operation):
        visit(block)
    return names
