"""Clone operations without tensor inputs for each device that reads them, to avoid transfers.

    %0 = flow.tensor.splat %value : tensor<4xf32>
    %1 = flow.dispatch @ex::@f(%0) {stream.affinity = A} : ...
    %2 = flow.dispatch @ex::@f(%0) {stream.affinity = B} : ...

gets one splat per dispatch. Operations that only reshape or copy such a tensor are cloned with it.
Operations with an affinity of their own are not cloned.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Use

from ...dialects.stream.affinity import own_affinity
from ...dialects.stream.types import TIMEPOINT
from ...ir.host_programs import CONSTANTS, host_operations
from ...ir.locations import builder_before
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
TRANSFERS = frozenset({"flow.tensor.transfer", "stream.async.transfer"})


@module_pass("iree-stream-clone-to-consumers")
def clone_to_consumers(module: ModuleOp) -> None:
    """Clone tensors that have no inputs for each device that reads them."""
    cloning = _Cloning()
    operations = tuple(host_operations(module))
    clonable = [operation for operation in operations if cloning.is_clonable(operation)]
    # Go from readers to producers, so that a producer is cloned for each clone of its reader.
    for operation in reversed(clonable):
        cloning.clone(operation)


class _Cloning:
    """Clones operations; what is known of each is found once."""

    def __init__(self) -> None:
        self._is_clonable: dict[Operation, bool] = {}
        self._affinities: dict[Operation, Attribute | None] = {}
        """The devices of clonable operations."""

    def is_clonable(self, operation: Operation) -> bool:
        """Return whether an operation can run on any device at the cost of its result at most."""
        if operation not in self._is_clonable:
            self._is_clonable[operation] = self._can_run_anywhere(operation)
        return self._is_clonable[operation]

    def _can_run_anywhere(self, operation: Operation) -> bool:
        if own_affinity(operation) is not None or len(operation.results) != 1:
            return False
        if operation.results[0].type.name not in STORED:
            return False
        if operation.name in WITH_ONE_INPUT:
            owner = operation.operands[0].owner
            return isinstance(owner, Operation) and self.is_clonable(owner)
        is_waiting = bool(operation.operands) and operation.operands[0].type == TIMEPOINT
        return operation.name in WITHOUT_INPUTS and not is_waiting

    def clone(self, operation: Operation) -> None:
        """Keep an operation for the first device that reads it, and clone it for each other one."""
        readers: dict[Attribute | None, list[Use]] = {}
        for use in operation.results[0].uses:
            readers.setdefault(self._reads_on(use.operation), []).append(use)
        unknown = readers.pop(None, [])
        first = next(iter(readers), None)
        self._affinities[operation] = None if unknown else first
        for affinity, uses in list(readers.items())[1:]:
            clone = builder_before(operation).insert(operation.clone())
            self._is_clonable[clone] = True
            self._affinities[clone] = affinity
            for use in uses:
                use.operation.operands[use.index] = clone.results[0]

    def _reads_on(self, operation: Operation) -> Attribute | None:
        """Return the device on which an operation reads its operands, if it is known.

        A tensor without inputs takes the place of a transfer, and is made where that leads.
        """
        if operation.name in TRANSFERS:
            targets = (operation.properties.get(name) for name in ("target_affinity", "target"))
            return next((target for target in targets if target is not None), None)
        if (own := own_affinity(operation)) is not None or not self.is_clonable(operation):
            return own
        if operation not in self._affinities:
            affinities = {self._reads_on(use.operation) for use in operation.results[0].uses}
            self._affinities[operation] = affinities.pop() if len(affinities) == 1 else None
        return self._affinities[operation]
