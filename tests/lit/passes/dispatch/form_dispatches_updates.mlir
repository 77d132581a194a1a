// RUN: mesh-opt %s --split-input-file --form-dispatches | filecheck %s

// A kernel that inserts a slice writes it where the tensor lies.

// CHECK: func.func @main_dispatch_0_insert_slice_8x4_f32(%[[S:.*]]: !iree_tensor_ext.dispatch.tensor<readonly:tensor<1x4xf32>>, %[[T:.*]]: !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8x4xf32>>, %{{.*}}: index) {
// CHECK: %[[R:.*]] = tensor.insert_slice
// CHECK: iree_tensor_ext.dispatch.tensor.store %[[R]], %[[T]],
// CHECK-LABEL: func.func @main(
// CHECK: flow.dispatch @main_dispatch_0::@{{.*}}[%i](%s, %t, %i) : (tensor<1x4xf32>, tensor<8x4xf32>, index) -> %t
func.func @main(%t: tensor<8x4xf32>, %s: tensor<1x4xf32>, %i: index) -> tensor<8x4xf32> {
  %r = tensor.insert_slice %s into %t[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// What is inserted may be computed in another kernel; two insertions are two kernels.

// CHECK-LABEL: func.func @main(
// CHECK: %[[U:.*]] = flow.dispatch @main_dispatch_0::@{{.*}}(%s, %t, %i) : {{.*}} -> %t
// CHECK: flow.dispatch @main_dispatch_{{.*}}(%s, %[[U]]) : {{.*}} -> %[[U]]
func.func @main(%t: tensor<8x4xf32>, %s: tensor<1x4xf32>, %i: index) -> tensor<8x4xf32> {
  %u = tensor.insert_slice %s into %t[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  %r = tensor.insert_slice %s into %u[3, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// A kernel that reads the tensor once more writes to a tensor of its own.

// CHECK: func.func @main_dispatch_0_insert_slice_4x4_f32(%{{.*}}: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4x4xf32>>, %{{.*}}: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4x4xf32>>) {
// CHECK-LABEL: func.func @main(
// CHECK: flow.dispatch @main_dispatch_0::@{{.*}}(%t) : (tensor<4x4xf32>) -> tensor<4x4xf32>
func.func @main(%t: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = tensor.insert_slice %t into %t[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
