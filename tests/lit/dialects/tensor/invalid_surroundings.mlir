// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Generated, gathered and scattered tensors, parallel loops and index arithmetic that do not fit.

func.func @f(%i: index, %v: f32) {
  // expected-error @+1 {{'tensor.generate' op expected the block to have 2 arguments, got 1}}
  %r = tensor.generate %i {
  ^bb0(%a: index):
    tensor.yield %v : f32
  } : tensor<4x?xf32>
  return
}

// -----

func.func @f(%v: f32) {
  // expected-error @+1 {{'tensor.generate' op must have as many index operands as dynamic extents in the result type: 0 and 1}}
  %r = tensor.generate {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } : tensor<4x?xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.bitcast' op operand type 'tensor<4x8xf32>' and result type 'tensor<4x8xi16>' are cast incompatible}}
  %r = tensor.bitcast %x : tensor<4x8xf32> to tensor<4x8xi16>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tensor.bitcast' op operand type 'tensor<4x8xf32>' and result type 'tensor<8x4xi32>' are cast incompatible}}
  %r = tensor.bitcast %x : tensor<4x8xf32> to tensor<8x4xi32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %gi: tensor<3x1xindex>) {
  // expected-error @+1 {{'tensor.gather' op gather_dims must be strictly increasing values below the rank 2, found [2]}}
  %r = tensor.gather %x[%gi] gather_dims([2]) : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x1x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %gi: tensor<3x1xindex>) {
  // expected-error @+1 {{'tensor.gather' op gather_dims length 2 must match the last dimension of the indices, which are 'tensor<3x1xindex>'}}
  %r = tensor.gather %x[%gi] gather_dims([0, 1]) : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x1x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %gi: tensor<3x1xindex>) {
  // expected-error @+1 {{'tensor.gather' op result type mismatch: expected shape (3, 1, 8) or its rank-reduced variant (3, 8), found (3, 4, 8)}}
  %r = tensor.gather %x[%gi] gather_dims([0]) : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %gi: tensor<3x1xindex>, %g: tensor<3x1x8xf32>) {
  // expected-error @+1 {{'tensor.scatter' op requires 'unique' attribute to be set}}
  %r = tensor.scatter %g into %x[%gi] scatter_dims([0]) : (tensor<3x1x8xf32>, tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %gi: tensor<3x1xindex>, %g: tensor<3x1x8xf32>) {
  // expected-error @+1 {{'tensor.scatter' op result type mismatch: expected shape (3, 4, 1) or its rank-reduced variant (3, 4), found (3, 1, 8)}}
  %r = tensor.scatter %g into %x[%gi] scatter_dims([1]) unique : (tensor<3x1x8xf32>, tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<1x8xf32>) {
  %r = scf.forall (%p) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
    // expected-error @+1 {{'scf.forall.in_parallel' op may only insert into an output block argument}}
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %x[%p, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<1x8xf32>) {
  %r = scf.forall (%p) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
    scf.forall.in_parallel {
      // expected-error @+1 {{'tensor.parallel_insert_slice' op expected type to be of shape (2, 8) or a rank-reduced version, found (1, 8) (size mismatch)}}
      tensor.parallel_insert_slice %s into %o[%p, 0] [2, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %r = scf.forall (%p) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
    // expected-error @+1 {{'scf.forall.in_parallel' op expected only tensor.parallel_insert_slice ops, found tensor.empty}}
    scf.forall.in_parallel {
      %c = tensor.empty() : tensor<4xf32>
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'scf.forall' op mapping attribute size must match op rank: 2 and 1}}
  scf.forall (%p) in (4) {
  } {mapping = [1, 2]}
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %i: index, %s: tensor<1x8xf32>) {
  // expected-error @+1 {{'tensor.parallel_insert_slice' op expects parent op 'scf.forall.in_parallel'}}
  tensor.parallel_insert_slice %s into %x[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.delinearize_index' op expected 3 or 2 basis elements, one for each index (optional for the first), found 1}}
  %a, %b, %c = affine.delinearize_index %i into (8) : index, index, index
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.delinearize_index' op no basis element may be statically non-positive}}
  %a, %b = affine.delinearize_index %i into (4, 0) : index, index
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.linearize_index' op expected 2 or 1 basis elements, one for each index (optional for the first), found 3}}
  %r = affine.linearize_index [%i, %i] by (4, 8, 2) : index
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.max' op operand count and affine map dimension and symbol count must match: 1 and 2}}
  %r = affine.max affine_map<(d0)[s0] -> (d0, s0)>(%i)
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'func.constant' op reference to undefined function 'nothing'}}
  %r = func.constant @nothing : (f32) -> f32
  return
}
