"""Convert an exported PyTorch program to MLIR with torch-mlir, and explain its failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from ..aten.decomposition_table import decompositions, known_decompositions
from ..aten.inline_mlir import (
    fill_bodies,
    inline_mlir_op,
    is_inline_mlir,
    lower,
    outline_inline_mlir,
    with_functions,
)
from ..aten.rules import either, is_static
from .graph_control_flow import (
    constants_of,
    convert_conditions,
    inline_control_flow,
    refused_control_flow,
    refused_half_complex,
    refused_masks,
)
from .graph_loops import call_loops
from .graph_numbers import compute_numbers, settle_sizes
from .graph_views import carry_views
from .substitutes import composites_listed_once
from .tracing import place_of, user_line

Table = Mapping[Any, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class _ConversionFailure:
    """Why torch-mlir did not convert a program to the dialects of `output`."""

    output: str
    operations: tuple[str, ...]
    """The operations without a conversion, if they caused the failure."""
    lines: tuple[str, ...]
    """Their source lines in the user's modules, as `file:line`."""
    message: str
    """The message of torch-mlir, if the operations alone do not explain the failure."""


class _RefusedError(Exception):
    """Tells that an operation is refused before torch-mlir's passes run."""

    def __init__(self, failure: _ConversionFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Imported:
    """A program that torch-mlir has converted."""

    text: str
    dtypes: list[Any]
    """The types of the results; `None` for numbers that are not tensors."""
    written: list[int]
    """Indices of the inputs whose new values are the first results."""


def check_dtypes(tensors: Mapping[str, Any]) -> None:
    """Raise TypeError for the first tensor with elements of a type that is not taken.

    torch-mlir reads complex numbers of f16, but does not convert them.
    """
    half_complex = import_module("torch").complex32
    listed = import_module("torch_mlir.extras.fx_importer").TORCH_DTYPE_TO_MLIR_TYPE_ASM
    known = [each for each in listed if each != half_complex]
    for name, tensor in tensors.items():
        if tensor.dtype not in known:
            others = ", ".join(str(each).removeprefix("torch.") for each in known)
            raise TypeError(
                f"{name} is of {tensor.dtype}, which torch-mlir does not take; it takes {others}"
            )


def import_program(
    torch: Any, fx: Any, exported: Any, outputs: Sequence[str], name: str, *, inner: bool = False
) -> Imported:
    """Convert an exported program to MLIR text, with its function named `name`.

    torch-mlir tries the dialects of `outputs` in order; the first that succeeds counts. Operations
    without a conversion are decomposed by PyTorch's own rules, if it has any. An `inner` program is
    part of another one: its text has no aliases and no resource constants.

    Raises ValueError if no conversion succeeds, with the operations and the lines of the user's
    module, and EffectError.
    """
    inline_control_flow(torch, exported.graph_module)
    _drop_matrix_checks(torch, exported.graph_module.graph)
    exported.constants.update(constants_of(torch, exported.graph_module))
    graph_module = exported.graph_module
    refused = refused_masks(torch, graph_module) | refused_half_complex(torch, graph_module)
    if refused:
        raise ValueError(_failure_message([_refusal(each, refused) for each in outputs]))

    def called(loop: Any, function: str) -> str:
        found = import_program(torch, fx, loop, outputs, function, inner=True)
        if found.written:
            raise EffectError(
                "a loop writes to its operands in place: return the new values instead"
            )
        return found.text

    functions = call_loops(torch, exported.graph_module, called, name)
    refusals: list[_ConversionFailure] = []
    for output in outputs:
        own = decompositions()
        table = {**fx.get_decomposition_table(), **own}
        first: _ConversionFailure | None = None
        while True:
            found = _attempt(torch, fx, exported, output, name, table, inner)
            if isinstance(found, Imported):
                if inner and "dense_resource" in found.text:
                    raise ValueError(
                        "a loop has a constant tensor in its condition or body: make it before the"
                        " loop, and pass it among the operands"
                    )
                text = with_functions(found.text, functions)
                return replace(found, text=text)
            # The first refusal names the user's operations; later ones name parts of them.
            first = first or found
            known = known_decompositions(found.operations)
            more = {each: known[each] for each in known if each not in table or each in own}
            if not more:
                break
            # Our rule may leave some forms of an operation to PyTorch's rule.
            table |= {each: either(own.get(each), rule) for each, rule in more.items()}
            own = {each: rule for each, rule in own.items() if each not in more}
        refusals.append(first)
    raise ValueError(_failure_message(refusals))


def _attempt(
    torch: Any, fx: Any, exported: Any, output: str, name: str, table: Table, inner: bool
) -> Imported | _ConversionFailure:
    """Convert a program after the decompositions of `table`, or return why that failed."""
    ir, dialect = import_module("torch_mlir.ir"), import_module("torch_mlir.dialects.torch")
    failure = import_module("torch_mlir.compiler_utils").TorchMlirCompilerError
    said: list[tuple[str, str]] = []

    def hear(diagnostic: Any) -> bool:
        said.append((str(diagnostic.message), str(diagnostic.location)))
        return True

    context = ir.Context()
    dialect.register_dialect(context)
    handler = context.attach_diagnostic_handler(hear)
    try:
        with _refused_at_operations(output), composites_listed_once():
            taken_apart = exported.run_decompositions(table)
        settle_sizes(torch, taken_apart.graph_module)
        written = _results_of_writes(taken_apart)
        importer = import_module("torch_mlir.extras.fx_importer")
        convert_conditions(torch, taken_apart.graph_module)
        compute_numbers(torch, taken_apart.graph_module)
        control = refused_control_flow(torch, importer, taken_apart.graph_module)
        if control:
            return _refusal(output, control)
        random = _random_operations(torch, taken_apart.graph_module)
        if random and output == "linalg-on-tensors":
            return _refusal(output, random, "it draws random numbers")
        carry_views(torch, taken_apart.graph_module)
        _fill_empty_tensors(torch, taken_apart.graph_module)
        with _refused_at_operations(output):
            found = fx.export_and_import(
                taken_apart,
                output_type="raw",
                func_name=name,
                fx_importer=fx.FxImporter(context=context),
                decomposition_table={},
            )
        with context:
            bodies = outline_inline_mlir(found, name)
        try:
            lower(found, output, calls=bool(bodies))
        except failure as problem:
            return _unlowered(ir, found, output, said, str(problem))
    except _RefusedError as refused:
        return refused.failure
    finally:
        handler.detach()
    text = fill_bodies(found.operation.get_asm(use_local_scope=inner), bodies)
    values = [node.meta["val"] for node in taken_apart.graph.output_node().args[0]]
    return Imported(text, [getattr(each, "dtype", None) for each in values], written)


def _random_operations(torch: Any, graph_module: Any) -> dict[str, str]:
    """Return the operations that draw random numbers, each with its trace.

    Ours have the tag of these, but draw none.
    """
    tag = torch.Tag.nondeterministic_seeded
    return {
        str(node.target): node.stack_trace or ""
        for node in graph_module.graph.nodes
        if tag in getattr(node.target, "tags", ()) and not is_inline_mlir(node.target)
    }


@contextmanager
def _refused_at_operations(output: str) -> Generator[None]:
    """Turn any error at an operation of the program into a refusal; others are faults, and pass."""
    try:
        yield
    # Decompositions and torch-mlir's importer may raise any exception.
    except Exception as problem:
        operation, trace = place_of(problem)
        if not operation:
            raise
        message = str(problem)
        if not isinstance(problem, NotImplementedError):
            message = f"{type(problem).__name__}: {message}"
        raise _RefusedError(_refusal(output, {operation: trace}, message)) from problem


def _unlowered(
    ir: Any, module: Any, output: str, said: Sequence[tuple[str, str]], message: str
) -> _ConversionFailure:
    """Return why torch-mlir's passes failed: what they `said`, each with its location."""
    operations = unsupported_operations([each for each, _ in said])
    if not operations and said and _CONSTANT in said[0][0]:
        operations = _unconverted(ir, module)
    lines = dict.fromkeys(line for _, place in said if (line := user_line(place)))
    first = said[0][0] if said else message.strip()
    return _ConversionFailure(
        output, tuple(operations), tuple(lines), "" if operations else first.partition("\n")[0]
    )


def _unconverted(ir: Any, module: Any) -> list[str]:
    """Return the ATen operations that remain in a module, each once."""
    names: dict[str, None] = {}

    def visit(operation: Any) -> Any:
        if operation.name.startswith("torch.aten."):
            names[operation.name.removeprefix("torch.")] = None
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return list(names)


def _refusal(output: str, found: Mapping[str, str], message: str = "") -> _ConversionFailure:
    """Return a refusal for operations by name, each with a trace of its source location."""
    places = ("\n".join(reversed(trace.splitlines())) for trace in found.values())
    lines = dict.fromkeys(line for place in places if (line := user_line(place)))
    return _ConversionFailure(
        output, tuple(found), tuple(lines), message.strip().partition("\n")[0]
    )


def _failure_message(refusals: Sequence[_ConversionFailure]) -> str:
    """Return the error message for a module that was refused for all outputs."""
    outputs: dict[str, list[str]] = {}
    for each in refusals:
        what = ", ".join(each.operations) or "the program"
        what += f" ({each.message})" if each.message else ""
        outputs.setdefault(what, []).append(each.output)
    told = [f"{what} to {' or '.join(listed)}" for what, listed in outputs.items()]
    lines = list(dict.fromkeys(line for each in refusals for line in each.lines))
    where = f", which is written at {', '.join(lines)}" if lines else ""
    # Some operations are only converted to StableHLO, where sizes are known.
    is_dynamic = all(each.output == "linalg-on-tensors" for each in refusals)
    known = ", leave its sizes out of dynamic_shapes" if is_dynamic else ""
    return (
        f"torch-mlir has no conversion of {', nor of '.join(told)}{where}: write the module"
        f" without{known}, or compile an ExportedProgram whose run_decompositions replaced it"
    )


def _drop_matrix_checks(torch: Any, graph: Any) -> None:
    """Drop the checks of singular matrices, whose inverses have infinities or NaN."""
    check = torch.ops.aten._linalg_check_errors.default
    for node in graph.find_nodes(op="call_function", target=check):
        graph.erase_node(node)


_OPERATOR = re.compile(r'"torch\.operator".*?name = "torch\.([\w.]+)"', re.DOTALL)
_OPERATION = re.compile(r"failed to legalize operation 'torch\.([\w.]+)'")
_CONSTANT = "failed to legalize operation 'torch.constant."
"""torch-mlir's message about an operand, when the operation that uses it has no conversion."""

_INNER = ("constant.", "runtime.", "prim.", "prims.")
"""torch-mlir's own operations, which remain when the operations that use them are not converted."""


def unsupported_operations(messages: Sequence[str]) -> list[str]:
    """Return the PyTorch operations that torch-mlir's messages name, each once."""
    names = [
        name
        for message in messages
        for name in _OPERATOR.findall(message) or _OPERATION.findall(message)
    ]
    return [name for name in dict.fromkeys(names) if not name.startswith(_INNER)]


def _fill_empty_tensors(torch: Any, graph_module: Any) -> None:
    """Replace operations whose results have no elements by constants."""
    graph = graph_module.graph
    for node in graph.nodes:
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.Tensor):
            continue
        if is_static(value.shape) and 0 in value.shape:
            # Change the node in place: outputs refer to its name.
            node.target = torch.ops.aten.full.default
            node.args = (list(value.shape), 0)
            node.kwargs = {"dtype": value.dtype}
            if value.dtype == torch.uint8:  # torch-mlir would make signed constants
                body = "%r = stablehlo.constant dense<0> : {r}"
                node.target, node.kwargs = inline_mlir_op(0), {}
                node.args = (body, list(value.shape), "uint8")
    graph.eliminate_dead_code()
    graph_module.recompile()


