"""The public function of a lowered program: its signature, shardings for it, and its calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from time import perf_counter
from typing import Any

import numpy.typing as npt
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ..api import Function, Program, compile
from ..dialects.sdy.attributes import Mesh, ShardingAttr, TensorSharding
from ..dialects.sdy.meshes import MeshOp
from ..dialects.shard.checks import AXIS_NAMES
from ..dialects.shard.dialect import GridOp
from ..interpreter.run import boundaries
from ..ir.diagnostics import remarks_wanted
from ..ir.garbage_collection import without_garbage_collection
from ..ir.symbols import fresh_name, names_in
from ..ir.text.printer import print_operation
from ..passes.sharding.shard_annotate import located_name
from ..programs.backends import NATIVE, backend_name
from ..runtime.abi.arguments import InputError, check_kind
from ..saved_programs import LoadedFunction, LoadedProgram
from ..sharding.axis_names import joined_names
from ..tools.kept_programs import KeptProgram, kept_program

Array = npt.NDArray[Any]

SDY_SHARDING = "sdy.sharding"
MAIN = "main"

LEAST_SECONDS = 1.0
"""How long compiling takes for programs that are kept for other processes."""


def main_function(module: ModuleOp) -> FuncOp:
    """The function that a front end calls. Raises ValueError where there is none."""
    for operation in module.body.block.ops:
        if isinstance(operation, FuncOp) and operation.sym_name.data == MAIN:
            return operation
    raise ValueError(f"the program has no function @{MAIN}")


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
    function: FuncOp, which: str, shardings: Sequence[OfRank | None], names: Sequence[str]
) -> None:
    """Say how arguments (`arg_attrs`) or results (`res_attrs`) lie; `None` says nothing.

    `names` are what the user calls them. Raises ValueError for one that has a sharding already, or
    cannot have this one.
    """
    types = (
        function.function_type.inputs if which == "arg_attrs" else function.function_type.outputs
    )
    known = function.properties.get(which)
    held = [
        dict(each.data) if isinstance(each, DictionaryAttr) else dict[str, Attribute]()
        for each in (known.data if isinstance(known, ArrayAttr) else [None] * len(types.data))  # pyright: ignore
    ]
    module = function.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    for called, of_rank, value_type, attributes in zip(
        names, shardings, types.data, held, strict=True
    ):
        if of_rank is None:
            continue
        if not isinstance(value_type, TensorType):
            raise ValueError(f"{called} of type {value_type} is no tensor, so it lies nowhere")
        rank = value_type.get_num_dims()  # pyright: ignore
        sharding = of_rank(rank)
        if SDY_SHARDING in attributes:
            raise ValueError(f"{called} has a sharding already: {attributes[SDY_SHARDING]}")
        mesh = sharding.mesh
        assert isinstance(mesh, Mesh)
        fault = _fault(sharding, mesh, rank)
        if fault is not None:
            raise ValueError(f"{called} of type {value_type} {fault}")  # pyright: ignore
        named = TensorSharding(mesh_name(module, mesh), sharding.dimensions)
        attributes[SDY_SHARDING] = ShardingAttr(named)
    if any(held):
        function.properties[which] = ArrayAttr([DictionaryAttr(each) for each in held])


def _fault(sharding: TensorSharding, mesh: Mesh, rank: int) -> str | None:
    """What is wrong with a sharding of a tensor of some rank, and what there is to choose from."""
    if len(sharding.dimensions) > rank:
        return f"is given {len(sharding.dimensions)} dimensions to split, but has {rank}"
    for dimension in sharding.dimensions:
        for axis in dimension.axes:
            if axis.name not in dict(mesh.axes):
                return f"is split along the axis {axis}, but the mesh has {axes_phrase(mesh)}"
    fault = sharding.fault(mesh, rank)
    return None if fault is None else f"cannot lie so: {fault}"


def axes_phrase(mesh: Mesh) -> str:
    """The axes of a mesh, as `"x" of size 2 and "y" of size 4`."""
    return " and ".join(f'"{name}" of size {size}' for name, size in mesh.axes) or "no axes"


class EntryPoint:
    """The function that a front end calls: compiled, or kept by an earlier process.

    It is kept by the first call if compiling it took `LEAST_SECONDS`.
    """

    def __init__(
        self,
        module: ModuleOp,
        pipeline: str | Sequence[ModulePass],
        backend: str,
        names: Sequence[str],
    ) -> None:
        """`names` are what the user calls the arguments. Raises CompilationError, ValueError as
        `mesh_opt.api.compile` does."""
        self.names = names
        for argument, name in zip(main_function(module).args, names, strict=True):
            # `p['w']` is %p_w; no name begins with a digit.
            label = located_name(argument.location) or name
            hint = re.sub(r"[^A-Za-z0-9_]+", "_", label).strip("_")
            argument.name_hint = f"_{hint}" if hint[:1].isdigit() else hint or None
        self.text = print_operation(module)
        """The program before all passes."""
        self._module, self._pipeline, self._backend = module, pipeline, backend
        self._program: Program | None = None
        self._kept: KeptProgram | None = None
        self._loaded: LoadedProgram | None = None
        self._is_new = True
        if isinstance(pipeline, str) and backend_name(backend) == NATIVE and not remarks_wanted():
            self._kept = kept_program("", self.text, pipeline)
        if self._kept is not None:
            self._loaded = self._kept.load(self._compile)
        if self._loaded is not None:
            self._kept = None
        else:
            started = perf_counter()
            self._program = self._compile()
            if perf_counter() - started < LEAST_SECONDS:
                self._kept = None

    def _compile(self) -> Program:
        return compile(self._module, self._pipeline, backend=self._backend, stages=False)

    @property
    def program(self) -> Program:
        """The program itself, which is compiled for that if it was kept."""
        if self._program is None:
            assert self._loaded is not None
            self._program = self._loaded.compiled()
        return self._program

    @property
    def function(self) -> Function | LoadedFunction:
        """The function that is called."""
        loaded = self._loaded if self._program is None else None
        return self.program[MAIN] if loaded is None else loaded[MAIN]

    def run(self, inputs: Sequence[Any]) -> list[Array]:
        """Call it with whole arrays. Raises InputError, ExecutionError."""
        if not self._is_new:
            return self._run(inputs)
        self._is_new = False
        # The first call compiles, too: the lowering of host code, kernels and what is kept.
        with without_garbage_collection():
            return self._run(inputs)

    def _run(self, inputs: Sequence[Any]) -> list[Array]:
        try:
            results = self.function.run(inputs)
        except InputError:
            # What it calls by their numbers has names here.
            for name, value, kind in zip(
                self.names, inputs, self.function.types.arguments, strict=True
            ):
                check_kind(name, value.dtype, value.shape, kind)
            raise
        if self._kept is not None and self._program is not None:
            kept, self._kept = self._kept, None
            kept.keep(self._program)
        return results

    def describe(self, name: str) -> str:
        """What is compiled, for people; `name` is that of the function or module."""
        return f"<Compiled {name}: {self.function!r}>"

    def html(self, name: str) -> str:
        """The same for notebooks, with where everything lies."""
        return f"<code>{escape(self.describe(name))}</code>{self.program.shardings.html()}"


def split_axes(program: Program, side: int) -> list[list[tuple[str, ...]]]:
    """The names of the axes that split each dimension of the arguments (0) or the results (1)."""
    found: list[list[tuple[str, ...]]] = []
    for boundary in boundaries(program[MAIN].operation)[side]:
        if boundary is None:
            found.append([])
            continue
        sharding = boundary.sharding
        names, shape = _axis_names(program.module, sharding.grid.name), sharding.grid.shape
        found.append(
            [
                tuple(map(str, axes) if names is None else joined_names(axes, names, shape))
                for axes in sharding.dimension_axes
            ]
        )
    return found


def _axis_names(module: ModuleOp, grid: str) -> list[str] | None:
    """What the axes of a grid are called, if it came from a mesh."""
    for operation in module.body.block.ops:
        if isinstance(operation, GridOp) and operation.sym_name.data == grid:
            names = operation.attributes.get(AXIS_NAMES)
            if isinstance(names, ArrayAttr):
                return [each.data for each in names.data if isinstance(each, StringAttr)]  # pyright: ignore
    return None
