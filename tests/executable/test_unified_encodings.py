"""A constant that is encoded for two products, and kept in one encoding, is the same constant."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile

PROGRAM = """
#x = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {{
  target_triple = "x86_64-x-x", cpu_features = "+avx512f",
  iree.encoding.resolver = {resolver}}}>
#on_a = #hal.device.affinity<@a>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#wide = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul,
  element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn],
  iteration_sizes = [64, 5, 7]>
#narrow = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul,
  element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn],
  iteration_sizes = [1, 5, 7]>
!r = !stream.resource<*>
!c = !stream.resource<constant>
util.global private @a = #hal.device.target<"local", [#x]> : !hal.device
util.global private @w : !c
util.global private @wide : !c
util.global private @wide_size : index
util.global private @narrow : !c
util.initializer {{
  %w = stream.tensor.constant on(#on_a) : tensor<7x5xf32> in !c = dense<[{rows}]> : tensor<7x5xf32>
  util.global.store %w, @w : !c
  util.return
}}
util.initializer {{
  %c140 = arith.constant 140 : index
  %w = util.global.load immutable @w : !c
  %s = stream.tensor.sizeof on(#on_a) tensor<7x5xf32, #wide> : index
  %e = stream.tensor.encode on(#on_a) %w : tensor<7x5xf32> in !c{{%c140}}
    -> tensor<7x5xf32, #wide> in !c{{%s}}
  util.global.store %e, @wide : !c
  util.global.store %s, @wide_size : index
  util.return
}}
util.initializer {{
  %c140 = arith.constant 140 : index
  %w = util.global.load immutable @w : !c
  %s = stream.tensor.sizeof on(#on_a) tensor<7x5xf32, #narrow> : index
  %e = stream.tensor.encode on(#on_a) %w : tensor<7x5xf32> in !c{{%c140}}
    -> tensor<7x5xf32, #narrow> in !c{{%s}}
  util.global.store %e, @narrow : !c
  util.return
}}
stream.executable private @ex {{
  stream.executable.export public @twice workgroups() -> (index, index, index) {{
    %c1 = arith.constant 1 : index
    stream.return %c1, %c1, %c1 : index, index, index
  }}
  builtin.module {{
    func.func @twice(%in: !stream.binding, %out: !stream.binding) {{
      %c0 = arith.constant 0 : index
      %i = stream.binding.subspan %in[%c0] : !stream.binding
        -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<7x5xf32, #wide>>
      %o = stream.binding.subspan %out[%c0] : !stream.binding
        -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<7x5xf32>>
      %e = iree_tensor_ext.dispatch.tensor.load %i, offsets = [0, 0], sizes = [7, 5],
        strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<7x5xf32, #wide>>
        -> tensor<7x5xf32, #wide>
      %u = iree_encoding.unset_encoding %e : tensor<7x5xf32, #wide> -> tensor<7x5xf32>
      %init = tensor.empty() : tensor<7x5xf32>
      %s = linalg.add ins(%u, %u : tensor<7x5xf32>, tensor<7x5xf32>)
        outs(%init : tensor<7x5xf32>) -> tensor<7x5xf32>
      iree_tensor_ext.dispatch.tensor.store %s, %o, offsets = [0, 0], sizes = [7, 5],
        strides = [1, 1] : tensor<7x5xf32>
        -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<7x5xf32>>
      return
    }}
  }}
}}
util.func public @main(%view: !hal.buffer_view)
    -> (!hal.buffer_view, !hal.buffer_view, !hal.buffer_view) {{
  %c140 = arith.constant 140 : index
  %arg = stream.tensor.import on(#on_a) %view : !hal.buffer_view
    -> tensor<7x5xf32> in !stream.resource<external>{{%c140}}
  %x = stream.async.cast on(#on_a) %arg : !stream.resource<external>{{%c140}} -> !r{{%c140}}
  %xs = stream.tensor.sizeof on(#on_a) tensor<7x5xf32, #wide> : index
  %xe = stream.tensor.encode on(#on_a) %x : tensor<7x5xf32> in !r{{%c140}}
    -> tensor<7x5xf32, #wide> in !r{{%xs}}
  %wide = util.global.load immutable @wide : !c
  %wide_size = util.global.load immutable @wide_size : index
  %narrow = util.global.load immutable @narrow : !c
  %ns = stream.tensor.sizeof on(#on_a) tensor<7x5xf32, #narrow> : index
  %wc = stream.async.cast on(#on_a) %wide : !c{{%wide_size}} -> !r{{%wide_size}}
  %nc = stream.async.cast on(#on_a) %narrow : !c{{%ns}} -> !r{{%ns}}
  %0 = stream.tensor.dispatch on(#on_a) @ex::@twice(%wc)
    : (tensor<7x5xf32, #wide> in !r{{%wide_size}}) -> tensor<7x5xf32> in !r{{%c140}}
  %1 = stream.tensor.dispatch on(#on_a) @ex::@twice(%xe)
    : (tensor<7x5xf32, #wide> in !r{{%xs}}) -> tensor<7x5xf32> in !r{{%c140}}
  %n = stream.tensor.clone on(#on_a) %nc : tensor<7x5xf32, #narrow> in !r{{%ns}}
    -> tensor<7x5xf32, #narrow> in !r{{%ns}}
  %2 = stream.tensor.encode on(#on_a) %n : tensor<7x5xf32, #narrow> in !r{{%ns}}
    -> tensor<7x5xf32> in !r{{%c140}}
  %e0 = stream.async.cast on(#on_a) %0 : !r{{%c140}} -> !stream.resource<external>{{%c140}}
  %e1 = stream.async.cast on(#on_a) %1 : !r{{%c140}} -> !stream.resource<external>{{%c140}}
  %e2 = stream.async.cast on(#on_a) %2 : !r{{%c140}} -> !stream.resource<external>{{%c140}}
  %r0 = stream.tensor.export on(#on_a) %e0 : tensor<7x5xf32> in !stream.resource<external>{{%c140}}
    -> !hal.buffer_view
  %r1 = stream.tensor.export on(#on_a) %e1 : tensor<7x5xf32> in !stream.resource<external>{{%c140}}
    -> !hal.buffer_view
  %r2 = stream.tensor.export on(#on_a) %e2 : tensor<7x5xf32> in !stream.resource<external>{{%c140}}
    -> !hal.buffer_view
  util.return %r0, %r1, %r2 : !hal.buffer_view, !hal.buffer_view, !hal.buffer_view
}}
"""

WEIGHTS = np.arange(35, dtype=np.float32).reshape(7, 5)
REST = (
    "specialize-encodings,fold-constant-encodes,merge-globals,place-relayouts,"
    "iree-stream-materialize-encodings,encode-host-tensors,encode-device-tensors,"
    "materialize-encodings"
)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize(
    "resolver", ["#iree_cpu.cpu_encoding_resolver<>", "#iree_encoding.identity_resolver"]
)
def test_readers_of_a_unified_constant_read_the_constant(resolver: str, backend: str) -> None:
    rows = ",".join(str(row.tolist()) for row in WEIGHTS)
    text = PROGRAM.format(rows=rows, resolver=resolver)
    unify = "iree-stream-unify-encoding-for-globals"
    unified = compile(text, unify, backend="interpreter").module
    assert str(unified).count("7x5xf32, #iree_encoding.identity>") > 4
    program = compile(text, f"{unify},{REST}", backend=backend)
    x = np.linspace(-1, 1, 35, dtype=np.float32).reshape(7, 5)
    expected = 2 * WEIGHTS, 2 * x, WEIGHTS
    for found, wanted in zip(program["main"].run([x]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
