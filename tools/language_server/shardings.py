"""Shardings of the values of a text after propagation, with the remarks on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from ...dialects.shard.boundary import Boundary, boundary_of
from ...ir.diagnostics import OperationError, Remark, remarks_to
from ...ir.tensor_types import shape_of, tensor_shape
from ...passes.manager.named_pipeline import default_passes
from ...passes.sharding.annotations.access import SHARD, ShardingTable, annotation_of
from ...sharding.device_map import device_map, draw_text
from ...sharding.grid import extents_text
from ...sharding.local_shape import local_shape
from ...sharding.sharding import Sharding

MAX_OPERATIONS = 20_000
"""Larger programs are not propagated while they are edited."""

Shape = tuple[int | None, ...]
Line = tuple[int, int]
"""A 1-based line and column of a source."""

_PASSES = (
    "convert-stablehlo-to-linalg",
    "convert-linalg-ext-to-linalg",
    "tosa-to-scf",
    "convert-mesh-to-shard",
    "convert-sdy-to-shard",
    "sharding-propagation",
    "shard-complete",
)


@dataclass(slots=True)
class Shardings:
    """The shardings of values and remarks, by the position of operations in the text."""

    shardings: dict[tuple[Line, str, int], tuple[Shape, Sharding]] = field(
        default_factory=dict[tuple[Line, str, int], tuple[Shape, Sharding]]
    )
    """Keys are (position, `argument` or `result`, index)."""
    remarks: dict[Line, list[Remark]] = field(default_factory=dict[Line, list[Remark]])
    failure: OperationError | None = None
    """The error in the annotations because of which there are no shardings."""

    def of(self, value: SSAValue) -> tuple[Shape, Sharding] | None:
        """Return the global shape and the sharding of a value, as its producer leaves it."""
        key = _key(value)
        return None if key is None else self.shardings.get(key)

    def why(self, value: SSAValue) -> list[Remark]:
        """Return the remarks on a value."""
        key = _key(value)
        if key is None:
            return []
        line, what, index = key
        if isinstance(value, BlockArgument):
            owner = value.block.parent_op()
            line = None if owner is None else _line(owner.location)
        about = [] if line is None else self.remarks.get(line, [])
        return [each for each in about if f"{what} #{index} " in each.message]


def _line(location: Attribute) -> Line | None:
    if isinstance(location, FileLineColLoc):
        return location.line.data, location.column.data
    return None


def _key(value: SSAValue) -> tuple[Line, str, int] | None:
    if isinstance(value, OpResult):
        line, what = _line(value.op.location), "result"
    elif isinstance(value, BlockArgument):
        line, what = _line(value.location), "argument"
    else:
        return None
    return None if line is None else (line, what, value.index)


def find_shardings(module: ModuleOp | None, context: Context, broken: set[Operation]) -> Shardings:
    """Propagate shardings in a copy of a program, without the functions in `broken`."""
    found = Shardings()
    if module is None:
        return found
    copy = module.clone()
    places = {_line(each.location) for each in broken if not isinstance(each, ModuleOp)}
    for operation in [*copy.walk()]:
        if _line(operation.location) in places and operation.parent is not None:
            operation.detach()
    if sum(1 for _ in copy.walk()) > MAX_OPERATIONS:
        return found

    def remark(each: Remark) -> None:
        line = _line(each.operation.location)
        if line is not None and each.message not in [
            r.message for r in found.remarks.get(line, [])
        ]:
            found.remarks.setdefault(line, []).append(each)

    try:
        with remarks_to(remark):
            for one in default_passes(*_PASSES):
                one.apply(context, copy)
        for value, shape, sharding in _shardings(copy):
            if (key := _key(value)) is not None:
                found.shardings.setdefault(key, (shape, sharding))
    except OperationError as failure:
        found.failure = failure
    except Exception:
        # Passes may fail on an incomplete program.
        return found
    return found


def _shardings(module: ModuleOp) -> Iterator[tuple[SSAValue, Shape, Sharding]]:
    table = ShardingTable()
    for operation in module.walk():
        if isinstance(operation, FuncOp) and operation.body.blocks:
            yield from _of_boundaries(operation)
        if operation.name == SHARD:
            annotation = annotation_of(operation, table)
            source = annotation.source
            while isinstance(owner := source.owner, Operation) and owner.name == SHARD:
                # The result of an annotation is a value of the text, too.
                yield source, tensor_shape(source) or (), annotation.sharding
                source = owner.operands[0]
            yield source, tensor_shape(source) or (), annotation.sharding
            yield operation.results[0], tensor_shape(source) or (), annotation.sharding


def _of_boundaries(function: FuncOp) -> Iterator[tuple[SSAValue, Shape, Sharding]]:
    def known(value: SSAValue, boundary: Boundary | None):
        if boundary is not None:
            yield value, shape_of(boundary.global_type), boundary.sharding

    for index, argument in enumerate(function.body.blocks[0].args):
        yield from known(argument, boundary_of(function, "arg_attrs", index))
    last: Block = function.body.blocks[-1]
    if last.last_op is not None:
        for index, operand in enumerate(last.last_op.operands):
            yield from known(operand, boundary_of(function, "res_attrs", index))


def describe(shape: Shape, sharding: Sharding, element_bytes: int | None) -> str:
    """Describe a sharding: bytes in total and per device, and a device map."""
    local = local_shape(shape, sharding)
    lines: list[str] = []
    if element_bytes is not None:
        whole, part = _bytes(shape, element_bytes), _bytes(local, element_bytes)
        extents = extents_text(local)
        lines.append(f"{whole} in all, {part} on each device ({extents or 'scalar'})\n")
    picture = device_map(shape, sharding)
    text = f"{sharding}\n" if picture is None else draw_text(picture)
    return "\n".join([*lines, f"```\n{text}```"])


def _bytes(shape: Shape, element_bytes: int) -> str:
    known = [extent for extent in shape if extent is not None]
    if len(known) < len(shape):
        return f"{element_bytes} bytes an element"
    return f"{element_bytes * prod(known):,} bytes"
