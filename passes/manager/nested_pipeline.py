"""Runs module passes on a part of a module: what `func.func(...)` in a pipeline means.

A pass takes a module, so the part goes into a module of its own, and comes back when its passes
are done. In MLIR a pass on a function may read the symbols around it; so that it can here too (a
sharding names its grid by symbol), the module holds copies of the operations around that the part
refers to, directly or through such a copy. Of a function only the declaration is copied. Copies
are dropped at the end: like in MLIR, a pass on a function cannot change its neighbours.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove

from ...ir.attribute_access import symbol_name
from ...ir.diagnostics import OperationError
from ...ir.regions import enclosing, inner_blocks, walk
from ...ir.symbols import references_of
from .pipeline_text import ANY_ANCHOR


def anchored_operations(parent: Operation, anchor: str) -> list[Operation]:
    """The operations directly inside a parent on which an anchored pipeline runs."""
    return [
        operation
        for block in inner_blocks(parent)
        for operation in block.ops
        if anchor in (operation.name, ANY_ANCHOR)
        and operation.has_trait(IsolatedFromAbove, value_if_unregistered=False)
    ]


class SymbolsAround:
    """The symbols that are visible at the top of a parent operation, nearest first."""

    def __init__(self, parent: Operation) -> None:
        self._tables = [_symbols_in(each) for each in enclosing(parent)]

    def find(self, name: str) -> Operation | None:
        """The operation that a name stands for, or None."""
        return next((table[name] for table in self._tables if name in table), None)

    @property
    def nearest(self) -> dict[str, Operation]:
        """The symbols of the parent itself, kept up to date while its operations are replaced."""
        return self._tables[0]


@contextmanager
def alone_in_module(operation: Operation, around: SymbolsAround) -> Generator[ModuleOp]:
    """A module that holds an operation and copies of what it refers to.

    When the block ends, what is in the module apart from the copies stands where the operation
    stood. Raises OperationError if that defines a symbol twice.
    """
    block = operation.parent
    parent = operation.parent_op()
    if block is None or parent is None:
        raise OperationError(operation, "stands in no block, so it cannot be put back there")
    following = operation.next_op
    copies = _copies_for(operation, around)
    operation.detach()
    around.nearest.pop(symbol_name(operation) or "", None)
    module = ModuleOp([*copies, operation], dict(parent.attributes))
    module.location = parent.location
    try:
        yield module
    finally:
        _put_back(module, set(copies), block, following, around.nearest)


def _put_back(
    module: ModuleOp,
    copies: set[Operation],
    block: Block,
    following: Operation | None,
    taken: dict[str, Operation],
) -> None:
    """Move what is no copy into the block, and its symbols into the table of those taken."""
    clash: Operation | None = None
    for operation in list(module.body.block.ops):
        name = symbol_name(operation)
        # Two functions may each need a symbol that is the same, such as a finer grid.
        if operation in copies or (name in taken and _same(operation, taken[name])):
            continue
        operation.detach()
        if following is None:
            block.add_op(operation)
        else:
            block.insert_op_before(operation, following)
        if name in taken:
            clash = operation
        elif name is not None:
            taken[name] = operation
    if clash is not None:
        raise OperationError(clash, f"symbol @{symbol_name(clash)} exists already")


def _same(left: Operation, right: Operation) -> bool:
    """Whether two operations without bodies define the same symbol."""
    return (
        left.name == right.name
        and not left.regions
        and not right.regions
        and left.properties == right.properties
        and left.attributes == right.attributes
    )


def _copies_for(operation: Operation, around: SymbolsAround) -> list[Operation]:
    own_name = symbol_name(operation)
    copies: dict[str, Operation] = {}
    pending = [operation]
    while pending:
        for name in _root_symbols_in(pending.pop()):
            if name in copies or name == own_name:
                continue
            found = around.find(name)
            if found is not None:
                copies[name] = _copy(found)
                pending.append(copies[name])
    return list(copies.values())


def _copy(symbol: Operation) -> Operation:
    """A whole copy of a symbol, or the declaration alone where it is a function."""
    if "function_type" not in symbol.properties:
        return symbol.clone()
    copy = symbol.clone_without_regions()
    copy.properties["sym_visibility"] = StringAttr("private")
    return copy


def _symbols_in(operation: Operation) -> dict[str, Operation]:
    return {
        name: inner
        for block in inner_blocks(operation)
        for inner in block.ops
        if (name := symbol_name(inner)) is not None
    }


def _root_symbols_in(operation: Operation) -> list[str]:
    """The root names of all symbol references inside of an operation."""
    references = (each for inner in walk(operation) for each in references_of(inner))
    return list(dict.fromkeys(each.root_reference.data for each in references))
