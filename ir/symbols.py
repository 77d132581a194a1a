"""Symbols: lookup, visibility, references, and new unused names."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import count
from weakref import WeakKeyDictionary, ref

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

from .attribute_access import symbol_name
from .attribute_replacer import parts_of
from .regions import enclosing, inner_operations


def root_symbol(operation: Operation, name: str) -> str:
    """Return the symbol that a property defines or refers to; empty if there is none.

    For a nested reference this is the root. `attribute_access.symbol` returns all parts, and raises
    an error if there is none.
    """
    value = operation.properties.get(name)
    if isinstance(value, SymbolRefAttr):
        return value.root_reference.data
    return value.data if isinstance(value, StringAttr) else ""


def defined_name(operation: Operation) -> str:
    """Return the name of the symbol that an operation defines; empty if it defines none."""
    return symbol_name(operation) or ""


def names_in(module: ModuleOp) -> set[str]:
    """Return the names of all symbols in a module, without those of nested modules."""
    names = map(symbol_name, module.body.block.ops)
    return {name for name in names if name is not None}


def symbols_in(module: ModuleOp, kinds: Container[str]) -> dict[str, Operation]:
    """Return the ops with one of these op names that define symbols in a module, by symbol."""
    operations = (each for each in module.body.block.ops if each.name in kinds)
    return {defined_name(operation): operation for operation in operations}


def fresh_name(base: str, taken: Container[str]) -> str:
    """Return the first of `base`, `base_0`, `base_1`, ... that is not taken."""
    return base if base not in taken else numbered_name(f"{base}_", taken)


def numbered_name(prefix: str, taken: Container[str], first: int = 0) -> str:
    """Return the first unused name `prefix<n>`, with n counting up from `first`."""
    return next(name for number in count(first) if (name := f"{prefix}{number}") not in taken)


class FreshNames:
    """New names for symbols of a module. Each counts up from the last number of its prefix."""

    def __init__(self, module: ModuleOp) -> None:
        self._taken = names_in(module)
        self._next: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """Take the first of `base`, `base_0`, `base_1`, ... that is not taken."""
        if base in self._taken:
            return self.numbered(f"{base}_")
        self._taken.add(base)
        return base

    def numbered(self, prefix: str) -> str:
        """Take the first unused name `prefix<n>`, with n counting up from 0."""
        name = numbered_name(prefix, self._taken, self._next.get(prefix, 0))
        self._next[prefix] = int(name.removeprefix(prefix)) + 1
        self._taken.add(name)
        return name


SymbolTables = dict[Operation, dict[str, Operation]]
"""The symbols of each symbol table operation, by name."""

_tables: ContextVar[SymbolTables | None] = ContextVar("symbol_tables", default=None)


@contextmanager
def remembered_symbols(tables: SymbolTables) -> Generator[None]:
    """Build each symbol table once inside the `with` block, and cache it in `tables`.

    No symbol may change while the cache is in use.
    """
    token = _tables.set(tables)
    try:
        yield
    finally:
        _tables.reset(token)


def find_symbol(operation: Operation, name: str) -> Operation | None:
    """Return the symbol of that name in the nearest symbol table, which may be `operation` itself.

    Returns `None` if there is no such symbol or table.
    """
    scopes = (each for each in enclosing(operation) if each.has_trait(SymbolTable))
    anchor = next(scopes, None)
    if anchor is None:
        return None
    tables = _tables.get()
    if tables is None:
        return symbols_of(anchor).get(name)
    table = tables.get(anchor)
    if table is None:
        table = tables[anchor] = symbols_of(anchor)
    return table.get(name)


def symbols_of(table: Operation) -> dict[str, Operation]:
    """Return the operations directly in `table` that define symbols, by symbol."""
    symbols: dict[str, Operation] = {}
    for operation in inner_operations(table):
        name = symbol_name(operation)
        if name is not None:
            symbols.setdefault(name, operation)
    return symbols


def symbol_at(table: Operation, path: Iterable[str]) -> Operation | None:
    """Return the operation that `@path[0]::@path[1]...` names from `table`, or `None`."""
    found: Operation | None = table
    for name in path:
        if found is None:
            return None
        found = symbols_of(found).get(name)
    return found


def find_visible_symbol(operation: Operation, symbol: SymbolRefAttr) -> Operation | None:
    """Resolve `symbol` at `operation`, from the innermost symbol table outwards.

    MLIR looks only in the nearest table. Here outer tables are searched as well, because
    executables and nested modules use the grid of the enclosing program. Returns `None` if nothing
    is found.
    """
    name = symbol.root_reference
    for scope in enclosing(operation.parent_op()):
        if scope.has_trait(SymbolTable):
            found = _find_in_table(scope, name)
            if found is not None:
                return found
    return None


def visible_names(operation: Operation, kinds: Container[str]) -> list[str]:
    """Return the symbols visible at an operation whose defining ops have one of these names."""
    found: dict[str, None] = {}
    for scope in enclosing(operation.parent_op()):
        if scope.has_trait(SymbolTable):
            symbols = symbols_of(scope)
            found.update((name, None) for name, one in symbols.items() if one.name in kinds)
    return list(found)


_found_in_table: WeakKeyDictionary[Operation, dict[str, ref[Operation]]] = WeakKeyDictionary()
"""The symbols of each table, as they were when one was last found that is not among them.

