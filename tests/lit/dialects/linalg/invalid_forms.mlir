// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Operands, bodies and attributes of kinds that linalg does not have.

func.func @f(%f: f32) {
  // expected-error @+1 {{'linalg.exp' op operand #1 must be a ranked tensor or memref, but got 'f32'}}
  linalg.exp ins(%f : f32) outs(%f : f32)
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'linalg.exp' op operand #1 must be a ranked tensor or memref, but got 'f32'}}
  %r = linalg.exp ins(%f : f32) outs(%f : f32) -> f32
  return
}

// -----

func.func @f(%u: tensor<*xf32>) {
  // expected-error @+1 {{'linalg.exp' op operand #1 must be a ranked tensor or memref, but got 'tensor<*xf32>'}}
  %r = linalg.exp ins(%u : tensor<*xf32>) outs(%u : tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %u: tensor<*xf32>) {
  // expected-error @+1 {{'linalg.matmul' op expected operand #0 rank (0) to match the result rank of indexing_map (2)}}
  %r = linalg.matmul ins(%u, %u : tensor<*xf32>, tensor<*xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %m: memref<4x4xf32>) {
  // expected-error @+1 {{'linalg.matmul' op expected to have pure tensor or buffer semantics}}
  linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%m : memref<4x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{identifier expected: the name of an operation}}
  %r = linalg.map {} ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{operation arith.foo is not registered}}
  %r = linalg.map { arith.foo } ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'func.return' op Expected 0 results, but got 1}}
  %r = linalg.map { func.return } ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'arith.addf' op Expected 2 operands, but got 1}}
  %r = linalg.map { arith.addf } ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>)
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'linalg.reduce' op expected a tensor or memref, but found 'f32'}}
  %r = linalg.reduce { arith.addf } ins(%f : f32) outs(%f : f32) dimensions = [0]
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %f: f32) {
  // expected-error @+1 {{'linalg.reduce' op expected a tensor or memref, but found 'f32'}}
  %r = linalg.reduce { arith.addf } ins(%x : tensor<4x4xf32>) outs(%f : f32) dimensions = [0]
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'linalg.transpose' op expected a tensor or memref, but found 'f32'}}
  %r = linalg.transpose ins(%f : f32) outs(%f : f32) permutation = [0]
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.transpose' op permutation is not valid}}
  %r = linalg.transpose ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) permutation = [-1, 0]
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'linalg.softmax' op operand #1 must be a ranked tensor or memref, but got 'f32'}}
  %r = linalg.softmax dimension(0) ins(%f : f32) outs(%f : f32) -> f32
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected the number of indexing_map (0) to be equal to the number of input/output operands (1)}}
  %r = linalg.generic {indexing_maps = [], iterator_types = []} outs(%x : tensor<4x4xf32>) { ^bb0(%a: f32): linalg.yield %a : f32 } -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.generic' op 3 : i64 should be of base attribute affine_map}}
  linalg.generic {indexing_maps = [3], iterator_types = ["parallel"]} outs(%x : tensor<4x4xf32>) { ^bb0(%a: f32): linalg.yield %a : f32 }
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected a body of one block, but found 0}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<4x4xf32>) { } -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected a body of one block, but found 2}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<4x4xf32>) { ^bb0(%a: f32): cf.br ^bb1 ^bb1: linalg.yield %a : f32 } -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%f: f32, %v: tensor<4xf32>) {
  // expected-error @+1 {{'linalg.dot' op operand #2 must be a ranked tensor or memref, but got 'f32'}}
  %r = linalg.dot ins(%v, %v : tensor<4xf32>, tensor<4xf32>) outs(%f : f32) -> f32
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.matmul' op expected a body of one block, but found 0}}
  %r = "linalg.matmul"(%x, %x, %x) <{operandSegmentSizes = array<i32: 2, 1>}> ({}) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.matmul' op Expected operandSegmentSizes property in linalg.matmul operation.}}
  %r = "linalg.matmul"(%x, %x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x3: tensor<2x8x4xf32>, %y3: tensor<3x4x5xf32>, %z3: tensor<2x6x5xf32>) {
  // expected-error @+1 {{'linalg.conv_1d_nwc_wcf' op attribute 'strides' must not contain 0, found [0]}}
  %r = linalg.conv_1d_nwc_wcf {strides = dense<0> : tensor<1xi64>} ins(%x3, %y3 : tensor<2x8x4xf32>, tensor<3x4x5xf32>) outs(%z3 : tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @f(%x3: tensor<2x8x4xf32>, %y3: tensor<3x4x5xf32>, %z3: tensor<2x6x5xf32>) {
  // expected-error @+1 {{'linalg.conv_1d_nwc_wcf' op attribute 'strides' must be dense, but got '3 : i64'}}
  %r = linalg.conv_1d_nwc_wcf {strides = 3 : i64} ins(%x3, %y3 : tensor<2x8x4xf32>, tensor<3x4x5xf32>) outs(%z3 : tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @f(%x3: tensor<2x8x4xf32>, %y3: tensor<3x4x5xf32>, %z3: tensor<2x6x5xf32>) {
  // expected-error @+1 {{'linalg.conv_1d_nwc_wcf' op attribute 'strides' failed to satisfy constraint: 64-bit signless int elements attribute of shape [1]}}
  %r = linalg.conv_1d_nwc_wcf {strides = dense<1.0> : tensor<1xf32>} ins(%x3, %y3 : tensor<2x8x4xf32>, tensor<3x4x5xf32>) outs(%z3 : tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.pack' op packed rank != (unpacked rank + num tiling factors), got 2 != 3}}
  %r = linalg.pack %x inner_dims_pos = [0] inner_tiles = [-2] into %x : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @position_of_another_type(%t: tensor<4xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%t : tensor<4xf32>) {
  ^bb0(%x: f32):
    // expected-error @+1 {{attribute 'dim' must be integer of i64, but got '0 : index'}}
    %i = "linalg.index"() <{dim = 0 : index}> : () -> index
    linalg.yield %x : f32
  } -> tensor<4xf32>
  return
}

// -----

func.func @division_by_nothing(%t: tensor<4xf32>) {
  // expected-error @+1 {{divides by 0; divisors must be greater than 0}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 0)>], iterator_types = ["parallel"]} outs(%t : tensor<4xf32>) {
  ^bb0(%x: f32):
    linalg.yield %x : f32
  } -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{divides by -2; divisors must be greater than 0}}
"test.op"() {set = affine_set<(d0) : (d0 floordiv -2 == 0)>} : () -> ()

// -----

func.func @softmax_elements(%a: tensor<2x3xi32>, %b: tensor<2x3xf32>) {
  // expected-error @+1 {{expected input and output of the same element type}}
  %0 = linalg.softmax dimension(1) ins(%a : tensor<2x3xi32>) outs(%b : tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @one_input(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{iteration space dim at index 1 is neither a contracting dim nor of parallel iteration type}}
  %0 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, k)>] ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @no_contraction(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{'indexing_maps' do not specify a contracting dimension}}
  %0 = linalg.contract indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n, m)>, affine_map<(m, n) -> (m, n)>] ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// The sums over processes would be added, which is another number than the maximum.
func.func @another_combiner(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @+1 {{'linalg.matmul' op has a body that its name does not imply: write 'linalg.generic' for another computation}}
  %r = "linalg.matmul"(%a, %b, %c) <{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    %m = arith.maximumf %z, %s : f32
    linalg.yield %m : f32
  }) : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

func.func @captured(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: f32) -> tensor<4xf32> {
  // expected-error @+1 {{'linalg.exp' op has a body that its name does not imply}}
  %r = "linalg.exp"(%a, %b) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: f32, %y: f32):
    linalg.yield %c : f32
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @negating_transpose(%a: tensor<4x6xf32>, %b: tensor<6x4xf32>) -> tensor<6x4xf32> {
  // expected-error @+1 {{'linalg.transpose' op has a body that its name does not imply}}
  %r = "linalg.transpose"(%a, %b) <{permutation = array<i64: 1, 0>}> ({
  ^bb0(%x: f32, %y: f32):
    %n = arith.negf %x : f32
    linalg.yield %n : f32
  }) : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}
