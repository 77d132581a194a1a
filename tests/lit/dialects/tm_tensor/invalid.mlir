// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3x7xf32>) {
  // expected-error @+1 {{expected 1 operands in ins and 2 in outs, found 1 and 1}}
  %0 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x7xf32>) outs(%x : tensor<3x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<3x7xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expected a dimension in [0, 2), found 2}}
  %0:2 = tm_tensor.scan dimension(2) inclusive(true) ins(%x : tensor<3x7xf32>) outs(%x, %c : tensor<3x7xf32>, tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<3x7xf32>, tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expected an accumulator of shape [7], found [3]}}
  %0:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<3x7xf32>) outs(%x, %c : tensor<3x7xf32>, tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<3x7xf32>, tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %c: tensor<3xi32>) {
  // expected-error @+1 {{expected the elements of operand #0 and #2 to be to have the same type, found f32 and i32}}
  %0:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x7xf32>) outs(%x, %c : tensor<3x7xf32>, tensor<3xi32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<3x7xf32>, tensor<3xi32>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expected a body with arguments (f32, f32), found (f32)}}
  %0:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x7xf32>) outs(%x, %c : tensor<3x7xf32>, tensor<3xf32>) {
  ^bb0(%a: f32):
    tm_tensor.yield %a : f32
  } -> tensor<3x7xf32>, tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expected a body that ends with 'tm_tensor.yield'}}
  %0:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x7xf32>) outs(%x, %c : tensor<3x7xf32>, tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x7xf32>, tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{expected the number of tensor results (1) to be equal to the number of output tensors (2)}}
  %0 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x7xf32>) outs(%x, %c : tensor<3x7xf32>, tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<3x7xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{expected at least one operand in outs}}
  "tm_tensor.sort"() <{dimension = 0 : i64, operandSegmentSizes = array<i32: 0, 0>}> ({
    %t = arith.constant true
    tm_tensor.yield %t : i1
  }) : () -> ()
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %i: tensor<7x3xi64>) {
  // expected-error @+1 {{expected operand #0 and #1 to have one shape, found [3, 7] and [7, 3]}}
  %0:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<3x7xf32>, tensor<7x3xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    tm_tensor.yield %a : f32
  } -> tensor<3x7xf32>, tensor<7x3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %i: tensor<3x7xi64>) {
  // expected-error @+1 {{expected its body to yield (i1), found (f32)}}
  %0:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<3x7xf32>, tensor<3x7xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    tm_tensor.yield %a : f32
  } -> tensor<3x7xf32>, tensor<3x7xi64>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %v: tensor<2x2xf32>, %i: tensor<2x2xi32>) {
  // expected-error @+1 {{expected outs to have the shape of ins but for dimension 1, found [2, 2] for [3, 7]}}
  %0:2 = tm_tensor.topk dimension(1) ins(%x : tensor<3x7xf32>) outs(%v, %i : tensor<2x2xf32>, tensor<2x2xi32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<2x2xf32>, tensor<2x2xi32>
  func.return
}

// -----

func.func @f(%x: tensor<3x7xf32>, %v: tensor<3x2xf32>) {
  // expected-error @+1 {{expected integers as indices, found f32}}
  %0:2 = tm_tensor.topk dimension(1) ins(%x : tensor<3x7xf32>) outs(%v, %v : tensor<3x2xf32>, tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<3x2xf32>, tensor<3x2xf32>
  func.return
}

// -----

func.func @f(%u: tensor<4x7xf32>, %i: tensor<4xi64>, %x: tensor<5x7xf32>) {
  // expected-error @+1 {{expected indices of rank 2 with elements i32 or i64, found tensor<4xi64>}}
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4x7xf32>, tensor<4xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5x7xf32>
  func.return
}

// -----

func.func @f(%u: tensor<4x7xf32>, %i: tensor<4x?xi64>, %x: tensor<5x7xf32>) {
  // expected-error @+1 {{expected to know the number of indices of an update, found ?}}
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4x7xf32>, tensor<4x?xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5x7xf32>
  func.return
}

// -----

func.func @f(%u: tensor<4x7xf32>, %i: tensor<4x1xi64>, %x: tensor<5x7xf32>) {
  // expected-error @+1 {{expected a dimension_map of 1 dimensions, one for each index of a row, found [0, 1]}}
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0, 1>} unique_indices(true) ins(%u, %i : tensor<4x7xf32>, tensor<4x1xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5x7xf32>
  func.return
}

// -----

func.func @f(%u: tensor<4x7xf32>, %i: tensor<4x1xi64>, %x: tensor<5x7xf32>) {
  // expected-error @+1 {{expected different dimensions in [0, 2) in dimension_map, found [2]}}
  %0 = tm_tensor.scatter {dimension_map = array<i64: 2>} unique_indices(true) ins(%u, %i : tensor<4x7xf32>, tensor<4x1xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5x7xf32>
  func.return
}

// -----

func.func @f(%u: tensor<4x7xf32>, %i: tensor<3x1xi64>, %x: tensor<5x7xf32>) {
  // expected-error @+1 {{expected an update for each of the 3 rows of indices, found updates of shape [4, 7]}}
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4x7xf32>, tensor<3x1xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5x7xf32>
  func.return
}

// -----

func.func @f(%u: tensor<4x1x1x1xf32>, %i: tensor<4x1xi64>, %x: tensor<5x7xf32>) {
  // expected-error @+1 {{expected updates of rank 3 at most, found 4}}
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4x1x1x1xf32>, tensor<4x1xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5x7xf32>
  func.return
}

// -----

func.func @f(%u: tensor<4xf32>, %i: tensor<4x1xi64>, %x: tensor<5x7xf32>) {
  // expected-error @+1 {{expected an index or a dimension of the updates for each of 2 dimensions, found 1 and 0}}
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4xf32>, tensor<4x1xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5x7xf32>
  func.return
}

// -----

func.func @f(%u: tensor<4x8xf32>, %i: tensor<4x1xi64>, %x: tensor<5x7xf32>) {
  // expected-error @+1 {{expected updates that fit into [5, 7], found [8]}}
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<4x8xf32>, tensor<4x1xi64>) outs(%x : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5x7xf32>
  func.return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<3x8xf32>, %v: tensor<8xf32>, %o: tensor<5x8xf32>) {
  // expected-error @+1 {{expected query, key, value and result of one rank, 2 at least}}
  %0 = tm_tensor.attention ins(%q, %k, %v : tensor<5x8xf32>, tensor<3x8xf32>, tensor<8xf32>) outs(%o : tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<3x7xf32>, %v: tensor<3x8xf32>, %o: tensor<5x8xf32>) {
  // expected-error @+1 {{expected shapes [..., n, d], [..., m, d], [..., m, e] and [..., n, e] for query, key, value and result, found [5, 8], [3, 7], [3, 8], [5, 8]}}
  %0 = tm_tensor.attention ins(%q, %k, %v : tensor<5x8xf32>, tensor<3x7xf32>, tensor<3x8xf32>) outs(%o : tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return
}

// -----

func.func @f(%q: tensor<2x5x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>, %m: tensor<3x5xf32>, %o: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected a mask of shape [2, 5, 3] or of its last dimensions, found [3, 5]}}
  %0 = tm_tensor.attention ins(%q, %k, %v, %m : tensor<2x5x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x5xf32>) outs(%o : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  func.return
}
