"""Carry StableHLO and CHLO operations that torch-mlir does not convert through it.

Each becomes a call of a function without a body, and gets its body after the conversion:

    erfc(x)  ->  mesh_opt.carried_1("%r = chlo.erfc %a0 : {0} -> {r}", shape, dtype, x)
             ->  call @carried_0(%x), where @carried_0 finally contains the text
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from .rules import torch

_NAMESPACE = "mesh_opt"
_OPERATIONS = ("torch.mesh_opt.carried_", "torch.mesh_opt.looped_")


def emit_inline_mlir(body: str, shape: Sequence[Any], dtype: Any, *operands: Any) -> Any:
    """Return a tensor that `body`, MLIR text, computes as `%r` from the operands `%a0`, `%a1`, ...

    In the text `{0}`, `{1}`, ... stand for the types of the operands, and `{r}` for the type of the
    result. `{0:[2, ?]}` is a type with the same elements and another shape.
    """
    # Pass the name of the type: torch-mlir numbers types in another order.
    kind = str(dtype).removeprefix("torch.")
    return inline_mlir_op(len(operands))(body, list(shape), kind, *operands)


def emit_elementwise(body: str, *operands: Any) -> Any:
    """Return a tensor like the first operand that `body` computes; see `emit_inline_mlir`."""
    x = operands[0]
    return emit_inline_mlir(body, x.shape, x.dtype, *operands)


def emit_results(
    body: str, results: Sequence[tuple[Sequence[Any], Any]], *operands: Any
) -> list[Any]:
    """Return the tensors, of these shapes and types, that `body` computes as `%results`.

    Each is a computation of its own, of which equal ones are merged.
    """
    found: list[Any] = []
    for index, (shape, dtype) in enumerate(results):
        names = ", ".join("%r" if at == index else f"%o{at}" for at in range(len(results)))
        found.append(emit_inline_mlir(body.replace("%results", names), shape, dtype, *operands))
    return found


def inline_mlir_loop_op(count: int, carried: int) -> Any:
    """Return an operation of `count` operands whose text computes `%r`.

    The results have the types of the first `carried` operands.
    """

    def traced(body: str, *operands: Any) -> Any:
        found = [each.new_empty(each.shape) for each in operands[:carried]]
        return found[0] if carried == 1 else tuple(found)

    results = f"({', '.join(['Tensor'] * carried)})" if carried > 1 else "Tensor"
    return _defined(f"looped_{count}_{carried}", (), count, results, traced)


def inline_mlir_op(count: int) -> Any:
    """Return an operation of a text, the result's shape and type, and `count` operands."""

    def traced(body: str, shape: Sequence[Any], dtype: str, *operands: Any) -> Any:
        return operands[0].new_empty(shape, dtype=getattr(torch, dtype))

    return _defined(f"carried_{count}", ("SymInt[] shape", "str dtype"), count, "Tensor", traced)


def is_inline_mlir(target: Any) -> bool:
    """Return whether an operation of a graph is one that was defined here."""
    return getattr(target, "namespace", None) == _NAMESPACE


def _defined(
    name: str, options: Sequence[str], count: int, results: str, traced: Callable[..., Any]
) -> Any:
    """Define an operation of PyTorch that can be traced but not run, once for each name."""
    if name not in _DEFINED:
        library = torch.library.Library(_NAMESPACE, "FRAGMENT")
        operands = (f"Tensor a{index}" for index in range(count))
        taken = ", ".join(("str body", *options, *operands))
        # PyTorch runs an operation of constants while it traces, unless it has this tag.
        tags = (torch.Tag.nondeterministic_seeded,)
        library.define(f"{name}({taken}) -> {results}", tags=tags)
        torch.library.register_fake(f"{_NAMESPACE}::{name}", traced, lib=library)
        _DEFINED[name] = library
    return getattr(getattr(torch.ops, _NAMESPACE), name).default


_DEFINED: dict[str, Any] = {}
"""Libraries of the defined operations by name. An operation disappears with its library."""


