// RUN: mesh-opt %s --emit=host-code | filecheck %s

// The estimate of work counts the elements that a kernel reads, not the whole tensor, so that small
// parts of large tensors do not wake other workers.

// CHECK-LABEL: func @slice
// CHECK: run @tensor.extract_slice_0, tiles 8, work 512,
func.func @slice(%x: tensor<512x512xf32>, %i: index) -> tensor<8x8xf32> {
  %0 = tensor.extract_slice %x[%i, %i] [8, 8] [1, 1] : tensor<512x512xf32> to tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK-LABEL: func @look_up
// CHECK: run @linalg.generic_1, tiles 4, work 2064,
func.func @look_up(%table: tensor<50000x64xf32>, %rows: tensor<4xi32>) -> tensor<4x64xf32> {
  %e = tensor.empty() : tensor<4x64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<4xi32>) outs(%e : tensor<4x64xf32>) {
  ^bb0(%row: i32, %out: f32):
    %i = arith.index_cast %row : i32 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%i, %j] : tensor<50000x64xf32>
    linalg.yield %x : f32
  } -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
