"""Run passes on an op inside a module: implements `func.func(...)` in a pipeline.

xDSL passes take a module, so the op is moved into a module of its own and moved back afterwards. In
MLIR a pass on a function may read symbols around it, such as the grid of a sharding. Therefore the
temporary module also holds copies of the symbols to which the op refers, directly or through such
copies; of a function only the declaration. The copies are dropped afterwards: as in MLIR, a pass on
a function cannot change its neighbours.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove

from ...ir.attribute_access import symbol_name
from ...ir.diagnostics import OperationError
from ...ir.regions import enclosing, inner_operations, walk
from ...ir.symbols import references_of, symbols_of
from .pipeline_text import ANY_ANCHOR


def anchored_operations(context: Context, parent: Operation, anchor: str) -> list[Operation]:
    """Return the ops directly inside `parent` on which an anchored pipeline runs.

    Raises OperationError if passes cannot run on ops of that name.
    """
    if anchor == ANY_ANCHOR:
        return [each for each in inner_operations(parent) if _is_isolated(each)]
    found = [each for each in inner_operations(parent) if each.name == anchor]
    for operation in found:
        if not _is_isolated(operation):
            raise OperationError(
                operation,
                "trying to schedule a pass on an operation not marked as 'IsolatedFromAbove'",
            )
    if not found:
        kind = context.get_optional_op(anchor)
        if kind is not None and not kind.has_trait(IsolatedFromAbove):
            raise OperationError(
                parent,
                f"cannot run a '{anchor}' pipeline inside: '{anchor}' is not marked as"
                " 'IsolatedFromAbove'",
            )
    return found


def _is_isolated(operation: Operation) -> bool:
    return operation.has_trait(IsolatedFromAbove, value_if_unregistered=False)


class SymbolsAround:
    """The symbols visible in a parent op, innermost symbol table first."""

    def __init__(self, parent: Operation) -> None:
        self._tables = [symbols_of(each) for each in enclosing(parent)]

    def find(self, name: str) -> Operation | None:
        """Return the op that a symbol name resolves to, `None` if there is none."""
        return next((table[name] for table in self._tables if name in table), None)

    @property
    def nearest(self) -> dict[str, Operation]:
        """The symbols of the parent itself; updated while its ops are replaced."""
        return self._tables[0]


@contextmanager
def alone_in_module(operation: Operation, around: SymbolsAround) -> Generator[ModuleOp]:
    """Yield a module that holds an op and copies of the symbols to which it refers.

    On exit, the contents of the module without the copies replace the op at its old position.
    Raises OperationError if this defines a symbol twice, or if the op is not in a block.
    """
    block = operation.parent
    parent = operation.parent_op()
    if block is None or parent is None:
        raise OperationError(operation, "is not in a block, so a pipeline cannot replace it")
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
    """Move all ops but the copies into the block, and add their symbols to `taken`."""
    clash: Operation | None = None
    for operation in list(module.body.block.ops):
        name = symbol_name(operation)
        # Passes on two functions may each add an identical symbol, such as a refined grid.
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
    """Return whether two ops without regions define the same symbol."""
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
    """Return a copy of a symbol; of a function, only its declaration."""
    if "function_type" not in symbol.properties:
        return symbol.clone()
    copy = symbol.clone_without_regions()
    copy.properties["sym_visibility"] = StringAttr("private")
    return copy


def _root_symbols_in(operation: Operation) -> list[str]:
    """Return the root names of all symbol references in an op and its regions."""
    references = (each for inner in walk(operation) for each in references_of(inner))
    return list(dict.fromkeys(each.root_reference.data for each in references))
