// RUN: mesh-opt %s --split-input-file --verify-diagnostics --convert-stablehlo-to-linalg

func.func @unknown_target(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{calls the unknown target 'my_target'}}
  %0 = stablehlo.custom_call @my_target(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_rule(%a: tensor<4xf32>, %t: !stablehlo.token) -> !stablehlo.token {
  // expected-error @+1 {{is not supported: there is no conversion to linalg}}
  %0 = "stablehlo.outfeed"(%a, %t) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return %0 : !stablehlo.token
}

// -----

func.func @tensor_in_body(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {
  %shape = stablehlo.constant dense<> : tensor<0xi64>
  // expected-error @+1 {{uses a tensor of type tensor<0xi64> in its body}}
  %0 = stablehlo.reduce(%a init: %z) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%x: tensor<f32>, %y: tensor<f32>) {
    %s = stablehlo.rng %x, %y, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<0xi64>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @tuple_of_a_call(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{calls the unknown target 'unknown'}}
  %0 = stablehlo.custom_call @unknown(%a) : (tensor<4xf32>) -> tuple<tensor<4xf32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @tuple_of_a_loop(%a: tensor<4xf32>, %n: index) -> tuple<tensor<4xf32>> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{has a result with users other than tuple operations}}
  %0 = stablehlo.tuple %a : tuple<tensor<4xf32>>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %0) -> tuple<tensor<4xf32>> {
    scf.yield %t : tuple<tensor<4xf32>>
  }
  return %1 : tuple<tensor<4xf32>>
}

// -----

func.func @one_side(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected two operands of one type and 1 results, found (tensor<2xf32>) -> tensor<i1>}}
  %0 = stablehlo.custom_call @check.eq(%a) : (tensor<2xf32>) -> tensor<i1>
  return
}

// -----

func.func @processes_that_never_meet(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0:2 = "interpreter.run_parallel"(%a, %a) {programs = [[@sum], [@none]]} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}
func.func @sum(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{makes process (0, 0) wait: another process of its group does not reach it}}
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @none(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

func.func @unknown_rank(%a: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{has the type tensor<*xf32>: its rank must be known}}
  %0 = "chlo.broadcast_add"(%a, %a) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

module attributes {mhlo.num_partitions = 8 : i32} {
func.func @groups_along_an_axis_twice(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{has groups along mesh axes: overlapping axis refs: "y":(1)2, "y"}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>, #stablehlo.axis_ref<name = "y">]>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
}
