"""Where operations run: what the stream dialect asks of affinities without knowing devices.

Stream sees affinities as attributes. What they mean, which targets' code may run there and which
solver each target offers, is told by whatever dialect implements
`AffinityAnalysisDialectInterface`: `hal` does. Stream imports nothing of it.
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
"""On a module, function or initializer: where operations without an affinity run."""

AFFINITY = "stream.affinity"
"""On a global, or on an operation that has no property for it: where it is, or runs."""


class AffinityAttribute(Attribute, ABC):
    """An attribute that says where to run."""

    @abstractmethod
    def device_names(self) -> tuple[str, ...]:
        """The symbols of all devices that may be meant."""


@dataclass(frozen=True, slots=True)
class TargetSolver:
    """A target that code is compiled for, and how it lays tensors out."""

    target: Attribute
    solver: EncodingSolverInterface
    format: str
    """What a device can tell code by when it loads it: code of two targets of one format must
    never be in one executable."""


class TargetsUnknownError(OperationError):
    """A device exists, but nothing tells what its code is compiled for."""


TargetResolver = Callable[[Attribute, Operation], tuple[TargetSolver, ...]]
"""From an affinity, and the operation it was found on, to all targets that may be meant.

The targets come in the order in which they are preferred, each once. Raises `OperationError` at
the operation if the affinity means nothing, `TargetsUnknownError` if its device has no targets.
"""


class AffinityAnalysisDialectInterface(DialectInterface, ABC):
    """What a dialect of devices tells about affinities."""

    @abstractmethod
    def make_target_resolver(self, module: ModuleOp) -> TargetResolver:
        """A resolver for the affinities of a module. Asking it often is cheap."""

    def only_affinity(self, module: ModuleOp) -> Attribute | None:
        """The affinity of the module's only device; `None` if it has several, or none."""
        del module
        return None


@dataclass(frozen=True)
class AffinityOpInterface(OpTrait):
    """An operation that runs somewhere: its affinity is the property named here."""

    affinity_property: str = "affinity"

    def get(self, operation: Operation) -> Attribute | None:
        """The operation's own affinity, `None` if it has none."""
        return operation.properties.get(self.affinity_property)

    def verify(self, op: Operation) -> None:
        affinity = self.get(op)
        if affinity is not None and not isinstance(affinity, AffinityAttribute):
            raise VerifyException(
                f"invalid kind of attribute specified: '{self.affinity_property}' "
                f"must be an affinity, but got {affinity}"
            )


@dataclass(frozen=True)
class TensorPhase(OpTrait):
    """An operation on resources that still stand for tensors: encodings matter to it."""


@lru_cache(maxsize=1024)
def _affinity_interface(operation: type[Operation]) -> AffinityOpInterface | None:
    return operation.get_trait(AffinityOpInterface)


def own_affinity(operation: Operation) -> Attribute | None:
    """The affinity that an operation itself bears."""
    interface = _affinity_interface(type(operation))
    if interface is not None and (affinity := interface.get(operation)) is not None:
        return affinity
    return operation.attributes.get(AFFINITY)


def affinity_of(operation: Operation) -> Attribute | None:
    """Where an operation runs: its own affinity, else that of the nearest scope, or its default."""
    if (affinity := own_affinity(operation)) is not None:
        return affinity
    scope = operation.parent_op()
    while scope is not None:
        for default in (scope.properties.get("affinity"), scope.attributes.get(DEFAULT_AFFINITY)):
            if default is not None:
                return default
        scope = scope.parent_op()
    return None
