// RUN: mesh-opt %s -p convert-stablehlo-to-linalg | filecheck %s

// Each component of an index vector is read where it comes from: the concatenation is not made.

// CHECK-LABEL: func.func @pick
// CHECK-SAME: (%x: tensor<3x8x9xf32>, %rows: tensor<5xi64>, %columns: tensor<4xi64>)
// CHECK-NOT: tensor.concat
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = linalg.index 1
// CHECK: %[[J:.*]] = linalg.index 2
// CHECK: tensor.extract %rows[%[[I]]] : tensor<5xi64>
// CHECK: tensor.extract %columns[%[[J]]] : tensor<4xi64>
// CHECK: tensor.extract %x[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<3x8x9xf32>
func.func @pick(%x: tensor<3x8x9xf32>, %rows: tensor<5xi64>, %columns: tensor<4xi64>) -> tensor<3x5x4xf32> {
  %three = stablehlo.constant dense<3> : tensor<1xi64>
  %k = stablehlo.dynamic_iota %three, dim = 0 : (tensor<1xi64>) -> tensor<3xi64>
  %0 = stablehlo.broadcast_in_dim %k, dims = [0] : (tensor<3xi64>) -> tensor<3x5x4xi64>
  %1 = stablehlo.reshape %0 : (tensor<3x5x4xi64>) -> tensor<3x5x4x1xi64>
  %2 = stablehlo.reshape %rows : (tensor<5xi64>) -> tensor<5x1xi64>
  %3 = stablehlo.broadcast_in_dim %2, dims = [1, 2] : (tensor<5x1xi64>) -> tensor<3x5x4xi64>
  %4 = stablehlo.reshape %3 : (tensor<3x5x4xi64>) -> tensor<3x5x4x1xi64>
  %5 = stablehlo.broadcast_in_dim %columns, dims = [2] : (tensor<4xi64>) -> tensor<3x5x4xi64>
  %6 = stablehlo.reshape %5 : (tensor<3x5x4xi64>) -> tensor<3x5x4x1xi64>
  %7 = stablehlo.concatenate %1, %4, %6, dim = 3 : (tensor<3x5x4x1xi64>, tensor<3x5x4x1xi64>, tensor<3x5x4x1xi64>) -> tensor<3x5x4x3xi64>
  %8 = "stablehlo.gather"(%x, %7) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2], start_index_map = [0, 1, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<3x8x9xf32>, tensor<3x5x4x3xi64>) -> tensor<3x5x4xf32>
  return %8 : tensor<3x5x4xf32>
}
