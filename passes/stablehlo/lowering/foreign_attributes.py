"""Replace `stablehlo` attributes of other packages, such as xdsl-jax, by those of mesh-opt.

Rules match ops by name, so op classes may be defined elsewhere. But rules read attributes through
mesh-opt's classes. A foreign attribute of the same name is therefore printed and parsed again.
"""

from __future__ import annotations

from io import StringIO
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from ....dialects.stablehlo.dialect import Stablehlo
from ....ir.attribute_access import operation_name
from ....ir.diagnostics import OperationError
from ....ir.regions import walk
from ....ir.text.parser import SourceParser
from ....ir.text.source import Source


def replace_foreign_attributes(module: ModuleOp) -> None:
    """Replace foreign `stablehlo` attributes in a module by mesh-opt's of the same name.

    Raises OperationError for an attribute whose text does not parse.
    """
    own: dict[str, type[Attribute]] = {each.name: each for each in Stablehlo.attributes}
    known: dict[Attribute, Attribute] = {}

    def converted(attribute: Attribute) -> Attribute:
        if isinstance(attribute, ArrayAttr):
            parts = cast("ArrayAttr[Attribute]", attribute).data
            again = [converted(part) for part in parts]
            return cast(Attribute, attribute if again == list(parts) else ArrayAttr(again))
        kind = own.get(attribute.name)
        if kind is None or isinstance(attribute, kind):
            return attribute
        if attribute not in known:
            known[attribute] = _read_again(attribute)
        return known[attribute]

    for operation in walk(module):
        if operation_name(operation).startswith("stablehlo."):
            for table in (operation.properties, operation.attributes):
                for name, value in table.items():
                    try:
                        table[name] = converted(value)
                    except ParseError as failure:
                        raise OperationError(
                            operation,
                            f"has an attribute '{name}' of another package: {failure.msg}",
                        ) from failure


def _read_again(attribute: Attribute) -> Attribute:
    """Return mesh-opt's attribute of the same text. Raises ParseError."""
    context = Context()
    context.load_dialect(Stablehlo)
    text = StringIO()
    Printer(text).print_attribute(attribute)
    return SourceParser(context, Source(text.getvalue(), attribute.name)).parse_attribute()
