"""IR to text: xDSL's printer with a quicker inside, and with what it loses put back."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.printer import Printer

from .limits import deep_recursion
from .mended_forms import PRINTERS, WITHOUT_ATTRIBUTES


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
    ) -> None:
        super().__init__(print_generic_format=generic, print_debuginfo=locations)
        self._elide_larger = elide_larger
        self._text = StringIO()
        self.stream = self._text

    @property
    def text(self) -> str:
        """All that was printed."""
        return self._text.getvalue()

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
            super().print_op(op)
            return
        mended = PRINTERS.get(op.name)
        if mended is not None and mended(self, op):
            return
        if self._loses(op):
            self.print_generic_format = True
            super().print_op(op)
            self.print_generic_format = False
        else:
            super().print_op(op)

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
        """Print an attribute or type; big constants are left out if the user wants that."""
        if self._is_elided(attribute):
            constant = cast(DenseIntOrFPElementsAttr, attribute)
            self.print_string("dense_resource<__elided__> : ")
            self.print_attribute(constant.type)
        else:
            super().print_attribute(attribute)

    def _is_elided(self, attribute: Attribute) -> bool:
        if self._elide_larger is None or not isinstance(attribute, DenseIntOrFPElementsAttr):
            return False
        constant = cast(DenseIntOrFPElementsAttr, attribute)
        return not constant.is_splat() and len(constant) > self._elide_larger


def print_operation(
    operation: Operation,
    *,
    generic: bool = False,
    locations: bool = False,
    elide_larger: int | None = None,
) -> str:
    """The text of an operation, without a newline at its end.

    After a whole module comes the data of the resources that its constants refer to.
    """
    printer = ModulePrinter(generic=generic, locations=locations, elide_larger=elide_larger)
    with deep_recursion():
        printer.print_op(operation)
    if isinstance(operation, ModuleOp) and operation.parent is None:
        printer.print_metadata((Builtin,))
    return printer.text.rstrip("\n")
