"""Trace a module, and report what PyTorch cannot trace with the line of the module."""

from __future__ import annotations

import re
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ..aten.decomposition_table import decompositions, known_decompositions
from ..aten.rules import either


def trace(torch: Any, caller: Any, arguments: tuple[Any, ...], dynamic_shapes: Any) -> Any:
    """Return the exported program of a module for these arguments.

    Modules that use gradients or `torch.func` transforms are first traced by `make_fx`, with
    `caller.trains` set: torch.export does not support gradients, and leaves the levels of `vmap` in
    its graph. A module that cannot be traced otherwise is traced with `caller.folds` set, so that
    sizes may depend on its integer buffers.
    """
    leaves, spec = torch.utils._pytree.tree_flatten(arguments)
    leaves = list(_apart(leaves))
    arguments = torch.utils._pytree.tree_unflatten(leaves, spec)
    try:
        found = torch.export.export(caller, arguments, dynamic_shapes=dynamic_shapes)
    except Exception as problem:
        cause = problem.__cause__ if isinstance(problem, TracingError) else problem
        if _asks_for_numbers(str(cause)) and caller.numbers and not caller.folds:
            caller.folds = True
            return trace(torch, caller, arguments, dynamic_shapes)
        frames = traceback.extract_tb(None if cause is None else cause.__traceback__)
        transformed = any("_functorch" in Path(frame.filename).parts for frame in frames)
        asked = any(each in str(problem) for each in _GRADIENTS)
        if not (transformed or asked) or dynamic_shapes is not None:
            raise
    else:
        calls = [node.target for node in found.graph.nodes if node.op == "call_function"]
        levels = any(str(getattr(each, "__module__", "")).startswith(_LEVELS) for each in calls)
        refused = dynamic_shapes is None and any(map(_is_refused_backward, calls))
        if not (levels or refused):
            return found

    def flat(*leaves: Any) -> Any:
        return caller(*torch.utils._pytree.tree_unflatten(leaves, spec))

    caller.trains = True
    make = import_module("torch.fx.experimental.proxy_tensor").make_fx
    options = {"record_stack_traces": True, "_allow_non_fake_inputs": True}
    # With oneDNN, an LSTM is one operation that has no decomposition.
    with torch.backends.mkldnn.flags(enabled=False), _decomposed_for_gradients(torch):
        graph = make(flat, tracing_mode="fake", **options)(*leaves)
    return torch.export.export(graph, tuple(leaves))


_GRADIENTS = ("functorch", "does not require grad", "fake tensor in the exported program constant")
"""Parts of PyTorch's messages about modules that use gradients or transforms; the last is about
tensors that a forward pass saved for the backward pass."""


_WITHOUT_BACKWARD = (
    *(f"replication_pad{rank}d" for rank in (1, 2, 3)),
    *("_adaptive_avg_pool2d", "_embedding_bag", "grid_sampler_2d"),
)
"""Operations whose backward operations are decomposed neither by our rules nor by PyTorch's."""


def _is_refused_backward(operation: Any) -> bool:
    name = str(operation).removeprefix("aten.")
    return "backward" in name and name.startswith(_WITHOUT_BACKWARD)


@contextmanager
def _decomposed_for_gradients(torch: Any) -> Generator[None]:
    """Take gradients of the decompositions of some operations, as PyTorch does for resizing."""
    key, own = torch._C.DispatchKey.Autograd, decompositions()
    rules = {**own, **known_decompositions([f"aten.{name}" for name in _WITHOUT_BACKWARD])}
    operations = [getattr(torch.ops.aten, name).default for name in _WITHOUT_BACKWARD]
    try:
        for each in operations:
            each.py_impl(key)(either(own.get(each), rules[each]))
        with import_module("torch._dispatch.python").enable_python_dispatcher():
            yield
    finally:
        for each in operations:
            del each.py_kernels[key]
            each._dispatch_cache.clear()


def _asks_for_numbers(message: str) -> bool:
    return "data-dependent" in message or _CONCRETE in message


_CONCRETE = "expected to contain only concrete integers"
"""PyTorch's message about sizes that are elements of tensors."""


def _apart(tensors: Sequence[Any]) -> Generator[Any]:
    """Yield tensors with storage of their own: examples may share a tensor where calls pass two.

    Of a view PyTorch also guards the sizes of its base, which decompositions do not have.
    """
    known: set[int] = set()
    for each in tensors:
        place = each.untyped_storage().data_ptr()
        yield each.clone() if place in known or each._is_view() else each
        known.add(place)


_LEVELS = "torch._functorch"
"""The module of the functions that begin and end a level of a `torch.func` transform."""


FRONT_ENDS = Path(__file__).parents[1]
"""The folder of our files, whose lines are not the user's."""


class TracingError(ValueError):
    """torch.export cannot trace a module."""


@contextmanager
def located(torch: Any) -> Generator[None]:
    """Raise TracingError for PyTorch's errors in a call of a module, with the line of the call.

    Errors that the module itself raises stay unchanged.
    """
    try:
        yield
    except Exception as problem:
        package = Path(torch.__file__).parent
        frames = traceback.extract_tb(problem.__traceback__)
        files = [Path(each.filename) for each in frames]
        lines = [
            f"{file}:{frame.lineno}"
            for file, frame in zip(files, frames, strict=True)
            if FRONT_ENDS not in file.parents and package not in file.parents and file.is_file()
        ]
        if package not in files[-1].parents or not lines:
            raise
        raise TracingError(
            f"{lines[-1]}: torch.export cannot trace this code, {_phrase(problem)}"
        ) from problem


def _phrase(problem: Exception) -> str:
    """Describe the problem in one line."""
    name, text = type(problem).__name__, str(problem).strip()
    if "data-dependent" in text:
        # Omit the symbols of the trace, which mean nothing to the module's author.
        cause = re.search(r"^Caused by: \((.*)\)$", text, re.M)
        within = f" ({cause[1]})" if cause and "__torch_function__" not in cause[1] else ""
        return (
            f"where Python branches on the elements of a tensor{within}: use torch.cond or"
            " torch.where, or pass values that do not depend on elements as arguments"
            f" ({name})"
        )
    if _CONCRETE in text:
        return f"where a size depends on the elements of a tensor: pass it as a number ({name})"
    first = text.partition("\n")[0]
    if re.fullmatch(r"aten\.[\w.]+", first):
        return f"{first}, whose result depends on the elements of tensors ({name})"
    return f"{name}: {first}"


def place_of(problem: BaseException) -> tuple[str, str]:
    """Return the operation at which PyTorch or torch-mlir failed, and the trace of its source.

    It is the last graph node in the local variables of the failing frames; two empty strings if
    there is none.
    """
    found, frame = None, problem.__traceback__
    while frame is not None:
        for name in ("node", "n"):
            value = frame.tb_frame.f_locals.get(name)
            if type(value).__name__ == "Node" and hasattr(value, "stack_trace"):
                found = value
        frame = frame.tb_next
    if found is None or found.op != "call_function":
        return "", ""
    return str(found.target), found.stack_trace or ""


_PLACE = re.compile(r'"([^"]+)"(?::|, line )(\d+)')


def user_line(location: str) -> str:
    """Return the innermost source line outside of this package and PyTorch, or an empty string.

    `location` is a location of MLIR, or lines of a Python trace from the innermost on.
    """
    for file, line in _PLACE.findall(location):
        path = Path(file)
        # Code that PyTorch generates has no file.
        if file.startswith("<eval_with_key>"):
            continue
        if "torch" not in path.parts and FRONT_ENDS not in path.parents:
            return f"{file}:{line}"
    return ""
