"""Convert StableHLO collectives to those of `shard`.

Devices are numbered row-major over the mesh. Replica groups are groups along some axes of a grid;
a grid with these extents is added to the module if it has none. For other groups of one size,
devices first take the places of such groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, cast

from xdsl.dialects import tensor
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.sdy.attributes import AxisRef, Mesh, axes_validation_error
from ....dialects.sdy.meshes import MeshOp
from ....dialects.shard.collectives import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    BroadcastOp,
    RecvOp,
    ReduceScatterOp,
    SendOp,
    ShiftOp,
)
from ....dialects.shard.grids import GridOp, ProcessLinearIndexOp
from ....dialects.stablehlo.attributes import MeshAttr, ReplicaGroupMeshAxesAttr, StructAttribute
from ....dialects.stablehlo.syntax import string
from ....ir.attribute_access import attribute, element_type, integer
from ....ir.diagnostics import OperationError
from ....ir.locations import located_builder
from ....ir.symbols import fresh_name, names_in
from ....sharding.device_groups import GridShape, axes_of_groups, groups_along
from ....sharding.sharding import ReductionKind
from ..lowering.element_types import converted, kind
from ..lowering.emitter import shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule

GridAxes = tuple[str, tuple[int, ...]]
"""The name of a grid, and the grid axes of a collective."""

PROCESSES = "processes"
"""The name of a grid that is added for collectives."""

_KINDS = {
    "stablehlo.add": ReductionKind.SUM,
    "stablehlo.multiply": ReductionKind.PRODUCT,
    "stablehlo.maximum": ReductionKind.MAX,
    "stablehlo.minimum": ReductionKind.MIN,
    "stablehlo.and": ReductionKind.BITWISE_AND,
    "stablehlo.or": ReductionKind.BITWISE_OR,
    "stablehlo.xor": ReductionKind.BITWISE_XOR,
}
_OF_BOOLS = {
    "stablehlo.add": ReductionKind.BITWISE_OR,
    "stablehlo.multiply": ReductionKind.BITWISE_AND,
    "stablehlo.maximum": ReductionKind.BITWISE_OR,
    "stablehlo.minimum": ReductionKind.BITWISE_AND,
}


# Devices -----------------------------------------------------------------------------------------


def _device_count(lowering: Lowering, op: Operation) -> int | None:
    """Return how many devices run the program, `None` if it does not say.

    Raises OperationError for a program of several replicas.
    """
    attributes = lowering.module.attributes
    replicas = attributes.get("mhlo.num_replicas")
    if isinstance(replicas, IntegerAttr) and replicas.value.data > 1:
        raise OperationError(
            op,
            f"is in a program of {replicas.value.data} replicas, but only programs of one are"
            " supported: write the replicas as an axis of the mesh",
        )
    partitions = attributes.get("mhlo.num_partitions")
    stated = partitions.value.data if isinstance(partitions, IntegerAttr) else None
    if stated is not None and stated > 1:
        return stated
    for mesh in _meshes(lowering):
        return prod(mesh.sizes.values())
    return stated


def _meshes(lowering: Lowering) -> list[Mesh]:
    return [
        each.mesh.data
        for each in lowering.module.body.block.ops
        if isinstance(each, MeshOp) and each.mesh.data.axes
    ]


def _grid(lowering: Lowering, shape_: GridShape) -> str:
    """Return the name of a grid with these extents; add one to the module if there is none."""
    block = lowering.module.body.block
    for each in block.ops:
        if isinstance(each, GridOp) and each.grid.shape == shape_:
            return each.grid.name
    name = fresh_name(PROCESSES, names_in(lowering.module))
    located_builder(InsertPoint.at_start(block), lowering.module).insert(GridOp(name, shape_))
    return name


def _known_shapes(lowering: Lowering) -> list[GridShape]:
    """Return the extents of the module's static grids and of its meshes."""
    grids = [each.grid for each in lowering.module.body.block.ops if isinstance(each, GridOp)]
    shapes = [grid.shape for grid in grids if grid.is_static]
    shapes += [tuple(mesh.sizes.values()) for mesh in _meshes(lowering)]
    return cast("list[GridShape]", shapes)


