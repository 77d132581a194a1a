"""Make what is made of nothing anew for each device that reads it, rather than moving it there.

    %0 = flow.tensor.splat %value : tensor<4xf32>
    %1 = flow.dispatch @ex::@f(%0) {stream.affinity = A} : ...
    %2 = flow.dispatch @ex::@f(%0) {stream.affinity = B} : ...

gets a splat for each of the dispatches, and so does what only reshapes or copies such a tensor.
Operations that say where they run stay one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Use
from xdsl.passes import ModulePass

from ...dialects.stream.affinity import own_affinity
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before
from ...ir.rules import Rules

MADE_OF_NOTHING = frozenset(
    {
        "arith.constant",
        "flow.tensor.alloca",
        "flow.tensor.constant",
        "flow.tensor.empty",
        "flow.tensor.splat",
        "stream.async.alloca",
        "stream.async.splat",
        "stream.tensor.empty",
        "stream.tensor.splat",
    }
)
MADE_OF_ONE = frozenset(
    {
        "flow.tensor.bitcast",
        "flow.tensor.clone",
        "flow.tensor.reshape",
        "flow.tensor.slice",
        "stream.async.clone",
        "stream.async.slice",
        "stream.tensor.clone",
        "stream.tensor.slice",
    }
)
"""Operations that make a tensor of their first operand alone."""

STORED = ("tensor", "stream.resource")


@dataclass(frozen=True)
class CloneToConsumersPass(ModulePass):
    """Make what is made of nothing anew for each device that reads it."""

    name = "iree-stream-clone-to-consumers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Readers come first, so that what they are made of is cloned for each of their clones.
        for operation in reversed(tuple(host_operations(op))):
            if _is_free(operation):
                _clone(operation)


def _is_free(operation: Operation) -> bool:
    """Whether an operation may be done anywhere, at no more than the cost of its result."""
    if own_affinity(operation) is not None or len(operation.results) != 1:
        return False
    if operation.results[0].type.name not in STORED:
        return False
    if operation.name in MADE_OF_ONE:
        maker = operation.operands[0].owner
        return isinstance(maker, Operation) and _is_free(maker)
    return operation.name in MADE_OF_NOTHING


def _clone(operation: Operation) -> None:
    """Leave an operation to the first of the devices that read it; others get one each."""
    readers: dict[Attribute, list[Use]] = {}
    for use in operation.results[0].uses:
        place = reading_place.get(use.operation.name, _place)(use.operation)
        if place is not None:
            readers.setdefault(place, []).append(use)
    for uses in list(readers.values())[1:]:
        clone = builder_before(operation).insert(operation.clone())
        for use in uses:
            use.operation.operands[use.index] = clone.results[0]


reading_place = Rules[Callable[[Operation], Attribute | None]]()
"""On which device an operation reads its operands, by its name. Others read where they run."""


def _place(operation: Operation) -> Attribute | None:
    """Where an operation runs; what may run anywhere does so for all that read it."""
    own = own_affinity(operation)
    if own is not None or not _is_free(operation):
        return own
    users = {use.operation for use in operation.results[0].uses}
    places = {reading_place.get(user.name, _place)(user) for user in users}
    return places.pop() if len(places) == 1 else None


@reading_place("flow.tensor.transfer", "stream.async.transfer")
def _receiver(operation: Operation) -> Attribute | None:
    """What can be made anywhere is made where it is wanted."""
    targets = (operation.properties.get(name) for name in ("target_affinity", "target"))
    return next((each for each in targets if each is not None), None)
