// RUN: mesh-opt %s --iree-dispatch-creation-hoist-encoding-ops | filecheck %s

// Encodings leave dispatch regions if what they encode is known in front of these.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#rhs = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [255, 513, 127]>
#acc = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [255, 513, 127]>
#pad = #iree_encoding.padding<[0, 64]>

// The encoding of a tensor that is read by another map says so: a list of maps.
// CHECK-DAG: #[[RHS:encoding[0-9]*]] = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [255, 513, 127]>
// CHECK-DAG: #[[ROW:encoding[0-9]*]] = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, [#map1, #map3], #map2], iteration_sizes = [255, 513, 127]>
// CHECK-DAG: #[[BIAS:encoding[0-9]*]] = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, [#map2, #map3]], iteration_sizes = [255, 513, 127]>

// CHECK-LABEL: util.func public @broadcast
util.func public @broadcast(%a: tensor<513xf32>) -> tensor<127x513xf32, #rhs> {
  // CHECK-NEXT: %[[A:.*]] = iree_encoding.set_encoding %a : tensor<513xf32> -> tensor<513xf32, #[[ROW]]>
  // CHECK-NEXT: flow.dispatch.region
  %0 = flow.dispatch.region -> (tensor<127x513xf32, #rhs>) {
    // CHECK-NEXT: tensor.empty() : tensor<127x513xf32, #[[RHS]]>
    %e = tensor.empty() : tensor<127x513xf32>
    // CHECK-NEXT: linalg.generic {{.*}} ins(%[[A]] : tensor<513xf32, #[[ROW]]>)
    %1 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<513xf32>) outs(%e : tensor<127x513xf32>) {
    ^bb0(%x: f32, %o: f32):
      linalg.yield %x : f32
    } -> tensor<127x513xf32>
    %2 = iree_encoding.set_encoding %1 : tensor<127x513xf32> -> tensor<127x513xf32, #rhs>
    flow.return %2 : tensor<127x513xf32, #rhs>
  }
  util.return %0 : tensor<127x513xf32, #rhs>
}

// CHECK-LABEL: util.func public @elementwise
util.func public @elementwise(%a: tensor<255x513xf32, #acc>, %b: tensor<513xf32>) -> tensor<255x513xbf16> {
  // CHECK-NEXT: %[[B:.*]] = iree_encoding.set_encoding %b : tensor<513xf32> -> tensor<513xf32, #[[BIAS]]>
  %0 = flow.dispatch.region -> (tensor<255x513xbf16>) {
    %1 = iree_encoding.unset_encoding %a : tensor<255x513xf32, #acc> -> tensor<255x513xf32>
    %e = tensor.empty() : tensor<255x513xbf16>
    // CHECK: linalg.generic {{.*}} ins(%a, %[[B]] :
    %2 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %b : tensor<255x513xf32>, tensor<513xf32>) outs(%e : tensor<255x513xbf16>) {
    ^bb0(%x: f32, %y: f32, %o: bf16):
      %s = arith.addf %x, %y : f32
      %t = arith.truncf %s : f32 to bf16
      linalg.yield %t : bf16
    } -> tensor<255x513xbf16>
    // CHECK: iree_encoding.unset_encoding {{.*}} -> tensor<255x513xbf16>
    flow.return %2 : tensor<255x513xbf16>
  }
  util.return %0 : tensor<255x513xbf16>
}

// A constant and a part of a tensor leave along with their encodings.
// CHECK-LABEL: util.func public @along
util.func public @along(%a: tensor<3x127x513xf32>, %i: index) -> tensor<127x513xf32> {
  // CHECK-NEXT: %[[P:.*]] = tensor.extract_slice %a
  // CHECK-NEXT: iree_encoding.set_encoding %[[P]]
  // CHECK-NEXT: %[[C:.*]] = arith.constant dense<1.000000e+00>
  // CHECK-NEXT: iree_encoding.set_encoding %[[C]]
  // CHECK-NEXT: flow.dispatch.region
  %0 = flow.dispatch.region -> (tensor<127x513xf32>) {
    // CHECK-NEXT: tensor.empty
    %p = tensor.extract_slice %a[%i, 0, 0] [1, 127, 513] [1, 1, 1] : tensor<3x127x513xf32> to tensor<127x513xf32>
    %1 = iree_encoding.set_encoding %p : tensor<127x513xf32> -> tensor<127x513xf32, #rhs>
    %c = arith.constant dense<1.0> : tensor<127x513xf32>
    %2 = iree_encoding.set_encoding %c : tensor<127x513xf32> -> tensor<127x513xf32, #rhs>
    %e = tensor.empty() : tensor<127x513xf32, #rhs>
    %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %2 : tensor<127x513xf32, #rhs>, tensor<127x513xf32, #rhs>) outs(%e : tensor<127x513xf32, #rhs>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    } -> tensor<127x513xf32, #rhs>
    %4 = iree_encoding.unset_encoding %3 : tensor<127x513xf32, #rhs> -> tensor<127x513xf32>
    flow.return %4 : tensor<127x513xf32>
  }
  util.return %0 : tensor<127x513xf32>
}