def number_rows(op: Operation, name: str) -> list[list[int]]:
    """Return an attribute as a table of numbers. Raises OperationError if it is not one."""
    found = attribute(op, name)
    if not isinstance(found, DenseIntOrFPElementsAttr):
        raise OperationError(op, f"has {name} = {found}, expected a dense table of device numbers")
    width = cast("TensorType[Any]", cast(Any, found).type).get_shape()[-1]
    numbers = [int(number) for number in found.get_values()]
    return [numbers[start : start + width] for start in range(0, len(numbers), max(width, 1))]


def _groups(lowering: Lowering, op: Operation) -> list[list[int]]:
    """Return the device groups of a collective.

    Empty `replica_groups` mean one group of all devices.
    """
    count = _device_count(lowering, op)
    found = attribute(op, "replica_groups")
    if isinstance(found, ReplicaGroupMeshAxesAttr):
        return mesh_groups(lowering, op, found)
    groups = number_rows(op, "replica_groups")
    if not groups:
        if count is None:
            raise OperationError(
                op,
                "is for all devices, but their number is unknown: set mhlo.num_partitions on the "
                "module",
            )
        return [list(range(count))]
    if any(number < 0 for group in groups for number in group):
        raise OperationError(op, "has groups of different sizes, which is not supported")
    listed = sum(map(len, groups))
    if count is not None and listed != count:
        raise OperationError(
            op, f"has groups of {listed} devices, but the program runs on {count} devices"
        )
    return groups


