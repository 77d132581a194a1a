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

from collections.abc import Iterator, Mapping, Sequence
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
    """Stores of one value beside each other; `start` is the position of the first."""

    value: SSAValue
    start: int
    names: set[str] = field(default_factory=set[str])


def _equal_globals(variables: Mapping[str, GlobalAccesses]) -> list[list[str]]:
    """Return the names of globals that hold equal values, in lists, each in the module's order."""
    beside: dict[str, set[str]] = {}
    stores = (store for accesses in variables.values() for store in accesses.stores)
    for block in dict.fromkeys(store.parent for store in stores):
        for group in _groups(block) if block is not None else ():
            for name in group.names & variables.keys():
                beside[name] = beside.get(name, group.names) & group.names
    positions = {name: position for position, name in enumerate(variables)}
    classes: dict[str, list[str]] = {}
    for name in variables:
        firsts = sorted(beside.get(name, set()) & classes.keys(), key=positions.__getitem__)
        for first in firsts:
            if name in beside[first] and _kind(variables[first].op) == _kind(variables[name].op):
                classes[first].append(name)
                break
        else:
            classes[name] = [name]
    return list(classes.values())


def _groups(block: Block) -> Iterator[_Group]:
    """Yield the stores of a block in groups beside each other.

    An access ends the group of its global. A store joins a group of its value if nothing has
    accessed its global since the group started.
    """
    groups: dict[str, _Group] = {}
    of_value: dict[SSAValue, list[_Group]] = {}
    last_access: dict[str, int] = {}
    for position, op in enumerate(block.ops):
        touched = accessed_in(op)
        if touched is None:
            yield from dict.fromkeys(groups.values())
            groups, of_value = {}, {}
            continue
        for group in {groups[name] for name in touched & groups.keys()}:
            yield group
            of_value[group.value].remove(group)
            for name in group.names:
                del groups[name]
        if op.name == GLOBAL_STORE:
            (name,), value = touched, op.operands[0]
            since = last_access.get(name, -1)
            candidates = of_value.setdefault(value, [])
            joined = next((each for each in candidates if each.start > since), None)
            if joined is None:
                joined = _Group(value, position)
                candidates.append(joined)
            joined.names.add(name)
            groups[name] = joined
        last_access.update(dict.fromkeys(touched, position))
    yield from dict.fromkeys(groups.values())


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
