"""Tensors are relaid out on the side of a transfer where it costs less, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import run
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.data_tile import DataTilePass
from xdsl.context import Context

WIDE = 'cpu_features = "+avx512f", target_triple = "x86_64-none-elf"'
NARROW = 'cpu_features = "+avx2", target_triple = "x86_64-none-elf"'

PRODUCTS = """
#exe_a = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {{
  {target_a}, iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}}>
#exe_b = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {{
  {target_b}, iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}}>
util.global private @a = #hal.device.target<"local", {{ordinal = 0 : index}},
  [#exe_a]> : !hal.device
util.global private @b = #hal.device.target<"local", {{ordinal = 1 : index}},
  [#exe_b]> : !hal.device
#on_a = #hal.device.affinity<@a>
#on_b = #hal.device.affinity<@b>
func.func @main(%x: tensor<{rows}x32xf32> {{iree.abi.affinity = #on_a}},
                %y: tensor<32x32xf32> {{iree.abi.affinity = #on_a}})
    -> (tensor<{rows}x32xf32> {{iree.abi.affinity = #on_a}},
        tensor<{rows}x32xf32> {{iree.abi.affinity = #on_b}}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{rows}x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{rows}x32xf32>) -> tensor<{rows}x32xf32>
  %xb = flow.tensor.transfer %x : tensor<{rows}x32xf32> to #on_b
  %yb = flow.tensor.transfer %y : tensor<32x32xf32> to #on_b
  %p = linalg.matmul ins(%x, %y : tensor<{rows}x32xf32>, tensor<32x32xf32>)
    outs(%f : tensor<{rows}x32xf32>) -> tensor<{rows}x32xf32>
  %q = linalg.matmul ins(%xb, %yb : tensor<{rows}x32xf32>, tensor<32x32xf32>)
    outs(%f : tensor<{rows}x32xf32>) -> tensor<{rows}x32xf32>
  return %p, %q : tensor<{rows}x32xf32>, tensor<{rows}x32xf32>
}}
"""


@pytest.mark.parametrize(
    ("rows", "target_b", "on_a", "on_b"),
    [
        # Both operands are relaid out on @a and moved as @b wants them.
        (32, WIDE, 2, 0),
        # A tile of 16 rows is not full with 17: @b lays the left operand out itself.
        (17, WIDE, 2, 1),
        # @b wants other layouts.
        (32, NARROW, 2, 2),
    ],
)
def test_equal_layouts_are_made_once(rows: int, target_b: str, on_a: int, on_b: int) -> None:
    text = PRODUCTS.format(rows=rows, target_a=WIDE, target_b=target_b)
    context = Context()
    register_dialects(context)
    module = parse_module(context, Source(text, "<products>"))
    generator = np.random.default_rng(0)
    inputs = [
        generator.integers(-2, 3, shape).astype(np.float32) for shape in [(rows, 32), (32, 32)]
    ]
    expected = inputs[0] @ inputs[1]
    for one in DataTilePass().passes():
        one.apply(context, module)
        module.verify()
        if one.name in ("place-relayouts", "iree-stream-materialize-encodings"):
            for found in run(module, "main", inputs):
                np.testing.assert_array_equal(found, expected)
        if one.name == "place-relayouts":
            encodes = [o for o in module.walk() if o.name == "stream.tensor.encode"]
            for place, count in (("@a", on_a), ("@b", on_b)):
                here = [o for o in encodes if place in str(o.properties["affinity"])]
                assert len(here) == count, place
    for found in CompiledProgram(module, guard=True).run("main", inputs):
        np.testing.assert_array_equal(found, expected)


WEIGHTS = """
#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {{
  {target}, iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}}>
util.global private @a = #hal.device.target<"local", {{ordinal = 0 : index}}, [#exe]> : !hal.device
util.global private @b = #hal.device.target<"local", {{ordinal = 1 : index}}, [#exe]> : !hal.device
#on_a = #hal.device.affinity<@a>
#on_b = #hal.device.affinity<@b>
util.global private @known {{stream.affinity = #on_a}} = dense<2.0> : tensor<17x9xf32>
util.global private @computed {{stream.affinity = #on_a}} : tensor<17x9xf32>
util.initializer {{
  %w = util.global.load @known : tensor<17x9xf32>
  %e = tensor.empty() : tensor<17x9xf32>
  %s = linalg.square ins(%w : tensor<17x9xf32>) outs(%e : tensor<17x9xf32>) -> tensor<17x9xf32>
  util.global.store %s, @computed : tensor<17x9xf32>
  util.return
}}
func.func @main(%x: tensor<5x17xf32> {{iree.abi.affinity = #on_b}})
    -> (tensor<5x9xf32> {{iree.abi.affinity = #on_b}}) {{
  %w = util.global.load @{weight} : tensor<17x9xf32>
  %wb = flow.tensor.transfer %w : tensor<17x9xf32> to #on_b
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x9xf32>) -> tensor<5x9xf32>
  %p = linalg.matmul ins(%x, %wb : tensor<5x17xf32>, tensor<17x9xf32>)
    outs(%f : tensor<5x9xf32>) -> tensor<5x9xf32>
  return %p : tensor<5x9xf32>
}}
"""


@pytest.mark.parametrize(("weight", "factor"), [("known", 2.0), ("computed", 4.0)])
def test_weights_of_another_device_move_once(weight: str, factor: float) -> None:
    text = WEIGHTS.format(target=WIDE, weight=weight)
    context = Context()
    register_dialects(context)
    module = parse_module(context, Source(text, "<weights>"))
    x = np.arange(85, dtype=np.float32).reshape(5, 17)
    expected = x @ np.full((17, 9), factor, np.float32)
    for one in DataTilePass().passes():
        one.apply(context, module)
        module.verify()
        if one.name == "hoist-encodes-to-initializers":
            (function,) = [o for o in module.body.block.ops if o.name == "func.func"]
            assert not any(o.name == "flow.tensor.transfer" for o in function.walk())
            (found,) = run(module, "main", [x])
            np.testing.assert_array_equal(found, expected)
    (found,) = CompiledProgram(module, guard=True).run("main", [x])
    np.testing.assert_array_equal(found, expected)
