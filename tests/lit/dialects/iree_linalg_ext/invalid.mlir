// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @dimension(%o: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{dimension must be within [0, 2), found 2}}
  %0 = iree_linalg_ext.sort dimension(2) outs(%o : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @result(%o: tensor<?x4xf32>) -> tensor<?x5xf32> {
  // expected-error @+1 {{expected type of output #0 ('tensor<?x4xf32>') to match type of corresponding result ('tensor<?x5xf32>')}}
  %0 = iree_linalg_ext.sort dimension(1) outs(%o : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// -----

func.func @results(%o: tensor<?x4xf32>) {
  // expected-error @+1 {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  iree_linalg_ext.sort dimension(1) outs(%o : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %c : i1
  }
  return
}

// -----

func.func @dimension_map(%s: tensor<10x4xf32>, %i: tensor<3xi32>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @+1 {{expected different dimensions within [0, 2) in dimension_map, found [2]}}
  %0 = iree_linalg_ext.gather dimension_map = [2] ins(%s, %i : tensor<10x4xf32>, tensor<3xi32>) outs(%o : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @operands(%s: tensor<10x4xf32>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @+1 {{expected 2 to 3 operands with as many types, found 1 operands and 1 types}}
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%s : tensor<10x4xf32>) outs(%o : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

#m = affine_map<(d0, d1) -> (d0, d1)>
func.func @maps(%a: tensor<2x10xi8>, %s: tensor<2xf32>, %o: tensor<2x10xf32>) -> tensor<2x10xf32> {
  // expected-error @+1 {{expected an indexing map for each of 3 operands, found 1}}
  %0 = iree_linalg_ext.dequantize_affine <indexing_maps = [#m]> ins(%a, %s : tensor<2x10xi8>, tensor<2xf32>) outs(%o : tensor<2x10xf32>) -> tensor<2x10xf32>
  return %0 : tensor<2x10xf32>
}

// -----

func.func @mixed(%x: tensor<4x8xf32>, %o: memref<4x8xf32>, %a: memref<4xf32>) {
  // expected-error @+1 {{expected to have either pure buffer or pure tensor semantics}}
  iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<4x8xf32>) outs(%o, %a : memref<4x8xf32>, memref<4xf32>) {
  ^bb0(%p: f32, %q: f32):
    iree_linalg_ext.yield %p : f32
  }
  return
}

// -----

func.func @region(%o: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a region of one block that ends in 'iree_linalg_ext.yield'}}
  %0 = "iree_linalg_ext.sort"(%o) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    cf.br ^bb1
  ^bb1:
    iree_linalg_ext.yield %c : i1
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @index() {
  // expected-error @+1 {{expected parent op to be one of `iree_linalg_ext.custom_op`, `iree_linalg_ext.attention`, `iree_linalg_ext.online_attention`}}
  %0 = iree_linalg_ext.index 0 : index
  return
}

// -----

func.func @body(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected its body to yield index, i1, found index}}
  %0 = iree_linalg_ext.map_store %x into %o {
  ^bb0(%i: index):
    iree_linalg_ext.yield %i : index
  } : tensor<4xf32> into tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @slices(%s: tensor<5x4xf32>, %i: tensor<3xi32>, %o: tensor<3x7xf32>) -> tensor<3x7xf32> {
  // expected-error @+1 {{expected output of shape [3x4] and element type f32, found tensor<3x7xf32>}}
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%s, %i : tensor<5x4xf32>, tensor<3xi32>) outs(%o : tensor<3x7xf32>) -> tensor<3x7xf32>
  return %0 : tensor<3x7xf32>
}

// -----

func.func @indices(%u: tensor<3x4xf32>, %i: tensor<3x2xi32>, %o: tensor<5x4xf32>) -> tensor<5x4xf32> {
  // expected-error @+1 {{expected indices of shape [3x1] and element type an integer or index, found tensor<3x2xi32>}}
  %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i : tensor<3x4xf32>, tensor<3x2xi32>) outs(%o : tensor<5x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// -----

func.func @accumulator(%x: tensor<4x3xf32>, %a: tensor<4xf32>) -> tensor<4x3xf32> {
  // expected-error @+1 {{expected accumulator of shape [3] and element type f32, found tensor<4xf32>}}
  %0:2 = iree_linalg_ext.scan dimension(0) inclusive(true) ins(%x : tensor<4x3xf32>) outs(%x, %a : tensor<4x3xf32>, tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32):
    iree_linalg_ext.yield %p : f32
  } -> tensor<4x3xf32>, tensor<4xf32>
  return %0#0 : tensor<4x3xf32>
}

// -----

func.func @too_many(%x: tensor<4xf32>, %o: tensor<5xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{expected at most 4 results, found 5}}
  %0 = iree_linalg_ext.topk_v2 dimension(0) ins(%x : tensor<4xf32>) outs(%o : tensor<5xf32>) {
  ^bb0(%p: f32, %q: f32):
    %c = arith.cmpf ogt, %p, %q : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @sizes(%q: tensor<4x8xf32>, %k: tensor<6x7xf32>, %v: tensor<6x5xf32>, %e: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %scale = arith.constant 0.5 : f32
  // expected-error @+1 {{expected operand #1 of size 8 along d1, found 7}}
  %0 = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(m, k, s, n) -> (m, k)>, affine_map<(m, k, s, n) -> (s, k)>,
      affine_map<(m, k, s, n) -> (s, n)>, affine_map<(m, k, s, n) -> ()>, affine_map<(m, k, s, n) -> (m, n)>]>
      ins(%q, %k, %v, %scale : tensor<4x8xf32>, tensor<6x7xf32>, tensor<6x5xf32>, f32) outs(%e : tensor<4x5xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
