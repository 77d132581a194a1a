"""The public function of a lowered program: its signature, and shardings for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ..api import Function, Program
from ..dialects.sdy.attributes import Mesh, ShardingAttr, TensorSharding
from ..dialects.sdy.dialect import MeshOp
from ..dialects.shard.dialect import GridOp
from ..interpreter.run import boundaries
from ..ir.symbols import fresh_name, names_in

SDY_SHARDING = "sdy.sharding"
MAIN = "main"


def main_function(module: ModuleOp) -> FuncOp:
    """The function that a front end calls. Raises ValueError where there is none."""
    for operation in module.body.block.ops:
        if isinstance(operation, FuncOp) and operation.sym_name.data == MAIN:
            return operation
    raise ValueError(f"the program has no function @{MAIN}")


def located_name(argument: BlockArgument) -> str:
    """The name in an argument's location, such as `p['w']`; empty if there is none."""
    location: Attribute | None = getattr(argument, "location", None)
    return location.desc.data if isinstance(location, NameLoc) else ""


def shape_and_type(value: SSAValue) -> tuple[tuple[int, ...], str] | None:
    """The shape of a tensor, -1 for open sizes, and the name of its element type."""
    if not isinstance(value.type, TensorType):
        return None
    return tuple(value.type.get_shape()), str(value.type.element_type)  # pyright: ignore


def mesh_name(module: ModuleOp, mesh: Mesh) -> str:
    """The name of a mesh of a module: the one with these axes, or a new one."""
    block = module.body.block
    for operation in block.ops:
        if isinstance(operation, MeshOp) and operation.mesh.data.axes == mesh.axes:
            return operation.sym_name.data
    name = fresh_name("mesh", names_in(module))
    made, first = MeshOp(name, mesh), block.first_op
    assert first is not None
    block.insert_op_before(made, first)
    return name


OfRank = Callable[[int], TensorSharding]
"""How a tensor of some rank lies; a sharding may leave out dimensions at the end."""


def annotate(
    function: FuncOp,
    which: str,
    shardings: Sequence[OfRank | None],
    names: Sequence[str] | None = None,
) -> None:
    """Say how arguments (`arg_attrs`) or results (`res_attrs`) lie; `None` says nothing.

    Raises ValueError for one that has a sharding already, or cannot have this one.
    """
    types = (
        function.function_type.inputs if which == "arg_attrs" else function.function_type.outputs
    )
    what = "argument" if which == "arg_attrs" else "result"
    if names is None and which == "arg_attrs":
        names = [located_name(each) for each in function.body.blocks[0].args]
    known = function.properties.get(which)
    held = [
        dict(each.data) if isinstance(each, DictionaryAttr) else dict[str, Attribute]()
        for each in (known.data if isinstance(known, ArrayAttr) else [None] * len(types.data))  # pyright: ignore
    ]
    module = function.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    for index, (of_rank, value_type, attributes) in enumerate(
        zip(shardings, types.data, held, strict=True)
    ):
        if of_rank is None:
            continue
        called = f"{what} {(names and names[index]) or index}"
        if not isinstance(value_type, TensorType):
            raise ValueError(f"{called} of type {value_type} is no tensor, so it lies nowhere")
        rank = value_type.get_num_dims()  # pyright: ignore
        sharding = of_rank(rank)
        if SDY_SHARDING in attributes:
            raise ValueError(f"{called} has a sharding already: {attributes[SDY_SHARDING]}")
        mesh = sharding.mesh
        assert isinstance(mesh, Mesh)
        fault = sharding.fault(mesh, rank)
        if fault is not None:
            raise ValueError(f"{called} of type {value_type} cannot lie so: {fault}")  # pyright: ignore
        named = TensorSharding(mesh_name(module, mesh), sharding.dimensions)
        attributes[SDY_SHARDING] = ShardingAttr(named)
    if any(held):
        function.properties[which] = ArrayAttr([DictionaryAttr(each) for each in held])


def split_axes(program: Program, function: Function, side: int) -> list[list[tuple[str, ...]]]:
    """The names of the axes that split each dimension of the arguments (0) or the results (1)."""
    found: list[list[tuple[str, ...]]] = []
    for boundary in boundaries(function.operation)[side]:
        if boundary is None:
            found.append([])
            continue
        sharding = boundary.sharding
        names = _axis_names(program.module, sharding.grid.name)
        found.append(
            [
                tuple(str(axis) if names is None else names[axis] for axis in axes)
                for axes in sharding.dimension_axes
            ]
        )
    return found


def _axis_names(module: ModuleOp, grid: str) -> list[str] | None:
    """What the axes of a grid are called, if it came from a mesh."""
    for operation in module.body.block.ops:
        if isinstance(operation, GridOp) and operation.sym_name.data == grid:
            names = operation.attributes.get("shard.axis_names")
            if isinstance(names, ArrayAttr):
                return [each.data for each in names.data if isinstance(each, StringAttr)]  # pyright: ignore
    return None
