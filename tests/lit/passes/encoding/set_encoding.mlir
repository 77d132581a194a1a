// RUN: mesh-opt %s --split-input-file --set-encoding | filecheck %s

// The operands and the result of a matrix product, with the sizes that are known.

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [?, 33, 40]>
// CHECK-DAG: #encoding1 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [?, 33, 40]>
// CHECK-DAG: #encoding2 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [?, 33, 40]>
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[M:.*]] = tensor.dim %a
// CHECK: %[[D:.*]] = tensor.dim %a
// CHECK: iree_encoding.set_encoding %a encoding_dims{%[[D]]} : tensor<?x40xf32> -> tensor<?x40xf32, #encoding>
// CHECK: iree_encoding.set_encoding %b encoding_dims{%[[D]]} : tensor<40x33xf32> -> tensor<40x33xf32, #encoding1
// CHECK: %[[E:.*]] = tensor.empty(%[[M]]) : tensor<?x33xf32, #encoding2
// CHECK: %[[F:.*]] = linalg.fill ins({{.*}}) outs(%[[E]]
// CHECK: %[[R:.*]] = linalg.matmul {{.*}} outs(%[[F]]
// CHECK: iree_encoding.unset_encoding %[[R]] encoding_dims{%[[D]]} : {{.*}} -> tensor<?x33xf32>{%[[M]]}
func.func @dynamic(%a: tensor<?x40xf32>, %b: tensor<40x33xf32>) -> tensor<?x33xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x40xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x33xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x33xf32>) -> tensor<?x33xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x40xf32>, tensor<40x33xf32>) outs(%f : tensor<?x33xf32>) -> tensor<?x33xf32>
  return %r : tensor<?x33xf32>
}

// -----

// A sum that starts with given numbers: these are laid out too. Unsigned elements are named as such.

// CHECK-LABEL: func.func @widening
// CHECK: iree_encoding.set_encoding %a : {{.*}}
// CHECK: iree_encoding.set_encoding %b : {{.*}}
// CHECK: iree_encoding.set_encoding %c : {{.*}}
func.func @widening(%a: tensor<4x5xi8>, %b: tensor<6x5xi8>, %c: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : tensor<4x5xi8>, tensor<6x5xi8>) outs(%c : tensor<4x6xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %0 = arith.extui %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %1, %0 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}

// -----

// Batches, and vectors.

// CHECK-DAG: #map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #map3 = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #map4 = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #map5 = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [3, 4, 6, 5]>
// CHECK-DAG: #encoding3 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map3, #map4, #map5], iteration_sizes = [6, 5]>
// CHECK-LABEL: func.func @batches
// CHECK: #encoding
// CHECK: linalg.batch_matmul
// CHECK: #encoding3
// CHECK: linalg.matvec
func.func @batches(%a: tensor<3x4x5xf32>, %b: tensor<3x5x6xf32>, %c: tensor<3x4x6xf32>, %d: tensor<6x5xf32>, %x: tensor<5xf32>, %y: tensor<6xf32>) -> (tensor<3x4x6xf32>, tensor<6xf32>) {
  %r = linalg.batch_matmul ins(%a, %b : tensor<3x4x5xf32>, tensor<3x5x6xf32>) outs(%c : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  %s = linalg.matvec ins(%d, %x : tensor<6x5xf32>, tensor<5xf32>) outs(%y : tensor<6xf32>) -> tensor<6xf32>
  return %r, %s : tensor<3x4x6xf32>, tensor<6xf32>
}

// -----

// No M and no N, and what is no sum of products: left alone.

// CHECK-LABEL: func.func @others
// CHECK-NOT: iree_encoding.{{(un)?}}set_encoding
func.func @others(%x: tensor<5xf32>, %y: tensor<5xf32>, %s: tensor<f32>, %a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> (tensor<f32>, tensor<4x6xf32>) {
  %r = linalg.dot ins(%x, %y : tensor<5xf32>, tensor<5xf32>) outs(%s : tensor<f32>) -> tensor<f32>
  %t = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    %1 = arith.maximumf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x6xf32>
  return %r, %t : tensor<f32>, tensor<4x6xf32>
}

// -----

// Where an operation is marked, only that one is encoded, as by iree-dispatch-creation-set-encoding.

// CHECK-LABEL: func.func @marked
// CHECK-NOT: set_encoding %a
// CHECK: linalg.matmul ins(%a, %b : tensor<4x4xf32>
// CHECK: set_encoding
// CHECK: linalg.matmul
// CHECK-NOT: iree.opt.data_tiling
func.func @marked(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.matmul {iree.opt.data_tiling} ins(%r, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----

// In a module of 2024: sizes are rounded up there, and no operation lists the loops' extents.

#exe = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {encoding_solver = #iree_cpu.vmvx_encoding_solver<>}>
util.global private @device = #hal.device.target<"local", [#exe]> : !hal.device

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 8, 4>>
// CHECK-LABEL: func.func @of_2024
// CHECK: iree_encoding.set_encoding %a : tensor<?x4xf32> -> tensor<?x4xf32, #encoding>
func.func @of_2024(%a: tensor<?x4xf32>, %b: tensor<4x8xf32>, %c: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<?x4xf32>, tensor<4x8xf32>) outs(%c : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// -----

// Several loops of one role are encoded as they are.

// CHECK-LABEL: func.func @heads
// CHECK: set_encoding %a : tensor<2x5x4x8xf32>
// CHECK: set_encoding %b : tensor<4x8x6xf32>
// CHECK: linalg.contract
func.func @heads(%a: tensor<2x5x4x8xf32>, %b: tensor<4x8x6xf32>, %c: tensor<2x5x6xf32>) -> tensor<2x5x6xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(b, s, n, h, e) -> (b, s, h, e)>, affine_map<(b, s, n, h, e) -> (h, e, n)>, affine_map<(b, s, n, h, e) -> (b, s, n)>]
    ins(%a, %b : tensor<2x5x4x8xf32>, tensor<4x8x6xf32>) outs(%c : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %r : tensor<2x5x6xf32>
}

// -----

// Another large operand at each run, read once: a change of its layout takes longer than the product.

// CHECK-LABEL: func.func @one_token
// CHECK-NOT: set_encoding
func.func @one_token(%a: tensor<1x256xf32>, %b: tensor<256x256xf32>, %c: tensor<1x256xf32>) -> tensor<1x256xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<1x256xf32>, tensor<256x256xf32>) outs(%c : tensor<1x256xf32>) -> tensor<1x256xf32>
  return %r : tensor<1x256xf32>
}

// -----

// The layout of a constant, or of what a loop does not change, is changed once.

// CHECK-LABEL: func.func @one_token_of_constant
// CHECK: set_encoding
func.func @one_token_of_constant(%a: tensor<1x256xf32>, %c: tensor<1x256xf32>) -> tensor<1x256xf32> {
  %b = arith.constant dense<1.0> : tensor<256x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1x256xf32>, tensor<256x256xf32>) outs(%c : tensor<1x256xf32>) -> tensor<1x256xf32>
  return %r : tensor<1x256xf32>
}

// CHECK-LABEL: func.func @one_token_in_loop
// CHECK: scf.for
// CHECK: set_encoding
func.func @one_token_in_loop(%t: tensor<1x256xf32>, %b: tensor<256x2048xf32>, %c: tensor<1x2048xf32>, %n: index) -> tensor<1x2048xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %l = scf.for %i = %zero to %n step %one iter_args(%a = %c) -> tensor<1x2048xf32> {
    %r = linalg.matmul ins(%t, %b : tensor<1x256xf32>, tensor<256x2048xf32>) outs(%a : tensor<1x2048xf32>) -> tensor<1x2048xf32>
    scf.yield %r : tensor<1x2048xf32>
  }
  return %l : tensor<1x2048xf32>
}

