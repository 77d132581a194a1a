"""Whether devices have come for one collective: the comparison that all engines share.

Devices that take different branches may reach different collectives. Before any data move, each
tells its group the signature of the collective that it has reached; equal signatures are the same
collective. The interpreter and MPI ranks compare signatures, threads compare numbers that stand
for them. Where they differ, or where devices wait for each other in vain, `find_mismatch` names
the two devices to report.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

ANY_SIZE = -1
"""A size in a signature along which devices may bring different amounts."""

OPEN_SIZE = -2
"""A size that a run tells, in signatures that are made before it."""

SEND = "send"
"""The kind of a message: its group is the device that it is for."""

RECEIVE = "recv"
"""The kind that waits for a message: its group are the devices that may send it."""


@dataclass(frozen=True, slots=True)
class CollectiveSignature:
    """What the devices of a group must agree on before data move.

    - `kind`: the name of the operation without its dialect;
    - `group`: the devices that take part, in their order;
    - `source`: the type of what is brought; it is printed and not compared, since it may say its
      sizes on one device and leave them open on another;
    - `element`: its element type;
    - `result`: the type of what is given;
    - `sizes`: of what is brought, `ANY_SIZE` along a dimension that joins unequal pieces;
    - `parameters`: everything else by name: the reduction, dimensions, the root, ... Values are
      printed, lists as text.
    """

    kind: str
    group: tuple[int, ...]
    source: object = field(compare=False)
    element: object
    result: object
    sizes: tuple[int, ...] = ()
    parameters: tuple[tuple[str, object], ...] = ()

    def describe(self, other: CollectiveSignature | None) -> str:
        """The collective in words, with the parameters and the group where `other`'s differ.

        `all_reduce sum of tensor<4xf32>`, `broadcast of tensor<4xf32> with root = [1]`
        """
        theirs = dict(other.parameters) if other and other.kind == self.kind else None
        parameters = dict(self.parameters)
        reduction = parameters.pop("reduction", None)
        source, result = str(self.source), str(self.result)
        words = [self.kind, *([str(reduction)] if reduction is not None else []), "of", source]
        if result != source:
            words += ["to", result]
        different = [
            f"{name} = {value}"
            for name, value in parameters.items()
            if theirs is not None and theirs.get(name) != value
        ]
        if "?" in source and set(self.sizes) != {ANY_SIZE}:
            sizes = "x".join("?" if size == ANY_SIZE else str(size) for size in self.sizes)
            different.insert(0, f"shape {sizes}")
        if different:
            words += ["with", ", ".join(different)]
        if self.kind in (SEND, RECEIVE):
            words += ["to" if self.kind == SEND else "from", names(self.group)]
        elif other and other.kind not in (SEND, RECEIVE) and other.group != self.group:
            words += ["over", names(self.group)]
        return " ".join(words)

    def of_sizes(self, shape: tuple[int, ...]) -> CollectiveSignature:
        """The signature with the sizes of a shape in place of those that a run tells."""
        pairs = zip(self.sizes, shape, strict=True)
        sizes = tuple(own if size == OPEN_SIZE else size for size, own in pairs)
        return self if sizes == self.sizes else replace(self, sizes=sizes)

    def text(self) -> str:
        """The signature as a literal of Python, to send it to another process."""
        parameters = tuple((name, str(value)) for name, value in self.parameters)
        types = (str(self.source), str(self.element), str(self.result))
        return repr((self.kind, self.group, *types, self.sizes, parameters))

    @staticmethod
    def parse(text: str) -> CollectiveSignature | None:
        """The signature of a text, or nothing if it is that of nothing."""
        values = literal_eval(text)
        return None if values is None else CollectiveSignature(*values)

    def takes(self, sent: CollectiveSignature) -> bool:
        """Whether a message is what this one waits for: as many elements of the same type."""
        return (self.element, self.sizes) == (sent.element, sent.sizes)


@dataclass(frozen=True, slots=True)
class DeviceState:
    """Where a device waits: for which collective, at which operation.

    A device without a signature has ended.
    """

    signature: CollectiveSignature | None
    operation: object = None

    def describe(self, other: DeviceState) -> str:
        """What the device has, in words that tell it from another's."""
        if self.signature is None:
            return "ended"
        return self.signature.describe(other.signature)


ENDED = DeviceState(None)
"""The state of a device that has nothing left to do."""


class CollectiveMismatch(Exception):
    """Devices have reached collectives that do not match; the states of those that matter."""

    def __init__(self, states: Mapping[int, DeviceState]) -> None:
        super().__init__("devices have reached collectives that do not match")
        self.states = dict(states)


def find_mismatch(states: Mapping[int, DeviceState]) -> tuple[int, int] | None:
    """Two devices whose states do not match; the first of them waits.

    Goes from the first device that waits to one that it waits for, and on, to one that has ended or
    to where the circle closes. `None` if all devices wait at one collective, or none waits.

        0 waits for 1, 1 waits for 2, 2 has ended -> (1, 2)
        0: all_reduce sum, 1: all_reduce max, both over 0 and 1 -> (0, 1)
    """
    device = min((each for each in states if states[each].signature is not None), default=None)
    seen: set[int] = set()
    pair: tuple[int, int] | None = None
    while device is not None and device not in seen:
        seen.add(device)
        absent = _first_absent(device, states)
        if absent is None:
            break
        pair = (device, absent)
        device = absent
    if pair is None or states[pair[1]].signature is None:
        return pair
    return min(pair), max(pair)


def _first_absent(device: int, states: Mapping[int, DeviceState]) -> int | None:
    """The first device that does not come to where one waits; `None` for one that has ended."""
    signature = states[device].signature
    if signature is None:
        return None
    for other in signature.group:
        known = states.get(other)
        if other != device and known is not None and known.signature != signature:
            return other
    return None


def names(devices: tuple[int, ...]) -> str:
    """`device 3`, or `devices 0, 1, 2`; of many only the first ones."""
    if len(devices) == 1:
        return f"device {devices[0]}"
    shown = ", ".join(map(str, devices[:8]))
    return f"devices {shown}{', ...' if len(devices) > 8 else ''}"
