"""Loops, branches and blocks carry encoded tensors, whatever the tiles of the target."""

from __future__ import annotations

import re

import numpy as np
import pytest
from breadth import covering
from mesh_opt.api import compile

MAPS = """
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
"""
TARGETS = {
    "avx512": 'target_triple = "x86_64-none-elf", cpu_features = "+avx512f",'
    " iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>",
    "vmvx": 'ukernels = "all", iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>',
    "plain": "",
}

CARRIED = {
    "for": """%r = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %z) -> (ENCODED) {
      PRODUCT(%g, %h)
      scf.yield %g : ENCODED
    }""",
    "while": """%r, %last = scf.while (%h = %z, %j = %q) : (ENCODED, index) -> (ENCODED, index) {
      %more = arith.cmpi ult, %j, %c3 : index
      scf.condition(%more) %h, %j : ENCODED, index
    } do {
    ^body(%h: ENCODED, %j: index):
      PRODUCT(%g, %h)
      %next = arith.addi %j, %c1 : index
      scf.yield %g, %next : ENCODED, index
    }""",
    "if": """%r = scf.if %is -> (ENCODED) {
      PRODUCT(%g, %z)
      scf.yield %g : ENCODED
    } else {
      scf.yield %z : ENCODED
    }""",
    "switch": """%r = scf.index_switch %q -> ENCODED
    case 1 {
      PRODUCT(%g, %z)
      scf.yield %g : ENCODED
    }
    default {
      %g = scf.execute_region -> ENCODED {
        scf.yield %z : ENCODED
      }
      scf.yield %g : ENCODED
    }""",
    "blocks": """cf.cond_br %is, ^more(%z : ENCODED), ^end(%z : ENCODED)
    ^more(%h: ENCODED):
      PRODUCT(%g, %h)
      cf.br ^end(%g : ENCODED)
    ^end(%r: ENCODED):""",
}
"""What carries an encoded tensor: a sum of products, made zero to three times."""


@pytest.mark.parametrize(
    ("kind", "target", "dynamic", "pipeline"),
    covering(
        list(CARRIED),
        ["avx512", "vmvx", "plain"],
        [False, True],
        ["data-tile", "iree-codegen-materialize-host-encoding"],
    ),
)
def test_loops_and_branches_carry_tiles(
    kind: str, target: str, dynamic: bool, pipeline: str
) -> None:
    m, k, n = ("?", "?", "?") if dynamic else ("5", "7", "11")
    result_sizes = "{%m, %n}" if dynamic else ""
    sizes, extra = (
        (", iteration_sizes = [?, ?, ?]", "encoding_dims{%m, %n, %k}") if dynamic else ("", "")
    )
    lhs, rhs, result = f"tensor<{m}x{k}xf32", f"tensor<{k}x{n}xf32", f"tensor<{m}x{n}xf32"
    encodings = "\n".join(
        f"#e{index} = #iree_encoding.encoding<operand_index = {index}, op_type = matmul,"
        f" element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn]{sizes}>"
        for index in range(3)
    )
    body = re.sub(
        r"PRODUCT\((%\w+), (%\w+)\)",
        rf"\1 = linalg.matmul ins(%x, %y : {lhs}, #e0>, {rhs}, #e1>) outs(\2 : ENCODED) -> ENCODED",
        CARRIED[kind],
    ).replace("ENCODED", f"{result}, #e2>")
    text = f"""{MAPS}{encodings}
#target = #hal.executable.target<"llvm-cpu", "x", {{{TARGETS[target]}}}>
util.global private @d = #hal.device.target<"local", [#target]> : !hal.device
func.func @main(%a: {lhs}> {{iree.abi.affinity = #hal.device.affinity<@d>}}, %b: {rhs}>,
                %c: {result}>, %q: index) -> {result}> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = tensor.dim %a, %c0 : {lhs}>
  %k = tensor.dim %b, %c0 : {rhs}>
  %n = tensor.dim %b, %c1 : {rhs}>
  %is = arith.cmpi eq, %q, %c1 : index
  %x = iree_encoding.set_encoding %a {extra} : {lhs}> -> {lhs}, #e0>
  %y = iree_encoding.set_encoding %b {extra} : {rhs}> -> {rhs}, #e1>
  %z = iree_encoding.set_encoding %c {extra} : {result}> -> {result}, #e2>
  {body}
  %s = iree_encoding.unset_encoding %r {extra} : {result}, #e2> -> {result}>{result_sizes}
  return %s : {result}>
}}"""
    numbers = np.random.default_rng(0)
    shapes = [(5, 7), (7, 11), (5, 11)]
    arrays = [numbers.integers(-2, 3, shape).astype(np.float32) for shape in shapes]
    for q in (1, 5):
        expected = compile(text)["main"].reference([*arrays, q])
        for backend in ("interpreter", "native"):
            program = compile(text, pipeline, backend=backend)
            np.testing.assert_array_equal(program["main"].run([*arrays, q]), expected)
