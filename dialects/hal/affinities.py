"""Affinities of the `hal` dialect, their executable targets, and the targets' encoding solvers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.diagnostics import Note, OperationError
from ...ir.syntax.attribute_format import FormattedAttribute, Kind, list_of
from ...tiling.packed_layouts import PackedLayout
from ..iree_encoding.interfaces import (
    EncodingError,
    EncodingSolverInterface,
    LayoutAttribute,
    Tensor,
)
from ..iree_encoding.layouts import IdentityResolverAttr
from ..stream.affinity import (
    AffinityAnalysisDialectInterface,
    AffinityAttribute,
    TargetResolver,
    TargetSolver,
    TargetsUnknownError,
)
from .targets import (
    DeviceAliasAttr,
    DeviceFallbackAttr,
    DeviceOrdinalAttr,
    DeviceSelectAttr,
    DeviceTargetAttr,
    ExecutableTargetAttr,
    device_globals,
)


def _print_queues(printer: Printer, queues: Attribute) -> None:
    with printer.in_square_brackets():
        numbers = (queue.value.data for queue in cast("ArrayAttr[IntegerAttr]", queues))
        printer.print_list(numbers, printer.print_int)


@dataclass(frozen=True, init=False)
class SingleDeviceAffinity(FormattedAttribute, AffinityAttribute):
    """`<@device>`, or `<@device, [queue, ...]>`."""

    device: SymbolRefAttr
    queues: ArrayAttr[IntegerAttr] | NoneAttr

    FORMAT: ClassVar[str] = "<$device:symbol(, $queues:queues)?>"
    KINDS: ClassVar[Mapping[str, Kind]] = {"queues": (AttrParser.parse_attribute, _print_queues)}

    def verify(self) -> None:
        if isinstance(self.queues, ArrayAttr) and any(q.value.data < 0 for q in self.queues):
            raise VerifyException("expected queue numbers that are not negative")

    def device_names(self) -> tuple[str, ...]:
        return (self.device.root_reference.data,)


@irdl_attr_definition
class DeviceAffinityAttr(SingleDeviceAffinity):
    """An affinity to a device that the module defines."""

    name = "hal.device.affinity"


def device_affinity(name: str) -> DeviceAffinityAttr:
    """Return the affinity to the device that the module defines under a name, on any queue."""
    return DeviceAffinityAttr.new([SymbolRefAttr(name), NoneAttr()])


@irdl_attr_definition
class DevicePromiseAttr(SingleDeviceAffinity):
    """An affinity to a device that may be defined later."""

    name = "hal.device.promise"


@irdl_attr_definition
class DeviceOptimalAttr(FormattedAttribute, AffinityAttribute):
    """`<[affinity, ...]>`: the affinity that suits all of these best."""

    name = "hal.device.optimal"
    affinities: ArrayAttr[Attribute]
    FORMAT: ClassVar[str] = "<$affinities>"

    def verify(self) -> None:
        for affinity in self.affinities:
            if not isinstance(affinity, AffinityAttribute):
                raise VerifyException(f"expected an affinity, found {affinity}")

    def device_names(self) -> tuple[str, ...]:
        affinities = cast("ArrayAttr[AffinityAttribute]", self.affinities)
        return tuple(dict.fromkeys(n for a in affinities for n in a.device_names()))


@irdl_attr_definition
class DeviceLinkAttr(FormattedAttribute):
    """`(@a -> @b = {...})`: properties of the connection from one device to another."""

    name = "hal.device.link"
    source: SymbolRefAttr
    target: SymbolRefAttr
    properties: DictionaryAttr
    FORMAT: ClassVar[str] = "($source:symbol -> $target:symbol = $properties)"


@irdl_attr_definition
class DeviceTopologyAttr(FormattedAttribute):
    """`<links = [...]>`: the connections between devices."""

    name = "hal.device.topology"
    links: ArrayAttr[DeviceLinkAttr]
    FORMAT: ClassVar[str] = "<links = $links:list>"
    KINDS: ClassVar[Mapping[str, Kind]] = {
        "list": list_of(
            lambda parser: DeviceLinkAttr.new(DeviceLinkAttr.parse_parameters(parser)),
            lambda printer, link: cast(DeviceLinkAttr, link).print_parameters(printer),
            AttrParser.Delimiter.SQUARE,
        )
    }


SOLVER_LOOKUP_KEYS = ("iree.encoding.resolver", "encoding_solver", "encoding")
"""Keys under which an executable target names its solver: IREE 3.13, 2024, and in between."""


class HalAffinityAnalysis(AffinityAnalysisDialectInterface):
    """Resolves affinities with the device globals of a module."""

    def make_target_resolver(self, module: ModuleOp) -> TargetResolver:
        return DeviceTargets(module).of_affinity

    def only_affinity(self, module: ModuleOp) -> Attribute | None:
        names = DeviceTargets(module).names()
        if len(names) != 1:
            return None
        return device_affinity(names[0])


class DeviceTargets:
    """The device globals of a module and the executable targets of each."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._globals = device_globals(module)

    def names(self) -> tuple[str, ...]:
        """Return the symbols of all devices in module order."""
        return tuple(self._globals)

    def of_affinity(self, affinity: Attribute, operation: Operation) -> tuple[TargetSolver, ...]:
        """Return all targets that an affinity may resolve to, each once.

        Raises OperationError at `operation` if the affinity cannot be resolved, TargetsUnknownError
        if the targets of a device are not known.
        """
        if not isinstance(affinity, AffinityAttribute):
            raise OperationError(operation, f"has an affinity of unknown kind: {affinity}")
        found: dict[TargetSolver, None] = {}
        for name in affinity.device_names():
            for target in self._of_device(name, operation, ()):
                found[TargetSolver(target, solver_of(target), target.format.data)] = None
        if not found:
            raise OperationError(
                operation, f"has an affinity that does not name a device: {affinity}"
            )
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
                    Note(f"@{name} is defined here and is not a device", other)
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
                # This is an error even for one choice of several: it may be the one available at
                # run time.
                notes = [Note(f"device @{seen[-1]} is defined here", device)]
                raise TargetsUnknownError(
                    operation,
                    f"runs on @{seen[-1]}, whose executable targets are not known: no layout can "
                    "be resolved for it",
                    notes,
                )
            case _:
                raise OperationError(device, f"is a device, but its initial value is {value}")


