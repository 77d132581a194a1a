"""Contractions among other operations mean the same after each stage of `data-tile`."""

from __future__ import annotations

import pytest
from tiled_programs import HERE, check

A, B, C = "tensor<17x20xf32>", "tensor<20x33xf32>", "tensor<17x33xf32>"
FILL = f"""
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {C}
  %f = linalg.fill ins(%zero : f32) outs(%e : {C}) -> {C}"""


def program(arguments: str, result: str, body: str) -> str:
    """A function of arguments on the first device."""
    placed = ", ".join(f"{one} {HERE}" for one in arguments.split(", "))
    return f"func.func @main({placed}) -> ({result} {HERE}) {{{body}\n}}"


XY = f"%x: {A}, %y: {B}"
PRODUCT = f"linalg.matmul ins(%x, %y : {A}, {B}) outs(%f : {C}) -> {C}"

PROGRAMS = {
    "transposed_left": program(
        f"%x: tensor<20x17xf32>, %y: {B}",
        C,
        f"""{FILL}
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
    affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %y : tensor<20x17xf32>, {B}) outs(%f : {C}) -> {C}
  return %r : {C}""",
    ),
    "batch_transposed_right": program(
        "%x: tensor<2x17x20xf32>, %y: tensor<2x33x20xf32>, %f: tensor<2x17x33xf32>",
        "tensor<2x17x33xf32>",
        """
  %r = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>,
    affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
    ins(%x, %y : tensor<2x17x20xf32>, tensor<2x33x20xf32>)
    outs(%f : tensor<2x17x33xf32>) -> tensor<2x17x33xf32>
  return %r : tensor<2x17x33xf32>""",
    ),
    "batch_reduce_matmul": program(
        f"%x: tensor<2x17x20xf32>, %y: tensor<2x20x33xf32>, %f: {C}",
        C,
        f"""
  %r = linalg.batch_reduce_matmul ins(%x, %y : tensor<2x17x20xf32>, tensor<2x20x33xf32>)
    outs(%f : {C}) -> {C}
  return %r : {C}""",
    ),
    "matvec": program(
        f"%x: {A}, %y: tensor<20xf32>, %f: tensor<17xf32>",
        "tensor<17xf32>",
        f"""
  %r = linalg.matvec ins(%x, %y : {A}, tensor<20xf32>) outs(%f : tensor<17xf32>) -> tensor<17xf32>
  return %r : tensor<17xf32>""",
    ),
    "vecmat": program(
        f"%x: tensor<20xf32>, %y: {B}, %f: tensor<33xf32>",
        "tensor<33xf32>",
        f"""
  %r = linalg.vecmat ins(%x, %y : tensor<20xf32>, {B}) outs(%f : tensor<33xf32>) -> tensor<33xf32>
  return %r : tensor<33xf32>""",
    ),
    "dot": program(
        "%x: tensor<20xf32>, %y: tensor<20xf32>, %f: tensor<f32>",
        "tensor<f32>",
        """
  %r = linalg.dot ins(%x, %y : tensor<20xf32>, tensor<20xf32>) outs(%f : tensor<f32>)
    -> tensor<f32>
  return %r : tensor<f32>""",
    ),
    "mmt4d": program(
        "%x: tensor<2x3x4x2xf32>, %y: tensor<5x3x8x2xf32>, %f: tensor<2x5x4x8xf32>",
        "tensor<2x5x4x8xf32>",
        """
  %r = linalg.mmt4d ins(%x, %y : tensor<2x3x4x2xf32>, tensor<5x3x8x2xf32>)
    outs(%f : tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %r : tensor<2x5x4x8xf32>""",
    ),
    "contract": program(
        f"%x: tensor<20x17xf32>, %y: {B}, %f: tensor<33x17xf32>",
        "tensor<33x17xf32>",
        f"""
  %r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
    affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>]
    ins(%x, %y : tensor<20x17xf32>, {B}) outs(%f : tensor<33x17xf32>) -> tensor<33x17xf32>
  return %r : tensor<33x17xf32>""",
    ),
    "broadcast_factor": program(
        f"%x: tensor<20xf32>, %y: {B}, %f: {C}",
        C,
        f"""
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k)>,
    affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %y : tensor<20xf32>, {B}) outs(%f : {C}) -> {C}
  return %r : {C}""",
    ),
    "broadcast_batch": program(
        "%x: tensor<17x20xf32>, %y: tensor<2x20x33xf32>, %f: tensor<2x17x33xf32>",
        "tensor<2x17x33xf32>",
        """
  %r = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (m, k)>,
    affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
    ins(%x, %y : tensor<17x20xf32>, tensor<2x20x33xf32>)
    outs(%f : tensor<2x17x33xf32>) -> tensor<2x17x33xf32>
  return %r : tensor<2x17x33xf32>""",
    ),
    "started_from_an_argument_read_twice": program(
        f"{XY}, %f: {C}",
        C,
        f"""
  %r = {PRODUCT}
  %e = tensor.empty() : {C}
  %s = linalg.add ins(%r, %f : {C}, {C}) outs(%e : {C}) -> {C}
  return %s : {C}""",
    ),
    "one_fill_for_two": program(
        XY,
        C,
        f"""{FILL}
  %r = {PRODUCT}
  %q = {PRODUCT}
  %s = linalg.sub ins(%r, %q : {C}, {C}) outs(%f : {C}) -> {C}
  return %s : {C}""",
    ),
    "filled_with_ones_and_chained": program(
        "%x: tensor<17x17xf32>",
        "tensor<17x17xf32>",
        """
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<17x17xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<17x17xf32>) -> tensor<17x17xf32>
  %r = linalg.matmul ins(%x, %f : tensor<17x17xf32>, tensor<17x17xf32>)
    outs(%f : tensor<17x17xf32>) -> tensor<17x17xf32>
  %s = linalg.matmul ins(%r, %r : tensor<17x17xf32>, tensor<17x17xf32>)
    outs(%r : tensor<17x17xf32>) -> tensor<17x17xf32>
  return %s : tensor<17x17xf32>""",
    ),
    "in_a_loop": program(
        "%x: tensor<17x17xf32>, %y: tensor<17x17xf32>",
        "tensor<17x17xf32>",
        """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %x) -> (tensor<17x17xf32>) {
    %t = linalg.matmul ins(%x, %y : tensor<17x17xf32>, tensor<17x17xf32>)
      outs(%s : tensor<17x17xf32>) -> tensor<17x17xf32>
    scf.yield %t : tensor<17x17xf32>
  }
  return %r : tensor<17x17xf32>""",
    ),
    "in_a_branch": program(
        f"{XY}, %c: tensor<i1>",
        C,
        f"""{FILL}
  %p = tensor.extract %c[] : tensor<i1>
  %r = scf.if %p -> ({C}) {{
    %t = {PRODUCT}
    scf.yield %t : {C}
  }} else {{
    scf.yield %f : {C}
  }}
  return %r : {C}""",
    ),
    "reduced": program(
        XY,
        "tensor<17xf32>",
        f"""{FILL}
  %r = {PRODUCT}
  %e1 = tensor.empty() : tensor<17xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<17xf32>) -> tensor<17xf32>
  %s = linalg.reduce {{ arith.addf }} ins(%r : {C}) outs(%f1 : tensor<17xf32>) dimensions = [1]
  return %s : tensor<17xf32>""",
    ),
    "transposed": program(
        XY,
        "tensor<33x17xf32>",
        f"""{FILL}
  %r = {PRODUCT}
  %e1 = tensor.empty() : tensor<33x17xf32>
  %s = linalg.transpose ins(%r : {C}) outs(%e1 : tensor<33x17xf32>) permutation = [1, 0]
  return %s : tensor<33x17xf32>""",
    ),
    "reshaped_sliced_and_padded": program(
        XY,
        "tensor<17x3x12xf32>",
        f"""{FILL}
  %r = {PRODUCT}
  %t = tensor.expand_shape %r [[0], [1, 2]] output_shape [17, 3, 11] : {C} into tensor<17x3x11xf32>
  %u = tensor.extract_slice %t[0, 0, 1] [17, 3, 9] [1, 1, 1]
    : tensor<17x3x11xf32> to tensor<17x3x9xf32>
  %s = tensor.pad %u low[0, 0, 2] high[0, 0, 1] {{
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  }} : tensor<17x3x9xf32> to tensor<17x3x12xf32>
  return %s : tensor<17x3x12xf32>""",
    ),
    "pieces_of_factors": program(
        XY,
        "tensor<5x33xf32>",
        f"""
  %zero = arith.constant 0.0 : f32
  %p = tensor.extract_slice %x[3, 0] [5, 20] [2, 1] : {A} to tensor<5x20xf32>
  %e = tensor.empty() : tensor<5x33xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x33xf32>) -> tensor<5x33xf32>
  %r = linalg.matmul ins(%p, %y : tensor<5x20xf32>, {B}) outs(%f : tensor<5x33xf32>)
    -> tensor<5x33xf32>
  return %r : tensor<5x33xf32>""",
    ),
    "swapped_body": program(
        f"{XY}, %f: {C}",
        C,
        f"""
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
    affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%x, %y : {A}, {B}) outs(%f : {C}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %b, %a : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  }} -> {C}
  return %r : {C}""",
    ),
    "subtracted": program(
        f"{XY}, %f: {C}",
        C,
        f"""
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
    affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%x, %y : {A}, {B}) outs(%f : {C}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %b, %a : f32
    %s = arith.subf %o, %p : f32
    linalg.yield %s : f32
  }} -> {C}
  return %r : {C}""",
    ),
    "square_of_one_factor": program(
        f"{XY}, %f: {C}",
        C,
        f"""
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
    affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%x, %y : {A}, {B}) outs(%f : {C}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %a : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }} -> {C}
  return %r : {C}""",
    ),
    "the_same_tensor_twice": program(
        "%x: tensor<17x20xf32>, %f: tensor<17x17xf32>",
        "tensor<17x17xf32>",
        """
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
    affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %x : tensor<17x20xf32>, tensor<17x20xf32>)
    outs(%f : tensor<17x17xf32>) -> tensor<17x17xf32>
  return %r : tensor<17x17xf32>""",
    ),
    "wrapped_sums": program(
        "%x: tensor<17x20xi8>, %y: tensor<20x33xi8>, %f: tensor<17x33xi8>",
        "tensor<17x33xi8>",
        """
  %r = linalg.matmul ins(%x, %y : tensor<17x20xi8>, tensor<20x33xi8>)
    outs(%f : tensor<17x33xi8>) -> tensor<17x33xi8>
  return %r : tensor<17x33xi8>""",
    ),
    "unsigned_factors": program(
        "%x: tensor<17x20xi8>, %y: tensor<20x33xi8>, %f: tensor<17x33xi32>",
        "tensor<17x33xi32>",
        """
  %r = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>}
    ins(%x, %y : tensor<17x20xi8>, tensor<20x33xi8>) outs(%f : tensor<17x33xi32>)
    -> tensor<17x33xi32>
  return %r : tensor<17x33xi32>""",
    ),
    "integers_into_floats": program(
        "%x: tensor<17x20xi8>, %y: tensor<20x33xi8>, %f: tensor<17x33xf32>",
        "tensor<17x33xf32>",
        """
  %r = linalg.matmul ins(%x, %y : tensor<17x20xi8>, tensor<20x33xi8>)
    outs(%f : tensor<17x33xf32>) -> tensor<17x33xf32>
  return %r : tensor<17x33xf32>""",
    ),
    "quantized": program(
        "%x: tensor<17x20xi8>, %y: tensor<20x33xi8>, %f: tensor<17x33xi32>",
        "tensor<17x33xi32>",
        """
  %zx = arith.constant 3 : i32
  %zy = arith.constant -2 : i32
  %r = linalg.quantized_matmul ins(%x, %y, %zx, %zy : tensor<17x20xi8>, tensor<20x33xi8>, i32, i32)
    outs(%f : tensor<17x33xi32>) -> tensor<17x33xi32>
  return %r : tensor<17x33xi32>""",
    ),
    "of_booleans": program(
        "%x: tensor<17x20xi1>, %y: tensor<20x33xi1>, %f: tensor<17x33xi1>",
        "tensor<17x33xi1>",
        """
  %r = linalg.matmul ins(%x, %y : tensor<17x20xi1>, tensor<20x33xi1>)
    outs(%f : tensor<17x33xi1>) -> tensor<17x33xi1>
  return %r : tensor<17x33xi1>""",
    ),
    "bias_relu_and_another": program(
        f"{XY}, %w: tensor<33x8xf32>, %v: tensor<33xf32>",
        "tensor<17x8xf32>",
        f"""{FILL}
  %r = {PRODUCT}
  %s = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
    affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
    ins(%r, %v : {C}, tensor<33xf32>) outs(%e : {C}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %a, %b : f32
    %u = arith.maximumf %t, %zero : f32
    linalg.yield %u : f32
  }} -> {C}
  %e1 = tensor.empty() : tensor<17x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<17x8xf32>) -> tensor<17x8xf32>
  %q = linalg.matmul ins(%s, %w : {C}, tensor<33x8xf32>) outs(%f1 : tensor<17x8xf32>)
    -> tensor<17x8xf32>
  return %q : tensor<17x8xf32>""",
    ),
    "uninitialised_rows": program(
        "%x: tensor<0x20xf32>, %y: tensor<20x33xf32>, %f: tensor<0x33xf32>",
        "tensor<0x33xf32>",
        """
  %r = linalg.matmul ins(%x, %y : tensor<0x20xf32>, tensor<20x33xf32>)
    outs(%f : tensor<0x33xf32>) -> tensor<0x33xf32>
  return %r : tensor<0x33xf32>""",
    ),
    "no_sum": program(
        f"%x: tensor<17x0xf32>, %y: tensor<0x33xf32>, %f: {C}",
        C,
        f"""
  %r = linalg.matmul ins(%x, %y : tensor<17x0xf32>, tensor<0x33xf32>) outs(%f : {C}) -> {C}
  return %r : {C}""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_use(name: str) -> None:
    check(PROGRAMS[name])
