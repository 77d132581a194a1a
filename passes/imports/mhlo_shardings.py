"""GSPMD's shardings, which are strings, as those of Shardy.

    mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
    sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {}]>

A tile assignment lays the numbers of the devices out in an array with a dimension for each of the
tensor's, so a dimension is split along some digits of the device number: axes of a mesh that has
all the digits that a program's shardings speak of. `convert-sdy-to-shard` does the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.sdy.attributes import (
    AxisRef,
    DimensionSharding,
    Mesh,
    ShardingAttr,
    TensorSharding,
)
from ...dialects.sdy.dialect import ShardingConstraintOp
from ...dialects.sdy.meshes import MeshOp
from ...ir.attribute_access import attribute
from ...ir.diagnostics import OperationError
from ...ir.regions import walk
from ...ir.symbols import fresh_name, names_in
from ...sharding.device_groups import Digits, digits_of
from ..sharding.annotations.access import MHLO_SHARDING, SDY_SHARDING

MAXIMAL_DEVICES = 1 << 20
"""Assignments of more devices are refused: they are written out while they are read."""

_ASSIGNMENT = re.compile(
    r"devices=\[(?P<tiles>\d+(?:,\d+)*)\]"
    r"(?:<=\[(?P<reshape>\d+(?:,\d+)*)\](?:T\((?P<order>\d+(?:,\d+)*)\))?|(?P<listed>\d+(?:,\d+)*))"
    r"(?P<replicated> last_tile_dim_replicate)?"
)
_UNSPECIFIED = re.compile(r"unspecified_dims=\[(\d+(?:,\d+)*)\]")
_SHAPE_CHANGES = ("SPMDFullToShardShape", "SPMDShardToFullShape")


@dataclass(frozen=True, slots=True)
class Tiling:
    """The digits of the device number along which each dimension is split, major to minor."""

    dimensions: tuple[Digits, ...]
    devices: int
    """How many there are; 0 where the sharding does not say."""


def parse_mhlo_sharding(text: str, rank: int) -> Tiling | None:
    """What a string says of a tensor, `None` for nothing. Raises ValueError."""
    body = text.strip().removeprefix("{").removesuffix("}").strip()
    if body in ("", "unknown"):
        return None
    if body == "replicated":
        return Tiling(((),) * rank, 0)
    if body.startswith("maximal"):
        raise ValueError("it is on one device alone, which a grid cannot express")
    if "manual" in body:
        raise ValueError(
            "it is of a manual computation of the old partitioner; lower the program with Shardy,"
            " which writes sdy.manual_computation"
        )
    found = _ASSIGNMENT.fullmatch(body)
    if found is None:
        raise ValueError(
            "expected '{replicated}' or '{devices=[2,1,4]<=[8] last_tile_dim_replicate}'"
        )
    tiles = _numbers(found["tiles"])
    count = prod(tiles)
    if not 0 < count <= MAXIMAL_DEVICES:
        raise ValueError(f"it is for {count} devices, expected 1 to {MAXIMAL_DEVICES}")
    kept = tiles[:-1] if found["replicated"] else tiles
    if len(kept) != rank:
        raise ValueError(f"it splits {len(kept)} dimensions of a tensor of rank {rank}")
    if found["listed"]:
        devices = _numbers(found["listed"])
    else:
        devices = _iota(_numbers(found["reshape"]), _numbers(found["order"] or ""), count)
    if sorted(devices) != list(range(count)):
        raise ValueError(f"it must name each of {count} devices once")
    return Tiling(_digits_of_dimensions(devices, tiles)[:rank], count)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _iota(shape: Sequence[int], order: Sequence[int], count: int) -> list[int]:
    """0, 1, 2, ... as an array of a shape, transposed, in row-major order."""
    order = order or range(len(shape))
    if prod(shape) != count or sorted(order) != list(range(len(shape))):
        raise ValueError(f"its order of devices is no transposition of {count} numbers")
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return [
        sum(position * strides[axis] for position, axis in zip(point, order, strict=True))
        for point in product(*(range(shape[axis]) for axis in order))
    ]


def _digits_of_dimensions(devices: Sequence[int], tiles: Sequence[int]) -> tuple[Digits, ...]:
    """The digits in which devices differ along each dimension of an array of them."""
    strides = [prod(tiles[axis + 1 :]) for axis in range(len(tiles))]
    lines = [
        [devices[position * stride] for position in range(size)]
        for stride, size in zip(strides, tiles, strict=True)
    ]
    found = [digits_of(line) for line in lines]
    known = [digits for digits in found if digits is not None]
    sums = [sum(point) for point in product(*lines)]
    if devices[0] != 0 or len(known) < len(found) or sums != list(devices):
        raise ValueError("its order of devices does not follow digits of their numbers")
    return tuple(digits[::-1] for digits in known)


# The module --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Found:
    """A sharding of an operation, or of an argument or result of a function."""

    operation: Operation
    what: str
    """The argument or result; empty for what the operation makes."""
    text: str
    type: Attribute
    tiling: Tiling | None = None
    place: tuple[str, int] | None = None
    """The attributes of arguments or of results, and the index there."""


def import_mhlo_shardings(module: ModuleOp) -> None:
    """Write all of them as shardings of Shardy on one mesh. Raises OperationError."""
    found = list(_all(module))
    for each in found:
        rank = each.type.get_num_dims() if isinstance(each.type, TensorType) else 0  # pyright: ignore
        try:
            each.tiling = parse_mhlo_sharding(each.text, rank)
        except ValueError as problem:
            what = f"has {each.what} with" if each.what else "has"
            raise OperationError(
                each.operation, f'{what} {MHLO_SHARDING} = "{each.text}": {problem}'
            ) from problem
    counts = {each.tiling.devices: each for each in found if each.tiling and each.tiling.devices}
    if len(counts) > 1:
        (one, _), (other, where) = list(counts.items())[:2]
        raise OperationError(
            where.operation,
            f'has {MHLO_SHARDING} = "{where.text}" for {other} devices, elsewhere there are {one}',
        )
    name, mesh = "", Mesh(())
    for count, each in counts.items():
        mesh = _mesh(each.operation, count, [f.tiling for f in found if f.tiling is not None])
        name = fresh_name("mesh", names_in(module))
        Rewriter.insert_op(MeshOp(name, mesh), InsertPoint.at_start(module.body.block))
    for each in found:
        _rewrite(each, name, mesh)


def _all(module: ModuleOp) -> Iterator[_Found]:
    for operation in walk(module):
        if isinstance(operation, FuncOp):
            for which, what, types in (
                ("arg_attrs", "argument", operation.function_type.inputs.data),
                ("res_attrs", "result", operation.function_type.outputs.data),
            ):
                for index, entry in enumerate(_entries(operation, which)):
                    text = entry.get(MHLO_SHARDING)
                    if isinstance(text, StringAttr):
                        yield _Found(
                            operation,
                            f"{what} {index}",
                            text.data,
                            types[index],
                            place=(which, index),
                        )
        elif operation.name == "stablehlo.custom_call":
            text = operation.attributes.get(MHLO_SHARDING)
            target = attribute(operation, "call_target_name")
            if isinstance(text, StringAttr) and isinstance(target, StringAttr):
                if target.data in _SHAPE_CHANGES:
                    yield _Found(operation, "", "{manual}", operation.result_types[0])
                elif target.data == "Sharding":
                    yield _Found(operation, "", text.data, operation.result_types[0])


def _entries(function: FuncOp, which: str) -> list[dict[str, Attribute]]:
    found = function.properties.get(which)
    if not isinstance(found, ArrayAttr):
        return []
    entries: tuple[Attribute, ...] = found.data  # pyright: ignore
    return [dict(entry.data) for entry in entries if isinstance(entry, DictionaryAttr)]


def _mesh(operation: Operation, count: int, tilings: Sequence[Tiling]) -> Mesh:
    """The mesh with an axis for each digit that shardings speak of, and for what is between."""
    cuts = {1, count}
    for tiling in tilings:
        for digits in tiling.dimensions:
            for stride, size in digits:
                cuts |= {stride, stride * size}
    ordered = sorted(cuts)
    for low, high in pairwise(ordered):
        if high % low:
            raise OperationError(
                operation,
                f"is one of several shardings that split {count} devices at {low} and at {high},"
                " which no mesh has both",
            )
    sizes = [high // low for low, high in pairwise(ordered)][::-1]
    return Mesh(tuple((f"axis_{index}", size) for index, size in enumerate(sizes)))


def _sharding(tiling: Tiling, name: str, mesh: Mesh, open_: Sequence[int]) -> TensorSharding:
    strides: dict[str, int] = {}
    stride = 1
    for axis, size in reversed(mesh.axes):
        strides[axis] = stride
        stride *= size
    dimensions: list[DimensionSharding] = []
    for index, digits in enumerate(tiling.dimensions):
        axes = tuple(
            AxisRef(axis)
            for first, size in digits
            for axis, _ in mesh.axes
            if first <= strides[axis] < first * size
        )
        dimensions.append(DimensionSharding(axes, index in open_))
    return TensorSharding(name, tuple(dimensions))


def _rewrite(found: _Found, name: str, mesh: Mesh) -> None:
    """Put the sharding of Shardy, if there is any, in the place of the string."""
    operation = found.operation
    sharding = None
    if found.tiling is not None and name and isinstance(found.type, TensorType):
        config = attribute(operation, "backend_config")
        unspecified = _UNSPECIFIED.search(config.data) if isinstance(config, StringAttr) else None
        open_ = _numbers(unspecified[1]) if unspecified else []
        sharding = _sharding(found.tiling, name, mesh, open_)
    if found.place is None:
        if sharding is None:
            operation.attributes.pop(MHLO_SHARDING)
            return
        made = ShardingConstraintOp(operation.operands[0], sharding)
        made.location = operation.location
        Rewriter.replace_op(operation, made)
        return
    assert isinstance(operation, FuncOp)
    which, index = found.place
    entries = _entries(operation, which)
    entries[index].pop(MHLO_SHARDING)
    if sharding is not None:
        entries[index].setdefault(SDY_SHARDING, ShardingAttr(sharding))
    operation.properties[which] = ArrayAttr([DictionaryAttr(entry) for entry in entries])
