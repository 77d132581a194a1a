"""Convert GSPMD's shardings, which are strings, to Shardy's.

    mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
    sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {}]>

A tile assignment arranges device numbers in an array with a dimension for each dimension of the
tensor. A tensor dimension is thus split along some digits of the device number. All digits that a
program's shardings use become the axes of one mesh. `convert-sdy-to-shard` does the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
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
from ...ir.attribute_access import attribute, block_of, text
from ...ir.diagnostics import OperationError
from ...ir.regions import walk
from ...ir.symbols import fresh_name, names_in
from ...sharding.device_groups import Digits, digits_of, groups_along
from ..sharding.annotations.access import MHLO_SHARDING, SDY_SHARDING
from .mhlo_manual_computations import ENTRY, EXIT, Border, form_manual_computations, is_call_of

MAX_DEVICES = 1 << 20
"""The maximum number of devices of an assignment: the parser expands it to a list of devices."""

_ASSIGNMENT = re.compile(
    r"devices=\[(?P<tiles>\d+(?:,\d+)*)\]"
    r"(?:<=\[(?P<reshape>\d+(?:,\d+)*)\](?:T\((?P<order>\d+(?:,\d+)*)\))?|(?P<listed>\d+(?:,\d+)*))"
    r"(?P<replicated> last_tile_dim_replicate)?"
    r"(?: last_tile_dims=\{(?P<kinds>[a-z]+(?:, ?[a-z]+)*)\})?"
)
_UNSPECIFIED = re.compile(r"unspecified_dims=\[(\d+(?:,\d+)*)\]")
_KINDS = ("manual", "replicated")
_PARTITIONS = "mhlo.num_partitions"


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
    body = text.strip().removeprefix("{").removesuffix("}").strip()
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
    if found["listed"]:
        devices: Sequence[int] = _numbers(found["listed"])
    else:
        devices = _iota(_numbers(found["reshape"]), _numbers(found["order"] or ""), count)
    if sorted(devices) != list(range(count)):
        raise ValueError(f"it must name each of {count} devices once")
    digits = _digits_of_dimensions(devices, tiles)
    manual = [each for each, kind in zip(digits[rank:], kinds, strict=False) if kind == "manual"]
    return Tiling(digits[:rank], count, sum(manual, ()) if manual else None)


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


# The module --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _ShardingString:
    """A sharding string of an op, or of an argument or result of a function."""

    operation: Operation
    description: str
    """The argument or result in words; empty for the result of an op."""
    text: str
    type: Attribute
    tiling: Tiling | None = None
    boundary: tuple[str, int] | None = None
    """The name of the function's attribute (`arg_attrs` or `res_attrs`), and the index in it."""

    @property
    def value(self) -> SSAValue | None:
        """The value that has the sharding; `None` for a result of a function."""
        if self.boundary is None:
            return self.operation.results[0]
        body = self.operation.regions[0].blocks.first
        which, index = self.boundary
        return body.args[index] if which == "arg_attrs" and body is not None else None


def import_mhlo_shardings(module: ModuleOp) -> None:
    """Convert all GSPMD shardings of a module to shardings of Shardy on one mesh.

    Raises OperationError for strings that cannot be parsed, or that no common mesh expresses.
    """
    found = list(_sharding_strings(module))
    for each in found:
        rank = each.type.get_num_dims() if isinstance(each.type, TensorType) else 0  # pyright: ignore
        try:
            each.tiling = parse_mhlo_sharding(each.text, rank)
        except ValueError as problem:
            what = f"has {each.description} with" if each.description else "has"
            raise OperationError(
                each.operation, f'{what} {MHLO_SHARDING} = "{each.text}": {problem}'
            ) from problem
    name, mesh = _insert_mesh(module, found)
    _form_manual_computations(found, name, mesh)
    for each in found:
        if each.operation.parent is not None:
            _rewrite(each, name, mesh)


