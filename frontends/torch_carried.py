"""Operations that StableHLO has and torch-mlir does not convert.

Each passes through torch-mlir as a call of a function without a body:

    erfc(x)  ->  mesh_opt.carried_1("%r = chlo.erfc %a0 : {0} -> {r}", shape, dtype, x)
             ->  call @carried_0(%x), and in the end what the text says in @carried_0
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

_NAMESPACE = "mesh_opt"
_PREFIX = "mesh_opt.carried_"


def carry(torch: Any, body: str, shape: Sequence[Any], dtype: Any, *operands: Any) -> Any:
    """A tensor that `body` computes as `%r` from the operands `%a0`, `%a1`, ...

    In the text `{0}`, `{1}`, ... are the types of the operands, and `{r}` that of the result.
    """
    # torch-mlir knows numbers of another order for the types.
    kind = str(dtype).removeprefix("torch.")
    return _operation(torch, len(operands))(body, list(shape), kind, *operands)


@cache
def _operation(torch: Any, count: int) -> Any:
    """An operation of PyTorch of so many operands, which is traced and cannot be run."""
    name = f"carried_{count}"
    library = torch.library.Library(_NAMESPACE, "FRAGMENT")
    operands = ", ".join(f"Tensor a{index}" for index in range(count))
    library.define(f"{name}(str body, SymInt[] shape, str dtype, {operands}) -> Tensor")

    def traced(body: str, shape: Sequence[Any], dtype: str, *operands: Any) -> Any:
        del body
        return operands[0].new_empty(shape, dtype=getattr(torch, dtype))

    torch.library.register_fake(f"{_NAMESPACE}::{name}", traced, lib=library)
    _LIBRARIES.append(library)
    return getattr(getattr(torch.ops, _NAMESPACE), name).default


_LIBRARIES: list[Any] = []
"""Operations are forgotten with their library."""


def call_functions(module: Any) -> dict[str, str]:
    """Make calls of functions of the operations in a module of torch-mlir.

    Returns what is to become of each function.
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
        if _PREFIX not in str(operation.attributes["name"]):
            continue
        text, _, _, *operands = operation.operands
        name = f"{_PREFIX}{len(bodies)}"
        bodies[name] = ir.StringAttr(text.owner.attributes["value"]).value
        results = [each.type for each in operation.results]
        kind = ir.FunctionType.get([each.type for each in operands], results)
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(kind),
            "sym_visibility": ir.StringAttr.get("private"),
        }
        with operation.location:
            with ir.InsertionPoint(module.body):
                ir.Operation.create("func.func", attributes=attributes, regions=1)
            with ir.InsertionPoint(operation):
                call = ir.Operation.create(
                    "func.call",
                    attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
                    results=results,
                    operands=operands,
                )
        operation.results[0].replace_all_uses_with(call.results[0])
        operation.erase()
    return bodies


def lower(module: Any, output: str, legal: Sequence[str], *, calls: bool) -> None:
    """Convert a module to the dialects of `output`, one with calls of such functions too."""
    utilities = import_module("torch_mlir.compiler_utils")
    pass_manager = import_module("torch_mlir.passmanager").PassManager
    utilities.run_pipeline_with_repro_report(
        module,
        "builtin.module(func.func(torch-match-quantized-custom-ops),"
        f"torchdynamo-export-to-torch-backend-pipeline{{backend-legal-ops={','.join(legal)}}})",
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


_DECLARED = re.compile(r"^ *func\.func private @([\w.]+)\((.*)\) -> (\S+)( attributes .*)?$", re.M)


def with_bodies(text: str, bodies: Mapping[str, str]) -> str:
    """A program in which the functions are written out."""

    def define(match: re.Match[str]) -> str:
        name, operands, result, _ = match.groups()
        if name not in bodies:
            return match[0]
        types = re.findall(r"tensor<[^<>]*(?:<[^<>]*>)?>", operands)
        arguments = ", ".join(f"%a{index}: {kind}" for index, kind in enumerate(types))
        body = bodies[name].format(*types, r=result)
        head = f"func.func private @{name}({arguments}) -> {result}"
        return f"{head} {{\n{body}\nfunc.return %r : {result}\n}}"

    return _DECLARED.sub(define, text)
