"""Read GSPMD's shardings, which are strings such as `{devices=[2,4]<=[8]}`.

A tile assignment arranges device numbers in an array with a dimension for each dimension of the
tensor. A tensor dimension is thus split along some digits of the device number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from .device_groups import Digits, digits_of, groups_along

MAX_DEVICES = 1 << 20
"""The maximum number of devices of an assignment: the parser expands it to a list of devices."""

_ASSIGNMENT = re.compile(
    r"devices=\[(?P<tiles>\d+(?:,\d+)*)\]"
    r"(?:<=\[(?P<reshape>\d+(?:,\d+)*)\](?:T\((?P<order>\d+(?:,\d+)*)\))?|(?P<listed>\d+(?:,\d+)*))"
    r"(?P<replicated> last_tile_dim_replicate)?"
    r"(?: last_tile_dims=\{(?P<kinds>[a-z]+(?:, ?[a-z]+)*)\})?"
)
_KINDS = ("manual", "replicated")


@dataclass(frozen=True, slots=True)
class Tiling:
    """The digits of the device number along which each dimension is split, major to minor."""

    dimensions: tuple[Digits, ...]
    devices: int
    """The number of devices; 0 if the sharding does not say."""
    manual: Digits | None = None
    """The digits along which the tensor is manual; empty for all digits, `None` for none."""


def parse_mhlo_sharding(text: str, rank: int) -> Tiling | None:
    """Parse a sharding of a tensor; return `None` for an empty or unknown one.

    Raises ValueError if it is malformed, does not fit the rank, or if a grid cannot express it.
    """
    body = _body(text)
    if body in ("", "unknown"):
        return None
    if body == "replicated":
        return Tiling(((),) * rank, 0)
    if body.startswith("maximal"):
        raise ValueError("it is on a single device, which a grid cannot express")
    if body == "manual":
        return Tiling(((),) * rank, 0, ())
    found = _ASSIGNMENT.fullmatch(body)
    if found is None:
        raise ValueError(
            "expected '{replicated}' or '{devices=[2,1,4]<=[8] last_tile_dim_replicate}'"
        )
    tiles = _numbers(found["tiles"])
    count = prod(tiles)
    if not 0 < count <= MAX_DEVICES:
        raise ValueError(f"it is for {count} devices, expected 1 to {MAX_DEVICES}")
    kinds = re.split(", ?", found["kinds"]) if found["kinds"] else []
    for kind in kinds:
        if kind not in _KINDS:
            raise ValueError(f"it has devices that are '{kind}', expected {' or '.join(_KINDS)}")
    kept = len(tiles) - (1 if found["replicated"] else len(kinds))
    if kept != rank:
        raise ValueError(f"it splits {kept} dimensions of a tensor of rank {rank}")
    devices = _devices(found, count)
    digits = _digits_of_dimensions(devices, tiles)
    manual = [each for each, kind in zip(digits[rank:], kinds, strict=False) if kind == "manual"]
    return Tiling(digits[:rank], count, sum(manual, ()) if manual else None)


def shardings_of_members(text: str, count: int) -> list[str]:
    """Return the shardings of a tuple's members; one that is not in a list is that of all.

    Raises ValueError if a list has another number of shardings.
    """
    body = _body(text)
    if not body.startswith("{"):
        return [text] * count
    members = re.findall(r"\{(?:[^{}]|\{[^{}]*\})*\}", body)
    if len(members) != count:
        raise ValueError(f"it has {len(members)} shardings for {count} members")
    return members


def check_device_count(text: str) -> None:
    """Raise ValueError if a sharding lists other devices than it has tiles for.

    Strings of other forms are not checked.
    """
    found = _ASSIGNMENT.fullmatch(_body(text))
    if found is not None and 0 < (count := prod(_numbers(found["tiles"]))) <= MAX_DEVICES:
        _devices(found, count)


def _body(text: str) -> str:
    return text.strip().removeprefix("{").removesuffix("}").strip()


def _devices(assignment: re.Match[str], count: int) -> Sequence[int]:
    """Return the devices of an assignment in row-major order.

    Raises ValueError if they are not the numbers below `count`.
    """
    if not assignment["listed"]:
        return _iota(_numbers(assignment["reshape"]), _numbers(assignment["order"] or ""), count)
    devices = _numbers(assignment["listed"])
    if sorted(devices) != list(range(count)):
        raise ValueError(f"it must name each of {count} devices once")
    return devices


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _iota(shape: Sequence[int], order: Sequence[int], count: int) -> Sequence[int]:
    """Return 0, 1, 2, ... as an array of a shape, transposed and flattened in row-major order."""
    order = order or range(len(shape))
    if prod(shape) != count or sorted(order) != list(range(len(shape))):
        raise ValueError(f"its order of devices is not a transposition of {count} numbers")
    (numbers,) = groups_along(tuple(shape), order)
    return numbers


def _digits_of_dimensions(devices: Sequence[int], tiles: Sequence[int]) -> tuple[Digits, ...]:
    """Return the digits in which devices differ along each dimension of the device array."""
    strides = [prod(tiles[axis + 1 :]) for axis in range(len(tiles))]
    lines = [
        [devices[position * stride] for position in range(size)]
        for stride, size in zip(strides, tiles, strict=True)
    ]
    found = [digits_of(line) for line in lines]
    known = [digits for digits in found if digits is not None]
    sums = [sum(point) for point in product(*lines)]
    if devices[0] != 0 or len(known) < len(found) or sums != list(devices):
        raise ValueError(
            "its order of devices is not a transposition of an array of device numbers"
        )
    return tuple(digits[::-1] for digits in known)
