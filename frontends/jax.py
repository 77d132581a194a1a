"""Compile JAX functions for a mesh of devices, and call them on pytrees.

    import mesh_opt

    step = mesh_opt.jax.compile(f, params, x, mesh={"x": 2, "y": 4}, in_shardings=(None, P("x")))
    result = step(params, x)            # takes pytrees; returns the result tree with NumPy arrays
    print(step.in_shardings)            # the sharding of each argument

JAX only lowers the function to StableHLO. It runs nothing, so it needs no devices for the mesh.
This module uses only JAX's documented API, and imports JAX when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dialects.sdy.attributes import AxisRef, DimensionSharding, Mesh, TensorSharding
from ..ir.garbage_collection import without_garbage_collection
from ..ir.text.parser import parse_module
from ..ir.text.source import Source
from ..programs.backends import NATIVE
from ..runtime.abi.arguments import InputError, converted
from ..runtime.abi.arrays import ValueType, narrow_integer
from ..runtime.abi.device_array import DeviceArray
from ..tools.driver import new_context
from .call_forms import CallForm, call_form
from .entry_function import (
    MAIN,
    CompiledEntry,
    EntryFunction,
    OfRank,
    annotate,
    checked_mesh,
    main_function,
    refuse_ordered_effects,
    split_axes,
)
from .jax_arguments import kept_leaves

Array = npt.NDArray[Any]
Tree = Any
"""A pytree of JAX."""


@without_garbage_collection()
def compile(
    f: Any,
    *examples: Any,
    mesh: Any = None,
    in_shardings: Tree = None,
    out_shardings: Tree = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    pipeline: str = "spmd",
    backend: str = NATIVE,
    **keywords: Any,
) -> Compiled:
    """Compile a function for the devices of a mesh.

    - `f`: a function, the result of `jax.jit`, or a `jax.stages.Traced`, `jax.stages.Lowered` or
      `jax.export.Exported`; these three take no examples;
    - `examples`, `keywords`: its arguments, or `jax.ShapeDtypeStruct`s for them;
    - `mesh`: a `jax.sharding.Mesh` or `AbstractMesh`, or a dictionary from axis names to sizes;
    - `in_shardings`, `out_shardings`: prefixes of the trees of arguments and results. Leaves are
      `PartitionSpec`s, `NamedSharding`s, or `None` to let the compiler choose;
    - `static_argnums`, `static_argnames`, `donate_argnums`: as in `jax.jit`, for a plain function;
    - `pipeline`, `backend`: as in `mesh_opt.api.compile`.

    Raises the errors of JAX's tracing, ValueError or TypeError for shardings that do not fit, and
    CompilationError as `mesh_opt.api.compile` does.
    """
    jax = _jax()
    options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
    }
    lowered = _lowered(jax, f, examples, keywords, options)
    source = Source(lowered.text, lowered.name)
    module = parse_module(new_context(), source)
    function = main_function(module)
    refuse_ordered_effects(function, source)
    kept = lowered.kept
    if kept is None:
        arguments = function.body.blocks[0].args
        kept = kept_leaves(jax, arguments, lowered.in_tree, lowered.in_avals, lowered.form)
    own = None if mesh is None else _mesh(jax, mesh)
    paths = _paths(jax, lowered.in_tree)
    names = [paths[index] for index in kept]
    if in_shardings is not None:
        listed = _shardings(jax, in_shardings, lowered.in_tree, own, paths, True)
        annotate(function, "arg_attrs", [listed[index] for index in kept], names)
    if out_shardings is not None:
        results = _paths(jax, lowered.out_tree, of_results=True)
        given = _shardings(jax, out_shardings, lowered.out_tree, own, results, False)
        annotate(function, "res_attrs", given, results)
    return Compiled(EntryFunction(module, pipeline, backend, names), lowered, tuple(kept))


class Compiled(CompiledEntry):
    """A compiled function. Call it with arguments of the tree that it was compiled for.

    Arguments may be given by position or by name, as for the original function. Static arguments
    are not passed again. Donated arguments are not overwritten.
    """

    def __init__(self, entry: EntryFunction, lowered: _Lowered, kept: tuple[int, ...]) -> None:
        super().__init__(entry, lowered.name)
        self._lowered = lowered
        self._kept = kept
        types = entry.function.types
        dtypes = [kind.dtype if kind.holds_numbers else None for kind in types.arguments]
        self._arguments = list(zip(kept, types.arguments, dtypes, entry.names, strict=True))
        self._narrow = [narrow_integer(kind.element) for kind in types.results]
        self._is_narrow = any(dtype is not None for dtype in self._narrow)

    @property
    def in_tree(self) -> Any:
        """The tree of positional and keyword arguments."""
        return self._lowered.in_tree

    @property
    def out_tree(self) -> Any:
        """The tree of the results."""
        return self._lowered.out_tree

    def __call__(self, *arguments: Any, **keywords: Any) -> Tree:
        """Run on the devices of the mesh, with global arrays as inputs and results.

        Raises ValueError for arguments of another tree, TypeError inside of `jax.jit` and other
        transformations, and InputError and ExecutionError as `mesh_opt.api.Function` does.
        """
        jax = _jax()
        inputs = self._inputs(jax, arguments, keywords)
        return jax.tree.unflatten(self.out_tree, self._results(self._entry.run(inputs)))

    def reference(self, *arguments: Any, **keywords: Any) -> Tree:
        """Run the program before all passes in the interpreter. Raises as a call does."""
        jax = _jax()
        inputs = self._inputs(jax, arguments, keywords)
        results = self.program[MAIN].reference(inputs)
        return jax.tree.unflatten(self.out_tree, self._results(results))

    def _results(self, results: Sequence[Any]) -> list[Any]:
        """Convert results to JAX's element types, including 2-bit and 4-bit integers."""
        if not self._is_narrow:
            return list(results)
        pairs = zip(results, self._narrow, strict=True)
        return [each if dtype is None else each.astype(dtype) for each, dtype in pairs]

    def _inputs(self, jax: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        leaves, tree = jax.tree.flatten((tuple(arguments), dict(keywords)))
        if tree != self._lowered.in_tree:
            leaves = self._rearranged(jax, arguments, keywords)
        return [
            _as_array(jax, leaves[index], kind, dtype, name)
            for index, kind, dtype, name in self._arguments
        ]

    def _rearranged(
        self, jax: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> list[Any]:
        """Return the leaves of arguments in the form of the call that was traced.

        Raises ValueError if they have another tree in that form too.
        """
        form = self._lowered.form
        arranged = None if form is None else form.arranged(arguments, keywords)
        leaves, tree = jax.tree.flatten(arranged or (tuple(arguments), dict(keywords)))
        if tree != self.in_tree:
            found, expected = _paths(jax, tree), _paths(jax, self.in_tree)
            told = [f"without {each}" for each in expected if each not in found]
            told += [f"with {each}" for each in found if each not in expected]
            raise ValueError(
                f"the function was compiled for arguments of the tree {self.in_tree}, but is called"
                f" {', '.join(told[:MAX_PATHS]) or f'with the tree {tree}'}"
            )
        return leaves

    @property
    def in_shardings(self) -> Tree:
        """The tree of arguments with a `PartitionSpec` for each; `None` for unused arguments."""
        jax = _jax()
        specs: list[Any] = [None] * self.in_tree.num_leaves
        for index, spec in zip(self._kept, self._specs(jax, 0), strict=True):
            specs[index] = spec
        return jax.tree.unflatten(self.in_tree, specs)

    @property
    def out_shardings(self) -> Tree:
        """The tree of the results with a `PartitionSpec` for each."""
        jax = _jax()
        return jax.tree.unflatten(self.out_tree, self._specs(jax, 1))

    def _specs(self, jax: Any, side: int) -> list[Any]:
        """Return a `PartitionSpec` for each argument (0) or result (1)."""
        specs: list[Any] = []
        for dimensions in split_axes(self.program, side):
            entries = [axes if len(axes) > 1 else axes[0] if axes else None for axes in dimensions]
            while entries and entries[-1] is None:
                entries.pop()
            specs.append(jax.sharding.PartitionSpec(*entries))
        return specs


# What JAX gives ----------------------------------------------------------------------------------


@cache
def _jax() -> Any:
    try:
        return import_module("jax")
    except ImportError as problem:
        message = "mesh_opt.jax needs JAX: pip install 'mesh-opt[jax]'"
        raise ImportError(message) from problem


MAX_PATHS = 6
"""How many missing or extra leaves an error message names."""


@dataclass(frozen=True, slots=True)
class _Lowered:
    """A program that JAX lowered, and the trees of its arguments and results."""

    name: str
    text: str
    in_tree: Any
    """The tree of positional arguments and keywords."""
    out_tree: Any
    in_avals: Sequence[Any]
    kept: Sequence[int] | None
    """Which leaves are arguments of the program; `None` if JAX does not say."""
    form: CallForm | None = None
    """How the arguments were passed; `None` if the function's signature is unknown."""


_PLATFORMS = ("cpu",)
"""Without it, JAX lowers for its default device, and refuses a context with an abstract mesh."""


def _lowered(
    jax: Any,
    f: Any,
    examples: Sequence[Any],
    keywords: Mapping[str, Any],
    options: Mapping[str, Any],
) -> _Lowered:
    if hasattr(f, "mlir_module") and hasattr(f, "module_kept_var_idx"):
        _refuse_examples("jax.export.Exported", examples, keywords)
        if len(f.platforms) > 1:
            raise ValueError(
                f"the function is exported for the platforms {', '.join(f.platforms)}; export it"
                " for one"
            )
        return _Lowered(
            f.fun_name,
            f.mlir_module(),
            f.in_tree,
            f.out_tree,
            f.in_avals,
            f.module_kept_var_idx,
        )
    if hasattr(f, "compiler_ir"):
        _refuse_examples("jax.stages.Lowered", examples, keywords)
        stage = f
    elif hasattr(f, "jaxpr") and hasattr(f, "lower"):
        _refuse_examples("jax.stages.Traced", examples, keywords)
        stage = f.lower(lowering_platforms=_PLATFORMS)
    elif hasattr(f, "trace"):
        if any(value not in ((), None) for value in options.values()):
            raise ValueError(
                f"the function is jitted already; give {', '.join(options)} to jax.jit"
            )
        stage = f.trace(*examples, **keywords).lower(lowering_platforms=_PLATFORMS)
    elif callable(f):
        traced = jax.jit(f, keep_unused=True, **options).trace(*examples, **keywords)
        stage = traced.lower(lowering_platforms=_PLATFORMS)
    else:
        raise TypeError(f"expected a function or a stage of JAX, got {type(f).__name__}")
    name = getattr(f, "__name__", "function")
    avals = jax.tree.leaves(stage.in_avals)
    text = stage.as_text(debug_info=True)
    form = _form(jax, f, stage.in_tree, len(examples) + len(keywords), options)
    return _Lowered(name, text, stage.in_tree, stage.out_tree, avals, None, form)


def _form(
    jax: Any, f: Any, in_tree: Any, given: int, options: Mapping[str, Any]
) -> CallForm | None:
    positional, keywords = jax.tree.unflatten(in_tree, [None] * in_tree.num_leaves)
    numbers, names = options["static_argnums"], options["static_argnames"]
    numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers or ())
    names = (names,) if isinstance(names, str) else tuple(names or ())
    if not numbers and not names and given != len(positional) + len(keywords):
        return None  # The function has static arguments that `jax.jit` does not reveal.
    return call_form(f, len(positional), keywords, numbers, names)


def _refuse_examples(what: str, examples: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    if examples or keywords:
        raise ValueError(f"a {what} has its arguments already; call the result with them")


# Arguments ---------------------------------------------------------------------------------------


def _paths(jax: Any, tree: Any, of_results: bool = False) -> list[str]:
    """Return JAX's names for the leaves of a tree: `args[0]['w']`, `kwargs['x']`, `result[0]`."""
    util = jax.tree_util
    pairs, _ = util.tree_flatten_with_path(jax.tree.unflatten(tree, range(tree.num_leaves)))
    if of_results:
        return [f"result{util.keystr(path)}" for path, _ in pairs]
    heads = ("args", "kwargs")
    return [f"{heads[path[0].idx]}{util.keystr(path[1:])}" for path, _ in pairs]


def _as_array(
    jax: Any, leaf: Any, kind: ValueType, expected: np.dtype[Any] | None, name: str
) -> Any:
    """Convert a leaf to an array for the program; `expected` is the dtype of its numbers.

    Python numbers and arrays of other packages are converted if their kind fits; arrays of NumPy
    and JAX get the element type that JAX gives them.

    Raises InputError with the name of a leaf that is not an array of numbers, and TypeError if JAX
    traces the call.
    """
    if leaf.__class__ is np.ndarray and expected is not None and leaf.dtype == expected:
        return leaf
    if isinstance(leaf, DeviceArray):
        return leaf
    if isinstance(leaf, jax.core.Tracer):
        raise TypeError(
            f"{name} is traced: a compiled function has no rules for jax.jit, jax.grad or jax.vmap;"
            " use these in the function before it is compiled"
        )
    if not isinstance(leaf, np.ndarray | np.generic | jax.Array):
        array = converted(name, leaf, kind)
    elif jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(leaf))
    else:
        array = np.asarray(leaf)
        if expected is not None and array.dtype != expected:
            canonical = jax.dtypes.canonicalize_dtype(array.dtype)
            array = array.astype(expected) if canonical == expected else array
    if array.dtype.kind not in "biufcV":
        raise InputError(f"{name} is {type(leaf).__name__}, expected {kind}")
    return array


# Shardings ---------------------------------------------------------------------------------------


def _mesh(jax: Any, mesh: Any) -> Mesh:
    """Convert a mesh of any kind to axis names and sizes. Raises TypeError, ValueError."""
    extents: Any = mesh if hasattr(mesh, "items") else getattr(mesh, "shape", None)
    if not hasattr(extents, "items"):
        raise TypeError(
            f"expected a mesh of JAX, or sizes as {{'x': 2, 'y': 4}}, got {type(mesh).__name__}"
        )
    return checked_mesh(extents.items())


def _shardings(
    jax: Any,
    prefix: Tree,
    tree: Any,
    mesh: Mesh | None,
    names: Sequence[str],
    of_arguments: bool,
) -> list[OfRank | None]:
    """Return the sharding of every leaf, from a prefix of the tree."""
    spec_type = jax.sharding.PartitionSpec

    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, spec_type | jax.sharding.Sharding)

    whole = jax.tree.unflatten(tree, [0] * tree.num_leaves)
    if of_arguments:
        # `in_shardings` covers positional arguments; the compiler chooses for keywords.
        positional, keywords = whole
        specs = _broadcast(jax, prefix, positional, is_leaf, "arguments")
        specs += [None] * len(jax.tree.leaves(keywords))
    else:
        specs = _broadcast(jax, prefix, whole, is_leaf, "results")
    return [
        None if spec is None else _sharding(jax, spec, mesh, name)
        for name, spec in zip(names, specs, strict=True)
    ]


