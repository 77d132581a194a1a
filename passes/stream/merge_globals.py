"""Keep a constant that is laid out twice in the same way only once.

Two globals that never change, on one device, which initializers set to the same value by the same
operations, are one. Run once layouts are resolved: weights that are encoded for different
operations often end up in the same layout, even if what is resolved remembers for which.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.interfaces import Tensor, storage_key, tensor_encoding, with_encoding
from ...dialects.stream.affinity import AFFINITY
from ...ir.host_programs import CALLS, host_operations
from ...ir.symbols import root_symbol, symbols_in

READS = ("util.global.load", "util.global.address")


@dataclass(frozen=True)
class MergeGlobalsPass(ModulePass):
    """Merge globals that are initialised alike."""

    name = "merge-globals"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        variables = {
            name: operation
            for name, operation in symbols_in(op, ("util.global",)).items()
            if "is_mutable" not in operation.properties
        }
        first: dict[tuple[object, ...], tuple[str, ...]] = {}
        renamed: dict[str, str] = {}
        for operation in tuple(op.body.block.ops):
            if operation.name != "util.initializer" or _calls(operation):
                continue
            names = _stored(operation)
            read = (root_symbol(o, "global") for o in operation.walk() if o.name in READS)
            if not names or not all(name in variables for name in (*names, *read)):
                continue
            key = (_text(operation, names), *(_kind(variables[name]) for name in names))
            kept = first.setdefault(key, names)
            if kept is not names:
                renamed |= dict(zip(names, kept, strict=True))
                Rewriter.erase_op(operation)
        for operation in host_operations(op):
            name = root_symbol(operation, "global")
            if name in renamed:
                operation.properties["global"] = SymbolRefAttr(renamed[name])
        for name in renamed:
            Rewriter.erase_op(variables[name])


def _stored(initializer: Operation) -> tuple[str, ...]:
    """The globals that an initializer sets, in order."""
    return tuple(
        root_symbol(operation, "global")
        for operation in initializer.walk()
        if operation.name == "util.global.store"
    )


def _calls(initializer: Operation) -> bool:
    """Whether an initializer runs code that is not its own."""
    return any(operation.name in CALLS for operation in initializer.walk())


def _kind(variable: Operation) -> tuple[Attribute | None, ...]:
    """What two globals must have in common."""
    return variable.properties.get("type"), variable.attributes.get(AFFINITY)


def _stored_as(attribute: Attribute) -> Attribute:
    """An attribute with encodings that are named after where elements are."""
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr([_stored_as(part) for part in cast("ArrayAttr[Attribute]", attribute)])
    if tensor_encoding(attribute) is None:
        return attribute
    tensor = cast(Tensor, attribute)
    return with_encoding(tensor, StringAttr(str(storage_key(tensor))))


def _text(initializer: Operation, names: tuple[str, ...]) -> str:
    """An initializer without the names of the globals that it sets, its layouts as they store."""
    copy = initializer.clone()
    for operation in copy.walk():
        for name, value in operation.properties.items():
            operation.properties[name] = _stored_as(value)
        if operation.name == "util.global.store":
            number = names.index(root_symbol(operation, "global"))
            operation.properties["global"] = SymbolRefAttr(f"global_{number}")
    stream = StringIO()
    Printer(stream=stream, print_generic_format=True).print_op(copy)
    return stream.getvalue()