// -----

// What is filled and then encoded is filled encoded.

// CHECK-LABEL: func.func @filled
// CHECK: %[[E:.*]] = tensor.empty(%m) : tensor<?x5xf32, #encoding
// CHECK: %[[F:.*]] = linalg.fill ins({{.*}}) outs(%[[E]] :
// CHECK-NOT: set_encoding
// CHECK: return %[[F]]
func.func @filled(%m: index) -> tensor<?x5xf32, #iree_encoding.testing<>> {
  %z = arith.constant 1.0 : f32
  %e = tensor.empty(%m) : tensor<?x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x5xf32>) -> tensor<?x5xf32>
  %r = iree_encoding.set_encoding %f : tensor<?x5xf32> -> tensor<?x5xf32, #iree_encoding.testing<>>
  return %r : tensor<?x5xf32, #iree_encoding.testing<>>
}

// -----

// Nothing is asked for where it is said how an operation is compiled, or how many workgroups run it.

// CHECK-LABEL: func.func @settled
// CHECK-NOT: set_encoding
func.func @settled(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.matmul {compilation_info = "mine"} ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = flow.dispatch.region -> (tensor<4x4xf32>) {
    %2 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
    flow.return %2 : tensor<4x4xf32>
  } count() -> (index, index, index) {
    %c1 = arith.constant 1 : index
    flow.return %c1, %c1, %c1 : index, index, index
  }
  return %1 : tensor<4x4xf32>
}

// -----

// A product in a loop that becomes one kernel is left as it is. A larger one is encoded.

// CHECK-LABEL: func.func @in_loops
// CHECK: scf.for
// CHECK-NOT: set_encoding
// CHECK: linalg.matmul
// CHECK: scf.for
// CHECK: iree_encoding.set_encoding
// CHECK: linalg.matmul
func.func @in_loops(%a: tensor<8x8xf32>, %b: tensor<32x32xf32>, %n: index) -> (tensor<8x8xf32>, tensor<32x32xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %q = scf.for %i = %zero to %n step %one iter_args(%x = %a) -> (tensor<8x8xf32>) {
    %r = linalg.matmul ins(%x, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %r : tensor<8x8xf32>
  }
  %l = scf.for %i = %zero to %n step %one iter_args(%x = %b) -> (tensor<32x32xf32>) {
    %r = linalg.matmul ins(%x, %b : tensor<32x32xf32>, tensor<32x32xf32>) outs(%b : tensor<32x32xf32>) -> tensor<32x32xf32>
    scf.yield %r : tensor<32x32xf32>
  }
  return %q, %l : tensor<8x8xf32>, tensor<32x32xf32>
}
