"""Which operations access a global, and which may run code that does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.host_programs import CALLS, GLOBAL_LOAD, GLOBAL_STORE
from ...ir.regions import walk
from ...ir.symbols import references_of, root_symbol, symbols_in, visibility

RUNS_OTHER_CODE = CALLS | {
    "flow.call",
    "hal.fence.await",
    "stream.async.call",
    "stream.cmd.call",
}
"""Operations during which other code of the program may run."""

POINTER_ACCESSES = frozenset({"util.global.load.indirect", "util.global.store.indirect"})


@dataclass(eq=False)
class GlobalAccesses:
    """A global and the ops that name it."""

    op: Operation
    loads: list[Operation] = field(default_factory=list[Operation])
    stores: list[Operation] = field(default_factory=list[Operation])
    others: int = 0

    @property
    def is_private(self) -> bool:
        """Whether loads and stores are all that may happen to the global."""
        return visibility(self.op) == "private" and not self.others


def global_accesses(module: ModuleOp) -> Mapping[str, GlobalAccesses]:
    """Return the globals of a module by name, in order."""
    accesses = {
        name: GlobalAccesses(op) for name, op in symbols_in(module, ("util.global",)).items()
    }
    for op in walk(module):
        for reference in references_of(op):
            found = accesses.get(reference.root_reference.data)
            if found is None:
                continue
            if op.name == GLOBAL_LOAD:
                found.loads.append(op)
            elif op.name == GLOBAL_STORE:
                found.stores.append(op)
            else:
                found.others += 1
    return accesses


def accessed_in(op: Operation) -> frozenset[str] | None:
    """Return the globals that an op or one inside it may access; None if it may be any."""
    names: set[str] = set()
    for inner in walk(op):
        if inner.name in RUNS_OTHER_CODE or inner.name in POINTER_ACCESSES:
            return None
        if inner.name in (GLOBAL_LOAD, GLOBAL_STORE):
            names.add(root_symbol(inner, "global"))
    return frozenset(names)
