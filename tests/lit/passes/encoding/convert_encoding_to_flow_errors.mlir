// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-dispatch-creation-convert-encoding-to-flow

#e = #iree_encoding.testing<>
func.func @encode(%x: tensor<4x8xf32>) -> tensor<?x8xf32, #e> {
  // expected-error @+1 {{leaves other sizes open in its source than in its result, found tensor<4x8xf32> and tensor<?x8xf32, #iree_encoding.testing<>>: cast the tensor without an encoding (tensor.cast) to the shape of the other one}}
  %0 = iree_encoding.set_encoding %x : tensor<4x8xf32> -> tensor<?x8xf32, #e>
  return %0 : tensor<?x8xf32, #e>
}

// -----

#e = #iree_encoding.testing<>
func.func @decode(%x: tensor<4x8xf32, #e>, %n: index) -> tensor<?x8xf32> {
  // expected-error @+1 {{leaves other sizes open in its source than in its result}}
  %0 = iree_encoding.unset_encoding %x : tensor<4x8xf32, #e> -> tensor<?x8xf32>{%n}
  return %0 : tensor<?x8xf32>
}
