"""Carry timepoints along with resources through branches, loops, calls and globals.

    cf.br ^bb1(%0 : !stream.resource<external>)

becomes

    cf.br ^bb1(%0, %t : !stream.resource<external>, !stream.timepoint)

and the block waits for `%t` in front of the readers of its argument. Callers of public functions
know no timepoints, and neither does code that runs after a function has stored device work in a
global; in both cases the host waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.stream.regions import TimepointAwaitOp, awaited, joined
from ....dialects.stream.resources import ResourceSizeOp
from ....dialects.stream.types import TIMEPOINT, ImmediateTimepointAttr, ResourceType
from ....dialects.util.dialect import GlobalLoadOp, GlobalOp, GlobalStoreOp
from ....dialects.util.functions import CallOp, FuncOp
from ....ir.expansions import expand_segments, expand_ties, expand_types, retype_function
from ....ir.host_programs import (
    FUNCTIONS_AND_INITIALIZERS,
    host_operations,
    host_operations_of,
    in_initializer,
)
from ....ir.index_lists import INDEX
from ....ir.locations import builder_before, erase_if_unused, located_builder, maker_of, rebuilt
from ....ir.regions import detach_regions, inner_blocks
from ....ir.symbols import FreshNames, defined_name, references_of, root_symbol, visibility
from ....ir.value_flow import BRANCHES
from ..analysis.storage import is_resource, resources_in

STRUCTURES = frozenset({"scf.execute_region", "scf.for", "scf.if", "scf.index_switch", "scf.while"})
"""Operations with regions, whose block arguments and results carry values."""

ENDS = frozenset({"scf.condition", "scf.yield"})
"""Terminators of these regions."""


class CarriedTimepoints:
    """Adds timepoints to everything in a module that carries resources, in two steps.

    `expand` adds operands, arguments and results, and awaits timepoints where resources arrive.
    When regions wait for their operands themselves, `forward_timepoints` passes on the timepoints
    that were awaited.
    """

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._functions = _private_functions(module)
        self._globals: dict[str, str] = {}
        """For each global resource, the name of the global that holds its timepoint."""
        self._forwarding: list[tuple[Operation, int]] = []
        """Operations that pass on a resource, with its operand index; its timepoint is next."""
        self._sizes: list[Operation] = []

    def expand(self) -> None:
        """Add timepoints, and wait for those that arrive."""
        self._expand_globals()
        for operation in tuple(host_operations(self._module)):
            if operation.name in FUNCTIONS_AND_INITIALIZERS:
                self._expand_blocks(operation)
            elif isinstance(operation, GlobalLoadOp):
                self._load(operation)
            elif self._carries_resources(operation):
                self._expand(operation)
        for function in self._functions.values():
            retype_function(function, with_timepoint)

    def forward_timepoints(self) -> None:
        """Pass on timepoints with resources instead of waiting for them."""
        for operation, index in self._forwarding:
            value, waits = before_awaits(operation.operands[index])
            operation.operands[index] = value
            operation.operands[index + 1] = joined(waits, builder_before(operation))
        for operation in host_operations_of(self._module, GlobalStoreOp):
            self._store(operation)

    def erase_unused_sizes(self) -> None:
        """Erase size operations that no await uses."""
        erase_if_unused(*self._sizes)

    def _expand_globals(self) -> None:
        names = FreshNames(self._module)
        for operation in tuple(self._module.body.block.ops):
            if not isinstance(operation, GlobalOp) or not isinstance(operation.type, ResourceType):
                continue
            name = operation.sym_name.data
            timepoint = names.fresh(f"{name}__timepoint")
            start = ImmediateTimepointAttr(TIMEPOINT)
            builder_before(operation).insert(GlobalOp(timepoint, TIMEPOINT, start, mutable=True))
            self._globals[name] = timepoint

    def _expand_blocks(self, function: Operation) -> None:
        """Add timepoint arguments to a function's blocks, except to a public function's first."""
        region = function.regions[0]
        if not _ends_known(region):
            return
        for block in region.blocks:
            if block is not region.blocks.first or function in self._functions.values():
                self._expand_arguments(block)

    def _expand_arguments(self, block: Block) -> None:
        for argument in tuple(block.args):
            if is_resource(argument):
                timepoint = block.insert_arg(TIMEPOINT, argument.index + 1)
                self._wait(argument, timepoint, InsertPoint.at_start(block))

    def _carries_resources(self, operation: Operation) -> bool:
        """Return whether an operation carries resources whose timepoints can be carried, too."""
        is_structure = operation.name in STRUCTURES
        inside = inner_blocks(operation) if is_structure else ()
        arguments = (argument for block in inside for argument in block.args)
        if not any(map(is_resource, (*operation.operands, *operation.results, *arguments))):
            return False
        parent = operation.parent_op()
        if operation.name in BRANCHES:
            return parent is not None and _ends_known(parent.regions[0])
        if operation.name == "util.return":
            return parent in self._functions.values()
        if isinstance(operation, CallOp):
            return root_symbol(operation, "callee") in self._functions
        return is_structure or (
            operation.name in ENDS and parent is not None and parent.name in STRUCTURES
        )

    def _expand(self, operation: Operation) -> None:
        operands: list[SSAValue] = []
        indices: list[int] = []
        for value in operation.operands:
            if is_resource(value):
                indices.append(len(operands))
            operands += [value] * len(with_timepoint(value.type))
        expanded = rebuilt(
            operation,
            operands,
            expand_types(operation.result_types, with_timepoint),
            properties=expand_segments(operation, with_timepoint),
            regions=detach_regions(operation),
        )
        expand_ties(expanded, operation.operand_types, operation.result_types, with_timepoint)
        cast(Block, operation.parent).insert_op_before(expanded, operation)
        self._forwarding += ((expanded, index) for index in indices)
        for block in inner_blocks(expanded):
            self._expand_arguments(block)
        results = list(expanded.results)
        after = InsertPoint.after(expanded)
        for result in operation.results:
            result.replace_all_uses_with(value := results.pop(0))
            value.name_hint = result.name_hint
            if is_resource(value):
                self._wait(value, results.pop(0), after)
        Rewriter.erase_op(operation)

    def _load(self, load: GlobalLoadOp) -> None:
        name = self._globals.get(root_symbol(load, "global"))
        if name is not None:
            timepoint = builder_before(load).insert(GlobalLoadOp(name, TIMEPOINT))
            self._wait(load.result, timepoint.result, InsertPoint.after(load))

    def _store(self, store: GlobalStoreOp) -> None:
        name = self._globals.get(root_symbol(store, "global"))
        if name is None:
            return
        value, waits = before_awaits(store.value)
        if all(map(_is_loaded, waits)) or in_initializer(store):
            store.operands[0] = value
        else:
            waits = []
        builder = builder_before(store)
        builder.insert(GlobalStoreOp(joined(waits, builder), name))

    def _wait(self, value: SSAValue, timepoint: SSAValue, point: InsertPoint) -> None:
        """Make all readers of a resource wait for a timepoint."""
        builder = located_builder(point, maker_of(value))
        uses = tuple(value.uses)
        size = _known_size(value)
        if size is None:
            query = builder.insert(ResourceSizeOp.build(operands=[value], result_types=[INDEX]))
            self._sizes.append(query)
            size = query.results[0]
        ready = awaited(value, size, timepoint, builder)
        for use in uses:
            use.operation.operands[use.index] = ready


def with_timepoint(type_: Attribute) -> Sequence[Attribute]:
    """Return the types of the values that are carried for a value of a type."""
    return (type_, TIMEPOINT) if isinstance(type_, ResourceType) else (type_,)


def before_awaits(value: SSAValue) -> tuple[SSAValue, list[SSAValue]]:
    """Return a resource before all awaits, and the timepoints that these wait for."""
    waits: dict[SSAValue, None] = {}
    while isinstance(value, OpResult) and isinstance(value.op, TimepointAwaitOp):
        waits[value.op.await_timepoint] = None
        value = value.op.resource_operands[value.index]
    return value, list(waits)


def _private_functions(module: ModuleOp) -> dict[str, Operation]:
    """Return the private functions that are only used in calls of this module, by name."""
    functions: dict[str, Operation] = {}
    for operation in module.body.block.ops:
        is_defined = isinstance(operation, FuncOp) and operation.regions[0].blocks
        if is_defined and visibility(operation) == "private":
            functions[defined_name(operation)] = operation
    for operation in module.walk():
        if not isinstance(operation, CallOp):
            for reference in references_of(operation):
                functions.pop(reference.root_reference.data, None)
    return functions


def _known_size(value: SSAValue) -> SSAValue | None:
    """Return the size of a block argument if a reader names it and it is available in the block."""
    if not isinstance(value, BlockArgument):
        return None
    parent = value.block.parent_op()
    for use in value.uses:
        for resource, size in resources_in(use.operation):
            if resource is value and (size in value.block.args or _is_outside(size, parent)):
                return size
    return None


def _is_outside(value: SSAValue, parent: Operation | None) -> bool:
    """Return whether a value is defined outside of an operation whose regions can use it."""
    if parent is None or parent.name not in STRUCTURES:
        return False
    return not parent.is_ancestor(maker_of(value))


def _is_loaded(timepoint: SSAValue) -> bool:
    """Return whether a timepoint was loaded from a global."""
    return isinstance(timepoint, OpResult) and isinstance(timepoint.op, GlobalLoadOp)


def _ends_known(region: Region) -> bool:
    """Return whether all blocks of a region end in branches that can carry more operands."""
    ends = (block.last_op for block in region.blocks)
    return all(end is None or not end.successors or end.name in BRANCHES for end in ends)
