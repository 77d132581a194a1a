// RUN: mesh-opt %s --split-input-file --form-dispatches --remarks=dispatch | filecheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>

// A product, what its result is filled with first, and what is done with it element by element: one kernel.

// CHECK: flow.executable private @main_dispatch_0 {
// CHECK:   flow.executable.export public @main_dispatch_0_matmul_Dx6x5_f32 workgroups(%{{.*}}: index) -> (index, index, index)
// CHECK:   func.func @main_dispatch_0_matmul_Dx6x5_f32(%0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x5xf32>>, %1: !iree_tensor_ext.dispatch.tensor<readonly:tensor<5x6xf32>>, %2: index, %3: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?x6xf32>>)
// CHECK:     %[[M:.*]] = iree_tensor_ext.dispatch.workload.ordinal %2, 0 : index
// CHECK:     %[[T:.*]] = flow.dispatch.tie_shape %0 : {{.*}}{%[[M]]}
// CHECK:     iree_tensor_ext.dispatch.tensor.load %[[T]], offsets = [0, 0], sizes = [%[[M]], 5], strides = [1, 1]
// CHECK:     linalg.fill
// CHECK:     linalg.matmul
// CHECK:     %[[R:.*]] = linalg.generic
// CHECK:     iree_tensor_ext.dispatch.tensor.store %[[R]]
// CHECK-NOT: flow.executable
// CHECK-LABEL: func.func @main(
// CHECK: %[[D:.*]] = tensor.dim %a
// CHECK: flow.dispatch @main_dispatch_0::@main_dispatch_0_matmul_Dx6x5_f32[%[[D]]](%a, %b, %[[D]]) : (tensor<?x5xf32>{%[[D]]}, tensor<5x6xf32>, index) -> tensor<?x6xf32>{%[[D]]}
func.func @main(%a: tensor<?x5xf32>, %b: tensor<5x6xf32>) -> tensor<?x6xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x5xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %p = linalg.matmul ins(%a, %b : tensor<?x5xf32>, tensor<5x6xf32>) outs(%f : tensor<?x6xf32>) -> tensor<?x6xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.maximumf %x, %z : f32
    linalg.yield %0 : f32
  } -> tensor<?x6xf32>
  return %r : tensor<?x6xf32>
}

// -----

// Kernels that are alike are one; a kernel of its own where something in between is needed.

