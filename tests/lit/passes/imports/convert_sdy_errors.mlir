// RUN: mesh-opt %s --split-input-file --verify-diagnostics --convert-sdy-to-shard

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @free_first(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected manual axes before others, got {"y", "x"}}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y", "x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
    %c = tensor.empty() : tensor<8xf32>
    sdy.return %c : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @constrained(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
    %c = func.call @callee(%b) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %c : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @callee(%b: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{splits along x, along which the enclosing computation is manual}}
  %c = sdy.sharding_constraint %b <@mesh, [{"x"}]> : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

// expected-error @+1 {{has device ids that are not in order, which a grid cannot express for manual computations}}
sdy.mesh @mesh = <["x"=2], device_ids=[1, 0]>
func.func @order(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
    sdy.return %b : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>
sdy.mesh @one = <[], device_ids=[1]>
func.func @alone(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{is only on device 1 of mesh @one, which a grid cannot express}}
  %0 = sdy.sharding_constraint %a <@one, []> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @early(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
    // expected-error @+1 {{is in a manual computation: run convert-stablehlo-to-linalg first}}
    %c = stablehlo.add %b, %b : tensor<4xf32>
    sdy.return %c : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @twice(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
    %1 = func.call @callee(%b) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @callee(%b: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is manual along x, like the enclosing manual computation}}
  %1 = sdy.manual_computation(%b) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%c: tensor<4xf32>) {
    sdy.return %c : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @around(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
    %1 = func.call @callee(%b) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @callee(%b: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{splits along x, along which the enclosing computation is manual}}
  %1 = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"y"} (%c: tensor<4xf32>) {
    sdy.return %c : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error @+1 {{has argument 0 with mhlo.sharding = 3 : i32, expected a string}}
func.func @number(%a: tensor<2xf32> {mhlo.sharding = 3 : i32}) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}

// -----

func.func @no_operand() -> tensor<4xf32> {
  // expected-error @+1 {{expects one operand and one result}}
  %0 = stablehlo.custom_call @Sharding() {mhlo.sharding = "{devices=[2]<=[2]}"} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
