"""Convert the functions of a host program, by a table of rules for operations on tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import Rewriter

from ....dialects.flow.collectives import ChannelType as FlowChannelType
from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream.types import ChannelType
from ....ir.diagnostics import Note, OperationError
from ....ir.expansions import Expansion, retype_function
from ....ir.locations import builder_before
from ....ir.regions import reachable_blocks
from ....ir.rules import Rules
from ....ir.tensor_types import ranked
from ....ir.value_flow import BRANCHES
from ...imports.variables_to_util import is_variable
from ..analysis.device_placement import DevicePlacement
from .globals import StoredGlobals
from .stored_tensors import PlacedBuilder, StoredTensor, carried_types, stored_from, transfer

CHANNEL = ChannelType()
CONVERTED = TensorType, FlowChannelType

CONTROL_FLOW = BRANCHES | frozenset(
    {
        "func.call",
        "func.return",
        "scf.condition",
        "scf.execute_region",
        "scf.for",
        "scf.if",
        "scf.index_switch",
        "scf.while",
        "scf.yield",
        "util.call",
        "util.return",
    }
)
"""Operations that carry values of any type."""


class Host:
    """Converts the functions of a module one by one."""

    def __init__(
        self,
        context: Context,
        placement: DevicePlacement,
        variables: StoredGlobals,
        *,
        carries_dims: bool,
    ) -> None:
        self._context = context
        self.placement = placement
        self.variables = variables
        self.carries_dims = carries_dims
        """Whether tensors are carried together with the sizes of their dynamic dimensions."""
        self.carried: Expansion = partial(_expanded, with_dims=carries_dims)
        """Maps a type to the types of the values that are carried in its affinity."""
        self._stored: dict[SSAValue, StoredTensor] = {}
        self._known = defaultdict[Block | None, dict[object, SSAValue]](dict)
        """For each block, the values that conversions use again."""
        self._done: list[Operation] = []
        self._outdated: list[BlockArgument] = []

    def convert_function(self, function: Operation) -> None:
        """Convert a function in place.

        Raises OperationError if an operation on tensors has no rule, or reads a tensor without
        storage.
        """
        retype_function(function, self.carried)
        for region in function.regions:
            self.convert_region(region)
        for operation in reversed(self._done):
            Rewriter.erase_op(operation)
        for argument in self._outdated:
            argument.block.erase_arg(argument)
        self._done.clear()
        self._outdated.clear()

    def convert_region(self, region: Region) -> None:
        """Convert all operations of a region, and add block arguments for resources."""
        for block in region.blocks:
            self._expand_arguments(block)
        for block in blocks_in_order(region):
            for operation in tuple(block.ops):
                self._convert(operation)

    def stored(self, value: SSAValue, reader: Operation) -> StoredTensor:
        """Return the resource of a tensor. Raises OperationError at the reader if it has none."""
        stored = self._stored.get(value)
        if stored is None:
            notes = [Note("it is defined here", value.op)] if isinstance(value, OpResult) else []
            raise OperationError(reader, f"reads a tensor that has no storage: {value.type}", notes)
        return stored

    def store(self, value: SSAValue, stored: StoredTensor) -> None:
        """Record the resource of a tensor."""
        stored.resource.name_hint = value.name_hint
        self._stored[value] = stored

    def op_class(self, name: str) -> type[IRDLOperation]:
        """Return the class of the operations with a name."""
        return cast("type[IRDLOperation]", self._context.get_op(name))

    def affinity_of(self, value: SSAValue) -> Attribute | None:
        """Return the device of the resource of a tensor."""
        affinity = self.placement.of(value)
        if affinity is None and isinstance(value, OpResult):
            # It could be made on any device, and was made where this operation runs.
            return self.placement.runs_on(value.op)
        return affinity

    def transferred(self, value: SSAValue, reader: Operation, here: PlacedBuilder) -> StoredTensor:
        """Return the resource of a tensor on the device of its reader: transfer it if need be."""
        stored, source = self.stored(value, reader), self.affinity_of(value)
        if here.affinity is None or source == here.affinity:
            return stored
        return transfer(stored, source, here.affinity, here.builder)

    def _expand_arguments(self, block: Block) -> None:
        """Insert block arguments for resources and sizes in front of tensor arguments.

        The tensor arguments are erased after conversion, when they have no uses.
        """
        for argument in tuple(block.args):
            if isinstance(argument.type, FlowChannelType):
                argument.replace_all_uses_with(block.insert_arg(CHANNEL, argument.index))
                self._outdated.append(argument)
            tensor = ranked(argument)
            if tensor is None:
                continue
            values: list[SSAValue] = []
            for type_ in carried_types(tensor, with_dims=self.carries_dims):
                values.append(block.insert_arg(type_, argument.index))
            self.store(argument, stored_from(values))
            self._outdated.append(argument)

    def _convert(self, operation: Operation) -> None:
        values = (*operation.operands, *operation.results)
        if (
            operation.name not in CONTROL_FLOW
            and not any(isinstance(value.type, CONVERTED) for value in values)
            and not operation.name.startswith("flow.channel.")
        ):
            for region in operation.regions:
                self.convert_region(region)
            return
        rule = conversion.get(operation.name)
        if rule is None:
            raise OperationError(
                operation,
                "uses tensors on the host, but has no form in the stream dialect: run "
                + (
                    "variables-to-util, which makes globals of variables"
                    if is_variable(operation)
                    else "form-dispatches, which moves computations to executables"
                ),
            )
        known = self._known[operation.parent]
        affinity = self.placement.runs_on(operation)
        rule(self, operation, PlacedBuilder(builder_before(operation), affinity, known))
        self._done.append(operation)


Rule = Callable[[Host, Operation, PlacedBuilder], None]

conversion = Rules[Rule]()
"""Conversion rules for operations on tensors that a host program may contain, by name."""


def _expanded(type_: Attribute, *, with_dims: bool) -> tuple[Attribute, ...]:
    if isinstance(type_, TensorType):
        return carried_types(cast(Tensor, type_), with_dims=with_dims)
    return (CHANNEL,) if isinstance(type_, FlowChannelType) else (type_,)


def blocks_in_order(region: Region) -> list[Block]:
    """Return the blocks of a region such that dominators come first; unreachable ones are last."""
    ordered = reachable_blocks(region)
    seen = set(ordered)
    return [*ordered, *(block for block in region.blocks if block not in seen)]
