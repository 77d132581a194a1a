"""Layout origins: which operations laid out the bytes of a value, and for which device.

A value is where it was last moved to, but its elements are where they were put when it was
encoded: a transfer moves bytes and changes no layout. So a reader must ask for the origin of a
value and not for its place. Origins flow along the whole module: through transfers, copies and
ties, globals, initializers, calls, selections and the regions of loops and conditions.

The analysis goes over the module again and again until nothing changes; each time is linear, and
a program without recursion or loops needs two or three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects.stream.affinity import AFFINITY, affinity_of
from ....ir.host_programs import CALLS, FUNCTIONS, host_operations
from ....ir.rules import Rules
from ....ir.structural_hash import AttributeNumbers
from ....ir.symbols import root_symbol
from ....ir.syntax.resource_directives import RESOURCE
from .device_placement import boundary_affinity
from .storage import stored_in


@dataclass(frozen=True, slots=True)
class Origin:
    """Who laid a value out. Two origins of one affinity are the same: the layouts are."""

    number: int
    """The same for equal affinities."""
    affinity: Attribute | None = field(compare=False)
    """For which device, `None` if nothing in the program tells."""
    operation: Operation = field(compare=False)
    """One operation that did it, to name in errors."""


Origins = frozenset[Origin]
NOWHERE: Origins = frozenset()


class LayoutOrigins:
    """The origins of all resources of a module."""

    def __init__(self, module: ModuleOp, numbers: AttributeNumbers | None = None) -> None:
        operations = tuple(host_operations(module))
        self._state = State(operations, numbers or AttributeNumbers())
        while self._state.changed:
            self._state.changed = False
            for operation in operations:
                flow_rule.get(operation.name, _produce)(self._state, operation)

    def of(self, value: SSAValue) -> tuple[Origin, ...]:
        """The origins of a value, in a fixed order; empty for what is no resource."""
        origins = self._state.values.get(value, NOWHERE)
        return tuple(sorted(origins, key=lambda origin: origin.number))


class State:
    """What is known so far."""

    def __init__(self, operations: Sequence[Operation], numbers: AttributeNumbers) -> None:
        self.changed = True
        self.values: dict[SSAValue, Origins] = {}
        self.globals: dict[str, Origins] = {}
        self.results: dict[str, list[Origins]] = {}
        """What each function returns."""
        self.functions = {root_symbol(f, "sym_name"): f for f in operations if f.name in FUNCTIONS}
        self.called = {root_symbol(call, "callee") for call in operations if call.name in CALLS}

        self._numbers = numbers

    def origin(self, affinity: Attribute | None, operation: Operation) -> Origins:
        """The origin of what an operation lays out for an affinity."""
        number = -1 if affinity is None else self._numbers.number(affinity)
        return frozenset({Origin(number, affinity, operation)})

    def get(self, value: SSAValue) -> Origins:
        """What is known of a value so far."""
        return self.values.get(value, NOWHERE)

    def add(self, value: SSAValue, origins: Origins) -> None:
        """A value may also have these origins."""
        old = self.values.get(value, NOWHERE)
        if not origins <= old:
            self.values[value] = old | origins
            self.changed = True

    def flow(self, sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        """Each target has the origins of the source in its place."""
        for source, target in zip(sources, targets, strict=False):
            self.add(target, self.get(source))

    def add_global(self, name: str, origins: Origins) -> None:
        """What a global holds may also have these origins."""
        old = self.globals.get(name, NOWHERE)
        if not origins <= old:
            self.globals[name] = old | origins
            self.changed = True


Handler = Callable[[State, Operation], None]

flow_rule = Rules[Handler]()
"""How origins flow through operations, by name. Others produce what they return."""


def _produce(state: State, operation: Operation) -> None:
    """The operation lays its results out itself, except for those tied to operands."""
    for index, result in enumerate(operation.results):
        if result.type.name != RESOURCE:
            continue
        if (tied := stored_in(operation, index)) is not None:
            state.add(result, state.get(tied))
        elif result not in state.values:
            state.add(result, state.origin(affinity_of(operation), operation))


@flow_rule(
    "stream.async.barrier",
    "stream.async.cast",
    "stream.async.clone",
    "stream.async.copy",
    "stream.async.fill",
    "stream.async.slice",
    "stream.async.store",
    "stream.async.update",
    "stream.resource.subview",
    "stream.tensor.clone",
    "stream.tensor.fill",
    "stream.tensor.slice",
    "stream.tensor.store",
    "stream.tensor.update",
    "stream.timepoint.barrier",
)
def _same_layout(state: State, operation: Operation) -> None:
    """The first operand, or what was written into, keeps its layout."""
    state.add(operation.results[0], state.get(operation.operands[0]))


@flow_rule("stream.timepoint.await", "util.optimization_barrier")
def _await(state: State, operation: Operation) -> None:
    state.flow(operation.operands, operation.results)


@flow_rule("stream.async.transfer")
def _transfer(state: State, operation: Operation) -> None:
    """Bytes keep their layout. Where they come from outside, the transfer knows from where."""
    origins = state.get(operation.operands[0])
    if all(origin.affinity is None for origin in origins):
        properties = operation.properties
        known = properties.get("source_affinity") or properties.get("target_affinity")
        known = known or affinity_of(operation)
        origins = state.origin(known, operation)
    state.add(operation.results[0], origins)


@flow_rule("util.global")
def _define_global(state: State, operation: Operation) -> None:
    """A global that starts with constant contents is laid out where it is."""
    if operation.properties.get("initial_value") is not None:
        place = operation.attributes.get(AFFINITY) or affinity_of(operation)
        state.add_global(root_symbol(operation, "sym_name"), state.origin(place, operation))


@flow_rule("util.global.store")
def _store_global(state: State, operation: Operation) -> None:
    state.add_global(root_symbol(operation, "global"), state.get(operation.operands[0]))


@flow_rule("util.global.load")
def _load_global(state: State, operation: Operation) -> None:
    state.add(operation.results[0], state.globals.get(root_symbol(operation, "global"), NOWHERE))


@flow_rule("func.func", "util.func")
def _enter_function(state: State, operation: Operation) -> None:
    """Arguments of a function that only this module calls are the calls' operands."""
    block = operation.regions[0].blocks.first
    visibility = operation.properties.get("sym_visibility")
    private = isinstance(visibility, StringAttr) and visibility.data == "private"
    if block is None or (private and root_symbol(operation, "sym_name") in state.called):
        return
    for index, argument in enumerate(block.args):
        if argument.type.name == RESOURCE:
            place = boundary_affinity(operation, "arg_attrs", index) or affinity_of(operation)
            state.add(argument, state.origin(place, operation))


