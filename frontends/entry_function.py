"""The entry function of a front end's program: its signature, sharding annotations and calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from operator import index
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
from ..dialects.shard.grids import GridOp
from ..dialects.stablehlo.types import TokenType
from ..interpreter.run import boundaries
from ..ir.diagnostics import OperationError, remarks_wanted
from ..ir.garbage_collection import without_garbage_collection
from ..ir.symbols import fresh_name, names_in
from ..ir.text.printer import print_operation
from ..ir.text.source import Source
from ..passes.sharding.annotations.access import SDY_SHARDING
from ..passes.sharding.shard_annotate import located_name
from ..programs.backends import NATIVE, backend_name
from ..runtime.abi.arguments import InputError, check_kind
from ..runtime.abi.errors import CompilationError
from ..saved_programs import LoadedFunction, LoadedProgram
from ..sharding.axis_names import joined_names
from ..tools.diagnostics import from_operation_error, render
from ..tools.run.program_cache import CachedProgram, cached_program

Array = npt.NDArray[Any]

MAIN = "main"

MIN_CACHED_COMPILE_SECONDS = 1.0
"""Programs that take at least this long to compile are kept on disk for other processes."""


def main_function(module: ModuleOp) -> FuncOp:
    """Return the function `main` of a module. Raises ValueError if there is none."""
    for operation in module.body.block.ops:
        if isinstance(operation, FuncOp) and operation.sym_name.data == MAIN:
            return operation
    raise ValueError(f"the program has no function @{MAIN}")


def refuse_ordered_effects(function: FuncOp, text: Source) -> None:
    """Raise CompilationError if a function has effects that are ordered with those of others.

    JAX passes a token for each kind of them from one function to the next.
    """
    for argument in function.args:
        if isinstance(argument.type, TokenType):
            use = next(iter(argument.uses), None)
            failure = OperationError(
                function if use is None else use.operation,
                "has an ordered effect, which a compiled program does not have: leave"
                " jax.debug.print(..., ordered=True) and ordered io_callback out of the function",
            )
            raise CompilationError(render(from_operation_error(failure), [text]).rstrip())


def shape_and_type(value: SSAValue) -> tuple[tuple[int, ...], str] | None:
    """Return the shape of a tensor (-1 for dynamic sizes) and its element type as text.

    Return `None` for values that are not tensors.
    """
    if not isinstance(value.type, TensorType):
        return None
    return tuple(value.type.get_shape()), str(value.type.element_type)  # pyright: ignore


def mesh_name(module: ModuleOp, mesh: Mesh) -> str:
    """Return the name of the mesh with these axes in a module; define it if there is none."""
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
"""Returns the sharding of a tensor of a given rank. It may omit trailing dimensions."""


def annotate(
    function: FuncOp, which: str, shardings: Sequence[OfRank | None], names: Sequence[str]
) -> None:
    """Annotate arguments (`arg_attrs`) or results (`res_attrs`) with shardings.

    `None` leaves one to the compiler. `names` are the user's names for them. Raises ValueError for
    a value that has a sharding already, or does not fit its sharding.
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
            raise ValueError(
                f"{called} of type {value_type} is not a tensor, so it cannot have a sharding"
            )
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
    """Return what is wrong with a sharding for a tensor of this rank, or `None`."""
    if len(sharding.dimensions) > rank:
        return f"has a sharding of {len(sharding.dimensions)} dimensions, but rank {rank}"
    for dimension in sharding.dimensions:
        for axis in dimension.axes:
            if axis.name not in dict(mesh.axes):
                return f"is split along the axis {axis}, but the mesh has {axes_phrase(mesh)}"
    fault = sharding.validation_error(mesh, rank)
    return None if fault is None else f"has an invalid sharding: {fault}"


def checked_mesh(sizes: Iterable[tuple[Any, Any]]) -> Mesh:
    """Return the mesh with axes of these names and sizes.

    Raises TypeError for a size that is not an integer, and ValueError if the mesh is invalid.
    """
    axes: list[tuple[str, int]] = []
    for name, size in sizes:
        try:
            axes.append((str(name), index(size)))
        except TypeError as problem:
            raise TypeError(
                f'the mesh cannot be used: the axis "{name}" is of size {size!r}, expected an'
                " integer"
            ) from problem
    mesh = Mesh(tuple(axes))
    fault = mesh.validation_error()
    if fault is not None:
        raise ValueError(f"the mesh cannot be used: {fault}")
    return mesh


def axes_phrase(mesh: Mesh) -> str:
    """Return the axes of a mesh as text: `"x" of size 2 and "y" of size 4`."""
    return " and ".join(f'"{name}" of size {size}' for name, size in mesh.axes) or "no axes"