def _insert_mesh(module: ModuleOp, found: Sequence[_ShardingString]) -> tuple[str, Mesh]:
    """Insert the mesh of all shardings; return its name and the mesh.

    The name is empty if no sharding gives a device count. Raises OperationError if counts differ,
    or if manual shardings have no count at all.
    """
    counts = {each.tiling.devices: each for each in found if each.tiling and each.tiling.devices}
    if len(counts) > 1:
        (one, _), (other, where) = list(counts.items())[:2]
        raise OperationError(
            where.operation,
            f'has {MHLO_SHARDING} = "{where.text}" for {other} devices, but another sharding is '
            f"for {one}",
        )
    manual = next((each for each in found if each.tiling and each.tiling.manual is not None), None)
    if manual is not None and not counts:
        partitions = module.attributes.get(_PARTITIONS)
        if not isinstance(partitions, IntegerAttr) or partitions.value.data < 1:
            raise OperationError(
                manual.operation,
                "belongs to a manual computation, but the number of devices is unknown: set "
                f"{_PARTITIONS} on the module",
            )
        counts[partitions.value.data] = manual
    for count, each in counts.items():
        tilings = [other.tiling for other in found if other.tiling is not None]
        mesh = _mesh(each.operation, count, tilings)
        name = fresh_name("mesh", names_in(module))
        Rewriter.insert_op(MeshOp(name, mesh), InsertPoint.at_start(module.body.block))
        return name, mesh
    return "", Mesh(())


def _form_manual_computations(found: Sequence[_ShardingString], name: str, mesh: Mesh) -> None:
    """Convert the ops between changes of shape to manual computations of Shardy."""
    shardings: dict[SSAValue, TensorSharding] = {}
    manual_axes: dict[SSAValue, frozenset[str]] = {}
    strides = _strides(mesh)
    blocks: dict[Block, None] = {}
    for each in found:
        tiling, operation = each.tiling, each.operation
        if is_call_of(operation, ENTRY, EXIT):
            blocks[block_of(operation)] = None
            if tiling is None:
                raise OperationError(
                    operation,
                    f"has no {MHLO_SHARDING}, expected a sharding of the whole tensor or of its "
                    "shards",
                )
        if tiling is None:
            continue
        if is_call_of(operation, ENTRY) and tiling.manual is None:
            raise OperationError(
                operation,
                f'has {MHLO_SHARDING} = "{each.text}", expected'
                " '{manual}' or 'manual' among its last_tile_dims",
            )
        value = each.value
        if value is None:
            continue
        manual_axes[value] = frozenset(
            axis
            for axis, _ in mesh.axes
            if tiling.manual is not None
            and (not tiling.manual or axis in _axes_of(tiling.manual, strides))
        )
        if not is_call_of(operation, ENTRY):
            shardings[value] = _sharding(tiling, name, mesh, ())
    border = Border(shardings, manual_axes, tuple(axis for axis, _ in mesh.axes))
    for block in blocks:
        form_manual_computations(block, border)


def _sharding_strings(module: ModuleOp) -> Iterator[_ShardingString]:
    for operation in walk(module):
        if isinstance(operation, FuncOp):
            inputs, outputs = operation.function_type.inputs, operation.function_type.outputs
            yield from _boundary_strings(operation, "arg_attrs", "argument", inputs.data)
            yield from _boundary_strings(operation, "res_attrs", "result", outputs.data)
        elif operation.name == "stablehlo.custom_call":
            target = text(operation, "call_target_name")
            written = _string(operation, "has", attribute(operation, MHLO_SHARDING))
            if target in (ENTRY, EXIT) or (target == "Sharding" and written):
                yield _ShardingString(operation, "", written, operation.result_types[0])