@flow_rule("func.return", "util.return")
def _return(state: State, operation: Operation) -> None:
    function = operation.parent_op()
    if function is None or function.name not in FUNCTIONS:
        return
    name = root_symbol(function, "sym_name")
    results = state.results.setdefault(name, [NOWHERE] * len(operation.operands))
    for index, operand in enumerate(operation.operands):
        if not state.get(operand) <= results[index]:
            results[index] |= state.get(operand)
            state.changed = True


@flow_rule("func.call", "util.call")
def _call(state: State, operation: Operation) -> None:
    callee = root_symbol(operation, "callee")
    function = state.functions.get(callee)
    block = function.regions[0].blocks.first if function is not None else None
    if block is None:
        _produce(state, operation)
        return
    state.flow(operation.operands, block.args)
    for result, origins in zip(operation.results, state.results.get(callee, ()), strict=False):
        state.add(result, origins)


@flow_rule("arith.select")
def _select(state: State, operation: Operation) -> None:
    for operand in operation.operands[1:]:
        state.add(operation.results[0], state.get(operand))


@flow_rule("scf.execute_region", "stream.async.concurrent", "stream.async.execute")
def _regions_yield(state: State, operation: Operation) -> None:
    """Regions are given the operands, and results are what the regions end with."""
    for region in operation.regions:
        if (entry := region.blocks.first) is None:
            continue
        state.flow(operation.operands, entry.args)
        for block in region.blocks:
            if block.last_op is not None and not block.last_op.successors:
                state.flow(_yielded(block), operation.results)


@flow_rule("scf.if", "scf.index_switch")
def _choose_region(state: State, operation: Operation) -> None:
    """Results are what one of the regions ends with."""
    for region in operation.regions:
        for block in region.blocks:
            state.flow(_yielded(block), operation.results)


@flow_rule("scf.for")
def _loop(state: State, operation: Operation) -> None:
    """`scf.for`: what is carried starts as an operand and goes on as what the body yields."""
    block = operation.regions[0].block
    for sources in (operation.operands[3:], _yielded(block)):
        state.flow(sources, block.args[1:])
        state.flow(sources, operation.results)


@flow_rule("scf.while")
def _while(state: State, operation: Operation) -> None:
    before, after = (region.block for region in operation.regions)
    state.flow(operation.operands, before.args)
    state.flow(_yielded(after), before.args)
    carried = _yielded(before)[1:]
    state.flow(carried, after.args)
    state.flow(carried, operation.results)


def _yielded(block: Block) -> Sequence[SSAValue]:
    """The operands of the operation that ends a block."""
    return block.last_op.operands if block.last_op is not None else ()


@flow_rule("cf.br", "cf.cond_br", "cf.switch")
def _branch(state: State, operation: Operation) -> None:
    """Operands of a branch are the arguments of its successors, one after another."""
    rest = list(operation.operands)[0 if operation.name == "cf.br" else 1 :]
    for successor in operation.successors:
        state.flow(rest[: len(successor.args)], successor.args)
        rest = rest[len(successor.args) :]