class EntryFunction:
    """The function that a front end calls: compiled, or loaded from the programs kept on disk.

    The first call keeps the program if compilation took at least `MIN_CACHED_COMPILE_SECONDS`.
    """

    def __init__(
        self,
        module: ModuleOp,
        pipeline: str | Sequence[ModulePass],
        backend: str,
        names: Sequence[str],
    ) -> None:
        """Compile a module, or load its kept program.

        `names` are the user's names for the arguments. Raises CompilationError and ValueError as
        `mesh_opt.api.compile` does.
        """
        self.names = names
        for argument, name in zip(main_function(module).args, names, strict=True):
            # `p['w']` becomes %p_w. An SSA name must not begin with a digit.
            label = located_name(argument.location) or name
            hint = re.sub(r"[^A-Za-z0-9_]+", "_", label).strip("_")
            argument.name_hint = f"_{hint}" if hint[:1].isdigit() else hint or None
        self.text = print_operation(module)
        """The program before all passes, as text."""
        self._module, self._pipeline, self._backend = module, pipeline, backend
        self._program: Program | None = None
        self._cached: CachedProgram | None = None
        self._loaded: LoadedProgram | None = None
        self._function: Function | LoadedFunction | None = None
        self._is_new = True
        if isinstance(pipeline, str) and backend_name(backend) == NATIVE and not remarks_wanted():
            self._cached = cached_program("", self.text, pipeline)
        if self._cached is not None:
            self._loaded = self._cached.load(self._compile)
        if self._loaded is not None:
            self._cached = None
        else:
            started = perf_counter()
            self._program = self._compile()
            if perf_counter() - started < MIN_CACHED_COMPILE_SECONDS:
                self._cached = None

    def _compile(self) -> Program:
        return compile(self._module, self._pipeline, backend=self._backend)

    @property
    def program(self) -> Program:
        """The compiled program. If it was loaded, the first access compiles it."""
        if self._program is None:
            assert self._loaded is not None
            self._program = self._loaded.compiled()
            self._function = None
        return self._program

    @property
    def function(self) -> Function | LoadedFunction:
        """The function `main`, of the loaded or the compiled program."""
        if self._function is None:
            loaded = self._loaded if self._program is None else None
            self._function = self.program[MAIN] if loaded is None else loaded[MAIN]
        return self._function

    def run(self, inputs: Sequence[Any]) -> list[Array]:
        """Call the function with global arrays. Raises InputError, ExecutionError."""
        if not self._is_new:
            return self._run(inputs)
        self._is_new = False
        # The first call compiles host code and kernels, and may keep the program.
        with without_garbage_collection():
            return self._run(inputs)

    def _run(self, inputs: Sequence[Any]) -> list[Array]:
        try:
            results = self.function.run(inputs)
        except InputError:
            # Repeat the check to name the input instead of giving its number.
            for name, value, kind in zip(
                self.names, inputs, self.function.types.arguments, strict=True
            ):
                check_kind(name, value.dtype, value.shape, kind)
            raise
        if self._cached is not None and self._program is not None:
            cached, self._cached = self._cached, None
            cached.store(self._program)
        return results


class CompiledEntry:
    """What all front ends return of a compiled function: the program, and its description."""

    def __init__(self, entry: EntryFunction, name: str) -> None:
        """`name` is the name of the user's function or module."""
        self._entry, self._name = entry, name

    @property
    def text(self) -> str:
        """The program before all passes, with sharding annotations."""
        return self._entry.text

    @property
    def program(self) -> Program:
        """The compiled program, with the function `main`."""
        return self._entry.program

    def __repr__(self) -> str:
        """Return the name with the types of arguments and results."""
        return f"<Compiled {self._name}: {self._entry.function!r}>"

    def _repr_html_(self) -> str:
        """Return the same with all shardings, for notebooks."""
        return f"<code>{escape(repr(self))}</code>{self.program.shardings.html()}"


def split_axes(program: Program, side: int) -> list[list[tuple[str, ...]]]:
    """Return the axis names that split each dimension of the arguments (0) or results (1)."""
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
    """Return the axis names of a grid that was converted from a mesh; otherwise `None`."""
    for operation in module.body.block.ops:
        if isinstance(operation, GridOp) and operation.sym_name.data == grid:
            names = operation.attributes.get(AXIS_NAMES)
            if isinstance(names, ArrayAttr):
                return [each.data for each in names.data if isinstance(each, StringAttr)]  # pyright: ignore
    return None
