// RUN: mesh-opt %s --iree-dispatch-creation-convert-encoding-to-flow | filecheck %s

#e = #iree_encoding.testing<>

// CHECK-LABEL: util.func public @dynamic
util.func public @dynamic(%a: tensor<?x4xf32>, %m: index) -> tensor<?x4xf32> {
  // CHECK: %[[M:.*]] = tensor.dim %a
  // CHECK-NEXT: %[[E:.*]] = flow.tensor.encode %a : tensor<?x4xf32>{%[[M]]} -> tensor<?x4xf32, #encoding>{%[[M]]}
  %0 = iree_encoding.set_encoding %a : tensor<?x4xf32> -> tensor<?x4xf32, #e>
  // CHECK-NEXT: flow.tensor.encode %[[E]] : tensor<?x4xf32, #encoding>{%m} -> tensor<?x4xf32>{%m}
  %1 = iree_encoding.unset_encoding %0 : tensor<?x4xf32, #e> -> tensor<?x4xf32>{%m}
  util.return %1 : tensor<?x4xf32>
}

// CHECK-LABEL: util.func public @in_a_dispatch
util.func public @in_a_dispatch(%a: tensor<4x4xf32>) -> tensor<4x4xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<4x4xf32, #e>) {
    // CHECK: iree_encoding.set_encoding
    %1 = iree_encoding.set_encoding %a : tensor<4x4xf32> -> tensor<4x4xf32, #e>
    flow.return %1 : tensor<4x4xf32, #e>
  }
  util.return %0 : tensor<4x4xf32, #e>
}
