"""The Python API: compile a program, call its functions on NumPy arrays, inspect its stages.

    from mesh_opt.api import compile

    program = compile(Path("mlp.mlir"), pipeline="spmd")
    y = program.main(x, w1, w2)          # or program["main"](...): global arrays in and out
    print(program.stages[-1].text)       # the IR after the last pass

A partitioned function runs on all devices of its grid. Its global inputs are scattered and its
results are gathered. Shards that several devices hold as replicas are checked for equality.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from html import escape
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .interpreter import run as interpreter
from .interpreter.parameters import Parameter, Parameters
from .ir.text.source import Source
from .passes.manager.pass_manager import Observer
from .programs.backends import NATIVE
from .programs.compiling import Compiled, Stage, StageKeeper, run_pipeline
from .programs.function import Function, Signature, signature_of
from .programs.runnable import BACKENDS, RunnableModule
from .runtime.abi.arguments import InputError
from .runtime.abi.device_array import DeviceArray
from .runtime.abi.errors import CompilationError, ExecutionError
from .runtime.functions import FunctionsByName
from .runtime.host.timeline import Timeline
from .sharding.grid import Grid
from .tools.diagnostics import describe_position
from .tools.driver import new_context
from .tools.run.parameter_files import mapped_arrays

if TYPE_CHECKING:
    from .passes.sharding.annotations.placed_values import PlacedGroup

__all__ = [
    "BACKENDS",
    "CompilationError",
    "DeviceArray",
    "ExecutionError",
    "Function",
    "InputError",
    "Parameter",
    "Program",
    "Stage",
    "compile",
    "mapped_arrays",
]


Recorder = TypeVar("Recorder", bound=Observer)


class Program(RunnableModule, FunctionsByName[Function]):
    """A compiled program: `program["main"]` and `program.main` are its functions."""

    def __init__(self, compiled: Compiled, backend: str, grid: Grid | None) -> None:
        super().__init__(compiled.source, compiled.module, compiled.texts, backend, grid)
        self._compiled = compiled
        self._signatures: dict[str, Signature] = {}

    @property
    def functions(self) -> list[str]:
        """Return the names of the public functions."""
        return interpreter.public_functions(self.module)

    @cached_property
    def stages(self) -> Sequence[Stage]:
        """The program text before the passes and after each; the passes run again to print it."""
        return tuple(self._record(lambda module: nullcontext(StageKeeper(module))).stages)

    def _record(
        self, recording: Callable[[ModuleOp], AbstractContextManager[Recorder]]
    ) -> Recorder:
        """Run the passes again on a copy of the program as it was read; return their observer."""
        module = self._compiled.read()
        with self.located(), recording(module) as recorder:
            self._compiled.run_again(module, [recorder])
        return recorder

    @property
    def shardings(self) -> ShardingMaps:
        """Return the shardings of the program's values, printed as text and drawn in notebooks.

        Raises ExecutionError for inconsistent sharding annotations.
        """
        from .passes.sharding.annotations.placed_values import placed_groups

        with self.located():
            return ShardingMaps(placed_groups(self.module))

    def report(
        self, path: str | os.PathLike[str] | None = None, timeline: Timeline | None = None
    ) -> str:
        """Return an HTML page about all stages, as `mesh-opt --report` writes it.

        The page shows IR changes, values, shardings, collectives, costs and remarks. It also shows
        what each device did when, if there is a timeline (by default the program's). The passes run
        again to record the stages. With `path` the page is also written to a file. Raises
        ExecutionError, and OSError if the file cannot be written.
        """
        from .tools.html_report.page import recorded_pipeline, render_page

        recorder = self._record(recorded_pipeline)
        name = self._texts[0].name if self._texts else ", ".join(self.functions)
        page = render_page(f"mesh-opt {name}", recorder.stages, timeline or self.timeline)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def __repr__(self) -> str:
        """Return the function names and the backend."""
        functions = ", ".join(f"@{name}" for name in self.functions) or "nothing"
        return f"<Program of {functions}, backend {self._backend}>"

    def _repr_html_(self) -> str:
        """Return the functions and shardings as HTML for notebooks."""
        functions = (f"<li><code>{escape(repr(self[name]))}</code></li>" for name in self.functions)
        pictures = self.shardings.html()
        return f"<ul>{''.join(functions)}</ul>{pictures}"

    def __getitem__(self, name: str) -> Function:
        """Return a function by name.

        Raises KeyError if there is no such function with a body, and ExecutionError if a
        `shard.boundary` of its arguments or results is invalid.
        """
        signature = self._signatures.get(name)
        if signature is None:
            try:
                signature = self._signatures[name] = signature_of(self, name)
            except InputError as problem:
                raise KeyError(str(problem)) from problem
        # Functions are not cached: each refers to its program, so a cache would form a reference
        # cycle, and only the cycle collector could free the program.
        return Function(self, name, signature)

    def save(self, path: str | os.PathLike[str], *, with_ir: bool = True) -> None:
        """Write the program and its native code to a file that `mesh_opt.load` reads.

        Without the IR (`with_ir=False`) the file is smaller but usable only on machines of this
        kind.

        Raises OSError if the file cannot be written. If `require_native` is set, raises
        ExecutionError at the first operation that only the interpreter runs; otherwise functions
        with such operations are compiled when they are first called.
        """
        from .codegen.saving import save_program

        texts = [(each.name, each.content) for each in self._texts]
        with self.located():
            save_program(
                path,
                self.native(),
                self.source,
                texts,
                self.functions,
                self.grid,
                describe_position,
                with_ir,
            )


@dataclass(frozen=True, slots=True)
class ShardingMaps:
    """The shardings of a program as pictures: `print` writes text, notebooks draw HTML."""

    groups: Sequence[PlacedGroup]

    def __str__(self) -> str:
        from .passes.sharding.annotations.placed_values import render_shardings

        return render_shardings(self.groups)

    __repr__ = __str__

    def html(self) -> str:
        """Return the pictures as HTML."""
        from .passes.sharding.annotations.placed_values import shardings_html

        return shardings_html(self.groups)

    _repr_html_ = html


def compile(
    source: str | os.PathLike[str] | ModuleOp | Source,
    pipeline: str | ModulePass | Sequence[ModulePass] = "",
    *,
    backend: str = NATIVE,
    grid: Grid | Sequence[int] | None = None,
    context: Context | None = None,
    parameters: Parameters | None = None,
    observers: Sequence[Observer] = (),
) -> Program:
    """Read a program and run a pass pipeline on it.

    - `source`: MLIR text, the path of a file (a `Path`, or a string that ends in `.mlir`), or a
      module, which is copied;
    - `pipeline`: as mesh-opt's `--pass-pipeline` or `-p`, for example `"spmd"`, or pass objects.
      StableHLO is converted to linalg first. Without a pipeline, `linalg-detensorize` and
      `scf-uplift-while-to-for` follow, so that its loops count in numbers;
    - `backend`: how functions run: `native` (native code), `interpreter` (the NumPy reference), or
      `mpi` (native code; this process is one of the ranks);
    - `grid`: grid extents, `(2, 4)`, for a program that leaves them dynamic;
    - `context`: the dialects to parse with; mesh-opt's by default;
    - `parameters`: the contents of named parameters (`#flow.parameter.named`), by scope and key;
    - `observers`: callbacks around each pass.

    Raises CompilationError for an invalid program or pipeline, OSError for a file that cannot be
    read, ValueError for an unknown backend or a negative extent, TypeError for other objects.
    """
    shape = None if grid is None else _grid(grid)
    compiled = run_pipeline(source, pipeline, context or new_context(), parameters, observers)
    return Program(compiled, backend, shape)


def _grid(given: Grid | Sequence[int]) -> Grid:
    """Return the grid with the given extents. Raises TypeError for other objects."""
    if isinstance(given, Grid):
        return given
    try:
        return Grid("grid", tuple(map(index, given)))
    except TypeError as error:
        message = f"expected the extents of a grid, as (2, 4), got {given!r}"
        raise TypeError(message) from error
