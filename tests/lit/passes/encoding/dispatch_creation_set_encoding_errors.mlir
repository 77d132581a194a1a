// RUN: mesh-opt %s --split-input-file --iree-dispatch-creation-set-encoding --verify-diagnostics
// RUN: mesh-opt %s --split-input-file --set-encoding --verify-diagnostics

func.func @elementwise(%a: tensor<4x5xf32>, %c: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // expected-error @+1 {{'linalg.add' op is marked by `iree.opt.data_tiling`, but is neither a contraction nor a convolution of two tensors without encodings}}
  %r = linalg.add {iree.opt.data_tiling} ins(%a, %a : tensor<4x5xf32>, tensor<4x5xf32>) outs(%c : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}

// -----

#e = #iree_encoding.testing<>
func.func @encoded(%a: tensor<4x5xf32, #e>, %b: tensor<5x6xf32, #e>, %c: tensor<4x6xf32, #e>) -> tensor<4x6xf32, #e> {
  // expected-error @+1 {{is neither a contraction nor a convolution of two tensors without encodings}}
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<4x5xf32, #e>, tensor<5x6xf32, #e>) outs(%c : tensor<4x6xf32, #e>) -> tensor<4x6xf32, #e>
  return %r : tensor<4x6xf32, #e>
}

// -----

func.func @outer_product(%a: tensor<4xf32>, %b: tensor<6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @+1 {{is neither a contraction nor a convolution of two tensors without encodings}}
  %r = linalg.generic {iree.opt.data_tiling, indexing_maps = [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4xf32>, tensor<6xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
