// RUN: mesh-opt %s -p convert-stablehlo-to-linalg | filecheck %s

// A matrix for all products of a batch is read as it is: torch.export writes linear layers like
// this if their input is not contiguous.

// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @linear
// CHECK: linalg.generic {indexing_maps = [#[[X]], #[[W]], #[[Y]]]
// CHECK-SAME: ins(%x, %w : tensor<7x4x6xf32>, tensor<6x5xf32>)
func.func @linear(%x: tensor<7x4x6xf32>, %w: tensor<6x5xf32>) -> tensor<7x4x5xf32> {
  %0 = stablehlo.broadcast_in_dim %w, dims = [2, 3] : (tensor<6x5xf32>) -> tensor<1x7x6x5xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x7x6x5xf32>) -> tensor<7x6x5xf32>
  %2 = stablehlo.dot_general %x, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<7x4x6xf32>, tensor<7x6x5xf32>) -> tensor<7x4x5xf32>
  return %2 : tensor<7x4x5xf32>
}

// The sum over a broadcast dimension keeps its terms.

// CHECK-LABEL: func.func @summed
// CHECK: linalg.generic
// CHECK-SAME: outs(%{{.*}} : tensor<6x5xf32>)
// CHECK: linalg.generic
// CHECK-SAME: tensor<4x6xf32>, tensor<6x5xf32>
func.func @summed(%x: tensor<4x6xf32>, %w: tensor<5xf32>) -> tensor<4x5xf32> {
  %0 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<5xf32>) -> tensor<6x5xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}
