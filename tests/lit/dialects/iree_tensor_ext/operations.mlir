// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Today's dispatch tensors.

// CHECK: func.func @kernel(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x4xf32>>, %n: index, %o: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>, %p: !iree_tensor_ext.dispatch.tensor<readwrite:f32>) {
// CHECK: %0 = iree_tensor_ext.dispatch.workload.ordinal %n, 1 : index
// CHECK: %1 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0, 0], sizes = [1, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x4xf32>>{%0} -> tensor<4xf32>
// CHECK: iree_tensor_ext.dispatch.tensor.store %1, %o, offsets = [0], sizes = [4], strides = [1] : tensor<4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>
// CHECK: %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%n, %0)
// CHECK: %x_1, %y_1, %z_1 = iree_tensor_ext.dispatch.workgroup_count_from_slice()
// CHECK: func.func @host(%t: tensor<?x4xf32>, %n: index) {
// CHECK: %s = iree_tensor_ext.compute_barrier.start %t : tensor<?x4xf32>{%n} -> tensor<?x4xf32>
// CHECK: %e = iree_tensor_ext.compute_barrier.end %t : tensor<?x4xf32>{%n} -> tensor<?x4xf32>
// CHECK: %b = iree_tensor_ext.bitcast %t : tensor<?x4xf32>{%n} -> tensor<?x4xi32>{%n}

func.func @kernel(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x4xf32>>, %n: index, %o: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>, %p: !iree_tensor_ext.dispatch.tensor<readwrite:f32>) {
  %0 = iree_tensor_ext.dispatch.workload.ordinal %n, 1 : index
  %1 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0, 0], sizes = [1, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x4xf32>>{%0} -> tensor<4xf32>
  iree_tensor_ext.dispatch.tensor.store %1, %o, offsets = [0], sizes = [4], strides = [1] : tensor<4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>
  %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%n, %0)
  %x_1, %y_1, %z_1 = iree_tensor_ext.dispatch.workgroup_count_from_slice()
  func.return
}
func.func @host(%t: tensor<?x4xf32>, %n: index) {
  %s = iree_tensor_ext.compute_barrier.start %t : tensor<?x4xf32>{%n} -> tensor<?x4xf32>
  %e = iree_tensor_ext.compute_barrier.end %t : tensor<?x4xf32>{%n} -> tensor<?x4xf32>
  %b = iree_tensor_ext.bitcast %t : tensor<?x4xf32>{%n} -> tensor<?x4xi32>{%n}
  func.return
}

// Rows of different lengths.

// CHECK: func.func @ragged
func.func @ragged(%t: tensor<?x4xf32>, %m: memref<8x4xf32>, %offsets: tensor<4xi32>, %o: memref<?xi32>, %n: index) {
  // CHECK: %r = iree_tensor_ext.cast_to_ragged_shape %t ragged_dim(0) column_lengths(%offsets) : (tensor<?x4xf32>{%n}, tensor<4xi32>) -> tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  %r = iree_tensor_ext.cast_to_ragged_shape %t ragged_dim(0) column_lengths(%offsets) : (tensor<?x4xf32>{%n}, tensor<4xi32>) -> tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  // CHECK: iree_tensor_ext.cast_to_ragged_shape %m ragged_dim(0) column_lengths(%o) num_ragged_rows(%n) : (memref<8x4xf32>, memref<?xi32>) -> memref<?x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  %s = iree_tensor_ext.cast_to_ragged_shape %m ragged_dim(0) column_lengths(%o) num_ragged_rows(%n) : (memref<8x4xf32>, memref<?xi32>) -> memref<?x?x4xf32, #iree_tensor_ext.ragged_shape<0>>
  // CHECK: iree_tensor_ext.linearize_ragged_dims %r : tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>> -> tensor<?x4xf32>{%n}
  %l = iree_tensor_ext.linearize_ragged_dims %r : tensor<3x?x4xf32, #iree_tensor_ext.ragged_shape<0>> -> tensor<?x4xf32>{%n}
  func.return
}

// A write-only tensor is loaded as a destination.
// CHECK-LABEL: func.func @destination(
// CHECK: iree_tensor_ext.dispatch.tensor.load %a, offsets = [0], sizes = [4], strides = [1] : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>> -> tensor<4xf32>
func.func @destination(%a: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>) {
  %0 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0], sizes = [4], strides = [1] : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>> -> tensor<4xf32>
  func.return
}