def outline_inline_mlir(module: Any, name: str) -> dict[str, str]:
    """Replace carried operations in a torch-mlir module by calls of declared functions.

    Return the text for the body of each function. Function names contain `name`, that of the
    module's own function.
    """
    ir = import_module("torch_mlir.ir")
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name == "torch.operator":
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    bodies: dict[str, str] = {}
    for operation in found:
        kind = ir.StringAttr(operation.attributes["name"]).value
        if not kind.startswith(_OPERATIONS):
            continue
        text, *operands = operation.operands
        if kind.startswith(_OPERATIONS[0]):
            del operands[:2]
        called = f"{_NAMESPACE}.{name}_carried_{len(bodies)}"
        bodies[called] = ir.StringAttr(text.owner.attributes["value"]).value
        results = [each.type for each in operation.results]
        function_type = ir.FunctionType.get([each.type for each in operands], results)
        attributes = {
            "sym_name": ir.StringAttr.get(called),
            "function_type": ir.TypeAttr.get(function_type),
            "sym_visibility": ir.StringAttr.get("private"),
        }
        with operation.location:
            with ir.InsertionPoint(module.body):
                ir.Operation.create("func.func", attributes=attributes, regions=1)
            with ir.InsertionPoint(operation):
                call = ir.Operation.create(
                    "func.call",
                    attributes={"callee": ir.FlatSymbolRefAttr.get(called)},
                    results=results,
                    operands=operands,
                )
        for old, new in zip(operation.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        operation.erase()
    return bodies


def lower(module: Any, output: str, *, calls: bool) -> None:
    """Convert a module to the dialects of `output`.

    With `calls`, keep calls of declared functions.
    """
    utilities = import_module("torch_mlir.compiler_utils")
    pass_manager = import_module("torch_mlir.passmanager").PassManager
    utilities.run_pipeline_with_repro_report(
        module,
        "builtin.module(func.func(torch-match-quantized-custom-ops),"
        "torchdynamo-export-to-torch-backend-pipeline)",
        "Lowering TorchFX IR -> Torch Backend IR",
    )
    if not calls:
        utilities.lower_mlir_module(False, utilities.OutputType.get(output), module)
        return
    pipeline = (
        f"builtin.module(torch-backend-to-{output}-backend-pipeline{{allow-non-finites=true}})"
    )
    with module.context:
        passes = str(pass_manager.parse(pipeline))
    # Drop the contract verification, which rejects calls, and the passes after it, which concern
    # dynamic sizes. Drop the CHLO pass too, whose name cannot be parsed: our passes convert CHLO.
    passes = re.sub(r",torch-verify-[\w-]+-backend-contract(,.*)?\)$", ")", passes)
    passes = passes.replace("func.func(chlo-legalize-to-stablehlo),", "")
    utilities.run_pipeline_with_repro_report(module, passes, "Lowering Torch Backend IR")


_DECLARED = re.compile(
    r"^ *func\.func private @([\w.]+)\((.*)\) -> (\S+|\(.*\))( attributes .*)?$", re.M
)
_TENSOR = re.compile(r"tensor<[^<>]*(?:<[^<>]*>)?>")


_ELEMENTS = re.compile(r"tensor<(?:[\d?]+x)*(.+)>")


class _Type(str):
    """The text of a tensor type. The format spec `{:[2, 3]}` replaces its shape."""

    def __format__(self, shape: str) -> str:
        found = _ELEMENTS.fullmatch(self)
        if not shape or found is None:
            return str(self)
        sizes = "".join(f"{size}x" for size in re.findall(r"[0-9]+|[?]", shape))
        return f"tensor<{sizes}{found[1]}>"


def fill_bodies(text: str, bodies: Mapping[str, str]) -> str:
    """Return a program with the bodies of declared functions filled in."""

    def define(match: re.Match[str]) -> str:
        name, operands, result, _ = match.groups()
        if name not in bodies:
            return match[0]
        types, results = _TENSOR.findall(operands), _TENSOR.findall(result)
        arguments = ", ".join(f"%a{index}: {kind}" for index, kind in enumerate(types))
        body = bodies[name].format(*map(_Type, types), r=result)
        values = ", ".join(f"%r#{at}" for at in range(len(results))) if len(results) > 1 else "%r"
        head = f"func.func private @{name}({arguments}) -> {result}"
        return f"{head} {{\n{body}\nfunc.return {values} : {', '.join(results)}\n}}"

    return _DECLARED.sub(define, text)


def with_functions(text: str, functions: Sequence[str]) -> str:
    """Append functions, the bodies of other modules without aliases, to a program."""
    end = text.rindex("}", 0, text.find("{-#") if "{-#" in text else len(text))
    inner = [each[each.index("{\n") + 2 : each.rindex("}")] for each in functions]
    return "".join((text[:end], *inner, text[end:]))
