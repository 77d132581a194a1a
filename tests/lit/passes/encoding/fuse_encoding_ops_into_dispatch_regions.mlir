// RUN: mesh-opt %s --iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions-pass | filecheck %s
// RUN: mesh-opt %s '--pass-pipeline=builtin.module(iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions{enable-aggressive-fusion=true})' | filecheck %s --check-prefix=MORE

// A region stores its result encoded, if nobody else reads it as it was.

#e = #iree_encoding.testing<>
#k = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [?, 7, 5]>
#ab = affine_map<(a, b) -> (a, b)>
#abc = affine_map<(a, b, c) -> (a, b, c)>

// CHECK-LABEL: util.func public @dynamic
util.func public @dynamic(%a: tensor<?x5xf32>, %m: index) -> tensor<?x5xf32, #k> {
  // CHECK-NEXT: %[[R:.*]] = flow.dispatch.region -> (tensor<?x5xf32, #[[K:encoding.*]]>{%m}) {
  %r = flow.dispatch.region -> (tensor<?x5xf32>{%m}) {
    %em = tensor.empty(%m) : tensor<?x5xf32>
    // CHECK: %[[X:.*]] = linalg.generic
    %x = linalg.generic {indexing_maps = [#ab, #ab], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<?x5xf32>) outs(%em : tensor<?x5xf32>) {
    ^bb0(%i: f32, %o: f32):
      %y = arith.addf %i, %i : f32
      linalg.yield %y : f32
    } -> tensor<?x5xf32>
    // CHECK: %[[Y:.*]] = iree_encoding.set_encoding %[[X]] encoding_dims{%m} : tensor<?x5xf32> -> tensor<?x5xf32, #[[K]]>
    // CHECK-NEXT: flow.return %[[Y]]
    flow.return %x : tensor<?x5xf32>
  }
  // CHECK-NOT: set_encoding
  %0 = iree_encoding.set_encoding %r encoding_dims{%m} : tensor<?x5xf32> -> tensor<?x5xf32, #k>
  // CHECK: util.return %[[R]]
  util.return %0 : tensor<?x5xf32, #k>
}

// Reshapes move along, and the other result stays.
// CHECK-LABEL: util.func public @reshaped
util.func public @reshaped(%a: tensor<2x3x5xf32>) -> (tensor<6x5xf32, #e>, tensor<2x3x5xf32>) {
  // CHECK-NEXT: %[[R:.*]]:2 = flow.dispatch.region -> (tensor<6x5xf32, #encoding{{.*}}>, tensor<2x3x5xf32>)
  %r:2 = flow.dispatch.region -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
    %em = tensor.empty() : tensor<2x3x5xf32>
    %x:2 = linalg.generic {indexing_maps = [#abc, #abc, #abc], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<2x3x5xf32>) outs(%em, %em : tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
    ^bb0(%i: f32, %o: f32, %p: f32):
      %y = arith.addf %i, %i : f32
      linalg.yield %y, %i : f32, f32
    } -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>)
    // CHECK: %[[C:.*]] = tensor.collapse_shape
    // CHECK-NEXT: iree_encoding.set_encoding %[[C]]
    flow.return %x#0, %x#1 : tensor<2x3x5xf32>, tensor<2x3x5xf32>
  }
  // CHECK-NOT: tensor.collapse_shape
  %c = tensor.collapse_shape %r#0 [[0, 1], [2]] : tensor<2x3x5xf32> into tensor<6x5xf32>
  %0 = iree_encoding.set_encoding %c : tensor<6x5xf32> -> tensor<6x5xf32, #e>
  // CHECK: util.return %[[R]]#0, %[[R]]#1
  util.return %0, %r#1 : tensor<6x5xf32, #e>, tensor<2x3x5xf32>
}

// CHECK-LABEL: util.func public @shared
// MORE-LABEL: util.func public @shared
util.func public @shared(%a: tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32, #e>) {
  // CHECK: flow.dispatch.region -> (tensor<2x5xf32>)
  // MORE: %[[R:.*]], %[[S:.*]] = flow.dispatch.region -> (tensor<2x5xf32>, tensor<2x5xf32, #encoding{{.*}}>)
  %r = flow.dispatch.region -> (tensor<2x5xf32>) {
    // MORE: %[[X:.*]] = linalg.add
    %x = linalg.add ins(%a, %a : tensor<2x5xf32>, tensor<2x5xf32>) outs(%a : tensor<2x5xf32>) -> tensor<2x5xf32>
    // MORE: %[[Y:.*]] = iree_encoding.set_encoding %[[X]]
    // MORE: flow.return %[[X]], %[[Y]]
    flow.return %x : tensor<2x5xf32>
  }
  // CHECK: iree_encoding.set_encoding
  %0 = iree_encoding.set_encoding %r : tensor<2x5xf32> -> tensor<2x5xf32, #e>
  // MORE: util.return %[[R]], %[[S]]
  util.return %r, %0 : tensor<2x5xf32>, tensor<2x5xf32, #e>
}

// What inserts a part does not store tiles, nor is an encoding moved in front of its sizes.
// CHECK-LABEL: util.func public @stays
util.func public @stays(%a: tensor<2x5xf32>, %b: tensor<4x5xf32>) -> (tensor<4x5xf32, #k>, tensor<4x5xf32, #k>) {
  %m = arith.constant 4 : index
  // CHECK: flow.dispatch.region -> (tensor<4x5xf32>)
  %r = flow.dispatch.region -> (tensor<4x5xf32>) {
    %x = tensor.insert_slice %a into %b[0, 0] [2, 5] [1, 1] : tensor<2x5xf32> into tensor<4x5xf32>
    flow.return %x : tensor<4x5xf32>
  }
  // CHECK: iree_encoding.set_encoding
  %0 = iree_encoding.set_encoding %r encoding_dims{%m} : tensor<4x5xf32> -> tensor<4x5xf32, #k>
  // CHECK: flow.dispatch.region -> (tensor<4x5xf32>)
  %s = flow.dispatch.region -> (tensor<4x5xf32>) {
    %x = linalg.add ins(%b, %b : tensor<4x5xf32>, tensor<4x5xf32>) outs(%b : tensor<4x5xf32>) -> tensor<4x5xf32>
    flow.return %x : tensor<4x5xf32>
  }
  %n = arith.constant 4 : index
  // CHECK: iree_encoding.set_encoding
  %1 = iree_encoding.set_encoding %s encoding_dims{%n} : tensor<4x5xf32> -> tensor<4x5xf32, #k>
  util.return %0, %1 : tensor<4x5xf32, #k>, tensor<4x5xf32, #k>
}
