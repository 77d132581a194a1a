"""Names of symbols: those that operations define or refer to, and new ones that are free."""

from __future__ import annotations

from collections.abc import Container
from itertools import count

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from .reading import symbol_name


def symbol(operation: Operation, name: str) -> str:
    """The symbol that a property of an operation defines or refers to, empty if there is none.

    Of a nested reference it is the outermost part.
    """
    value = operation.properties.get(name)
    if isinstance(value, SymbolRefAttr):
        return value.root_reference.data
    return value.data if isinstance(value, StringAttr) else ""


def names_in(module: ModuleOp) -> set[str]:
    """The names of all symbols of a module, without those of modules inside it."""
    names = map(symbol_name, module.body.block.ops)
    return {name for name in names if name is not None}


def fresh_name(base: str, taken: Container[str]) -> str:
    """The first of `base`, `base_0`, `base_1`, ... that is not taken."""
    return base if base not in taken else numbered_name(f"{base}_", taken)


def numbered_name(prefix: str, taken: Container[str], first: int = 0) -> str:
    """The first of `prefix0`, `prefix1`, ... that is not taken; `first` is the number to try."""
    return next(name for number in count(first) if (name := f"{prefix}{number}") not in taken)
