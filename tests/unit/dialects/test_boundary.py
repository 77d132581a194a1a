"""The attribute that ties a shard to the tensor that it is a shard of."""

import pytest
from mesh_opt.dialects.shard.boundary import Boundary, boundary_of, set_boundaries
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.sharding import Sharding
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr, TensorType, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class OtherCompilersGrid(IRDLOperation):
    """The grid of a compiler that has its own class for the operation."""

    name = "shard.grid"
    sym_name = attr_def(StringAttr)
    shape = attr_def(DenseArrayBase)


def program(grid_name: str = "g") -> FuncOp:
    grid = OtherCompilersGrid(
        attributes={
            "sym_name": StringAttr(grid_name),
            "shape": DenseArrayBase.from_list(i64, [2, 2]),
        }
    )
    local = TensorType(f32, [4, 4])
    function = FuncOp("f", ((local, local), (local,)))
    function.body.block.add_op(ReturnOp(function.body.block.args[0]))
    ModuleOp([grid, function])
    return function


@pytest.mark.parametrize(
    "sharding",
    [
        Sharding(Grid("g", (2, 2)), ((1, 0), ())),
        Sharding(Grid("g", (2, 2)), ((), (0,)), halos=((0, 0), (1, 2))),
        Sharding(Grid("g", (2, 2)), ((0,), (1,)), offsets=((0, 3, 8), None)),
    ],
)
def test_round_trip(sharding: Sharding) -> None:
    function = program()
    boundary = Boundary(TensorType(f32, [8, 4]), sharding)
    set_boundaries(function, "arg_attrs", [None, boundary])
    set_boundaries(function, "res_attrs", [boundary])
    assert boundary_of(function, "arg_attrs", 0) is None
    assert boundary_of(function, "arg_attrs", 1) == boundary
    assert boundary_of(function, "res_attrs", 0) == boundary


def test_unknown_grid_is_named() -> None:
    function = program("h")
    sharding = Sharding(Grid("g", (2, 2)), ((1, 0), ()))
    set_boundaries(function, "arg_attrs", [Boundary(TensorType(f32, [8, 4]), sharding), None])
    with pytest.raises(VerifyException, match="unknown grid @g"):
        boundary_of(function, "arg_attrs", 0)


def test_rank_must_agree() -> None:
    function = program()
    sharding = Sharding(Grid("g", (2, 2)), ((0,),))
    set_boundaries(function, "arg_attrs", [Boundary(TensorType(f32, [8, 4]), sharding), None])
    with pytest.raises(VerifyException, match="splits 1 dimensions of tensor<8x4xf32>"):
        boundary_of(function, "arg_attrs", 0)
