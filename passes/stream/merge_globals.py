"""Merge globals that hold the same constant in the same layout.

Two immutable globals on one device are merged if their initializers compute the same value by the
same operations. The pass runs after layouts are resolved: weights that are encoded for different
operations often have the same layout then, although their encodings name different operations.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from ...dialects.iree_encoding.interfaces import Tensor, storage_key, tensor_encoding, with_encoding
from ...dialects.stream.affinity import AFFINITY
from ...ir.host_programs import CALLS, GLOBAL_LOAD, GLOBAL_STORE, host_operations
from ...ir.structural_hash import Structures
from ...ir.symbols import root_symbol, symbols_in
from ..manager.module_pass import module_pass

READS = (GLOBAL_LOAD, "util.global.address")


@module_pass("merge-globals")
def merge_globals(module: ModuleOp) -> None:
    """Merge globals that are initialised alike."""
    variables = {
        name: operation
        for name, operation in symbols_in(module, ("util.global",)).items()
        if "is_mutable" not in operation.properties
    }
    structures = Structures()
    first: dict[Hashable, tuple[str, ...]] = {}
    renamed: dict[str, str] = {}
    for operation in tuple(module.body.block.ops):
        if operation.name != "util.initializer" or _calls(operation):
            continue
        names = _stored(operation)
        read = (root_symbol(o, "global") for o in operation.walk() if o.name in READS)
        if not names or not all(name in variables for name in (*names, *read)):
            continue
        key = (_key(operation, names, structures), *(_kind(variables[name]) for name in names))
        kept = first.setdefault(key, names)
        if kept is not names:
            renamed |= dict(zip(names, kept, strict=True))
            Rewriter.erase_op(operation)
    for operation in host_operations(module):
        name = root_symbol(operation, "global")
        if name in renamed:
            operation.properties["global"] = SymbolRefAttr(renamed[name])
    for name in renamed:
        Rewriter.erase_op(variables[name])


def _stored(initializer: Operation) -> tuple[str, ...]:
    """Return the globals that an initializer sets, in order."""
    return tuple(
        root_symbol(operation, "global")
        for operation in initializer.walk()
        if operation.name == GLOBAL_STORE
    )


def _calls(initializer: Operation) -> bool:
    """Return whether an initializer calls functions."""
    return any(operation.name in CALLS for operation in initializer.walk())


def _kind(variable: Operation) -> tuple[Attribute | None, ...]:
    """Return what two globals must have in common: type and affinity."""
    return variable.properties.get("type"), variable.attributes.get(AFFINITY)


def _stored_as(attribute: Attribute) -> Attribute:
    """Return an attribute in which encodings are replaced by a key of their storage layout."""
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr([_stored_as(part) for part in cast("ArrayAttr[Attribute]", attribute)])
    if tensor_encoding(attribute) is None:
        return attribute
    tensor = cast(Tensor, attribute)
    return with_encoding(tensor, StringAttr(str(storage_key(tensor))))


def _key(initializer: Operation, names: tuple[str, ...], structures: Structures) -> Hashable:
    """Return a key of an initializer with its globals numbered, and layouts by `_stored_as`."""
    copy = initializer.clone()
    for operation in copy.walk():
        for name, value in operation.properties.items():
            operation.properties[name] = _stored_as(value)
        if operation.name == GLOBAL_STORE:
            number = names.index(root_symbol(operation, "global"))
            operation.properties["global"] = SymbolRefAttr(f"global_{number}")
    return structures.of_operation(copy)
