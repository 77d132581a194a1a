"""Symbols by name, with tables that are made once where many are looked up.

xDSL's `SymbolTable.lookup_symbol` walks over the table's operations for each question, which
makes the verification of a module with thousands of functions and calls take minutes.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from .reading import symbol_name

SymbolTables = dict[Operation, dict[str, Operation]]
"""By the operation that has the table, its symbols by their names."""

_tables: ContextVar[SymbolTables | None] = ContextVar("symbol_tables", default=None)


@contextmanager
def remembered_symbols(tables: SymbolTables) -> Generator[None]:
    """Make every symbol table once inside the `with` block, and keep it in `tables`.

    No symbol may change while these are used.
    """
    token = _tables.set(tables)
    try:
        yield
    finally:
        _tables.reset(token)


def find_symbol(operation: Operation, name: str) -> Operation | None:
    """The symbol of that name in the closest symbol table around an operation, or in itself."""
    anchor: Operation | None = operation
    while anchor is not None and not anchor.has_trait(SymbolTable):
        anchor = anchor.parent_op()
    if anchor is None:
        return None
    tables = _tables.get()
    if tables is None:
        return _symbols_of(anchor).get(name)
    table = tables.get(anchor)
    if table is None:
        table = tables[anchor] = _symbols_of(anchor)
    return table.get(name)


def _symbols_of(table: Operation) -> dict[str, Operation]:
    symbols: dict[str, Operation] = {}
    for region in table.regions:
        for block in region.blocks:
            for operation in block.ops:
                name = symbol_name(operation)
                if name is not None:
                    symbols.setdefault(name, operation)
    return symbols
