// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// A size with a bound is not a larger one.

func.func @operand(%a: tensor<?xf32, #stablehlo.bounds<2>>, %b: tensor<3xf32>) {
  // expected-error @+1 {{expected result 0 to have shape ?, got 3}}
  %0 = stablehlo.add %a, %b : (tensor<?xf32, #stablehlo.bounds<2>>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @result(%a: tensor<3xf32>) {
  // expected-error @+1 {{expected result 0 to have shape 3, got ?}}
  %0 = stablehlo.tanh %a : (tensor<3xf32>) -> tensor<?xf32, #stablehlo.bounds<2>>
  return
}

// -----

func.func @branch(%p: tensor<i1>, %a: tensor<3xf32>) {
  // expected-error @+1 {{expected branches to return values of the results' types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<3xf32>
  }, {
    stablehlo.return %a : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<?xf32, #stablehlo.bounds<2>>
  return
}

// -----

// Bounds of results follow from those of operands.

func.func @padded(%a: tensor<?xf32, #stablehlo.bounds<2>>, %b: tensor<f32>) {
  // expected-error @+1 {{expected result 0 to have shape ?, got 5}}
  %0 = stablehlo.pad %a, %b, low = [1], high = [0], interior = [1] : (tensor<?xf32, #stablehlo.bounds<2>>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @sliced(%a: tensor<?xf32, #stablehlo.bounds<2>>) {
  // expected-error @+1 {{slice [0:3:1] does not lie in a dimension}}
  %0 = stablehlo.slice %a [0:3] : (tensor<?xf32, #stablehlo.bounds<2>>) -> tensor<3xf32>
  return
}

// -----

func.func @set(%a: tensor<4xf32>, %n: tensor<i32>) {
  // expected-error @+1 {{expected result 0 to have shape ?, got 5}}
  %0 = stablehlo.set_dimension_size %a, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @one_bound(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected result 0 to have a known shape}}
  %0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<?x?xf32, #stablehlo.bounds<2, 2>>
  return
}

// -----

func.func @sizes(%a: tensor<4xf32>, %n: tensor<?xi64, #stablehlo.bounds<2>>) {
  // expected-error @+1 {{expected operand 1 to have rank 1 and a known shape}}
  %0 = stablehlo.dynamic_reshape %a, %n : (tensor<4xf32>, tensor<?xi64, #stablehlo.bounds<2>>) -> tensor<?x?xf32>
  return
}
