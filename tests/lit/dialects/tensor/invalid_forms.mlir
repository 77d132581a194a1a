// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Operands and bodies of kinds that tensor does not have.

func.func @f() {
  // expected-error @+1 {{'tensor.generate' op expected a body of one block, but found 0}}
  %r = tensor.generate { } : tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'tensor.gather' op gather_dims must be non-empty}}
  %r = tensor.gather %x[%v] gather_dims([]) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%f: f32) {
  // expected-error @+1 {{'tensor.rank' op operand #0 must be ranked tensor or unranked tensor, but got 'f32'}}
  %r = tensor.rank %f : f32
  return
}

// -----

func.func @shape_of_floats(%a: tensor<4xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{expected a tensor of signless integers or index values, but got 'tensor<2xf32>'}}
  %0 = tensor.reshape %a(%s) : (tensor<4xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @indices_of_floats(%a: tensor<4x3xf32>, %i: tensor<2x1xf32>) {
  // expected-error @+1 {{expected a tensor of signless integers or index values, but got 'tensor<2x1xf32>'}}
  %0 = tensor.gather %a[%i] gather_dims([0]) : (tensor<4x3xf32>, tensor<2x1xf32>) -> tensor<2x1x3xf32>
  return
}
