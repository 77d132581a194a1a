// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Bodies of collectives, scatters, maps and comparisons take scalars of the operands' elements.

func.func @three_arguments(%a: tensor<6xf32>) {
  // expected-error @+1 {{expected 2 arguments of the body, got 3}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @rows(%a: tensor<6xf32>) {
  // expected-error @+1 {{expected argument 0 of the body and the returned value to be tensor<f32>, got tensor<6xf32> and tensor<6xf32>}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<6xf32>, %y: tensor<6xf32>):
    %s = stablehlo.add %x, %y : tensor<6xf32>
    stablehlo.return %s : tensor<6xf32>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @narrower(%a: tensor<6xf32>) {
  // expected-error @+1 {{expected argument 0 of the body to have elements that f32 can be promoted to, got i32}}
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<6xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @selection(%a: tensor<4xf32>, %s: tensor<2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected the body to return tensor<i1>, got tensor<f32>}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %t = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @order(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected the body to return tensor<i1>, got tensor<f32>}}
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mapped(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected argument 0 of the body to be tensor<f32>, got tensor<4xf32>}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @initial(%a: tensor<4xf32>, %i: tensor<1xf32>) {
  // expected-error @+1 {{expected initial values of rank 0}}
  %0 = "stablehlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @all_devices(%a: tensor<6xf32>) {
  // expected-error @+1 {{expected 'replica_groups' beside 'use_global_device_ids'}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x2xi64>, use_global_device_ids}> : (tensor<6xf32>) -> tensor<12xf32>
  return
}

// -----

func.func @loop(%a: tensor<6xf32>) {
  // expected-error @+1 {{expected results of the operands' types}}
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<6xf32>):
    %t = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%x: tensor<6xf32>):
    stablehlo.return %x : tensor<6xf32>
  }) : (tensor<6xf32>) -> tensor<5xf32>
  return
}
