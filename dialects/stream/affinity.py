"""Affinities: where ops run, as the stream dialect sees it.

Stream treats affinities as opaque attributes. Which targets' code can run at an affinity, and which
encoding solver each target has, is answered by the dialect that implements
`AffinityAnalysisDialectInterface`, here `hal`. Stream does not import it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialect_interfaces import DialectInterface
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from ...ir.diagnostics import OperationError
from ..iree_encoding.interfaces import EncodingSolverInterface

DEFAULT_AFFINITY = "stream.affinity.default"
"""Attribute of a module, function or initializer: the affinity of ops that have none."""

AFFINITY = "stream.affinity"
"""Attribute of a global, or of an op without an affinity property: its affinity.

Ops in it that have none have the same.
"""


class AffinityAttribute(Attribute, ABC):
    """Base of the attributes that say where an op runs."""

    @abstractmethod
    def device_names(self) -> tuple[str, ...]:
        """Return the symbols of all devices that the affinity may resolve to."""


@dataclass(frozen=True, slots=True)
class TargetSolver:
    """A target that code is compiled for, and the solver that resolves its encodings."""

    target: Attribute
    solver: EncodingSolverInterface
    format: str
    """The format by which a device recognises code when it loads it. One executable must never
    contain code of two targets of one format.
    """


class TargetsUnknownError(OperationError):
    """A device exists, but its executable targets are not known."""


TargetResolver = Callable[[Attribute, Operation], tuple[TargetSolver, ...]]
"""Maps an affinity, and the op it was found on, to all targets it may resolve to.

The targets are distinct and in order of preference. Raises OperationError at the op if the affinity
cannot be resolved, TargetsUnknownError if its device has no targets.
"""


class AffinityAnalysisDialectInterface(DialectInterface, ABC):
    """Implemented by a dialect of devices to resolve affinities."""

    @abstractmethod
    def make_target_resolver(self, module: ModuleOp) -> TargetResolver:
        """Return a resolver for the affinities of a module, which asks once for each affinity."""

    def only_affinity(self, module: ModuleOp) -> Attribute | None:
        """Return the affinity of the module's only device; `None` if there is not exactly one."""
        return None


@dataclass(frozen=True)
class AffinityOpInterface(OpTrait):
    """An op that runs at an affinity, which is the property named here.

    `others` are properties that hold further affinities.
    """

    affinity_property: str = "affinity"
    others: tuple[str, ...] = ()

    def get(self, operation: Operation) -> Attribute | None:
        """Return the op's own affinity; `None` if it has none."""
        return operation.properties.get(self.affinity_property)

    def verify(self, op: Operation) -> None:
        for name in (self.affinity_property, *self.others):
            affinity = op.properties.get(name)
            if affinity is not None and not isinstance(affinity, AffinityAttribute):
                raise VerifyException(
                    f"invalid kind of attribute specified: '{name}' "
                    f"must be an affinity, but got {affinity}"
                )


@dataclass(frozen=True)
class TensorPhase(OpTrait):
    """Marks ops on resources that still represent tensors, whose encodings must be resolved."""


@lru_cache(maxsize=1024)
def _affinity_interface(operation: type[Operation]) -> AffinityOpInterface | None:
    return operation.get_trait(AffinityOpInterface)


def own_affinity(operation: Operation) -> Attribute | None:
    """Return the affinity that an op itself has, as a property or an attribute; `None` if none."""
    interface = _affinity_interface(type(operation))
    if interface is not None and (affinity := interface.get(operation)) is not None:
        return affinity
    return operation.attributes.get(AFFINITY)


def affinity_of(operation: Operation) -> Attribute | None:
    """Return the affinity of an op: its own, or that of the nearest enclosing op that has one.

    An enclosing op has one as its property `affinity`, as `stream.affinity` or as the default
    affinity. Returns `None` if none is found.
    """
    if (affinity := own_affinity(operation)) is not None:
        return affinity
    scope = operation.parent_op()
    while scope is not None:
        places = (
            scope.properties.get("affinity"),
            scope.attributes.get(AFFINITY),
            scope.attributes.get(DEFAULT_AFFINITY),
        )
        for affinity in places:
            if affinity is not None:
                return affinity
        scope = scope.parent_op()
    return None
