"""The `shard` dialect as Python objects: constructors, equality, symbols, purity."""

from __future__ import annotations

from math import prod

import pytest
from breadth import breadth
from hypothesis import given, settings
from hypothesis import strategies as st
from mesh_opt.dialects.mesh import Mesh
from mesh_opt.dialects.shard.annotations import GetShardingOp, ShardingOp, ShardOp, ShardShapeOp
from mesh_opt.dialects.shard.attributes import AxesArrayAttr, ReductionKindAttr, axes_attribute
from mesh_opt.dialects.shard.collectives import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    BroadcastOp,
    GatherOp,
    RecvOp,
    ReduceOp,
    ReduceScatterOp,
    ScatterOp,
    SendOp,
    ShiftOp,
    UpdateHaloOp,
)
from mesh_opt.dialects.shard.dialect import Shard
from mesh_opt.dialects.shard.grids import (
    GridOp,
    GridShapeOp,
    NeighborsLinearIndicesOp,
    ProcessLinearIndexOp,
    ProcessMultiIndexOp,
)
from mesh_opt.ir.symbols import find_visible_symbol
from mesh_opt.passes.imports.convert_mesh_to_shard import ConvertMeshToShardPass
from mesh_opt.passes.sharding.annotations.access import ShardingTable, annotation_of
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.sharding import ReductionKind
from xdsl.context import Context
from xdsl.dialects.builtin import (
    IndexType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

EFFECTFUL = {"send", "recv"}


def tensor(*shape: int, element: Attribute = f32) -> TensorType[Attribute]:
    return TensorType(element, shape)


def value_of(value_type: Attribute) -> SSAValue:
    """A value of a type, made by an operation that stands alone."""
    return TestOp(result_types=[value_type]).results[0]


def in_module(*operations: Operation) -> ModuleOp:
    """A module with a grid @g of 2x4 processes, the operations and what makes their operands."""
    makers = dict.fromkeys(
        operand.owner
        for operation in operations
        for operand in operation.operands
        if isinstance(operand.owner, Operation) and operand.owner not in operations
    )
    return ModuleOp([GridOp("g", (2, 4)), *makers, *operations])


def constructed() -> list[Operation]:
    """One operation of each kind, made by its constructor."""
    t, i, h = value_of(tensor(8, 16)), value_of(IndexType()), value_of(i64)
    integers = value_of(tensor(8, 16, element=i32))
    sharding = ShardingOp("g", [[0], [1]], halo_sizes=[1, h, 0, 2])
    return [
        GridOp("other", (2, None)),
        GridShapeOp("g", result_count=2),
        ProcessMultiIndexOp("g", [1]),
        ProcessLinearIndexOp(SymbolRefAttr("g")),
        NeighborsLinearIndicesOp("g", [i, i], [0]),
        sharding,
        ShardingOp("g", [[0]], sharded_dims_offsets=[0, 3, 8]),
        ShardingOp("g", [[0]], partial=(ReductionKind.SUM, [1])),
        GetShardingOp(t),
        ShardShapeOp([8, i], sharding.result, [0, i]),
        ShardOp(t, sharding.result, annotate_for_users=True, priority=3),
        AllGatherOp(t, "g", [1, 0], tensor(64, 16), gather_axis=0),
        AllReduceOp(t, "g", [0], tensor(8, 16, element=f64), reduction=ReductionKind.MAX),
        AllReduceOp(t, "g", [0]),
        AllSliceOp(t, "g", [1], tensor(8, 4), slice_axis=1),
        AllToAllOp(t, "g", [1], tensor(32, 4), split_axis=1, concat_axis=0),
        BroadcastOp(t, "g", [0, 1], root=[1, i]),
        GatherOp(t, "g", [0], tensor(16, 16), gather_axis=0, root=[1]),
        ReduceOp(integers, "g", [0], reduction=ReductionKind.BITWISE_OR, root=[i]),
        ReduceScatterOp(t, "g", [0], tensor(4, 16), reduction=ReductionKind.MIN, scatter_axis=0),
        ScatterOp(t, "g", [0], tensor(4, 16), scatter_axis=0, root=[1]),
        SendOp(t, "g", [0], destination=[i]),
        RecvOp(t, "g", [0]),
        RecvOp(t, "g", [0], source=[1]),
        ShiftOp(t, "g", [0, 1], shift_axis=1, offset=-2, rotate=True),
        UpdateHaloOp(t, "g", [[0], []], [1, h]),
    ]


def test_constructors_make_valid_operations_of_every_kind() -> None:
    operations = constructed()
    in_module(*operations).verify()
    kinds = {type(operation) for operation in operations}
    assert kinds == set(Shard.operations)


def test_values_read_back_as_they_were_given() -> None:
    h = value_of(i64)
    sharding = ShardingOp(
        "g", [[0], [], [1]], halo_sizes=[1, h, 0, 2], partial=(ReductionKind.MAX, [2])
    )
    assert sharding.axes == ((0,), (), (1,))
    assert sharding.halos == (1, h, 0, 2)
    assert sharding.offsets == ()
    assert sharding.partial == (ReductionKind.MAX, (2,))
    assert GridOp("x", (2, None, 3)).grid == Grid("x", (2, None, 3))
    assert AllReduceOp(h, "g", [1, 0]).axes == (1, 0)


def test_results_are_named_as_upstream_names_them() -> None:
    hints = {
        operation.name: [result.name_hint for result in operation.results]
        for operation in constructed()
    }
    assert hints["shard.sharding"] == ["sharding"]
    assert hints["shard.shard"] == ["sharding_annotated"]
    assert hints["shard.all_reduce"] == ["all_reduce"]
    assert hints["shard.process_multi_index"] == ["proc_linear_idx"]
    assert hints["shard.neighbors_linear_indices"] == ["down_linear_idx", "up_linear_idx"]
    assert hints["shard.shard_shape"] == ["shard_shape"] * 2
    assert hints["shard.update_halo"] == [None]


def test_all_but_messages_are_pure() -> None:
    for operation in Shard.operations:
        assert operation.has_trait(Pure) == (operation.name.split(".")[1] not in EFFECTFUL)


def test_mesh_has_an_operation_for_each_of_shard() -> None:
    renamed = {"mesh.grid": "mesh.mesh", "mesh.grid_shape": "mesh.mesh_shape"}
    names = {operation.name.replace("shard.", "mesh.", 1) for operation in Shard.operations}
    assert {renamed.get(name, name) for name in names} == {op.name for op in Mesh.operations}


@irdl_op_definition
class AnotherMeshOp(IRDLOperation):
    name = "mesh.mesh"

    sym_name = prop_def()
    shape = prop_def()


@irdl_op_definition
class AnotherAllReduceOp(IRDLOperation):
    name = "mesh.all_reduce"

    mesh = prop_def()
    mesh_axes = prop_def()
    reduction = prop_def()
    input = operand_def()
    result = result_def()


def test_operations_of_mesh_may_be_of_another_compiler() -> None:
    grid = GridOp("g", (2, 4))
    theirs = AnotherMeshOp.create(properties=grid.properties)
    value = TestOp(result_types=[tensor(8)])
    reduce = AnotherAllReduceOp.create(
        operands=value.results,
        result_types=[tensor(8)],
        properties={
            "mesh": SymbolRefAttr("g"),
            "mesh_axes": axes_attribute([1]),
            "reduction": ReductionKindAttr.from_kind(ReductionKind.MAX),
        },
        attributes={"note": UnitAttr()},
    )
    module = ModuleOp([theirs, value, reduce])
    ConvertMeshToShardPass().apply(Context(), module)
    module.verify()
    *_, found = module.body.block.ops
    assert isinstance(found, AllReduceOp)
    assert found.axes == (1,)
    assert found.reduction.reduction is ReductionKind.MAX
    assert found.attributes == {"note": UnitAttr()}


def test_attributes_differ_where_their_contents_do() -> None:
    lists = [[[0], [1]], [[0], []], [[0]], [[1], [0]], [[0, 1]], [[]]]
    assert len({AxesArrayAttr.from_lists(one) for one in lists}) == len(lists)
    assert len({ReductionKindAttr.from_kind(kind) for kind in ReductionKind}) == 9
    assert AxesArrayAttr.from_lists([[0]]) == AxesArrayAttr.from_lists(((0,),))
    assert AxesArrayAttr.from_lists([]) == AxesArrayAttr.from_lists([[]])


def test_nearest_grid_of_a_name_wins() -> None:
    asking = ProcessLinearIndexOp("g")
    inner_grid = GridOp("g", (3,))
    inner = ModuleOp([inner_grid, asking])
    outer_grid = GridOp("g", (2, 4))
    in_outer_only = ProcessLinearIndexOp("g")
    outer = ModuleOp([outer_grid, inner, ModuleOp([in_outer_only])])
    outer.verify()
    assert find_visible_symbol(asking, SymbolRefAttr("g")) is inner_grid
    assert find_visible_symbol(in_outer_only, SymbolRefAttr("g")) is outer_grid


def test_grids_are_found_anew_when_the_table_changes() -> None:
    asking = ProcessLinearIndexOp("g")
    first = GridOp("g", (2,))
    module = ModuleOp([first, asking])
    assert find_visible_symbol(asking, asking.grid) is first
    first.properties["sym_name"] = StringAttr("h")
    assert find_visible_symbol(asking, asking.grid) is None
    second = GridOp("g", (3,))
    module.body.block.add_op(second)
    assert find_visible_symbol(asking, asking.grid) is second
    second.detach()
    with pytest.raises(VerifyException, match='Undefined required grid symbol "g"'):
        asking.resolve_grid()


@st.composite
def shardings(draw: st.DrawFn) -> tuple[ShardingOp, tuple[int, ...]]:
    """A sharding on a grid of 2x4, right or nearly so, and the shape of a tensor to put it on."""
    shape = tuple(draw(st.lists(st.integers(1, 12), min_size=1, max_size=3)))
    lists: list[list[int]] = [[] for _ in shape]
    for axis in draw(st.lists(st.sampled_from([0, 1, 1, 0, 2]), max_size=2, unique=True)):
        lists[draw(st.integers(0, len(shape) - 1))].append(axis)
    extents = (2, 4, 1)
    split = [
        (size, prod(extents[axis] for axis in axes))
        for size, axes in zip(shape, lists, strict=True)
        if axes
    ]
    kind = draw(st.sampled_from(["plain", "halos", "offsets", "partial"]))
    halos: list[int | SSAValue] = []
    offsets: list[int | SSAValue] = []
    if kind == "halos":
        halos += draw(st.lists(st.integers(0, 2), min_size=2 * len(split), max_size=2 * len(split)))
    for size, parts in split if kind == "offsets" else ():
        inner = st.lists(st.integers(0, size), min_size=parts - 1, max_size=parts - 1)
        offsets += [0, *sorted(draw(inner)), draw(st.sampled_from([size, size, size + 1]))]
    sharding = ShardingOp(
        "g",
        lists,
        halo_sizes=halos,
        sharded_dims_offsets=offsets,
        partial=(ReductionKind.SUM, [1]) if kind == "partial" else None,
    )
    return sharding, shape


@settings(max_examples=breadth(60, 1000))
@given(shardings())
def test_verified_shardings_have_a_meaning(drawn: tuple[ShardingOp, tuple[int, ...]]) -> None:
    """Whatever the verifier lets pass, propagation can read as a value of the algebra."""
    sharding, shape = drawn
    annotation = ShardOp(value_of(tensor(*shape)), sharding.result)
    module = in_module(sharding, annotation)
    try:
        module.verify()
    except VerifyException:
        return
    value = annotation_of(annotation, ShardingTable()).sharding
    assert value.dimension_axes == sharding.axes
    assert bool(value.halos) == any(sharding.halos)
    assert all(
        limits is None or limits[-1] == size
        for limits, size in zip(value.offsets, shape, strict=False)
    )
    assert value.used_axes == {
        axis for axes in (*sharding.axes, (sharding.partial or (None, ()))[1]) for axis in axes
    }
