"""What the `hal` dialect knows of affinities: devices, their targets, and the targets' solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition

from ..ir.diagnostics import Note, OperationError
from ..tiling.packed_layouts import PackedLayout
from .affinity import (
    AffinityAnalysisDialectInterface,
    AffinityAttribute,
    TargetResolver,
    TargetSolver,
    TargetsUnknownError,
)
from .encoding_interfaces import (
    EncodingError,
    EncodingSolverInterface,
    LayoutAttribute,
    Tensor,
)
from .hal_affinities import DeviceAffinityAttr
from .hal_targets import (
    DEVICE,
    DeviceAliasAttr,
    DeviceFallbackAttr,
    DeviceOrdinalAttr,
    DeviceSelectAttr,
    DeviceTargetAttr,
    ExecutableTargetAttr,
)
from .iree_encoding_layouts import IdentityResolverAttr

SOLVER_KEYS = ("iree.encoding.resolver", "encoding_solver", "encoding")
"""Where an executable target names its solver: today, in 2024, and in between."""


class HalAffinityAnalysis(AffinityAnalysisDialectInterface):
    """Asks the device globals of a module."""

    def make_target_resolver(self, module: ModuleOp) -> TargetResolver:
        devices = DeviceTargets(module)
        cache: dict[Attribute, tuple[TargetSolver, ...]] = {}

        def resolve(affinity: Attribute, operation: Operation) -> tuple[TargetSolver, ...]:
            if affinity not in cache:
                cache[affinity] = devices.of_affinity(affinity, operation)
            return cache[affinity]

        return resolve

    def only_affinity(self, module: ModuleOp) -> Attribute | None:
        names = DeviceTargets(module).names()
        if len(names) != 1:
            return None
        return DeviceAffinityAttr.new([SymbolRefAttr(names[0]), NoneAttr()])


class DeviceTargets:
    """The device globals of a module, and what can run on each."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._globals: dict[str, Operation] = {}
        for operation in module.body.block.ops:
            if operation.name == "util.global" and operation.properties.get("type") == DEVICE:
                name = operation.properties["sym_name"]
                self._globals[getattr(name, "data", "")] = operation

    def names(self) -> tuple[str, ...]:
        """The symbols of all devices, in order."""
        return tuple(self._globals)

    def of_affinity(self, affinity: Attribute, operation: Operation) -> tuple[TargetSolver, ...]:
        """All targets that an affinity may mean, each once."""
        if not isinstance(affinity, AffinityAttribute):
            raise OperationError(operation, f"has an affinity of an unknown kind: {affinity}")
        found: dict[TargetSolver, None] = {}
        for name in affinity.device_names():
            for target in self._of_device(name, operation, ()):
                found[TargetSolver(target, solver_of(target), target.format.data)] = None
        if not found:
            raise OperationError(operation, f"has an affinity that names no device: {affinity}")
        return tuple(found)

    def _of_device(
        self, name: str, operation: Operation, seen: tuple[str, ...]
    ) -> Iterator[ExecutableTargetAttr]:
        device = self._globals.get(name)
        if device is None:
            raise OperationError(
                operation,
                f"has an affinity to @{name}, but the module has no such device",
                [
                    Note(f"@{name} is defined here and is no device", other)
                    for other in self._module.body.block.ops
                    if getattr(other.properties.get("sym_name"), "data", None) == name
                ],
            )
        if name in seen:
            chain = " -> ".join(f"@{n}" for n in (*seen, name))
            raise OperationError(device, f"falls back to itself: {chain}")
        value = device.properties.get("initial_value")
        yield from self._of_value(value, operation, (*seen, name), device)

    def _of_value(
        self,
        value: Attribute | None,
        operation: Operation,
        seen: tuple[str, ...],
        device: Operation,
    ) -> Iterator[ExecutableTargetAttr]:
        match value:
            case DeviceTargetAttr(targets=ArrayAttr(data=targets)) if targets:
                yield from cast(Sequence[ExecutableTargetAttr], targets)
            case DeviceSelectAttr():
                for choice in value.devices:
                    yield from self._of_value(choice, operation, seen, device)
            case DeviceFallbackAttr(device=SymbolRefAttr() as other):
                yield from self._of_device(other.root_reference.data, operation, seen)
            case DeviceTargetAttr() | DeviceAliasAttr() | DeviceOrdinalAttr() | None:
                # Also if this is but one of several choices: it may be the one that there is.
                notes = [Note(f"device @{seen[-1]} is defined here", device)]
                raise TargetsUnknownError(
                    operation,
                    f"runs on @{seen[-1]}, whose executable targets are not known: no layout can "
                    "be settled for it",
                    notes,
                )
            case _:
                raise OperationError(device, f"is a device, but initialised with {value}")


@irdl_attr_definition
class UnusableSolverAttr(ParametrizedAttribute, EncodingSolverInterface):
    """What a target names as its solver and is none. It is an error where a layout is asked for."""

    name = "hal.unusable_solver"
    key: StringAttr
    value: Attribute

    def problem(self) -> str:
        return f"a target whose {self.key.data} cannot lay out tensors: {self.value}"

    def configured(self, target: DictionaryAttr) -> Self:
        del target
        return self

    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        raise EncodingError(self.problem())

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        raise EncodingError(self.problem())


def solver_of(target: ExecutableTargetAttr) -> EncodingSolverInterface:
    """The solver that a target names, configured; the identity's if it names none."""
    entries = target.entries
    for key in SOLVER_KEYS:
        solver = entries.data.get(key)
        if solver is None:
            continue
        if not isinstance(solver, EncodingSolverInterface):
            return UnusableSolverAttr(StringAttr(key), solver)
        return solver.configured(entries)
    return IdentityResolverAttr()
