"""Check that the devices of a group have reached the same collective; shared by all backends.

Devices that take different branches may reach different collectives. Before data move, each device
exchanges the signature of its collective with its group; equal signatures mean the same collective.
The interpreter and MPI ranks compare signatures, threads compare numbers that stand for them. On a
mismatch or a deadlock, `find_mismatch` selects the two devices to report.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

ANY_SIZE = -1
"""A size in a signature that may differ between devices."""

DYNAMIC_SIZE = -2
"""A size that is known only at run time, in signatures that are made at compile time."""

SEND = "send"
"""The kind of a send; its group is the receiving device."""

RECEIVE = "recv"
"""The kind of a receive; its group is the possible senders."""


@dataclass(frozen=True, slots=True)
class CollectiveSignature:
    """The properties of a collective on which the devices of a group must agree.

    - `kind`: the name of the operation without its dialect;
    - `group`: the participating devices, in group order;
    - `source`: the operand type. It is printed but not compared, since a size may be static on one
      device and dynamic on another;
    - `element`: the element type of the operand;
    - `result`: the result type;
    - `sizes`: the operand's shape, with `ANY_SIZE` along a dimension that joins unequal pieces;
    - `parameters`: all other properties by name (reduction, dimensions, root, ...). They are
      printed, so lists are given as text.
    """

    kind: str
    group: tuple[int, ...]
    source: object = field(compare=False)
    element: object
    result: object
    sizes: tuple[int, ...] = ()
    parameters: tuple[tuple[str, object], ...] = ()

    def describe(self, other: CollectiveSignature | None) -> str:
        """Return a description with those parameters, and the group, that differ from `other`'s.

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
        """Return the signature with `DYNAMIC_SIZE` entries replaced by the sizes in `shape`."""
        pairs = zip(self.sizes, shape, strict=True)
        sizes = tuple(own if size == DYNAMIC_SIZE else size for size, own in pairs)
        return self if sizes == self.sizes else replace(self, sizes=sizes)

    def text(self) -> str:
        """Serialise the signature as a Python literal, to send it to another process."""
        parameters = tuple((name, str(value)) for name, value in self.parameters)
        types = (str(self.source), str(self.element), str(self.result))
        return repr((self.kind, self.group, *types, self.sizes, parameters))

    @staticmethod
    def parse(text: str) -> CollectiveSignature | None:
        """Parse a signature that `text` has serialised; `None` if the text is `None`."""
        values = literal_eval(text)
        return None if values is None else CollectiveSignature(*values)

    def takes(self, sent: CollectiveSignature) -> bool:
        """Return whether `sent` can be received here: element types and shapes are equal."""
        return (self.element, self.sizes) == (sent.element, sent.sizes)


@dataclass(frozen=True, slots=True)
class DeviceState:
    """The collective, and the operation, at which a device waits.

    `signature` is `None` for a device that has ended.
    """

    signature: CollectiveSignature | None
    operation: object = None

    def describe(self, other: DeviceState) -> str:
        """Describe where the device waits, with the properties that differ from `other`'s."""
        if self.signature is None:
            return "ended"
        return self.signature.describe(other.signature)


ENDED = DeviceState(None)
"""The state of a device that has finished the program."""


class CollectiveMismatch(Exception):
    """Raised when devices have reached collectives that do not match; holds the states involved."""

    def __init__(self, states: Mapping[int, DeviceState]) -> None:
        super().__init__("devices have reached collectives that do not match")
        self.states = dict(states)


def find_mismatch(states: Mapping[int, DeviceState]) -> tuple[int, int] | None:
    """Return two devices whose states do not match, the first of which waits.

    The search follows waiting devices to a device that is missing from their collective, until it
    reaches one that has ended or closes a cycle. Returns `None` if all devices wait at one
    collective, or none waits.

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
    """Return the first other device of the group with another state; `None` if there is none."""
    signature = states[device].signature
    if signature is None:
        return None
    for other in signature.group:
        known = states.get(other)
        if other != device and known is not None and known.signature != signature:
            return other
    return None


def names(devices: tuple[int, ...]) -> str:
    """Return `device 3` or `devices 0, 1, 2`; of more than eight only eight are listed."""
    if len(devices) == 1:
        return f"device {devices[0]}"
    shown = ", ".join(map(str, devices[:8]))
    return f"devices {shown}{', ...' if len(devices) > 8 else ''}"
