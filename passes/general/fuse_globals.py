"""Fuse globals that hold equal values all the time.

    util.global.store %x, @a            util.global.store %x, @a
    util.global.store %x, @b     =>     ...
    ...                                 %0 = util.global.load @a
    %0 = util.global.load @a            %1 = util.global.load @a
    %1 = util.global.load @b

Two globals hold equal values if they start with the same one, and if each store to one of them has
a store of the same value to the other beside it: in its block, with nothing between them that may
access either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...ir.host_programs import GLOBAL_STORE
from ..manager.module_pass import module_pass
from .global_accesses import GlobalAccesses, accessed_in, global_accesses


@module_pass("iree-util-fuse-globals")
def fuse_globals(module: ModuleOp) -> None:
    """Fuse globals that hold equal values all the time."""
    variables = {
        name: accesses for name, accesses in global_accesses(module).items() if accesses.is_private
    }
    for first, *equal in _equal_globals(variables):
        for name in equal:
            _fuse(first, variables[first], variables[name])


@dataclass(eq=False)
class _Group:
    """Stores of one value; `closed_to` are the globals that were accessed since the first."""

    value: SSAValue
    names: set[str] = field(default_factory=set[str])
    closed_to: set[str] = field(default_factory=set[str])


def _equal_globals(variables: Mapping[str, GlobalAccesses]) -> list[list[str]]:
    """Return the names of globals that hold equal values, in lists, each in the module's order."""
    beside: dict[str, set[str]] = {}
    stores = (store for accesses in variables.values() for store in accesses.stores)
    for block in dict.fromkeys(store.parent for store in stores):
        for group in _groups(block) if block is not None else ():
            for name in group.names & variables.keys():
                beside[name] = beside.get(name, group.names) & group.names
    classes: list[list[str]] = []
    for name in variables:
        for each in classes:
            first = each[0]
            if (
                name in beside.get(first, ())
                and first in beside.get(name, ())
                and _kind(variables[first].op) == _kind(variables[name].op)
            ):
                each.append(name)
                break
        else:
            classes.append([name])
    return classes


def _groups(block: Block) -> Iterator[_Group]:
    """Yield the stores of a block in groups beside each other."""
    current: list[_Group] = []
    for op in block.ops:
        touched = accessed_in(op)
        if touched is None:
            yield from current
            current = []
        elif touched:
            yield from (group for group in current if group.names & touched)
            current = [group for group in current if not group.names & touched]
            _add(op, touched, current)
    yield from current


def _add(op: Operation, touched: Iterable[str], groups: list[_Group]) -> None:
    """Add a store to the group of its value, and close the others to the globals touched."""
    is_store = op.name == GLOBAL_STORE
    joined = next(
        (
            group
            for group in groups
            if is_store and group.value is op.operands[0] and group.closed_to.isdisjoint(touched)
        ),
        None,
    )
    for group in groups:
        if group is not joined:
            group.closed_to.update(touched)
    if joined is None and is_store:
        joined = _Group(op.operands[0])
        groups.append(joined)
    if joined is not None:
        joined.names.update(touched)


def _kind(variable: Operation) -> tuple[object, ...]:
    """Return what globals have to have in common to be fused."""
    own = ("sym_name", "is_mutable")
    properties = {name: each for name, each in variable.properties.items() if name not in own}
    return properties, variable.attributes


def _fuse(name: str, kept: GlobalAccesses, dropped: GlobalAccesses) -> None:
    """Let the loads of a global read an equal one, and drop it."""
    if "is_mutable" not in dropped.op.properties:
        kept.op.properties.pop("is_mutable", None)
    for load in dropped.loads:
        load.properties["global"] = SymbolRefAttr(name)
    unused: Sequence[Operation] = (*dropped.stores, dropped.op)
    for op in unused:
        Rewriter.erase_op(op)
