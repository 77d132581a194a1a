// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// What xDSL lacks, or reads too strictly.

// CHECK-LABEL: func.func @operations
// CHECK-NEXT: %0 = tensor.generate %i {
// CHECK-NEXT: ^bb0(%a: index, %b: index):
// CHECK-NEXT: tensor.yield %v : f32
// CHECK-NEXT: } : tensor<4x?xf32>
// CHECK-NEXT: %1 = tensor.bitcast %x : tensor<4x8xf32> to tensor<4x8xi32>
// CHECK-NEXT: %2 = tensor.rank %x : tensor<4x8xf32>
// CHECK-NEXT: %3 = tensor.gather %x[%gi] gather_dims([0]) : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x1x8xf32>
// CHECK-NEXT: %4 = tensor.gather %x[%gi] gather_dims([1]) unique : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x4x1xf32>
// CHECK-NEXT: %5 = tensor.scatter %3 into %x[%gi] scatter_dims([0]) unique : (tensor<3x1x8xf32>, tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<4x8xf32>
// CHECK-NEXT: %6 = scf.forall (%p) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
// CHECK-NEXT: %s = tensor.extract_slice %o[%p, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
// CHECK-NEXT: scf.forall.in_parallel {
// CHECK-NEXT: tensor.parallel_insert_slice %s into %o[%p, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: scf.forall (%p_1, %q) = (0, %i) to (%i, 8) step (1, 2) {
// CHECK-NEXT: }
// CHECK-NEXT: scf.forall (%p_2, %q_1) in (%i, 8) {
// CHECK-NEXT: }
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @operations(%x: tensor<4x8xf32>, %d: tensor<?x?xf32>, %i: index, %v: f32, %gi: tensor<3x1xindex>, %u: tensor<*xf32>, %e1: tensor<3x8xf32>) {
  %0 = tensor.generate %i {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } : tensor<4x?xf32>
  %1 = tensor.bitcast %x : tensor<4x8xf32> to tensor<4x8xi32>
  %2 = tensor.rank %x : tensor<4x8xf32>
  %3 = tensor.gather %x[%gi] gather_dims([0]) : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x1x8xf32>
  %4 = tensor.gather %x[%gi] gather_dims([1]) unique : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x4x1xf32>
  %5 = tensor.scatter %3 into %x[%gi] scatter_dims([0]) unique : (tensor<3x1x8xf32>, tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<4x8xf32>
  %6 = scf.forall (%p) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
    %s = tensor.extract_slice %o[%p, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%p, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  scf.forall (%p, %q) = (0, %i) to (%i, 8) step (1, 2) {
  }
  scf.forall (%p, %q) in (%i, 8) {
  }
  return
}

// CHECK-LABEL: func.func @pad
// CHECK-NEXT: %0 = tensor.pad %x low[0, 1] high[0, 1] {
// CHECK-NEXT: ^bb0(%i: index, %j: index):
// CHECK-NEXT: tensor.yield %z : f32
// CHECK-NEXT: } : tensor<4x8xf32> to tensor<4x10xf32>
// CHECK-NEXT: %1 = tensor.pad %d nofold low[0, 0] high[%n, 0] {
// CHECK-NEXT: ^bb0(%i_1: index, %j_1: index):
// CHECK-NEXT: tensor.yield %z : f32
// CHECK-NEXT: } : tensor<?x8xf32> to tensor<16x8xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @pad(%x: tensor<4x8xf32>, %d: tensor<?x8xf32>, %n: index, %z: f32) {
  %0 = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<4x8xf32> to tensor<4x10xf32>
  %1 = tensor.pad %d nofold low[0, 0] high[%n, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<?x8xf32> to tensor<16x8xf32>
  return
}

// CHECK-LABEL: func.func @rank_zero
// CHECK-NEXT: %0 = tensor.expand_shape %s [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
// CHECK-NEXT: %1 = tensor.collapse_shape %o [] : tensor<1x1xf32> into tensor<f32>
// CHECK-NEXT: %2 = tensor.expand_shape %d {{\[\[}}0, 1], [2{{\]\]}} output_shape [%n, 2, 4] : tensor<?x4xf32> into tensor<?x2x4xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @rank_zero(%s: tensor<f32>, %o: tensor<1x1xf32>, %d: tensor<?x4xf32>, %n: index) {
  %0 = tensor.expand_shape %s [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %1 = tensor.collapse_shape %o [] : tensor<1x1xf32> into tensor<f32>
  %2 = tensor.expand_shape %d [[0, 1], [2]] output_shape [%n, 2, 4] : tensor<?x4xf32> into tensor<?x2x4xf32>
  return
}
