"""Tensors that go from device to device mean the same wherever they are relaid out."""

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

DEVICES = """
#wide = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {
  cpu_features = "+avx512f", target_triple = "x86_64-none-elf",
  iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#vmvx = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {
  iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>, ukernels = "all"}>
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#wide]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#wide]> : !hal.device
util.global private @c = #hal.device.target<"local", {ordinal = 2 : index}, [#THIRD]> : !hal.device
#A = #hal.device.affinity<@a>
#B = #hal.device.affinity<@b>
#C = #hal.device.affinity<@c>
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul,
  element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2]>
"""

CHAIN = """
func.func @main(%x: !rows {iree.abi.affinity = #A}, %y: !square {iree.abi.affinity = #A})
    -> (!rows {iree.abi.affinity = #A}) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : !rows
  %f = linalg.fill ins(%z : f32) outs(%e : !rows) -> !rows
  %xb = flow.tensor.transfer %x : !rows to #B
  %yb = flow.tensor.transfer %y : !square to #B
  %p = linalg.matmul ins(%xb, %yb : !rows, !square) outs(%f : !rows) -> !rows
  %xc = flow.tensor.transfer %xb : !rows to #C
  %yc = flow.tensor.transfer %y : !square to #C
  %q = linalg.matmul ins(%xc, %yc : !rows, !square) outs(%f : !rows) -> !rows
  %pa = flow.tensor.transfer %p : !rows to #A
  %qa = flow.tensor.transfer %q : !rows to #A
  %r = linalg.matmul ins(%pa, %y : !rows, !square) outs(%qa : !rows) -> !rows
  return %r : !rows
}
"""

LOOP = """
func.func @main(%x: !rows {iree.abi.affinity = #A}, %y: !square {iree.abi.affinity = #A})
    -> (!rows {iree.abi.affinity = #A}) {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : !rows
  %f = linalg.fill ins(%z : f32) outs(%e : !rows) -> !rows
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %x) -> (!rows) {
    %xb = flow.tensor.transfer %s : !rows to #B
    %yb = flow.tensor.transfer %y : !square to #B
    %p = linalg.matmul ins(%xb, %yb : !rows, !square) outs(%f : !rows) -> !rows
    %xc = flow.tensor.transfer %s : !rows to #C
    %yc = flow.tensor.transfer %y : !square to #C
    %q = linalg.matmul ins(%xc, %yc : !rows, !square) outs(%f : !rows) -> !rows
    %pa = flow.tensor.transfer %p : !rows to #A
    %qa = flow.tensor.transfer %q : !rows to #A
    %g = linalg.add ins(%pa, %qa : !rows, !rows) outs(%e : !rows) -> !rows
    scf.yield %g : !rows
  }
  return %r : !rows
}
"""

ENCODED = """
func.func @main(%x: !rows {iree.abi.affinity = #A}, %y: !square {iree.abi.affinity = #A})
    -> (!rows {iree.abi.affinity = #A}, !rows {iree.abi.affinity = #B}) {
  %e = iree_encoding.set_encoding %x : !rows -> !packed
  %t = flow.tensor.transfer %e : !packed to #B
  %u = flow.tensor.transfer %e : !packed to #C
  %d = iree_encoding.unset_encoding %t : !packed -> !rows
  %em = tensor.empty() : !packed
  %a = linalg.add ins(%u, %u : !packed, !packed) outs(%em : !packed) -> !packed
  %v = flow.tensor.transfer %a : !packed to #A
  %g = iree_encoding.unset_encoding %v : !packed -> !rows
  return %g, %d : !rows, !rows
}
"""

PROGRAMS = {"chain": CHAIN, "loop": LOOP, "encoded": ENCODED}


@pytest.mark.parametrize(
    ("program", "sizes", "third", "encodes"),
    [
        # What the third device wants is made on the first one, too, if they are of one kind.
        ("chain", (17, 32), "wide", (7, 5)),
        ("chain", (1, 16), "vmvx", (7, 6)),
        ("chain", (5, 7), "wide", (7, 7)),
        ("loop", (32, 32), "wide", (4, 2)),
        ("loop", (17, 32), "wide", (4, 3)),
        ("loop", (32, 32), "vmvx", (4, 4)),
        # Tiles that are not full are unpacked before they move.
        ("encoded", (17, 32), "vmvx", (3, 2)),
        ("encoded", (32, 32), "wide", (3, 3)),
    ],
)
def test_meaning(
    program: str, sizes: tuple[int, int], third: str, encodes: tuple[int, int]
) -> None:
    rows, columns = sizes
    text = (DEVICES + PROGRAMS[program]).replace("#THIRD", f"#{third}")
    text = text.replace("!packed", f"tensor<{rows}x{columns}xf32, #e>")
    text = text.replace("!rows", f"tensor<{rows}x{columns}xf32>")
    text = text.replace("!square", f"tensor<{columns}x{columns}xf32>")
    context = Context()
    register_dialects(context)
    module = parse_module(context, Source(text, f"<{program}>"))
    generator = np.random.default_rng(0)
    shapes = (sizes, (columns, columns))
    inputs = [generator.integers(-2, 3, shape).astype(np.float32) for shape in shapes]
    expected = run(module, "main", inputs)
    for one in DataTilePass().passes():
        before = sum(o.name == "stream.tensor.encode" for o in module.walk())
        one.apply(context, module)
        module.verify()
        if one.name == "place-relayouts":
            behind = sum(o.name == "stream.tensor.encode" for o in module.walk())
            assert (before, behind) == encodes
            for found, wanted in zip(run(module, "main", inputs), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)
    found = CompiledProgram(module, guard=True).run("main", inputs)
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, wanted)