// CHECK: flow.executable private @twice_dispatch_0
// CHECK-NOT: flow.executable private
// CHECK-LABEL: func.func @twice(
// CHECK: %[[X:.*]] = flow.dispatch @twice_dispatch_0::@{{.*}}(%a, %b)
// CHECK: %[[N:.*]] = util.optimization_barrier %[[X]]
// CHECK: %[[Y:.*]] = flow.dispatch @twice_dispatch_0::@{{.*}}(%[[N]], %b)
// CHECK: return %[[Y]]
func.func @twice(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %x = linalg.add ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = util.optimization_barrier %x : tensor<4x4xf32>
  %y = linalg.add ins(%n, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%n : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// %s needs %t, which needs %p: %s cannot be in the kernel of %p, though it reads %p.

// CHECK-LABEL: func.func @between(
// CHECK: %[[P:.*]] = flow.dispatch @between_dispatch_0
// CHECK: %[[T:.*]] = flow.tensor.transfer %[[P]]
// CHECK: %[[B:.*]] = flow.tensor.transfer %[[T]]
// CHECK: flow.dispatch @between_dispatch_1{{.*}}(%[[P]], %[[B]])
util.global private @x : !hal.device
util.global private @y : !hal.device
func.func @between(%a: tensor<4x4xf32> {iree.abi.affinity = #hal.device.affinity<@x>}) -> (tensor<4x4xf32> {iree.abi.affinity = #hal.device.affinity<@x>}) {
  %p = linalg.exp ins(%a : tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = flow.tensor.transfer %p : tensor<4x4xf32> to #hal.device.affinity<@y>
  %b = flow.tensor.transfer %t : tensor<4x4xf32> to #hal.device.affinity<@x>
  %s = linalg.add ins(%p, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----

// A tensor of another device is moved to where it is read; a weight is loaded on each.

util.global private @x : !hal.device
util.global private @y : !hal.device
util.global private @w = dense<1.0> : tensor<4xf32>

// CHECK-LABEL: func.func @move(
// CHECK: %w = util.global.load @w {stream.affinity = #hal.device.affinity<@x>}
// CHECK: %[[B:.*]] = flow.tensor.transfer %b : tensor<4xf32> to #hal.device.affinity<@x>
// CHECK: flow.dispatch {{.*}}(%a, %[[B]], %w)
func.func @move(%a: tensor<4xf32> {iree.abi.affinity = #hal.device.affinity<@x>}, %b: tensor<4xf32> {iree.abi.affinity = #hal.device.affinity<@y>}) -> tensor<4xf32> {
  %w = util.global.load @w : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %s = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.add ins(%s, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %t : tensor<4xf32>
}

// -----

// Reshapes cost nothing; encodings on their own are the host's.

#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [4, 6, 5]>

// CHECK-NOT: flow.executable
// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 6, 5]>
// CHECK-LABEL: func.func @reshape(
// CHECK: %[[R:.*]] = flow.tensor.reshape %a : tensor<20xf32> -> tensor<4x5xf32>
// CHECK: flow.tensor.encode %[[R]] : tensor<4x5xf32> -> tensor<4x5xf32, #encoding
func.func @reshape(%a: tensor<20xf32>) -> tensor<4x5xf32, #e> {
  %r = tensor.expand_shape %a [[0, 1]] output_shape [4, 5] : tensor<20xf32> into tensor<4x5xf32>
  %s = iree_encoding.set_encoding %r : tensor<4x5xf32> -> tensor<4x5xf32, #e>
  return %s : tensor<4x5xf32, #e>
}

// -----

// So do bitcasts, as of bytes that have a sign in the kernel and none outside.

// CHECK: flow.executable private @unsigned_dispatch_0
// CHECK: arith.muli
// CHECK-NOT: flow.executable
// CHECK-LABEL: func.func @unsigned(
// CHECK: %[[A:.*]] = flow.tensor.bitcast %a : tensor<?xui8>{%{{.*}}} -> tensor<?xi8>{%{{.*}}}
// CHECK: %[[P:.*]] = flow.dispatch @unsigned_dispatch_0::@{{.*}}(%[[A]]
// CHECK: flow.tensor.bitcast %[[P]] : tensor<?xi8>{%{{.*}}} -> tensor<?xui8>{%{{.*}}}
func.func @unsigned(%a: tensor<?xui8>) -> tensor<?xui8> {
  %0 = tensor.bitcast %a : tensor<?xui8> to tensor<?xi8>
  %1 = arith.muli %0, %0 : tensor<?xi8>
  %2 = tensor.bitcast %1 : tensor<?xi8> to tensor<?xui8>
  return %2 : tensor<?xui8>
}

// -----

// A collective is a dispatch of its own; its kernel knows the grid.

shard.grid @g(shape = 2)

// CHECK: flow.executable private @exchange_dispatch_0
// CHECK:   builtin.module {
// CHECK:     shard.grid @g(shape = 2)
// CHECK:     shard.all_reduce
// CHECK-NOT: linalg
// CHECK: flow.executable private @exchange_dispatch_1
// CHECK:     linalg.exp
// CHECK-LABEL: func.func @exchange(
func.func @exchange(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = shard.all_reduce %a on @g grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  %1 = linalg.exp ins(%0 : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// What reads a global is not in one kernel with what is stored there before.

util.global private mutable @state : tensor<4xf32>

// CHECK-LABEL: func.func @state_between(
// CHECK: %[[A:.*]] = flow.dispatch {{.*}}(%a)
// CHECK: util.global.store %[[A]], @state : tensor<4xf32>
// CHECK: %[[B:.*]] = util.global.load @state : tensor<4xf32>
// CHECK: %[[C:.*]] = flow.dispatch {{.*}}(%[[A]], %[[B]])
// CHECK: func.return %[[C]] : tensor<4xf32>
func.func @state_between(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  util.global.store %0, @state : tensor<4xf32>
  %1 = util.global.load @state : tensor<4xf32>
  %2 = linalg.add ins(%0, %1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Variables are accessed on the host: a kernel does not see them.
// CHECK-LABEL: func.func @variable
// CHECK: %[[OLD:.*]] = tosa.variable_read @state
// CHECK: %[[NEW:.*]] = flow.dispatch @{{.*}}(%[[OLD]], %{{.*}})
// CHECK: tosa.variable_write @state, %[[NEW]]
tosa.variable @state = dense<[1.0, 2.0]> : tensor<2xf32>
func.func @variable(%x: tensor<2xf32>) {
  %old = tosa.variable_read @state : tensor<2xf32>
  %new = tosa.add %old, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  tosa.variable_write @state, %new : tensor<2xf32>
  return
}
