"""Operations that StableHLO has and torch-mlir does not convert.

Each passes through torch-mlir as a call of a function without a body:

    erfc(x)  ->  mesh_opt.carried_1("%r = chlo.erfc %a0 : {0} -> {r}", shape, dtype, x)
             ->  call @carried_0(%x), and in the end what the text says in @carried_0
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

_NAMESPACE = "mesh_opt"
_OPERATIONS = ("torch.mesh_opt.carried_", "torch.mesh_opt.looped_")


def carry(torch: Any, body: str, shape: Sequence[Any], dtype: Any, *operands: Any) -> Any:
    """A tensor that `body` computes as `%r` from the operands `%a0`, `%a1`, ...

    In the text `{0}`, `{1}`, ... are the types of the operands, and `{r}` that of the result;
    `{0:[2, ?]}` is a type of the same elements with another shape.
    """
    # torch-mlir knows numbers of another order for the types.
    kind = str(dtype).removeprefix("torch.")
    return carried_operation(torch, len(operands))(body, list(shape), kind, *operands)


def looped(torch: Any, count: int, carried: int) -> Any:
    """An operation whose text makes `%r` of `count` operands: values like the first `carried`."""

    def traced(body: str, *operands: Any) -> Any:
        del body
        found = [each.new_empty(each.shape) for each in operands[:carried]]
        return found[0] if carried == 1 else tuple(found)

    results = f"({', '.join(['Tensor'] * carried)})" if carried > 1 else "Tensor"
    return _defined(torch, f"looped_{count}_{carried}", "", count, results, traced)


def carried_operation(torch: Any, count: int) -> Any:
    """An operation that takes a text, the shape and type of its result, and `count` operands."""

    def traced(body: str, shape: Sequence[Any], dtype: str, *operands: Any) -> Any:
        del body
        return operands[0].new_empty(shape, dtype=getattr(torch, dtype))

    return _defined(
        torch, f"carried_{count}", "SymInt[] shape, str dtype, ", count, "Tensor", traced
    )


def _defined(
    torch: Any, name: str, options: str, count: int, results: str, traced: Callable[..., Any]
) -> Any:
    """An operation of PyTorch of so many operands, which is traced and cannot be run."""
    if name not in _DEFINED:
        library = torch.library.Library(_NAMESPACE, "FRAGMENT")
        operands = ", ".join(f"Tensor a{index}" for index in range(count))
        library.define(f"{name}(str body, {options}{operands}) -> {results}")
        torch.library.register_fake(f"{_NAMESPACE}::{name}", traced, lib=library)
        _DEFINED[name] = library
    return getattr(getattr(torch.ops, _NAMESPACE), name).default


_DEFINED: dict[str, Any] = {}
"""Operations by their names: they are forgotten with their library."""


def call_functions(module: Any, name: str) -> dict[str, str]:
    """Make calls of functions of the operations in a module of torch-mlir.

    Returns what is to become of each function, whose names contain that of the module's own.
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
    """Convert a module to the dialects of `output`, one with calls of such functions too."""
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
    # The last check allows no calls, and what comes after it concerns sizes that are not open here.
    # The pass for CHLO has no name of its own; we convert that.
    passes = re.sub(r",torch-verify-[\w-]+-backend-contract(,.*)?\)$", ")", passes)
    passes = passes.replace("func.func(chlo-legalize-to-stablehlo),", "")
    utilities.run_pipeline_with_repro_report(module, passes, "Lowering Torch Backend IR")


_DECLARED = re.compile(
    r"^ *func\.func private @([\w.]+)\((.*)\) -> (\S+|\(.*\))( attributes .*)?$", re.M
)
_TENSOR = re.compile(r"tensor<[^<>]*(?:<[^<>]*>)?>")


_ELEMENTS = re.compile(r"tensor<(?:[\d?]+x)*(.+)>")


class _Type(str):
    """The text of a tensor's type, of which `{:[2, 3]}` is that with another shape."""

    def __format__(self, shape: str) -> str:
        found = _ELEMENTS.fullmatch(self)
        if not shape or found is None:
            return str(self)
        sizes = "".join(f"{size}x" for size in re.findall(r"[0-9]+|[?]", shape))
        return f"tensor<{sizes}{found[1]}>"


def with_bodies(text: str, bodies: Mapping[str, str]) -> str:
    """A program in which the functions are written out."""

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
    """A program with the functions of others, which have no aliases, at its end."""
    end = text.rindex("}", 0, text.find("{-#") if "{-#" in text else len(text))
    inner = [each[each.index("{\n") + 2 : each.rindex("}")] for each in functions]
    return "".join((text[:end], *inner, text[end:]))
