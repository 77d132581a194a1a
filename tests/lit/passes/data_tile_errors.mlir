// RUN: mesh-opt %s --split-input-file --verify-diagnostics --data-tile

func.func @no_such_dimension(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{queries a dimension, but the index is not a valid constant}}
  %d = tensor.dim %x, %c2 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %y = linalg.exp ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