// What only leaves the region stays, and so does padding.
// CHECK-LABEL: util.func public @stays
util.func public @stays(%a: tensor<127x513xf32>) -> (tensor<127x513xf32, #rhs>, tensor<127x513xf32>) {
  // CHECK-NEXT: flow.dispatch.region
  %0:2 = flow.dispatch.region -> (tensor<127x513xf32, #rhs>, tensor<127x513xf32>) {
    // CHECK-NEXT: iree_encoding.set_encoding %a {{.*}} #[[RHS]]>
    %1 = iree_encoding.set_encoding %a : tensor<127x513xf32> -> tensor<127x513xf32, #rhs>
    // CHECK-NEXT: iree_encoding.set_encoding %a {{.*}} #iree_encoding.padding
    %2 = iree_encoding.set_encoding %a : tensor<127x513xf32> -> tensor<127x513xf32, #pad>
    %3 = iree_encoding.unset_encoding %2 : tensor<127x513xf32, #pad> -> tensor<127x513xf32>
    flow.return %1, %3 : tensor<127x513xf32, #rhs>, tensor<127x513xf32>
  }
  util.return %0#0, %0#1 : tensor<127x513xf32, #rhs>, tensor<127x513xf32>
}

// Narrow numbers are encoded as they are stored, and their scales as they are read.
// CHECK-LABEL: util.func public @scaled
util.func public @scaled(%a: tensor<127x513xi8>, %s: tensor<513xf32>) -> tensor<127x513xf32, #rhs> {
  // CHECK-NEXT: iree_encoding.set_encoding %a : tensor<127x513xi8> -> tensor<127x513xi8, #{{.*}}>
  // CHECK-NEXT: iree_encoding.set_encoding %s : tensor<513xf32> -> tensor<513xf32, #[[ROW]]>
  // CHECK-NEXT: flow.dispatch.region
  %0 = flow.dispatch.region -> (tensor<127x513xf32, #rhs>) {
    %e = tensor.empty() : tensor<127x513xf32>
    %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<127x513xi8>, tensor<513xf32>) outs(%e : tensor<127x513xf32>) {
    ^bb0(%x: i8, %y: f32, %o: f32):
      %t = arith.sitofp %x : i8 to f32
      %u = arith.mulf %t, %y : f32
      linalg.yield %u : f32
    } -> tensor<127x513xf32>
    %2 = iree_encoding.set_encoding %1 : tensor<127x513xf32> -> tensor<127x513xf32, #rhs>
    flow.return %2 : tensor<127x513xf32, #rhs>
  }
  util.return %0 : tensor<127x513xf32, #rhs>
}

// An encoding that does not take maps stays, and nothing is left of the attempt to move it.
// CHECK-LABEL: util.func public @without_maps(
// CHECK: } -> tensor<64x16xf32>
// CHECK-NEXT: iree_encoding.set_encoding {{.*}} : tensor<64x16xf32> ->
// CHECK-NEXT: util.optimization_barrier
util.func public @without_maps(%a: tensor<64x16xf16>, %b: tensor<16xf32>) -> tensor<64x16xf32> {
  %0 = flow.dispatch.region -> (tensor<64x16xf32>) {
    %1 = tensor.empty() : tensor<64x16xf32>
    %2 = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a, %b : tensor<64x16xf16>, tensor<16xf32>) outs(%1 : tensor<64x16xf32>) {
      ^bb0(%x: f16, %y: f32, %z: f32):
        %3 = arith.extf %x : f16 to f32
        %4 = arith.mulf %3, %y : f32
        linalg.yield %4 : f32
    } -> tensor<64x16xf32>
    %5 = iree_encoding.set_encoding %2 : tensor<64x16xf32> -> tensor<64x16xf32, #iree_encoding.testing<>>
    %6 = util.optimization_barrier %5 : tensor<64x16xf32, #iree_encoding.testing<>>
    %7 = iree_encoding.unset_encoding %6 : tensor<64x16xf32, #iree_encoding.testing<>> -> tensor<64x16xf32>
    flow.return %7 : tensor<64x16xf32>
  }
  util.return %0 : tensor<64x16xf32>
}
