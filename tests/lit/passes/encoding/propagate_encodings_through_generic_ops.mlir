// RUN: mesh-opt %s --split-input-file --iree-dispatch-creation-propagate-encodings-through-generic-ops | filecheck %s

// Encodings move through elementwise operations that are in no dispatch.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
#rhs = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [4, 6, 5]>
#acc = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [4, 6, 5]>

// CHECK-DAG: #[[BIAS:encoding[0-9]*]] = #iree_encoding.encoding<operand_index = 2 : index, {{.*}}, user_indexing_maps = [#map, #map1, [#map2, #map3]]

// CHECK-LABEL: util.func public @chain
util.func public @chain(%a: tensor<4x6xf32, #acc>, %b: tensor<6xf32>) -> tensor<4x6xbf16> {
  // CHECK: %[[B:.*]] = iree_encoding.set_encoding %b : tensor<6xf32> -> tensor<6xf32, #[[BIAS]]>
  // CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%a, %[[B]] :
  %0 = iree_encoding.unset_encoding %a : tensor<4x6xf32, #acc> -> tensor<4x6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %b : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]] :
  %f = tensor.empty() : tensor<4x6xbf16>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x6xf32>) outs(%f : tensor<4x6xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %s = arith.truncf %x : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<4x6xbf16>
  // CHECK: %[[U:.*]] = iree_encoding.unset_encoding %[[T]]
  // CHECK-NEXT: util.return %[[U]]
  util.return %2 : tensor<4x6xbf16>
}

// CHECK-LABEL: util.func public @widened
util.func public @widened(%a: tensor<5x6xbf16>) -> tensor<5x6xf32, #rhs> {
  // CHECK: %[[A:.*]] = iree_encoding.set_encoding %a : tensor<5x6xbf16> ->
  // CHECK: linalg.generic {{.*}} ins(%[[A]] :
  // CHECK-NOT: set_encoding
  %e = tensor.empty() : tensor<5x6xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<5x6xbf16>) outs(%e : tensor<5x6xf32>) {
  ^bb0(%x: bf16, %o: f32):
    %s = arith.extf %x : bf16 to f32
    linalg.yield %s : f32
  } -> tensor<5x6xf32>
  %1 = iree_encoding.set_encoding %0 : tensor<5x6xf32> -> tensor<5x6xf32, #rhs>
  util.return %1 : tensor<5x6xf32, #rhs>
}

// What is decoded for somebody else is not computed encoded, nor is what a region does.
// CHECK-LABEL: util.func public @stays
util.func public @stays(%a: tensor<4x6xf32, #acc>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  // CHECK: %[[U:.*]] = iree_encoding.unset_encoding %a
  %0 = iree_encoding.unset_encoding %a : tensor<4x6xf32, #acc> -> tensor<4x6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  // CHECK: linalg.exp ins(%[[U]] :
  %1 = linalg.exp ins(%0 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = flow.dispatch.region -> (tensor<4x6xf32>) {
    // CHECK: %[[V:.*]] = iree_encoding.unset_encoding %a
    %2 = iree_encoding.unset_encoding %a : tensor<4x6xf32, #acc> -> tensor<4x6xf32>
    %f = tensor.empty() : tensor<4x6xf32>
    // CHECK: linalg.exp ins(%[[V]] :
    %3 = linalg.exp ins(%2 : tensor<4x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
    flow.return %3 : tensor<4x6xf32>
  }
  util.return %0, %1, %r : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>
#e = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [4, 6, 5]>

// A second tensor of the size of the result is no scale: to lay it out as well would save nothing.

// CHECK-LABEL: func.func @large_scales
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%a, %s : tensor<5x6xi8>, tensor<6x5xf32>)
// CHECK: iree_encoding.set_encoding %[[W]] : tensor<5x6xf32>
func.func @large_scales(%a: tensor<5x6xi8>, %s: tensor<6x5xf32>) -> tensor<5x6xf32, #e> {
  %o = tensor.empty() : tensor<5x6xf32>
  %0 = linalg.generic {indexing_maps = [#map, #transposed, #map], iterator_types = ["parallel", "parallel"]}
    ins(%a, %s : tensor<5x6xi8>, tensor<6x5xf32>) outs(%o : tensor<5x6xf32>) {
  ^bb0(%x: i8, %y: f32, %z: f32):
    %1 = arith.sitofp %x : i8 to f32
    %2 = arith.mulf %1, %y : f32
    linalg.yield %2 : f32
  } -> tensor<5x6xf32>
  %3 = iree_encoding.set_encoding %0 : tensor<5x6xf32> -> tensor<5x6xf32, #e>
  return %3 : tensor<5x6xf32, #e>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#e = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]>

// The result lists the sizes that its own type leaves open.

// CHECK-LABEL: util.func public @other_open_sizes
// CHECK: iree_encoding.unset_encoding %{{.*}} -> tensor<?x6xf32>{%d}
// CHECK: iree_encoding.unset_encoding %{{.*}} -> tensor<4x6xf32>{{$}}
util.func public @other_open_sizes(%a: tensor<4x6xf32, #e>, %b: tensor<?x6xf32, #e>, %d: index) -> (tensor<?x6xf32>, tensor<4x6xf32>) {
  %0 = iree_encoding.unset_encoding %a : tensor<4x6xf32, #e> -> tensor<4x6xf32>
  %o = tensor.empty(%d) : tensor<?x6xf32>
  %1 = linalg.exp ins(%0 : tensor<4x6xf32>) outs(%o : tensor<?x6xf32>) -> tensor<?x6xf32>
  %2 = iree_encoding.unset_encoding %b : tensor<?x6xf32, #e> -> tensor<?x6xf32>{%d}
  %p = tensor.empty() : tensor<4x6xf32>
  %3 = linalg.exp ins(%2 : tensor<?x6xf32>) outs(%p : tensor<4x6xf32>) -> tensor<4x6xf32>
  util.return %1, %3 : tensor<?x6xf32>, tensor<4x6xf32>
}

// What is read in two orders would be decoded and encoded again for one of them.

// CHECK-LABEL: util.func public @two_orders
// CHECK: %[[U:.*]] = iree_encoding.unset_encoding %a
// CHECK: linalg.generic {{.*}} ins(%[[U]], %[[U]] :
util.func public @two_orders(%a: tensor<4x4xf32, #e>) -> tensor<4x4xf32> {
  %0 = iree_encoding.unset_encoding %a : tensor<4x4xf32, #e> -> tensor<4x4xf32>
  %o = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  util.return %1 : tensor<4x4xf32>
}
