"""Remove private symbols that nothing refers to."""

from __future__ import annotations

from collections import defaultdict

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from ...ir.attribute_access import symbol_name
from ...ir.regions import enclosing, inner_operations
from ...ir.symbols import references_of, visibility
from ..manager.module_pass import module_pass


@module_pass("symbol-dce")
def symbol_dce(module: ModuleOp) -> None:
    """Remove private symbols that no operation refers to, directly or through other symbols.

    References are resolved by name only, regardless of symbol tables: a symbol is kept if any
    symbol of the same name is in use.
    """
    private: dict[str, list[Operation]] = defaultdict(list)
    for operation in module.walk():
        name = symbol_name(operation)
        if name is not None and operation is not module and visibility(operation) == "private":
            private[name].append(operation)
    hidden = {symbol for symbols in private.values() for symbol in symbols}
    waiting: list[Operation] = [module]
    while waiting:
        for name in _named_in(waiting.pop(), hidden):
            for symbol in private.pop(name, ()):
                hidden.discard(symbol)
                waiting.append(symbol)
    for symbol in hidden:
        if hidden.isdisjoint(enclosing(symbol.parent_op())):
            Rewriter.erase_op(symbol, safe_erase=False)


def _named_in(root: Operation, hidden: set[Operation]) -> set[str]:
    """Return the symbol names in an op and its regions, skipping hidden symbols."""
    names: set[str] = set()
    waiting = [root]
    while waiting:
        operation = waiting.pop()
        for reference in references_of(operation):
            names.add(reference.root_reference.data)
            names.update(nested.data for nested in reference.nested_references.data)
        waiting += [inner for inner in inner_operations(operation) if inner not in hidden]
    return names
