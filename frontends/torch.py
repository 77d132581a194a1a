"""Compile PyTorch modules for a mesh of devices, and call them on tensors.

    import mesh_opt

    compiled = mesh_opt.torch.compile(
        module, x, mesh=(2, 2), placements={"x": [[0], []], "*.weight": [[1], []]}
    )
    y = compiled(x)

`torch.export` traces the module, and torch-mlir converts it to StableHLO. Parameters and buffers
are arguments of the program: each call passes the module's current ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any, cast

from xdsl.dialects.func import FuncOp

from ..dialects.sdy.attributes import AxisRef, DimensionSharding, Mesh, TensorSharding
from ..ir.text.parser import parse_module
from ..ir.text.source import Source
from ..programs.backends import NATIVE
from ..runtime.abi.arrays import ValueType
from ..tools.driver import new_context
from .call_forms import call_form
from .entry_function import (
    MAIN,
    CompiledEntry,
    EntryFunction,
    OfRank,
    annotate,
    axes_phrase,
    checked_mesh,
    main_function,
    split_axes,
)
from .torch_export.arrays import Array, as_array, as_tensor
from .torch_export.constant_buffers import (
    check_unchanged,
    check_unwritten,
    constant_tensors,
    integer_buffers,
)
from .torch_export.dynamic_sizes import AssumedSizes, open_sizes
from .torch_export.import_program import Imported, check_dtypes, import_program
from .torch_export.logs import without_torch_logs
from .torch_export.substitutes import traceable
from .torch_export.tracing import located, trace
from .torch_export.trees import Tree, fits, leaf_names, register_caches
from .torch_export.weights import attached_weights, tied_names, weights_of


def compile(
    module: Any,
    *examples: Any,
    mesh: Any = None,
    placements: Mapping[str, Any] | None = None,
    results: Any = None,
    dynamic_shapes: Mapping[str, Any] | Sequence[Any] | None = None,
    pipeline: str = "spmd",
    backend: str = NATIVE,
    **keywords: Any,
) -> Compiled:
    """Compile a module for the devices of a mesh.

    - `module`: a `torch.nn.Module`, or a `torch.export.ExportedProgram`, which has its examples;
    - `examples`, `keywords`: the arguments of `forward`: tensors, and lists, tuples, dictionaries
      and registered pytree types of them. Other values in them become constants;
    - `mesh`: the sizes of the axes, `(2, 2)`; by names, `{"x": 2, "y": 2}`; or a `DeviceMesh`;
    - `placements`: shardings by patterns for the names of parameters, buffers and inputs
      (`cache.keys.0` in the input `cache`). A sharding lists for each dimension the axes that split
      it (`[[0], []]`, or with names), or for each axis of the mesh a `Shard` or `Replicate` of
      `torch.distributed.tensor`. The first pattern that matches counts;
    - `results`: the sharding of the result, or a list of several; the compiler chooses for `None`;
    - `dynamic_shapes`: which sizes of the inputs are dynamic, by patterns or in the order of the
      inputs, in the form of `torch.export`: `{"x": {0: torch.export.Dim("batch")}}`;
    - `pipeline`, `backend`: as in `mesh_opt.api.compile`.

    Raises the errors of PyTorch's tracing, ValueError or TypeError for placements that do not fit,
    ValueError for operations that torch-mlir does not convert, and CompilationError as
    `mesh_opt.api.compile` does.
    """
    torch = _import("torch")
    register_caches(module)
    module, examples, keywords, leaves = _with_examples(torch, module, examples, keywords)
    taken = (tuple(examples), dict(keywords))
    inputs = Tree(torch, taken, leaves, "input")
    names, tensors, weights = inputs.names, inputs.tensors(taken), weights_of(module)
    check_dtypes({**weights, **dict(zip(names, tensors, strict=True))})
    caller = _caller(torch, module, inputs)
    attention = torch.nn.attention
    # The strides of the CPU attention kernel's result differ from those of its decomposition, so
    # that views of it would fail.
    with attention.sdpa_kernel(attention.SDPBackend.MATH), without_torch_logs():
        given = (weights, dict(zip(names, tensors, strict=True)))
        opened = open_sizes(dynamic_shapes, weights, names)
        exported = trace(torch, caller, given, opened)
        assumed = AssumedSizes(torch, exported, [*weights, *names], opened)
        # With dynamic sizes, convert to linalg, which expresses them in one dialect.
        outputs = ["linalg-on-tensors"] if dynamic_shapes else ["stablehlo", "linalg-on-tensors"]
        found = import_program(torch, _import("torch_mlir.fx"), exported, outputs, MAIN)
        assumed.add_branches(torch)
    program = parse_module(new_context(), Source(found.text, type(module).__name__))
    function = main_function(program)
    aliases = [*tied_names(module), *([name] for name in names)]
    names = [*weights, *names]
    if placements or results is not None:
        axes = _mesh(mesh)
        placed = list(_placed(aliases, placements or {}, axes))
        annotate(function, "arg_attrs", placed, names)
        _annotate_results(function, found, names, placed, results, axes)
    entry = EntryFunction(program, pipeline, backend, names)
    return Compiled(entry, module, len(examples), tuple(keywords), inputs, caller, found, assumed)


def _with_examples(
    torch: Any, module: Any, examples: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any], list[str]]:
    """Return a module, its examples, and the names of all leaves of the examples.

    Raises TypeError, ValueError.
    """
    if isinstance(module, torch.export.ExportedProgram):
        if examples or keywords:
            raise ValueError(
                "an ExportedProgram has its example inputs; call the result with inputs"
            )
        examples, keywords = module.example_inputs
        names = [spec.arg.name for spec in module.graph_signature.input_specs]
        count = len(leaf_names(torch, (examples, keywords)))
        return module.module(), examples, keywords, names[len(names) - count :]
    if not isinstance(module, torch.nn.Module):
        raise TypeError(
            f"expected a torch.nn.Module or an ExportedProgram, got {type(module).__name__}"
        )
    names = _input_names(module, examples, keywords)
    given = (*examples, *keywords.values())
    leaves = [leaf_names(torch, value) for value in given]
    names = [
        f"{name}.{rest}" if rest else name
        for name, each in zip(names, leaves, strict=True)
        for rest in each
    ]
    return module, examples, keywords, names


class Compiled(CompiledEntry):
    """A compiled module. Call it with tensors like those that it was compiled for.

    Its `text` is StableHLO, or linalg if sizes are dynamic or torch-mlir converts the module only
    to linalg. The first results of the program are the new values of tensors that the module writes
    in place.
    """

    def __init__(
        self,
        entry: EntryFunction,
        module: Any,
        positional: int,
        keywords: tuple[str, ...],
        inputs: Tree,
        caller: Any,
        imported: Imported,
        assumed: AssumedSizes,
    ) -> None:
        super().__init__(entry, type(module).__name__)
        self._module, self._keywords, self._count = module, keywords, positional
        self._form = call_form(module.forward, positional, keywords)
        self._inputs, self._outputs = inputs, caller.results
        self._constants: dict[str, int] = caller.numbers if caller.folds else {}
        self._dtypes, self._written = imported.dtypes, imported.written
        self._assumed = assumed
        self._placed: dict[int, Any] = {}

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """Run on the devices of the mesh, with global tensors as inputs and results.

        Buffers, parameters and inputs that the module writes in place are updated.

        Raises TypeError for inputs that it was not compiled for, and InputError and ExecutionError
        as `mesh_opt.api.Function` does.
        """
        tensors = self._tensors(inputs, keywords)
        results = self._tensors_of(self._entry.run(self._arrays(tensors)))
        self._write(tensors, results)
        return self._outputs.value(results[len(self._written) :])

    def reference(self, *inputs: Any, **keywords: Any) -> Any:
        """Run the program before all passes in the interpreter. Updates nothing in place.

        Raises as a call does.
        """
        arrays = self._arrays(self._tensors(inputs, keywords))
        results = self._tensors_of(self.program[MAIN].reference(arrays))
        return self._outputs.value(results[len(self._written) :])

    @property
    def _kinds(self) -> Sequence[ValueType]:
        return self._entry.function.types.arguments

    def place_weights(self) -> None:
        """Copy the module's weights to the devices, where they stay for all later calls.

        Later changes of the module's weights have no effect until this method is called again.
        """
        self._placed = {}
        for index, weight in enumerate(weights_of(self._module).values()):
            self._place(index, weight)

    def _place(self, index: int, weight: Any) -> None:
        array = as_array(_import("torch"), weight, self._kinds[index])
        self._placed[index] = self._entry.function.put(array, index)

    def _tensors(self, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        """Return weights and inputs in the order of the arguments. Raises TypeError."""
        if len(inputs) != self._count or set(keywords) != set(self._keywords):
            arranged = None if self._form is None else self._form.arranged(inputs, keywords)
            if arranged is None:
                raise TypeError(
                    f"compiled for {self._count} positional inputs and the keywords"
                    f" {list(self._keywords)}, but called with {len(inputs)} and"
                    f" {list(keywords)}"
                )
            inputs, keywords = arranged
        ordered = {name: keywords[name] for name in self._keywords}
        given = self._inputs.tensors((tuple(inputs), ordered))
        weights = attached_weights(self._module)
        check_unchanged(weights, self._constants)
        tensors = [*weights.values(), *given]
        self._assumed.check(tensors)
        return tensors

    def _arrays(self, tensors: Sequence[Any]) -> list[Any]:
        torch, placed = _import("torch"), self._placed
        return [
            placed[index] if index in placed else as_array(torch, tensor, kind)
            for index, (tensor, kind) in enumerate(zip(tensors, self._kinds, strict=True))
        ]

    def _tensors_of(self, arrays: Sequence[Array]) -> list[Any]:
        torch = _import("torch")
        return [as_tensor(torch, *pair) for pair in zip(arrays, self._dtypes, strict=True)]

    def _write(self, tensors: Sequence[Any], results: Sequence[Any]) -> None:
        """Copy the new values of written tensors into the old ones."""
        for index, result in zip(self._written, results, strict=False):
            with _import("torch").no_grad():
                tensors[index].copy_(result)
            if index in self._placed:
                self._place(index, result)

    @property
    def placements(self) -> dict[str, list[tuple[str, ...]]]:
        """For each parameter, buffer and input: the axis names that split each dimension."""
        return dict(zip(self._entry.names, split_axes(self.program, 0), strict=True))

    @property
    def result_placements(self) -> list[list[tuple[str, ...]]]:
        """For each result: the axis names that split each dimension."""
        return split_axes(self.program, 1)[len(self._written) :]


# What PyTorch gives ------------------------------------------------------------------------------


@cache
def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as problem:
        message = f"mesh_opt.torch needs {name.partition('.')[0]}: pip install 'mesh-opt[torch]'"
        raise ImportError(message) from problem


def _caller(torch: Any, module: Any, inputs: Tree) -> Any:
    """Wrap a module as one that takes its weights and the tensors of its inputs by name.

    The wrapper returns the tensors of the module's results. Its `results` is set when it is traced.
    """

    trained = {name for name, weight in module.named_parameters() if weight.requires_grad}

    class Caller(torch.nn.Module):
        results: Tree
        trains = False
        """Whether the module may ask for gradients of its weights."""
        numbers = integer_buffers(module)
        folds = False
        """Whether these buffers are constants."""

        def forward(self, weights: Any, tensors: Any) -> Any:
            if self.trains:
                weights = {k: v.requires_grad_(k in trained) for k, v in weights.items()}
            given = inputs.value([*tensors.values()])
            constants = constant_tensors(torch, module, self.numbers) if self.folds else {}
            with located(torch), traceable():
                found = torch.func.functional_call(module, {**weights, **constants}, *given)
            check_unwritten(constants)
            self.results = Tree(torch, found, leaf_names(torch, found), "result")
            return self.results.tensors(found)

    return Caller()


def _input_names(module: Any, examples: Sequence[Any], keywords: Mapping[str, Any]) -> list[str]:
    """Return the names that `forward` gives its inputs."""
    bound = inspect.signature(module.forward).bind(*examples, **keywords)
    found: list[str] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found += [f"{name}[{index}]" for index in range(len(value))]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found += list(value)
        elif name not in keywords:
            found.append(name)
    positional = [name for name in found if name not in keywords]
    return [*positional, *keywords]


# Placements --------------------------------------------------------------------------------------


def _mesh(mesh: Any) -> Mesh:
    """Convert a mesh to named axes. Raises TypeError, ValueError."""
    if mesh is None:
        raise ValueError("placements are on a mesh: give mesh=(2, 2)")
    names = getattr(mesh, "mesh_dim_names", None)
    sizes: Any = mesh
    if hasattr(mesh, "items"):
        names, sizes = list(mesh.keys()), list(mesh.values())
    elif hasattr(mesh, "ndim") and hasattr(mesh, "shape"):
        sizes = tuple(mesh.shape)
    elif isinstance(mesh, int):
        sizes = (mesh,)
    if not isinstance(sizes, Iterable):
        raise TypeError(f"expected the sizes of a mesh, as (2, 2), got {mesh!r}")
    listed = list(cast("Iterable[Any]", sizes))
    names = names or [f"axis_{index}" for index in range(len(listed))]
    return checked_mesh(zip(names, listed, strict=True))


def _placed(
    aliases: Sequence[Sequence[str]], placements: Mapping[str, Any], mesh: Mesh
) -> Iterator[OfRank | None]:
    """Yield the sharding of every argument, each given by all its names.

    Raises ValueError for a pattern that matches no argument.
    """
    if not isinstance(placements, Mapping):  # pyright: ignore
        raise TypeError(
            f"placements are {placements!r}, expected a dictionary from names of parameters,"
            " buffers and inputs"
        )
    unused = set(placements)
    for names in aliases:
        fitting = [key for key in placements if any(fits(name, key) for name in names)]
        unused.difference_update(fitting)
        yield _of_rank(placements[fitting[0]], mesh, names[0]) if fitting else None
    if unused:
        known = [name for names in aliases for name in names]
        raise ValueError("; ".join(_unmatched(key, known) for key in sorted(unused)))


_SHOWN = 12
"""How many names an error message lists."""


def _unmatched(pattern: str, known: Sequence[str]) -> str:
    """Return the message for a pattern that matches no known name, with the nearest names."""
    near = get_close_matches(pattern, known, _SHOWN, 0.5)
    # Prefer names that only lack the prefix of the enclosing modules.
    near = [name for name in known if name.endswith(f".{pattern}")] or near or known
    more = f" and {len(near) - _SHOWN} others" if len(near) > _SHOWN else ""
    return (
        f"the placement for {pattern!r} matches no parameter, buffer or input; there are"
        f" {', '.join(near[:_SHOWN])}{more}, and '*' stands for any part of a name"
    )


def _of_results(count: int, results: Any, mesh: Mesh) -> list[OfRank | None]:
    """Return the sharding of every result. Raises TypeError, ValueError for invalid ones."""
    wanted: Sequence[Any] = [results] if count == 1 else results or [None] * count
    if len(wanted) != count:
        raise ValueError(f"{len(wanted)} placements for {count} results")
    return [_of_rank(each, mesh, f"result {index}") for index, each in enumerate(wanted)]


def _annotate_results(
    function: FuncOp,
    imported: Imported,
    names: Sequence[str],
    placed: Sequence[OfRank | None],
    results: Any,
    mesh: Mesh,
) -> None:
    """Annotate the results; a written tensor, one of the first, keeps the sharding of its argument.

    `names` and `placed` are those of the arguments. Raises TypeError, ValueError.
    """
    written = imported.written
    count = len(imported.dtypes) - len(written)
    shardings = [*(placed[at] for at in written), *_of_results(count, results, mesh)]
    called = [*(names[at] for at in written), *(f"result {index}" for index in range(count))]
    annotate(function, "res_attrs", shardings, called)


def _of_rank(placement: Any, mesh: Mesh, name: str) -> OfRank | None:
    """Convert a placement to shardings by rank. Raises TypeError, ValueError for invalid ones."""
    if placement is None:
        return None
    if isinstance(placement, str | int) or not isinstance(placement, Iterable):
        raise TypeError(
            f"{name} has placement {placement!r}, expected a list: the axes that split each"
            ' dimension, as [["x"], []], or a placement for each axis of the mesh, as'
            " [Shard(0), Replicate()]"
        )
    entries = list(cast("Iterable[Any]", placement))
    axes = [axis for axis, _ in mesh.axes]
    if entries and all(hasattr(entry, "is_shard") for entry in entries):
        if len(entries) != len(axes):
            raise ValueError(
                f"{name} has {len(entries)} placements, expected one for each axis of the mesh,"
                f" {axes_phrase(mesh)}"
            )
        return _of_shards(entries, mesh, name)
    dimensions: list[tuple[AxisRef, ...]] = []
    for entry in entries:
        listed = [entry] if isinstance(entry, str | int) else [] if entry is None else list(entry)
        for axis in listed:
            if isinstance(axis, int) and not 0 <= axis < len(axes):
                raise ValueError(
                    f"{name} is split along axis {axis}, but the mesh has {axes_phrase(mesh)}"
                )
        dimensions.append(
            tuple(AxisRef(axes[axis] if isinstance(axis, int) else str(axis)) for axis in listed)
        )
    return lambda rank: _sharding(mesh, [*dimensions, *[()] * (rank - len(dimensions))])


def _of_shards(entries: Sequence[Any], mesh: Mesh, name: str) -> OfRank:
    """Convert PyTorch's placements: for each axis of the mesh the dimension that it splits."""
    for entry in entries:
        if not entry.is_shard() and not entry.is_replicate():
            raise ValueError(f"{name} has placement {entry}, expected Shard or Replicate")

    def of_rank(rank: int) -> TensorSharding:
        dimensions = [list[AxisRef]() for _ in range(rank)]
        for (axis, _), entry in zip(mesh.axes, entries, strict=True):
            if entry.is_shard():
                dimension: int = entry.dim
                if not -rank <= dimension < rank:
                    there = f"Shard(0) to Shard({rank - 1})" if rank else "Replicate() alone"
                    given = f"the placement Shard({dimension})"
                    raise ValueError(f"{name} of rank {rank} has {given}, expected {there}")
                dimensions[dimension].append(AxisRef(axis))
        return _sharding(mesh, dimensions)

    return of_rank


def _sharding(mesh: Mesh, dimensions: Sequence[Sequence[AxisRef]]) -> TensorSharding:
    return TensorSharding(mesh, tuple(DimensionSharding(tuple(axes)) for axes in dimensions))
