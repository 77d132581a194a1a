"""Convert GSPMD's shardings, which are strings, to Shardy's.

    mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
    sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {}]>

A tensor dimension is split along some digits of the device number (`sharding/gspmd_strings.py`).
All digits that a program's shardings use become the axes of one mesh. `convert-sdy-to-shard` does
the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    ShardingPerValueAttr,
    TensorSharding,
)
from ...dialects.sdy.dialect import ShardingConstraintOp
from ...dialects.sdy.meshes import MeshOp
from ...ir.attribute_access import attribute, block_of, boundary_entries
from ...ir.diagnostics import OperationError, remark
from ...ir.regions import walk
from ...ir.symbols import fresh_name, names_in
from ...sharding.device_groups import Digits
from ...sharding.gspmd_strings import Tiling, parse_mhlo_sharding
from ..sharding.annotations.access import MHLO_SHARDING, SDY_SHARDING
from .mhlo_manual_computations import ENTRY, EXIT, Border, form_manual_computations, is_call_of

_UNSPECIFIED = re.compile(r"unspecified_dims=\[(\d+(?:,\d+)*)\]")
_PARTITIONS = "mhlo.num_partitions"


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

    Raises OperationError for strings that cannot be parsed or that no common mesh expresses, and
    for custom calls of sharding that have not one operand and one result.
    """
    found: list[_ShardingString] = []
    for each in _sharding_strings(module):
        rank = each.type.get_num_dims() if isinstance(each.type, TensorType) else 0  # pyright: ignore
        try:
            each.tiling = parse_mhlo_sharding(each.text, rank)
        except ValueError as problem:
            what = f"has {each.description} with" if each.description else "has"
            raise OperationError(
                each.operation, f'{what} {MHLO_SHARDING} = "{each.text}": {problem}'
            ) from problem
        is_call = is_call_of(each.operation, ENTRY, EXIT, "Sharding")
        if is_call and (len(each.operation.operands), len(each.operation.results)) != (1, 1):
            raise OperationError(each.operation, "expects one operand and one result")
        is_whole = each.tiling is not None and each.tiling.manual is None
        # Other manual ops lie between the calls that begin and end a manual computation.
        if each.boundary or is_call or is_whole:
            found.append(each)
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
        elif is_call_of(operation, ENTRY, EXIT) or MHLO_SHARDING in operation.attributes:
            written = _string(operation, "has", attribute(operation, MHLO_SHARDING))
            is_tensor = any(isinstance(each, TensorType) for each in operation.result_types)
            if is_tensor and len(operation.results) == 1:
                yield _ShardingString(operation, "", written, operation.result_types[0])
            elif is_tensor:
                remark("sharding", operation, f"drops {MHLO_SHARDING} of several results")


def _boundary_strings(
    function: FuncOp, which: str, what: str, types: Sequence[Attribute]
) -> Iterator[_ShardingString]:
    """Yield the sharding strings of a function's arguments or results."""
    for index, entry in enumerate(boundary_entries(function, which)):
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
        open_ = [int(number) for number in unspecified[1].split(",")] if unspecified else []
        sharding = _sharding(found.tiling, name, mesh, open_)
    if found.boundary is None:
        if sharding is None:
            operation.attributes.pop(MHLO_SHARDING)
            return
        if found.tiling is not None and found.tiling.manual == ():
            Rewriter.replace_op(operation, [], [operation.operands[0]])
            return
        if not is_call_of(operation, "Sharding"):
            del operation.attributes[MHLO_SHARDING]
            operation.attributes[SDY_SHARDING] = ShardingPerValueAttr((sharding,))
            return
        made = ShardingConstraintOp(operation.operands[0], sharding)
        made.location = operation.location
        Rewriter.replace_op(operation, made)
        return
    assert isinstance(operation, FuncOp)
    which, index = found.boundary
    entries = [dict(entry) for entry in boundary_entries(operation, which)]
    entries[index].pop(MHLO_SHARDING)
    if sharding is not None:
        entries[index].setdefault(SDY_SHARDING, ShardingAttr(sharding))
    operation.properties[which] = ArrayAttr([DictionaryAttr(entry) for entry in entries])
