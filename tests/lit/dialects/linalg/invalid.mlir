// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Structured operations whose maps, shapes or bodies do not fit.

func.func @f(%a: tensor<4x8xf32>, %b: tensor<7x6xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.matmul' op inferred input/output operand #1 has shape's dimension #0 to be 8, but found 7}}
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<7x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<7x6xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.matmul' op expected 2 inputs and 1 output, but found 3 and 1}}
  %r = linalg.matmul ins(%a, %a, %b : tensor<4x8xf32>, tensor<4x8xf32>, tensor<7x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.matmul' op expected 2 inputs and 1 output, but found 1 and 1}}
  %r = linalg.matmul ins(%a : tensor<4x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<7x6xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.matmul' op expected type of operand #2 ('tensor<4x6xf32>') to match type of corresponding result ('tensor<4x7xf32>')}}
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<7x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<7x6xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.matmul' op has 0 results, but 1 are named}}
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<7x6xf32>) outs(%c : tensor<4x6xf32>)
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.matmul' op expected operand #1 rank (1) to match the result rank of indexing_map (2)}}
  %r = linalg.matmul ins(%a, %v : tensor<4x8xf32>, tensor<4xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.fill' op expected op with scalar input}}
  %r = linalg.fill ins(%v : tensor<4xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%s: f32, %i: tensor<4x6xi32>) {
  // expected-error @+1 {{'linalg.fill' op type of yield operand 1 ('f32') doesn't match the element type of the enclosing linalg.fill op ('i32')}}
  %r = linalg.fill ins(%s : f32) outs(%i : tensor<4x6xi32>) -> tensor<4x6xi32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.exp' op expected operand #0 rank (1) to match the result rank of indexing_map (2)}}
  %r = linalg.exp ins(%v : tensor<4xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %i: tensor<4x6xi32>) {
  // expected-error @+1 {{'linalg.exp' op exp is not defined for elements of type i32}}
  %r = linalg.exp ins(%i : tensor<4x6xi32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %i: tensor<4x6xi32>) {
  // expected-error @+1 {{'linalg.add' op add expects values of the same type, found f32, i32}}
  %r = linalg.add ins(%c,%i : tensor<4x6xf32>,tensor<4x6xi32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.transpose' op dim(result, 0) = 4 doesn't match dim(input, permutation[0]) = 6}}
  %r = linalg.transpose ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) permutation = [1, 0]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.transpose' op permutation is not valid}}
  %r = linalg.transpose ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) permutation = [1, 1]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.transpose' op permutation is not valid}}
  %r = linalg.transpose ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) permutation = [1]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.transpose' op input rank 2 does not match init rank 1}}
  %r = linalg.transpose ins(%c : tensor<4x6xf32>) outs(%v : tensor<4xf32>) permutation = [1, 0]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.broadcast' op input dim 0 should match init dim 1. input: 4, init: 6}}
  %r = linalg.broadcast ins(%v : tensor<4xf32>) outs(%c : tensor<4x6xf32>) dimensions = [0]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.broadcast' op dimension 0 is out of range. expected range: [0, 1] without repetition, got: 2}}
  %r = linalg.broadcast ins(%v : tensor<4xf32>) outs(%c : tensor<4x6xf32>) dimensions = [2]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.broadcast' op input rank plus added dimensions does not match init rank. input rank: 1, dimensions size: 2, init rank: 2}}
  %r = linalg.broadcast ins(%v : tensor<4xf32>) outs(%c : tensor<4x6xf32>) dimensions = [0, 1]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.reduce' op init dimensions [4] doesn't match input dimensions after reduction [6]}}
  %r = linalg.reduce {arith.addf} ins(%c : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [0]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.reduce' op dimensions for reduction should be in the range [0, 1].}}
  %r = linalg.reduce {arith.addf} ins(%c : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [3]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.reduce' op number of dimensions after reduction 0 doesn't match the init rank 1}}
  %r = linalg.reduce {arith.addf} ins(%c : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [0, 1]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.reduce' op expected 'dimensions' to be in increasing order}}
  %r = linalg.reduce {arith.addf} ins(%c : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1, 0]
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.map' op expected shape of input (4) to match shape of output (4, 6)}}
  %r = linalg.map {arith.addf} ins(%c, %v : tensor<4x6xf32>, tensor<4xf32>) outs(%c : tensor<4x6xf32>)
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.map' op expects number of operands to match the arity of mapper, but got: 3 and 2}}
  %r = linalg.map ins(%c, %c : tensor<4x6xf32>, tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) (%x: f32, %y: f32) { linalg.yield %x : f32 }
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.map' op expected type of bb argument #1 ('f64') to match element or self type of the corresponding operand ('f32')}}
  %r = linalg.map ins(%c, %c : tensor<4x6xf32>, tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) (%x: f32, %y: f64, %z: f32) { linalg.yield %x : f32 }
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.map' op expected number of yield values (2) to match the number of inits / outs operands of the enclosing LinalgOp (1)}}
  %r = linalg.map ins(%c, %c : tensor<4x6xf32>, tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) (%x: f32, %y: f32, %z: f32) { linalg.yield %x, %y : f32, f32 }
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.softmax' op incorrect dimension specified: 2 of a tensor of rank 2}}
  %r = linalg.softmax dimension(2) ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.softmax' op incompatible output shape: input is 'tensor<4x6xf32>', output is 'tensor<4xf32>'}}
  %r = linalg.softmax dimension(1) ins(%c : tensor<4x6xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%b: tensor<7x6xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.softmax' op incompatible output shape: input is 'tensor<7x6xf32>', output is 'tensor<4x6xf32>'}}
  %r = linalg.softmax dimension(1) ins(%b : tensor<7x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected the number of indexing_map (1) to be equal to the number of input/output operands (2)}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected operand #1 rank (2) to match the result rank of indexing_map (1)}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->(d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op inferred input/output operand #1 has shape's dimension #0 to be 6, but found 4}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->(d1, d0)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected indexing_map #0 to have 1 dim(s) to match the number of loops}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{unexpected iterator_type (foo)}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "foo"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected as many non-induction variable region arguments as the number of input/output operands (2), but found 1}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected type of bb argument #1 ('i32') to match element or self type of the corresponding operand ('f32')}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: i32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected number of yield values (2) to match the number of inits / outs operands of the enclosing LinalgOp (1)}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x, %y : f32, f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.index' op expected dim (3) to be lower than the number of loops (2) of the enclosing LinalgOp}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): %q = linalg.index 3 : index  linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op unexpected symbols in indexing_map #0}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)[s]->(d0, d1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op inferred input/output operand #0 has shape's dimension #1 to be greater than or equal to 7, but found 6}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1 + 1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op unexpected result less than 0 at expression #1 in (d0, d1) -> (d0, (d1 + -1))}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1)->(d0, d1-1)>, affine_map<(d0, d1)->(d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.generic' op invalid indexing maps are non-invertible: no operand has a dimension of loop d2 alone}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2)->(d0, d1)>, affine_map<(d0, d1, d2)->(d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4x6xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'linalg.index' op expected parent op with LinalgOp interface}}
  %q = linalg.index 0 : index
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.matmul' op unexpected dim expression in map result: indexing_map #1 may only permute or drop the dimensions of (d0, d1, d2) -> (d2, d1), but is (d0, d1, d2) -> (d0, d2)}}
  %r = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.matmul' op expected the number of indexing_map (2) to be equal to the number of input/output operands (3)}}
  %r = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>] ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.contract' op indexing_map #0 is not a projected permutation: (d0, d1, d2) -> (d0, (d2 + 1))}}
  %r = linalg.contract indexing_maps = [affine_map<(m,n,k)->(m,k+1)>, affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{'linalg.elementwise' op expected 2 inputs and 1 output, but found 1 and 1}}
  %r = linalg.elementwise kind=#linalg.elementwise_kind<add> ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%c: tensor<4x6xf32>) {
  // expected-error @+1 {{expected one of exp, log, abs, ceil, floor, negf, reciprocal, round, sqrt, rsqrt, square, tanh, erf, add, sub, mul, div, div_unsigned, max_signed, min_signed, max_unsigned, min_unsigned, powf, select}}
  %r = linalg.elementwise kind=#linalg.elementwise_kind<foo> ins(%c : tensor<4x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x3: tensor<2x8x4xf32>, %y3: tensor<3x4x5xf32>, %z3: tensor<2x6x5xf32>) {
  // expected-error @+1 {{'linalg.conv_1d_nwc_wcf' op attribute 'strides' failed to satisfy constraint: 64-bit signless int elements attribute of shape [1]}}
  %r = linalg.conv_1d_nwc_wcf {strides = dense<1> : tensor<2xi64>} ins(%x3, %y3 : tensor<2x8x4xf32>, tensor<3x4x5xf32>) outs(%z3 : tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @f(%x3: tensor<2x8x4xf32>, %y3: tensor<3x4x5xf32>, %z3: tensor<2x6x5xf32>) {
  // expected-error @+1 {{'linalg.conv_1d_nwc_wcf' op inferred input/output operand #0 has shape's dimension #1 to be greater than or equal to 13, but found 8}}
  %r = linalg.conv_1d_nwc_wcf {strides = dense<2> : tensor<1xi64>} ins(%x3, %y3 : tensor<2x8x4xf32>, tensor<3x4x5xf32>) outs(%z3 : tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @f(%x3: tensor<2x8x4xf32>, %y3: tensor<3x4x5xf32>, %z3: tensor<2x6x5xf32>) {
  // expected-error @+1 {{'linalg.conv_1d_nwc_wcf' op unexpected result less than 0 at expression #1 in (d0, d1, d2, d3, d4) -> (d0, ((d1 * -1) + d3), d4)}}
  %r = linalg.conv_1d_nwc_wcf {strides = dense<-1> : tensor<1xi64>} ins(%x3, %y3 : tensor<2x8x4xf32>, tensor<3x4x5xf32>) outs(%z3 : tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @f(%v: tensor<4xf32>, %x3: tensor<2x8x4xf32>, %y3: tensor<3x4x5xf32>) {
  // expected-error @+1 {{'linalg.conv_1d_nwc_wcf' op expected operand #2 rank (1) to match the result rank of indexing_map (3)}}
  %r = linalg.conv_1d_nwc_wcf ins(%x3, %y3 : tensor<2x8x4xf32>, tensor<3x4x5xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>
  return
}
