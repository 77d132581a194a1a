// RUN: mesh-opt %s --form-dispatches | filecheck %s

// What is one dispatch in the program is one; a kernel in place moves to an executable.

// CHECK: flow.executable private @main_dispatch_0 {
// CHECK: func.func @main_dispatch_0_kernel(
// CHECK: flow.executable private @main_dispatch_1 {
// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK-LABEL: util.func public @main
// CHECK: %[[R:.*]] = flow.dispatch @main_dispatch_1::@main_dispatch_1_matmul_4x4x4_f32(%x) {stream.affinity = #hal.device.affinity<@a>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[W:.*]] = flow.dispatch @main_dispatch_0::@main_dispatch_0_kernel(%[[R]]) {stream.affinity = #hal.device.affinity<@a>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: util.return %[[W]]
util.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %z = arith.constant 0.0 : f32
  %r = flow.dispatch.region -> (tensor<4x4xf32>) attributes {stream.affinity = #hal.device.affinity<@a>} {
    %e = tensor.empty() : tensor<4x4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %p = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
    %q = linalg.matmul ins(%p, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
    flow.return %q : tensor<4x4xf32>
  }
  %w = flow.dispatch.workgroups(%r) : (tensor<4x4xf32>) -> tensor<4x4xf32> attributes {stream.affinity = #hal.device.affinity<@a>} = (%s: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x4xf32>>, %t: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x4xf32>>) {
    %l = iree_tensor_ext.dispatch.tensor.load %s, offsets = [0, 0], sizes = [4, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x4xf32>> -> tensor<4x4xf32>
    iree_tensor_ext.dispatch.tensor.store %l, %t, offsets = [0, 0], sizes = [4, 4], strides = [1, 1] : tensor<4x4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x4xf32>>
    flow.return
  }
  util.return %w : tensor<4x4xf32>
}
