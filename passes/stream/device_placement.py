"""Where the tensors of a host program are: on which device each is made, and so is.

Transfers, arguments, globals and operations may say where they are. An operation that does not
say runs where its first tensor operand is that is anywhere. What is made of nothing (constants,
empty and filled tensors, loads of globals that are never written and not placed) runs wherever it
is read. What reads nothing else runs where its result is wanted. What nothing decides is left to
the default of the scope, or to the module's only device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use

from ...dialects.affinity import (
    AFFINITY,
    AffinityAnalysisDialectInterface,
    affinity_of,
    own_affinity,
)
from ..host_programs import ABI_AFFINITY, host_operations

RETURNS = ("func.return", "util.return")
MADE_OF_NOTHING = ("arith.constant", "flow.tensor.constant", "tensor.empty", "tensor.splat")
MOVES = ("flow.tensor.barrier", "flow.tensor.transfer")


class DevicePlacement:
    """The places of all tensors of a module. `None` where the program does not tell."""

    def __init__(self, context: Context, module: ModuleOp) -> None:
        self._places: dict[SSAValue, Attribute] = {}
        self._globals = {
            name.data: operation
            for operation in module.body.block.ops
            if isinstance(name := operation.properties.get("sym_name"), StringAttr)
        }
        self._only_device = only_affinity(context, module)
        operations = tuple(host_operations(module))
        self._changed = True
        while self._changed:
            while self._changed:
                self._changed = False
                for operation in operations:
                    RULES.get(operation.name, _follow_operands)(self, operation)
            for operation in reversed(operations):
                self._follow_users(operation)

    def of(self, value: SSAValue) -> Attribute | None:
        """Where a tensor is."""
        found = self._places.get(value)
        if found is not None or self.is_flexible(value):
            return found
        return self.default_for(value.owner)

    def runs_on(self, operation: Operation) -> Attribute | None:
        """Where an operation runs."""
        if (own := own_affinity(operation)) is not None:
            return own
        for result in operation.results:
            if (place := self._places.get(result)) is not None:
                return place
        return self.default_for(operation)

    def default_for(self, owner: Operation | Block) -> Attribute | None:
        """Where what nothing decides runs, at an operation or for an argument."""
        operation = owner if isinstance(owner, Operation) else owner.parent_op()
        default = None if operation is None else affinity_of(operation)
        return self._only_device if default is None else default

    def is_flexible(self, value: SSAValue) -> bool:
        """Whether a tensor can be made anew on any device, rather than moved to it."""
        if not isinstance(value, OpResult):
            return False
        operation = value.op
        if own_affinity(operation) is not None:
            return False
        if operation.name == "util.global.load":
            variable = self._global_of(operation)
            return (
                variable is not None
                and "is_mutable" not in variable.properties
                and AFFINITY not in variable.attributes
            )
        if operation.name == "linalg.fill":
            return self.is_flexible(operation.operands[-1])
        return operation.name in MADE_OF_NOTHING

    def put(self, value: SSAValue, place: Attribute | None) -> None:
        """Note where a tensor is, unless that is known."""
        if place is not None and value not in self._places:
            self._places[value] = place
            self._changed = True

    def known(self, value: SSAValue) -> Attribute | None:
        """Where a tensor is as far as has been found out yet."""
        return self._places.get(value)

    def _global_of(self, operation: Operation) -> Operation | None:
        name = operation.properties.get("global")
        if not isinstance(name, SymbolRefAttr):
            return None
        return self._globals.get(name.root_reference.data)

    def _follow_users(self, operation: Operation) -> None:
        """What reads nothing that is placed runs where it is read first.

        If it is read in several places the default comes before that. If it is only moved, it
        runs where it is moved to, unless there is a default.
        """
        if operation.name in MOVES or not operation.results:
            return
        for result in operation.results:
            if result in self._places or self.is_flexible(result) or result.type.name != "tensor":
                continue
            moves = [use for use in result.uses if use.operation.name in MOVES]
            readers = [use for use in result.uses if use.operation.name not in MOVES]
            default = self.default_for(operation)
            places = self._places_of_users(readers)
            if not places and default is None:
                places = self._places_of_users(moves)
            if len(places) == 1 or (places and default is None):
                self.put(result, places[0])

    def _places_of_users(self, uses: Iterable[Use]) -> tuple[Attribute, ...]:
        """The places that are known of those who read a tensor, each once, in order."""
        found = (self._place_of_user(use) for use in uses)
        return tuple(dict.fromkeys(place for place in found if place is not None))

    def _place_of_user(self, use: Use) -> Attribute | None:
        operation = use.operation
        if (own := own_affinity(operation)) is not None:
            return own
        parent = operation.parent_op()
        if operation.name in RETURNS and parent is not None:
            return boundary_affinity(parent, "res_attrs", use.index)
        if operation.name == "scf.yield" and parent is not None and parent.name != "scf.while":
            return self._places.get(parent.results[use.index])
        found = (self._places.get(result) for result in operation.results)
        return next((place for place in found if place is not None), None)

    def enter(self, function: Operation) -> None:
        """Arguments are where the function says, or where its scope does."""
        block = function.regions[0].blocks.first if function.regions else None
        if block is None:
            return
        for index, argument in enumerate(block.args):
            if argument.type.name == "tensor":
                place = boundary_affinity(function, "arg_attrs", index)
                self.put(argument, place or self.default_for(block))

    def load(self, operation: Operation) -> None:
        """A global is where it says; one that changes is somewhere even if it does not say."""
        variable = self._global_of(operation)
        if variable is None or operation.results[0].type.name != "tensor":
            return
        place = own_affinity(operation) or variable.attributes.get(AFFINITY)
        if place is None and "is_mutable" in variable.properties:
            place = self.default_for(variable)
        self.put(operation.results[0], place)


def only_affinity(context: Context, module: ModuleOp) -> Attribute | None:
    """The affinity of the only device of a module, whatever dialect devices are of."""
    for dialect in context.loaded_dialects:
        interface = dialect.get_interface(AffinityAnalysisDialectInterface)
        if interface is not None and (found := interface.only_affinity(module)) is not None:
            return found
    return None


def boundary_affinity(function: Operation, group: str, index: int) -> Attribute | None:
    """Where an argument (`arg_attrs`) or result (`res_attrs`) of a function is, if it says."""
    attributes = function.properties.get(group)
    if not isinstance(attributes, ArrayAttr):
        return None
    entries = cast("ArrayAttr[DictionaryAttr]", attributes).data
    if index >= len(entries):
        return None
    return entries[index].data.get(ABI_AFFINITY) or entries[index].data.get(AFFINITY)


def _follow_operands(placement: DevicePlacement, operation: Operation) -> None:
    tensors = [result for result in operation.results if result.type.name == "tensor"]
    if not tensors:
        return
    place = own_affinity(operation)
    for operand in operation.operands:
        if place is not None:
            break
        if operand.type.name == "tensor" and not placement.is_flexible(operand):
            place = placement.known(operand)
    for result in tensors:
        placement.put(result, place)


def _move(placement: DevicePlacement, operation: Operation) -> None:
    placement.put(operation.results[0], operation.properties.get("target"))


def _flow(
    placement: DevicePlacement, sources: Sequence[SSAValue], targets: Sequence[SSAValue]
) -> None:
    for source, target in zip(sources, targets, strict=False):
        if target.type.name == "tensor":
            placement.put(target, placement.known(source))


def _yielded(block: Block | None) -> Sequence[SSAValue]:
    return () if block is None or block.last_op is None else block.last_op.operands


def _loop(placement: DevicePlacement, operation: Operation) -> None:
    block = operation.regions[0].block
    for sources in (operation.operands[3:], _yielded(block)):
        _flow(placement, sources, block.args[1:])
        _flow(placement, sources, operation.results)
    _flow(placement, operation.results, block.args[1:])


def _while(placement: DevicePlacement, operation: Operation) -> None:
    before, after = (region.block for region in operation.regions)
    _flow(placement, operation.operands, before.args)
    _flow(placement, _yielded(before)[1:], after.args)
    _flow(placement, _yielded(before)[1:], operation.results)


def _branches(placement: DevicePlacement, operation: Operation) -> None:
    for region in operation.regions:
        for block in region.blocks:
            if block.last_op is not None and block.last_op.name == "scf.yield":
                _flow(placement, _yielded(block), operation.results)


def _next_blocks(placement: DevicePlacement, operation: Operation) -> None:
    """Operands of a branch are the arguments of its successors, one after another."""
    rest = list(operation.operands)[0 if operation.name == "cf.br" else 1 :]
    for successor in operation.successors:
        _flow(placement, rest[: len(successor.args)], successor.args)
        rest = rest[len(successor.args) :]


Rule = Callable[[DevicePlacement, Operation], None]

RULES: dict[str, Rule] = {
    **dict.fromkeys(("cf.br", "cf.cond_br", "cf.switch"), _next_blocks),
    "flow.tensor.barrier": _move,
    "flow.tensor.transfer": _move,
    "func.func": DevicePlacement.enter,
    "scf.execute_region": _branches,
    "scf.for": _loop,
    "scf.if": _branches,
    "scf.index_switch": _branches,
    "scf.while": _while,
    "util.func": DevicePlacement.enter,
    "util.global.load": DevicePlacement.load,
}
"""How places flow through operations, by name. Others run where their first operand is."""