def _broadcast(
    jax: Any, prefix: Tree, whole: Tree, is_leaf: Callable[[Any], bool], role: str
) -> list[Any]:
    what = "in_shardings" if role == "arguments" else "out_shardings"
    if is_leaf(prefix):
        return [prefix] * len(jax.tree.leaves(whole))
    if isinstance(prefix, list) and isinstance(whole, tuple):
        prefix = tuple(prefix)  # pyright: ignore
    # Broadcast indices of the specs: `None` is a leaf of `prefix`, but not of `whole`.
    given, structure = jax.tree.flatten(prefix, is_leaf=is_leaf)
    numbers = jax.tree.unflatten(structure, range(len(given)))
    try:
        spread = jax.tree.broadcast(numbers, whole)
    except ValueError as problem:
        told = str(problem).replace("broadcast_prefix prefix_tree", what)
        raise ValueError(f"{what} is not a prefix of the tree of {role}: {told}") from problem
    return [given[number] for number in jax.tree.leaves(spread)]


def _sharding(jax: Any, spec: Any, mesh: Mesh | None, name: str) -> OfRank:
    if isinstance(spec, jax.sharding.NamedSharding):
        mesh, spec = _mesh(jax, spec.mesh), spec.spec
    if not isinstance(spec, jax.sharding.PartitionSpec):
        raise TypeError(
            f"{name}: expected a PartitionSpec or a NamedSharding, got {type(spec).__name__}: other"
            " shardings name devices, which the program does not have yet"
        )
    if mesh is None:
        raise ValueError(f"{name}: {spec} has no mesh: give mesh=..., or a NamedSharding")
    if getattr(spec, "unreduced", None):
        raise ValueError(f"{name}: {spec} is an unreduced sum, which is not supported")
    return _Spec(mesh, tuple(spec), jax.sharding.PartitionSpec.UNCONSTRAINED).sharding


@dataclass(frozen=True, slots=True)
class _Spec:
    """A PartitionSpec on a mesh. It does not know the rank of its tensor."""

    mesh: Mesh
    entries: tuple[Any, ...]
    unconstrained: Any

    def sharding(self, rank: int) -> TensorSharding:
        """Return the sharding of a tensor of this rank."""
        dimensions: list[DimensionSharding] = []
        for entry in (*self.entries, *[None] * (rank - len(self.entries))):
            if entry is self.unconstrained:
                dimensions.append(DimensionSharding(is_open=True))
                continue
            names = () if entry is None else (entry,) if isinstance(entry, str) else entry
            dimensions.append(DimensionSharding(tuple(AxisRef(str(name)) for name in names)))
        return TensorSharding(self.mesh, tuple(dimensions))