def mesh_groups(lowering: Lowering, op: Operation, found: StructAttribute) -> list[list[int]]:
    """Return the device groups along mesh axes or sub-axes.

    Raises OperationError if the mesh or an axis is unknown, if axes overlap, or if the mesh has
    explicit device ids.
    """
    mesh = _mesh_of(lowering, op, found.field("mesh"))
    axes = [_axis(each) for each in _axes(found)]
    error = axes_validation_error(tuple((each,) for each in axes), mesh)
    if error is not None:
        raise OperationError(op, f"has groups along mesh axes: {error}")
    strides = {
        name: prod(size for _, size in mesh.axes[index + 1 :])
        for index, (name, _) in enumerate(mesh.axes)
    }
    digits: list[tuple[int, int]] = []
    for axis in axes:
        size = mesh.sizes[axis.name]
        first, end = axis.extent(size)
        digits.append((strides[axis.name] * size // end, end // first))

    def place(device: int) -> list[int]:
        return [device // stride % size for stride, size in digits]

    groups: dict[int, list[int]] = {}
    for device in range(prod(mesh.sizes.values())):
        pairs = zip(digits, place(device), strict=True)
        first_of_group = device - sum(stride * digit for (stride, _), digit in pairs)
        groups.setdefault(first_of_group, []).append(device)
    return [sorted(group, key=place) for group in groups.values()]


def _mesh_of(lowering: Lowering, op: Operation, named: Attribute | None) -> Mesh:
    """Return the mesh of a collective, by its name or its axes. Raises OperationError."""
    if isinstance(named, SymbolRefAttr):
        name = named.root_reference.data
        for each in lowering.module.body.block.ops:
            if isinstance(each, MeshOp) and each.sym_name.data == name and each.mesh.data.axes:
                return each.mesh.data
        raise OperationError(op, f"refers to mesh @{name}, which is not defined")
    if not isinstance(named, MeshAttr):
        return Mesh(())
    if named.field("device_ids") is not None:
        raise OperationError(op, "has a mesh with device ids, which is not supported")
    return Mesh(tuple((_axis_name(each), each.integer("size")) for each in _axes(named)))


def _axis(reference: StructAttribute) -> AxisRef:
    sub_axis = reference.integers("sub_axis_info")
    return AxisRef(_axis_name(reference), (sub_axis[0], sub_axis[1]) if sub_axis else None)


def _axes(found: StructAttribute) -> Sequence[StructAttribute]:
    return cast("ArrayAttr[StructAttribute]", found.field("axes")).data


def _axis_name(axis: StructAttribute) -> str:
    return cast(StringAttr, axis.field("name")).data


def _all_axes(lowering: Lowering, op: Operation) -> GridAxes:
    """Return a grid of all devices, and all its axes."""
    count = _device_count(lowering, op)
    if count is None:
        raise OperationError(
            op,
            "needs the number of devices: set mhlo.num_partitions on the module",
        )
    known = [each for each in _known_shapes(lowering) if prod(each) == count]
    extents = known[0] if known else (count,)
    return _grid(lowering, extents), tuple(range(len(extents)))


# Collectives -------------------------------------------------------------------------------------


def _is_annotation(op: Operation) -> bool:
    """Return whether an op is a sharding of Shardy or GSPMD."""
    is_call = op.name == "stablehlo.custom_call"
    return op.name == "sdy.sharding_constraint" or (
        is_call and string(attribute(op, "call_target_name")) == "Sharding"
    )


def _reduction(op: Operation) -> ReductionKind:
    """Return the reduction kind of a body; without one, a sum.

    Raises OperationError if `shard` has no such kind.
    """
    if not op.regions:
        return ReductionKind.SUM
    body = [each for each in op.regions[0].block.ops if not _is_annotation(each)]
    arguments = set(op.regions[0].block.args)
    first = body[0]
    element = kind(op.regions[0].block.args[0].type)
    found = _KINDS.get(first.name)
    if element.name == "bool":
        found = _OF_BOOLS.get(first.name, found)
    if len(body) != 2 or found is None or set(first.operands) != arguments:
        names = ", ".join(name.removeprefix("stablehlo.") for name in _KINDS)
        raise OperationError(
            op, f"has a body that is not a reduction between devices, expected one of {names}"
        )
    if element.quantization is not None:
        raise OperationError(
            op, "reduces quantised numbers between devices, which is not supported"
        )
    if element.name == "complex" and found is not ReductionKind.SUM:
        raise OperationError(
            op, f"takes the {found} of complex numbers between devices: only sums are supported"
        )
    return found


Make = Callable[[SSAValue, str, tuple[int, ...], Attribute], Operation]
"""Makes a collective of an operand on a grid, along axes, with the type of its result."""


def _for_each_operand(
    lowering: Lowering, op: Operation, operands: Tensors, make: Make
) -> list[SSAValue]:
    """Emit what `make` makes of each operand; return the results.

    Groups of one device exchange nothing: JAX writes them for axes of extent 1, also outside of
    manual computations. Where groups are not along axes of a grid, devices exchange places before
    and after: [[0, 3], [1, 2]] is done by the devices [[0, 1], [2, 3]].
    """
    groups = _groups(lowering, op)
    if all(len(group) == 1 for group in groups):
        return list(operands)
    found = axes_of_groups(groups, _known_shapes(lowering))
    extents, axes = found or ((len(groups), len(groups[0])), (1,))
    grid, members = _grid(lowering, extents), [number for group in groups for number in group]
    if sorted(members) != list(range(len(members))):
        raise OperationError(op, f"has the groups {groups}, which do not hold each device once")

    def moved(values: Sequence[SSAValue], sources: dict[int, int]) -> Sequence[SSAValue]:
        if found is not None:
            return values
        return [_permuted(lowering, each, grid, extents, sources) for each in values]

    types = [converted(each) for each in op.result_types]
    results = [
        lowering.emit.insert(make(operand, grid, axes, each))
        for operand, each in zip(moved(operands, dict(enumerate(members))), types, strict=True)
    ]
    return list(moved(results, {number: place for place, number in enumerate(members)}))


def _for_each_reduced(
    lowering: Lowering, op: Operation, operands: Tensors, make: Callable[[ReductionKind], Make]
) -> list[SSAValue]:
    """Emit what the `make` of the reduction's kind makes of each operand; return the results.

    `shard` compares integers as signed ones. Unsigned ones have their highest bit flipped for it.
    """
    combined = _reduction(op)
    elements = [kind(element_type(each)) for each in op.result_types]
    ordered = combined in (ReductionKind.MAX, ReductionKind.MIN)
    flipped = [element.name == "unsigned" and ordered for element in elements]
    operands = [
        _flip_highest_bit(lowering, each, element.width) if flips else each
        for each, element, flips in zip(operands, elements, flipped, strict=True)
    ]
    made = _for_each_operand(lowering, op, operands, make(combined))
    return [
        _flip_highest_bit(lowering, each, element.width) if flips else each
        for each, element, flips in zip(made, elements, flipped, strict=True)
    ]


def _flip_highest_bit(lowering: Lowering, value: SSAValue, width: int) -> SSAValue:
    element = element_type(value.type)
    return lowering.emit.pointwise(
        [value],
        element,
        lambda e, args: [e.op("arith.xori", args[0], e.constant(-1 << width - 1, element))],
    )


@tensor_rule("stablehlo.all_reduce", "stablehlo.cross-replica-sum")
def _all_reduce(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return _for_each_reduced(
        lowering, op, operands, lambda combined: partial(AllReduceOp, reduction=combined)
    )


@tensor_rule("stablehlo.all_gather")
def _all_gather(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    make = partial(AllGatherOp, gather_axis=integer(op, "all_gather_dim"))
    return _for_each_operand(lowering, op, operands, make)


@tensor_rule("stablehlo.reduce_scatter")
def _reduce_scatter(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    make = partial(ReduceScatterOp, scatter_axis=integer(op, "scatter_dimension"))
    return _for_each_reduced(
        lowering, op, operands, lambda combined: partial(make, reduction=combined)
    )


@tensor_rule("stablehlo.all_to_all")
def _all_to_all(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    split, joined = integer(op, "split_dimension"), integer(op, "concat_dimension")
    make = partial(AllToAllOp, split_axis=split, concat_axis=joined)
    return _for_each_operand(lowering, op, operands, make)


@tensor_rule("stablehlo.collective_broadcast")
def _broadcast(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a broadcast; the first device of each group is the root."""

    def make(value: SSAValue, grid: str, axes: tuple[int, ...], _: Attribute) -> Operation:
        return BroadcastOp(value, grid, axes, root=[0] * len(axes))

    e, value = lowering.emit, operands[0]
    (sent,) = _for_each_operand(lowering, op, [_with_rank(lowering, value)], make)
    return [e.reshape(sent, e.sizes(value))]


@tensor_rule("stablehlo.collective_permute")
def _permute(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert to a shift if pairs rotate along an axis, else to one send and receive.

    Where each device keeps its operand or none has a source, nothing is sent: these are the
    permutations along axes of extent 1.
    """
    pairs = [(source, target) for source, target in number_rows(op, "source_target_pairs")]
    grid, axes = _all_axes(lowering, op)
    extents = next(
        cast(GridShape, each.grid.shape)
        for each in lowering.module.body.block.ops
        if isinstance(each, GridOp) and each.grid.name == grid
    )
    count = prod(extents)
    if any(not 0 <= number < count for pair in pairs for number in pair):
        raise OperationError(op, f"names a device outside of the {count} devices of the program")
    if len({target for _, target in pairs}) != len(pairs):
        raise OperationError(op, "sends to one device more than once")
    e, sizes = lowering.emit, lowering.emit.sizes(operands[0])
    sources = {target: source for source, target in pairs}
    if not sources:
        return [e.fill(e.constant(0, element_type(operands[0].type)), sizes)]
    if sources == dict(enumerate(range(count))):
        return list(operands)
    value = _with_rank(lowering, operands[0])
    for axis in axes:
        for offset in range(1, extents[axis]):
            if sorted(pairs) == _rotation(extents, axis, offset):
                made = ShiftOp(value, grid, [axis], shift_axis=axis, offset=offset, rotate=True)
                return [e.reshape(e.insert(made), sizes)]
    return [_permuted(lowering, operands[0], grid, extents, sources)]


def _with_rank(lowering: Lowering, value: SSAValue) -> SSAValue:
    """Return a tensor of one element for a scalar: `shard` sends no tensors of rank 0."""
    return lowering.emit.reshape(value, lowering.emit.sizes(value) or [1])


def _rotation(extents: GridShape, axis: int, offset: int) -> list[tuple[int, int]]:
    return sorted(
        (number, group[(place + offset) % len(group)])
        for group in groups_along(extents, [axis])
        for place, number in enumerate(group)
    )


def _permuted(
    lowering: Lowering, value: SSAValue, grid: str, extents: GridShape, sources: dict[int, int]
) -> SSAValue:
    """Emit a send and a receive; return the tensor of each device's source, zeros without one.

    `sources` maps devices to their sources. It is completed to a permutation, so that every device
    sends once; what a device without a source receives is replaced by zeros.
    """
    e, axes, count = lowering.emit, range(len(extents)), prod(extents)
    idle = [number for number in range(count) if number not in sources.values()]
    from_idle = {number: number for number in idle if number not in sources}
    rest = iter([number for number in idle if number not in from_idle])
    whole = sources | from_idle
    senders = [whole[number] if number in whole else next(rest) for number in range(count)]
    receivers = sorted(range(count), key=senders.__getitem__)
    here = e.insert(ProcessLinearIndexOp(grid))

    def element(numbers: Sequence[int]) -> SSAValue:
        table = DenseIntOrFPElementsAttr.from_list(TensorType(i64, [count]), numbers)
        return e.to_index(e.element(e.insert(ConstantOp(table)), [here]))

    def coordinates(numbers: Sequence[int]) -> list[SSAValue]:
        strides = [prod(extents[axis + 1 :]) for axis in axes]
        return [
            element([number // stride % extents[axis] for number in numbers])
            for axis, stride in zip(axes, strides, strict=True)
        ]

    sent = _with_rank(lowering, value)
    sent = e.insert(SendOp(sent, grid, axes, destination=coordinates(receivers)))
    received = e.insert(RecvOp(sent, grid, axes, source=coordinates(senders)))
    received = e.reshape(received, e.sizes(value))
    if len(sources) == count:
        return received
    wanted = element([number in sources for number in range(count)])
    is_wanted = e.compare_integers("ne", wanted, e.index(0))
    kind_of = element_type(value.type)
    return e.pointwise(
        [received],
        kind_of,
        lambda inner, args: [inner.select(is_wanted, args[0], inner.constant(0, kind_of))],
    )


@tensor_rule("stablehlo.partition_id", "stablehlo.replica_id")
def _process(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Emit the device number: 0 in a single-device program, and 0 as the only replica."""
    e = lowering.emit
    element = kind(op.result_types[0]).type
    is_partition = op.name == "stablehlo.partition_id"
    if lowering.process is not None:
        return [e.scalar_tensor(e.constant(lowering.process[is_partition], element))]
    count = _device_count(lowering, op)
    if not is_partition or count is None or count == 1:
        return [e.scalar_tensor(e.constant(0, element))]
    grid, _ = _all_axes(lowering, op)
    number = e.op("arith.index_cast", e.insert(ProcessLinearIndexOp(grid)), to=element)
    result = TensorType(element, shape(op.results[0]))
    return [e.insert(tensor.FromElementsOp(number, result_type=result))]
