"""Shared helpers of the conversion rules to `hal`: building operations, devices, memory, fences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, SymbolRefAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint

from ....dialects.hal.affinities import DeviceAffinityAttr, DeviceOptimalAttr
from ....dialects.hal.bitfields import FLAGS
from ....dialects.hal.targets import DEVICE
from ....dialects.hal.types import AllocatorType, FenceType
from ....dialects.stream.affinity import affinity_of
from ....dialects.stream.types import KNOWN_LIFETIMES, lifetime_of
from ....ir.diagnostics import OperationError
from ....ir.index import constant_index
from ....ir.locations import located_builder
from ....ir.rules import Rules
from ....ir.syntax.assembly_format import values

ALLOCATOR, FENCE = AllocatorType(), FenceType()
ANY_QUEUE, FOREVER = -1, -1

Operands = Sequence[SSAValue | Sequence[SSAValue]]


class DeviceQueues(NamedTuple):
    """A device, and a mask of its queues."""

    device: SSAValue
    queues: SSAValue


class MemoryProperties(NamedTuple):
    """The memory types and the usage of a buffer."""

    types: SSAValue
    usage: SSAValue


class Fences(NamedTuple):
    """The fence that a queue operation waits for, and the one that it signals."""

    wait: SSAValue
    signal: SSAValue


class HalBuilder:
    """Builds `hal` operations in front of one `stream` operation."""

    def __init__(
        self,
        context: Context,
        operation: Operation,
        builder: Builder,
        operand_types: Sequence[Attribute],
    ) -> None:
        self._context = context
        self.operation = operation
        self.builder = builder
        self.operand_types = operand_types
        """The operand types before conversion, which still have the lifetimes of resources."""

    def emit(
        self,
        name: str,
        operands: Operands = (),
        results: Sequence[Attribute | Sequence[Attribute]] = (),
        properties: Mapping[str, Attribute | None] | None = None,
        **named: Attribute,
    ) -> Sequence[SSAValue]:
        """Insert an operation and return its results."""
        kind = cast("type[IRDLOperation]", self._context.get_op(name))
        return self.builder.insert(
            kind.build(
                operands=operands, result_types=results, properties={**(properties or {}), **named}
            )
        ).results

    def at_end_of(self, block: Block) -> HalBuilder:
        """Return a builder that inserts at the end of a block."""
        builder = located_builder(InsertPoint.at_end(block), self.operation)
        return HalBuilder(self._context, self.operation, builder, self.operand_types)

    def index(self, value: int) -> SSAValue:
        """Emit a constant of type `index`."""
        return constant_index(value, self.builder)

    def constant(self, value: int, *, wide: bool = False) -> SSAValue:
        """Emit an integer constant of 32 bits, or of 64 if `wide`."""
        type_ = i64 if wide else i32
        return self.builder.insert(ConstantOp(IntegerAttr(value, type_))).result

    def memory_properties(self, affinity: Attribute | None, type_: Attribute) -> MemoryProperties:
        """Emit the memory types and the buffer usage for a resource type.

        Raises OperationError if the lifetime of the resource is not known.
        """
        lifetime = lifetime_of(type_)
        if lifetime not in KNOWN_LIFETIMES:
            raise OperationError(
                self.operation,
                f"is a resource of lifetime '{lifetime}', but the lifetime selects the memory: "
                f"expected one of {', '.join(KNOWN_LIFETIMES)}",
            )
        types, usage = self.emit(
            "hal.allocator.resolve_memory_properties",
            results=[i32, i32],
            properties={"affinity": affinity},
            lifetime=IntegerAttr(1 + KNOWN_LIFETIMES.index(lifetime), i32),
        )
        return MemoryProperties(types, usage)

    def device_and_queues(self, memory: MemoryProperties | None = None) -> DeviceQueues:
        """Emit the device and queues of the operation; of several devices, one that has the memory.

        Without memory to choose by it is the first of several devices, as in IREE: each can use
        what was allocated for all. Without an affinity it is the program's first device.

        Raises OperationError if the affinity names no device, as a promise of one.
        """
        return self._of_affinity(affinity_of(self.operation), memory)

    def _of_affinity(
        self, affinity: Attribute | None, memory: MemoryProperties | None
    ) -> DeviceQueues:
        if affinity is None:
            (device,) = self.emit("hal.devices.get", [self.index(0)], [DEVICE])
            return DeviceQueues(device, self.constant(ANY_QUEUE, wide=True))
        if isinstance(affinity, DeviceOptimalAttr):
            if memory is None:
                return self._of_affinity(affinity.affinities.data[0], None)
            choices = [self._of_affinity(choice, None) for choice in affinity.affinities]
            devices, queues = zip(*choices, strict=True)
            return DeviceQueues(
                *self.emit("hal.allocator.select", [devices, queues, *memory], [DEVICE, i64])
            )
        if not isinstance(affinity, DeviceAffinityAttr):
            raise OperationError(
                self.operation,
                f"runs on {affinity}, expected a device of the module: #hal.device.affinity<@name>",
            )
        (device,) = self.emit(
            "util.global.load",
            results=[DEVICE],
            properties={"global": affinity.device, "is_immutable": UnitAttr()},
        )
        mask = ANY_QUEUE
        if isinstance(affinity.queues, ArrayAttr):
            mask = sum({1 << queue.value.data for queue in affinity.queues})
        return DeviceQueues(device, self.constant(mask, wide=True))

    def allocator(self, device: SSAValue) -> SSAValue:
        """Emit the allocator of a device."""
        return self.emit("hal.device.allocator", [device], [ALLOCATOR])[0]

    def fences(self, device: SSAValue) -> Fences:
        """Emit the fence to wait for and one to signal; null if nothing is waited for, or waits."""
        waits = values(self.operation, "await_timepoint")
        wait = waits[0] if waits else self._no_fence()
        if not self.operation.results[-1].uses:
            return Fences(wait, self._no_fence())
        (signal,) = self.emit("hal.fence.create", [device], [FENCE], flags=NOT_FLAGS)
        return Fences(wait, signal)

    def _no_fence(self) -> SSAValue:
        return self.emit("util.null", results=[FENCE])[0]

    def enqueue(
        self,
        name: str,
        operands: Operands,
        memory: MemoryProperties | None = None,
        **named: Attribute,
    ) -> SSAValue:
        """Insert a queue operation on the operation's device; return the fence that it signals."""
        device, queue = self.device_and_queues(memory)
        wait, signal = self.fences(device)
        self.emit(name, [device, queue, wait, signal, *operands], properties=named)
        return signal


def flags(kind: str, *names: str) -> IntegerAttr:
    """Return an attribute with the bits of the named flags."""
    known, type_ = FLAGS[kind]
    bits = 0
    for name in names:
        bits |= known[name]
    return IntegerAttr(bits, type_)


NOT_FLAGS = flags("reserved-flags")
"""No flags, for operations whose flags are reserved."""


def reference(*names: str) -> SymbolRefAttr:
    """Return the symbol reference `@a::@b`."""
    return SymbolRefAttr(names[0], list(names[1:]))


Rule = Callable[[HalBuilder, Operation], Sequence[SSAValue]]

to_hal = Rules[Rule]()
"""Rules that emit the replacements of a `stream` operation's results, by operation name."""
