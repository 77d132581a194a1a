"""Symbols: their names, the operations that define them, and new names that are free."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import count
from weakref import WeakKeyDictionary, ref

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

from .attribute_access import parts_of, symbol_name


def root_symbol(operation: Operation, name: str) -> str:
    """The symbol that a property of an operation defines or refers to, empty if there is none.

    Of a nested reference it is the outermost part; `attribute_access.symbol` gives all of them, and
    raises where there is none.
    """
    value = operation.properties.get(name)
    if isinstance(value, SymbolRefAttr):
        return value.root_reference.data
    return value.data if isinstance(value, StringAttr) else ""


def names_in(module: ModuleOp) -> set[str]:
    """The names of all symbols of a module, without those of modules inside it."""
    names = map(symbol_name, module.body.block.ops)
    return {name for name in names if name is not None}


def symbols_in(module: ModuleOp, kinds: Container[str]) -> dict[str, Operation]:
    """The operations of some names that define symbols of a module, by these symbols."""
    operations = (each for each in module.body.block.ops if each.name in kinds)
    return {root_symbol(operation, "sym_name"): operation for operation in operations}


def fresh_name(base: str, taken: Container[str]) -> str:
    """The first of `base`, `base_0`, `base_1`, ... that is not taken."""
    return base if base not in taken else numbered_name(f"{base}_", taken)


def numbered_name(prefix: str, taken: Container[str], first: int = 0) -> str:
    """The first of `prefix0`, `prefix1`, ... that is not taken; `first` is the number to try."""
    return next(name for number in count(first) if (name := f"{prefix}{number}") not in taken)


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


def find_visible_symbol(operation: Operation, symbol: SymbolRefAttr) -> Operation | None:
    """What `symbol` means at `operation`: the innermost table around it that has the name decides.

    Unlike MLIR's lookup from the nearest table, outer tables are searched as well: executables and
    nested modules use the grid of the program around them.
    """
    name = symbol.root_reference
    scope = operation.parent_op()
    while scope is not None:
        if scope.has_trait(SymbolTable):
            found = _find_in_table(scope, name)
            if found is not None:
                return found
        scope = scope.parent_op()
    return None


def visible_names(operation: Operation, kinds: Container[str]) -> list[str]:
    """The symbols that can be named at an operation, of operations of some names."""
    found: dict[str, None] = {}
    scope = operation.parent_op()
    while scope is not None:
        if scope.has_trait(SymbolTable):
            symbols = _symbols_of(scope)
            found.update((name, None) for name, one in symbols.items() if one.name in kinds)
        scope = scope.parent_op()
    return list(found)


_found_in_table: WeakKeyDictionary[Operation, dict[str, ref[Operation]]] = WeakKeyDictionary()
"""What was found last, by table and name. Names are unique in a table, so an operation that is
still there under its name is still the right one."""


def _find_in_table(table: Operation, name: StringAttr) -> Operation | None:
    known = _found_in_table.get(table)
    last = known.get(name.data) if known is not None else None
    found = None if last is None else last()
    if (
        found is not None
        and found.parent_op() is table
        and found.get_attr_or_prop("sym_name") == name
    ):
        return found
    for region in table.regions:
        for block in region.blocks:
            for candidate in block.ops:
                if candidate.get_attr_or_prop("sym_name") == name:
                    _found_in_table.setdefault(table, {})[name.data] = ref(candidate)
                    return candidate
    return None


VISIBILITY = ("private", "public", "nested")
"""MLIR's visibilities of symbols."""


def visibility(operation: Operation) -> str:
    """The visibility of a symbol; `public` is what is meant if it is not given."""
    held = operation.get_attr_or_prop("sym_visibility")
    return held.data if isinstance(held, StringAttr) else "public"


def verify_visibility(operation: Operation) -> None:
    """Verify that a symbol's visibility, if it is given, is one of MLIR's."""
    attribute = operation.properties.get("sym_visibility")
    if isinstance(attribute, StringAttr) and attribute.data not in VISIBILITY:
        raise VerifyException(
            f"visibility expected to be one of {', '.join(VISIBILITY)}, found '{attribute.data}'"
        )


def verify_declaration(operation: Operation, body: Region) -> None:
    """Verify that a function without a body is not public: nobody could call it from outside."""
    if not body.blocks and visibility(operation) == "public":
        raise VerifyException("symbol declaration cannot have public visibility")


def references_of(operation: Operation) -> Iterator[SymbolRefAttr]:
    """The symbol references in the attributes of an operation and in the types of its results."""
    for attributes in (operation.properties, operation.attributes):
        for attribute in attributes.values():
            yield from _references_in(attribute)
    for result in operation.results:
        yield from _references_in(result.type)


@lru_cache(maxsize=4096)
def _references_in(attribute: Attribute) -> tuple[SymbolRefAttr, ...]:
    """All symbol references in an attribute, however deep."""
    if isinstance(attribute, SymbolRefAttr):
        return (attribute,)
    parts = parts_of(attribute)
    return tuple(dict.fromkeys(found for part in parts for found in _references_in(part)))