class EffectError(ValueError):
    """A module writes a tensor that is neither its own nor an input."""


def _results_of_writes(taken_apart: Any) -> list[int]:
    """Make results of the inputs that a decomposed program writes; return their numbers.

    Some writes become visible only in the decomposed program. Raises EffectError.
    """
    signature = taken_apart.graph_signature
    inputs = [spec.arg.name for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
    results_kind = import_module("torch.export.graph_signature").OutputKind.USER_OUTPUT
    written: list[int] = []
    for spec in signature.output_specs:
        if spec.kind.name == "USER_INPUT_MUTATION":
            written.append(inputs.index(spec.target))
            spec.kind, spec.target = results_kind, None
        elif spec.kind.name == "TOKEN":
            raise EffectError(_effects(taken_apart.graph))
        elif spec.kind.name != "USER_OUTPUT":
            raise EffectError(
                f"the module writes {spec.target} ({spec.kind.name}), which is not a buffer: "
                "register it by register_buffer"
            )
    return written


def _effects(graph: Any) -> str:
    """Name the operations that do more than compute results, and their lines in the module."""
    found = [node for node in graph.nodes if str(node.target) == "with_effects"]
    names = dict.fromkeys(str(node.args[1]) for node in found)
    traces = ("\n".join(reversed((node.stack_trace or "").splitlines())) for node in found)
    lines = dict.fromkeys(line for trace in traces if (line := user_line(trace)))
    where = f", which is written at {', '.join(lines)}" if lines else ""
    if set(names) == {"aten._linalg_check_errors.default"}:
        return (
            f"the module solves, inverts or factorises matrices{where}, whose rows and columns must"
            " be known: leave them out of dynamic_shapes"
        )
    return f"the module runs {', '.join(names)}{where}: a program only computes its results"
