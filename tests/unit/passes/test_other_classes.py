"""Passes in another compiler: a context of its own, and its own classes of the same operations."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from breadth import covering
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.ir.dialect_extension import variant
from mesh_opt.ir.nesting_limits import deep_recursion
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.ir.text.source import Source
from mesh_opt.ir.verification import verify
from mesh_opt.passes.registry import OWN_PASSES
from mesh_opt.tools.driver import new_context
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.parser import Parser
from xdsl.traits import IsTerminator

CASES = Path(__file__).parents[2] / "cases"
PROGRAMS = [
    "models/mlp.mlir",
    "data_tiling/loop_and_condition.mlir",
    "data_tiling/private_functions.mlir",
]
PASSES = ["sharding-propagation", "spmd", "set-encoding", "data-tile", "compile"]
TENSOR_DIALECTS = ("arith", "func", "linalg", "math", "scf", "tensor", "tosa")


@cache
def stock() -> dict[str, type[Operation]]:
    """xDSL's own classes, by the names of the operations."""
    dialects = get_all_dialects()
    return {op.name: op for name in TENSOR_DIALECTS for op in dialects[name]().operations}


@cache
def without_traits(kind: type[IRDLOperation]) -> type[IRDLOperation]:
    """A class of the same operation that says nothing of its effects."""
    traits = traits_def(IsTerminator()) if kind.has_trait(IsTerminator) else traits_def()
    definition = replace(kind.get_irdl_definition(), traits=traits)
    return variant(kind, kind.name, {"get_irdl_definition": classmethod(lambda cls: definition)})


def transformed(text: str, pass_name: str, classes: str) -> str:
    context = new_context()
    module = parse_module(context, Source(text, "test"))
    for op in list(module.walk()):
        kind = stock().get(op.name)
        if classes == "stock" and kind is not None:
            op.__class__ = kind
        elif classes == "bare" and op.name.split(".")[0] in TENSOR_DIALECTS[2:]:
            op.__class__ = without_traits(type(op))  # pyright: ignore
    with deep_recursion():
        OWN_PASSES[pass_name]()().apply(context, module)
    return print_operation(module, generic=True)


@pytest.mark.parametrize(
    ("program", "pass_name", "classes"), covering(PROGRAMS, PASSES, ("stock", "bare"))
)
def test_other_classes_change_nothing(program: str, pass_name: str, classes: str) -> None:
    text = (CASES / program).read_text()
    assert transformed(text, pass_name, classes) == transformed(text, pass_name, "ours")


PROGRAM = """
builtin.module {
  shard.grid @g(shape = 2x2)
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
    %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
    %a = shard.shard %x to %s : tensor<8x16xf32>
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x32xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
    %m = linalg.matmul ins(%a, %w : tensor<8x16xf32>, tensor<16x32xf32>)
      outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
    func.return %m : tensor<8x32xf32>
  }
}
"""


@pytest.mark.parametrize(
    ("pass_name", "expected"), [("spmd", "shard.all_reduce"), ("compile", "stream.async.dispatch")]
)
def test_context_of_its_own(pass_name: str, expected: str) -> None:
    """xDSL's parser and dialects, with ours for what only we define."""
    dialects = get_all_dialects()
    context = Context()
    for name in TENSOR_DIALECTS:
        context.register_dialect(name, dialects[name])
    register_dialects(context)
    module = Parser(context, PROGRAM).parse_module()
    fill = next(op for op in module.walk() if op.name == "linalg.fill")
    assert type(fill).__module__.startswith("xdsl.dialects.linalg")
    OWN_PASSES[pass_name]()().apply(context, module)
    verify(module)
    assert expected in str(module)
