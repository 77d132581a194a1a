// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Index arithmetic, parallel loops, buffers and functions as values.

// CHECK: #map = affine_map<(d0)[s0] -> (d0, s0 + 1)>
// CHECK-LABEL: func.func @indices
// CHECK-NEXT: %0:2 = affine.delinearize_index %i into (4, 8) : index, index
// CHECK-NEXT: %1:3 = affine.delinearize_index %i into (%i, 8) : index, index, index
// CHECK-NEXT: %2 = affine.linearize_index [%i, %i] by (4, 8) : index
// CHECK-NEXT: %3 = affine.linearize_index disjoint [%i, %i] by (%i, 8) : index
// CHECK-NEXT: %4 = affine.max #map(%i)[%i]
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @indices(%i: index) {
  %0, %1 = affine.delinearize_index %i into (4, 8) : index, index
  %2, %3, %4 = affine.delinearize_index %i into (%i, 8) : index, index, index
  %5 = affine.linearize_index [%i, %i] by (4, 8) : index
  %6 = affine.linearize_index disjoint [%i, %i] by (%i, 8) : index
  %7 = affine.max affine_map<(d0)[s0] -> (d0, s0 + 1)>(%i)[%i]
  return
}

// CHECK-LABEL: func.func @loops
// CHECK-NEXT: %0 = scf.forall (%p) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
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
func.func @loops(%x: tensor<4x8xf32>, %i: index) {
  %0 = scf.forall (%p) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
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

// CHECK-LABEL: func.func @buffers
// CHECK-NEXT: bufferization.dealloc_tensor %x : tensor<4x8xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @buffers(%x: tensor<4x8xf32>) {
  bufferization.dealloc_tensor %x : tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @values
// CHECK-NEXT: %0 = func.constant @callee : (f32) -> f32
// CHECK-NEXT: %1 = func.call_indirect %0(%f) : (f32) -> f32
// CHECK-NEXT: {{(func\.)?}}return %1 : f32
// CHECK-NEXT: }
func.func @values(%f: f32) -> f32 {
  %0 = func.constant @callee : (f32) -> f32
  %1 = func.call_indirect %0(%f) : (f32) -> f32
  return %1 : f32
}

// CHECK-LABEL: func.func private @callee
func.func private @callee(f32) -> f32
