"""IR to text: xDSL's printer with a quicker inside, and with what it loses put back.

Operations of xDSL whose own print method loses something are printed by a function in
`PRINTERS`; everything else prints itself.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from ..dialects.printing import PrintOptions, printing_with
from .limits import deep_recursion


class ModulePrinter(Printer):
    """Prints into a text in memory."""

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
        mended = None if self.print_generic_format else PRINTERS.get(op.name)
        if mended is None or not mended(self, op):
            super().print_op(op)

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute or type; big constants are left out if the user wants that."""
        if (
            self._elide_larger is not None
            and isinstance(attribute, DenseIntOrFPElementsAttr)
            and not attribute.is_splat()
            and len(attribute) > self._elide_larger
        ):
            self.print_string("dense_resource<__elided__> : ")
            self.print_attribute(attribute.type)
            return
        super().print_attribute(attribute)


def print_operation(
    operation: Operation,
    *,
    generic: bool = False,
    locations: bool = False,
    elide_larger: int | None = None,
    options: PrintOptions | None = None,
) -> str:
    """The text of an operation, without a newline at its end."""
    printer = ModulePrinter(generic=generic, locations=locations, elide_larger=elide_larger)
    with deep_recursion(), printing_with(options or PrintOptions()):
        printer.print_op(operation)
    return printer.text


def _print_declaration(printer: ModulePrinter, operation: Operation) -> bool:
    """Print a function declaration with the attributes of its arguments, which xDSL drops."""
    if not isinstance(operation, FuncOp) or operation.body.blocks:
        return False
    arguments, results = operation.arg_attrs, operation.res_attrs
    if arguments is None and results is None:
        return False
    printer.print_string("func.func ")
    if operation.sym_visibility is not None:
        printer.print_string(f"{operation.sym_visibility.data} ")
    printer.print_symbol_name(operation.sym_name.data)
    _print_signature(printer, operation.function_type.inputs.data, arguments)
    outputs = operation.function_type.outputs.data
    if outputs:
        printer.print_string(" -> ")
        if results is None and len(outputs) == 1:
            printer.print_attribute(outputs[0])
        else:
            _print_signature(printer, outputs, results)
    printer.print_op_attributes(operation.attributes, print_keyword=True)
    if printer.print_debuginfo:
        printer.print_string(" ")
        printer.print_attribute(operation.location)
    return True


def _print_signature(
    printer: ModulePrinter,
    types: tuple[Attribute, ...],
    attributes: ArrayAttr[DictionaryAttr] | None,
) -> None:
    with printer.in_parens():
        for index, value_type in enumerate(types):
            if index:
                printer.print_string(", ")
            printer.print_attribute(value_type)
            if attributes is not None and attributes.data[index].data:
                printer.print_string(" ")
                printer.print_attribute(attributes.data[index])


PRINTERS: dict[str, Callable[[ModulePrinter, Operation], bool]] = {
    "func.func": _print_declaration,
}
"""By operation name: prints the operation and returns true, or leaves it to xDSL."""
