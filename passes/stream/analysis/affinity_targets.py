"""Find the targets that operations run on, with the encoding solvers of these targets.

`stream` knows no devices. It asks the one dialect whose affinities the module uses and that
implements `AffinityAnalysisDialectInterface`.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ....dialects.stream.affinity import (
    AffinityAnalysisDialectInterface,
    TargetResolver,
    TargetSolver,
    TargetsUnknownError,
    affinity_of,
)
from ....ir.diagnostics import OperationError
from ....ir.structural_hash import AttributeNumbers


def required_affinity(operation: Operation) -> Attribute:
    """Return the affinity of an operation. Raises OperationError if it has none."""
    affinity = affinity_of(operation)
    if affinity is None:
        raise OperationError(
            operation,
            "has an encoded tensor but no affinity, and no scope around it has a default "
            "(stream.affinity.default): its layout cannot be resolved",
        )
    return affinity


class AffinityTargets:
    """Targets by affinity. The dialect to ask is found at the first query."""

    def __init__(self, context: Context, module: ModuleOp, numbers: AttributeNumbers) -> None:
        self._context = context
        self._module = module
        self._resolvers: dict[str, TargetResolver] = {}
        self._numbers = numbers
        self._targets: dict[int, tuple[TargetSolver, ...]] = {}

    def targets(self, affinity: Attribute, operation: Operation) -> tuple[TargetSolver, ...]:
        """Return all targets that an affinity may mean at an operation: at least one, none twice.

        Raises OperationError if the module uses affinities of two dialects, and TargetsUnknownError
        if the dialect cannot resolve the affinity.
        """
        number = self._numbers.number(affinity)
        if number not in self._targets:
            dialect = affinity.name.partition(".")[0]
            if dialect not in self._resolvers:
                self._resolvers[dialect] = self._resolver_of(dialect, operation)
            self._targets[number] = self._resolvers[dialect](affinity, operation)
        return self._targets[number]

    def _resolver_of(self, name: str, operation: Operation) -> TargetResolver:
        if self._resolvers:
            first = next(iter(self._resolvers))
            raise OperationError(
                operation,
                f"has an affinity of dialect '{name}', but others in the module are of "
                f"'{first}': only one dialect may implement AffinityAnalysisDialectInterface",
            )
        for dialect in self._context.loaded_dialects:
            if dialect.name == name:
                interface = dialect.get_interface(AffinityAnalysisDialectInterface)
                if interface is not None:
                    return interface.make_target_resolver(self._module)
        raise TargetsUnknownError(
            operation,
            f"has an affinity of dialect '{name}', which does not implement "
            "AffinityAnalysisDialectInterface",
        )
