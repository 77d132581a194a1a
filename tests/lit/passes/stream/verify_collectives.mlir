// RUN: mesh-opt %s --split-input-file --verify-collectives --verify-diagnostics | filecheck %s

// Processes of two kinds: one is in a loop that the other has not.

util.global private @g_kind {shard.grid = @g} : index
shard.grid @g(shape = 2)
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %kind = util.global.load @g_kind : index
  // expected-error @+1 {{makes processes of two kinds meet at different collectives}}
  %0 = scf.index_switch %kind -> tensor<2xf32>
  case 0 {
    %1 = func.call @one(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  }
  default {
    %1 = func.call @two(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
func.func private @one(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note @+1 {{here some are at shard.all_reduce of tensor<2xf32>}}
  %0 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @two(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{here some are at scf.for}}
  %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%y = %x) -> (tensor<2xf32>) {
    %1 = shard.all_reduce %y on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

// One has another collective behind; a branch that depends on anything else is left alone.

util.global private @g_kind {shard.grid = @g} : index
shard.grid @g(shape = 2x2)
func.func @main(%x: tensor<2xf32>, %n: index) -> tensor<2xf32> {
  %kind = util.global.load @g_kind : index
  // expected-error @+1 {{makes processes of two kinds meet at different collectives}}
  %0 = scf.index_switch %kind -> tensor<2xf32>
  case 0 {
    %1 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
    // expected-note @+1 {{here some are at shard.all_reduce of tensor<2xf32>}}
    %2 = shard.all_reduce %x on @g grid_axes = [1] : tensor<2xf32> -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  }
  default {
    %1 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @alike
util.global private @g_kind {shard.grid = @g} : index
shard.grid @g(shape = 2x2)
func.func @alike(%x: tensor<2xf32>, %n: index) -> tensor<2xf32> {
  %0 = scf.index_switch %n -> tensor<2xf32>
  case 0 {
    %1 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  }
  default {
    scf.yield %x : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

#map = affine_map<(m, n, k) -> (m, k)>
#encoding = #iree_encoding.encoding<operand_index = 0, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map, #map]>
util.global private @g_kind {shard.grid = @g} : index
shard.grid @g(shape = 2)
func.func @encoded(%x: tensor<2x2xf32, #encoding>) {
  %kind = util.global.load @g_kind : index
  scf.index_switch %kind
  case 0 {
    // expected-error @+1 {{between processes, which may use different layouts: decode it first}}
    %1 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2x2xf32, #encoding> -> tensor<2x2xf32, #encoding>
    scf.yield
  }
  default {
    scf.yield
  }
  return
}