Names are unique in a table, so a cached operation is still correct if it is still in the table
under its name.
"""


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
    symbols = symbols_of(table)
    if name.data in symbols:
        _found_in_table[table] = {each: ref(operation) for each, operation in symbols.items()}
    return symbols.get(name.data)


VISIBILITY = ("private", "public", "nested")
"""The symbol visibilities of MLIR."""


def visibility(operation: Operation) -> str:
    """Return the visibility of a symbol; the default is `public`."""
    declared = operation.get_attr_or_prop("sym_visibility")
    return declared.data if isinstance(declared, StringAttr) else "public"


def symbol_properties(operation: Operation) -> dict[str, Attribute]:
    """Return the properties of a symbol that are its name and visibility."""
    names = ("sym_name", "sym_visibility")
    return {name: operation.properties[name] for name in names if name in operation.properties}


def verify_visibility(operation: Operation) -> None:
    """Raise VerifyException if a symbol has a visibility that is not one of MLIR's."""
    attribute = operation.properties.get("sym_visibility")
    if isinstance(attribute, StringAttr) and attribute.data not in VISIBILITY:
        raise VerifyException(
            f"visibility expected to be one of {', '.join(VISIBILITY)}, found '{attribute.data}'"
        )


PREFIXED = "dialect.name"
"""An example of the name of an attribute that belongs to a dialect."""


def without_prefix(attributes: Mapping[str, Attribute]) -> str | None:
    """Return the first attribute name without a dialect prefix; `None` if there is none."""
    return next((name for name in attributes if "." not in name), None)


def verify_prefixes(what: str, entries: Iterable[DictionaryAttr]) -> None:
    """Check the attributes of a function's arguments or results, which `what` names.

    Raises VerifyException for a name without a dialect prefix.
    """
    for index, entry in enumerate(entries):
        bare = without_prefix(entry.data)
        if bare is not None:
            raise VerifyException(
                f"{what}s may only have dialect attributes, as '{PREFIXED}': {what} #{index} "
                f"has '{bare}'"
            )


def verify_declaration(operation: Operation, body: Region) -> None:
    """Raise VerifyException if a function without a body is public.

    Nobody could call it from outside.
    """
    if not body.blocks and visibility(operation) == "public":
        raise VerifyException("symbol declaration cannot have public visibility")


def references_of(operation: Operation) -> Iterator[SymbolRefAttr]:
    """Yield the symbol references in an operation's attributes and in its result types."""
    for attributes in (operation.properties, operation.attributes):
        for attribute in attributes.values():
            yield from _references_in(attribute)
    for result in operation.results:
        yield from _references_in(result.type)


@lru_cache(maxsize=4096)
def _references_in(attribute: Attribute) -> tuple[SymbolRefAttr, ...]:
    """Return all symbol references in an attribute, at any depth."""
    if isinstance(attribute, SymbolRefAttr):
        return (attribute,)
    parts = parts_of(attribute)
    return tuple(dict.fromkeys(found for part in parts for found in _references_in(part)))