class _UnusableSolver(EncodingSolverInterface):
    """Stands for a solver that cannot be used; `text` says why."""

    text: StringAttr

    def problem(self) -> str:
        return self.text.data

    def configured(self, target: DictionaryAttr) -> Self:
        return self


@irdl_attr_definition
class _IgnoredSolverAttr(ParametrizedAttribute, _UnusableSolver):
    """Stands for an attribute that is named as a solver but is none; uses the identity layout."""

    name = "hal.ignored_solver"
    text: StringAttr

    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        return IdentityResolverAttr().serialized(tensor)

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        return IdentityResolverAttr().packed_layout(tensor)


@irdl_attr_definition
class _FailedSolverAttr(ParametrizedAttribute, _UnusableSolver):
    """Stands for a solver that its target's dictionary cannot configure; all queries fail."""

    name = "hal.failed_solver"
    text: StringAttr

    def serialized(self, tensor: Tensor) -> LayoutAttribute:
        raise EncodingError(self.problem())

    def packed_layout(self, tensor: Tensor) -> PackedLayout:
        raise EncodingError(self.problem())


def solver_of(target: ExecutableTargetAttr) -> EncodingSolverInterface:
    """Return the configured solver of a target; the identity resolver if it names none."""
    entries = target.entries
    for key in SOLVER_LOOKUP_KEYS:
        solver = entries.data.get(key)
        if solver is None:
            continue
        if not isinstance(solver, EncodingSolverInterface):
            problem = f"a target whose {key} cannot lay out tensors: {solver}"
            return _IgnoredSolverAttr(StringAttr(problem))
        try:
            return solver.configured(entries)
        except EncodingError as error:
            return _FailedSolverAttr(StringAttr(f"a target with a {key}: {error}"))
    return IdentityResolverAttr()