def _boundary_strings(
    function: FuncOp, which: str, what: str, types: Sequence[Attribute]
) -> Iterator[_ShardingString]:
    """Yield the sharding strings of a function's arguments or results."""
    for index, entry in enumerate(_entries(function, which)):
        description = f"{what} {index}"
        written = _string(function, f"has {description} with", entry.get(MHLO_SHARDING))
        if MHLO_SHARDING in entry:
            yield _ShardingString(
                function, description, written, types[index], boundary=(which, index)
            )


def _string(operation: Operation, what: str, found: Attribute | None) -> str:
    """Return the text of a sharding, empty if there is none."""
    if found is None:
        return ""
    if not isinstance(found, StringAttr):
        raise OperationError(operation, f"{what} {MHLO_SHARDING} = {found}, expected a string")
    return found.data


def _entries(function: FuncOp, which: str) -> list[dict[str, Attribute]]:
    found = function.properties.get(which)
    if not isinstance(found, ArrayAttr):
        return []
    entries: tuple[Attribute, ...] = found.data  # pyright: ignore
    return [dict(entry.data) for entry in entries if isinstance(entry, DictionaryAttr)]


def _mesh(operation: Operation, count: int, tilings: Sequence[Tiling]) -> Mesh:
    """Return the mesh whose axes are the digits that shardings use, and those between them."""
    cuts = {1, count}
    for tiling in tilings:
        for digits in (*tiling.dimensions, tiling.manual or ()):
            for stride, size in digits:
                cuts |= {stride, stride * size}
    ordered = sorted(cuts)
    for low, high in pairwise(ordered):
        if high % low:
            raise OperationError(
                operation,
                f"is one of several shardings that split {count} devices at {low} and at {high}; "
                "no mesh has both",
            )
    sizes = [high // low for low, high in pairwise(ordered)][::-1]
    return Mesh(tuple((f"axis_{index}", size) for index, size in enumerate(sizes)))


def _sharding(tiling: Tiling, name: str, mesh: Mesh, open_: Sequence[int]) -> TensorSharding:
    strides = _strides(mesh)
    dimensions = tuple(
        DimensionSharding(tuple(map(AxisRef, _axes_of(digits, strides))), index in open_)
        for index, digits in enumerate(tiling.dimensions)
    )
    return TensorSharding(name, dimensions)


def _strides(mesh: Mesh) -> dict[str, int]:
    """Return the stride of each axis in the device number, major axes first."""
    sizes = [size for _, size in mesh.axes]
    return {name: prod(sizes[index + 1 :]) for index, (name, _) in enumerate(mesh.axes)}


def _axes_of(digits: Digits, strides: Mapping[str, int]) -> list[str]:
    """Return the axes that make up some digits."""
    return [
        axis
        for first, size in digits
        for axis, stride in strides.items()
        if first <= stride < first * size
    ]


def _rewrite(found: _ShardingString, name: str, mesh: Mesh) -> None:
    """Replace a sharding string by a Shardy sharding, if there is one."""
    operation = found.operation
    sharding = None
    if found.tiling is not None and name and isinstance(found.type, TensorType):
        config = attribute(operation, "backend_config")
        unspecified = _UNSPECIFIED.search(config.data) if isinstance(config, StringAttr) else None
        open_ = _numbers(unspecified[1]) if unspecified else []
        sharding = _sharding(found.tiling, name, mesh, open_)
    if found.boundary is None:
        if sharding is None:
            operation.attributes.pop(MHLO_SHARDING)
            return
        if found.tiling is not None and found.tiling.manual == ():
            Rewriter.replace_op(operation, [], [operation.operands[0]])
            return
        made = ShardingConstraintOp(operation.operands[0], sharding)
        made.location = operation.location
        Rewriter.replace_op(operation, made)
        return
    assert isinstance(operation, FuncOp)
    which, index = found.boundary
    entries = _entries(operation, which)
    entries[index].pop(MHLO_SHARDING)
    if sharding is not None:
        entries[index].setdefault(SDY_SHARDING, ShardingAttr(sharding))
    operation.properties[which] = ArrayAttr([DictionaryAttr(entry) for entry in entries])
