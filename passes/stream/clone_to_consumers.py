"""Clone operations without tensor inputs for each device that reads them, to avoid transfers.

    %0 = flow.tensor.splat %value : tensor<4xf32>
    %1 = flow.dispatch @ex::@f(%0) {stream.affinity = A} : ...
    %2 = flow.dispatch @ex::@f(%0) {stream.affinity = B} : ...

gets one splat per dispatch. Operations that only reshape or copy such a tensor are cloned with it.
Operations with an affinity of their own are not cloned.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Use

from ...dialects.stream.affinity import own_affinity
from ...ir.host_programs import CONSTANTS, host_operations
from ...ir.locations import builder_before
from ...ir.rules import Rules
from ..manager.module_pass import module_pass

WITHOUT_INPUTS = CONSTANTS | frozenset(
    {
        "flow.tensor.alloca",
        "flow.tensor.empty",
        "flow.tensor.splat",
        "stream.async.alloca",
        "stream.async.splat",
        "stream.tensor.empty",
        "stream.tensor.splat",
    }
)
WITH_ONE_INPUT = frozenset(
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
"""Operations whose result depends on their first operand only."""

STORED = ("tensor", "stream.resource")


@module_pass("iree-stream-clone-to-consumers")
def clone_to_consumers(module: ModuleOp) -> None:
    """Clone tensors that have no inputs for each device that reads them."""
    # Go from readers to producers, so that a producer is cloned for each clone of its reader.
    for operation in reversed(tuple(host_operations(module))):
        if _is_clonable(operation):
            _clone(operation)


def _is_clonable(operation: Operation) -> bool:
    """Return whether an operation can run on any device at no more than the cost of its result."""
    if own_affinity(operation) is not None or len(operation.results) != 1:
        return False
    if operation.results[0].type.name not in STORED:
        return False
    if operation.name in WITH_ONE_INPUT:
        owner = operation.operands[0].owner
        return isinstance(owner, Operation) and _is_clonable(owner)
    return operation.name in WITHOUT_INPUTS


def _clone(operation: Operation) -> None:
    """Keep an operation for the first device that reads it, and clone it for each other one."""
    readers: dict[Attribute, list[Use]] = {}
    for use in operation.results[0].uses:
        affinity = reading_affinity.get(use.operation.name, _affinity)(use.operation)
        if affinity is not None:
            readers.setdefault(affinity, []).append(use)
    for uses in list(readers.values())[1:]:
        clone = builder_before(operation).insert(operation.clone())
        for use in uses:
            use.operation.operands[use.index] = clone.results[0]


reading_affinity = Rules[Callable[[Operation], Attribute | None]]()
"""The device on which an operation reads its operands, by name. Others read where they run."""


def _affinity(operation: Operation) -> Attribute | None:
    """Return the device of an operation, or of all its readers if it can run anywhere."""
    own = own_affinity(operation)
    if own is not None or not _is_clonable(operation):
        return own
    users = {use.operation for use in operation.results[0].uses}
    affinities = {reading_affinity.get(user.name, _affinity)(user) for user in users}
    return affinities.pop() if len(affinities) == 1 else None


@reading_affinity("flow.tensor.transfer", "stream.async.transfer")
def _receiver(operation: Operation) -> Attribute | None:
    """Return the target of a transfer, where a tensor without inputs is made in its place."""
    targets = (operation.properties.get(name) for name in ("target_affinity", "target"))
    return next((target for target in targets if target is not None), None)
