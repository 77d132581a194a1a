// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Types and attributes that an operation does not take are told with what it takes.

func.func @integers(%a: f32) {
  // expected-error @+1 {{'arith.addi' op type must be integer or index, or vector or ranked tensor of these, but got 'f32'}}
  %0 = arith.addi %a, %a : f32
  return
}

// -----

func.func @floats(%a: i32) {
  // expected-error @+1 {{'arith.mulf' op type must be floating-point, or vector or ranked tensor of these, but got 'i32'}}
  %0 = arith.mulf %a, %a : i32
  return
}

// -----

func.func @results(%a: f32) {
  // expected-error @+1 {{'arith.addf' op result #0 must be f32 like the types before it, but got 'f64'}}
  %0 = "arith.addf"(%a, %a) : (f32, f32) -> f64
  return
}

// -----

shard.grid @g(shape = 3x2)
func.func @dialects(%t: i32) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // expected-error @+1 {{'shard.shard' op operand #0 must be ranked tensor, but got 'i32'}}
  %0 = shard.shard %t to %s : i32
  return
}

// -----

shard.grid @g(shape = 3x2)
func.func @variadic(%t: tensor<3xf32>, %i: i32) {
  // expected-error @+1 {{'shard.broadcast' op operand #1 must be variadic of index, but got 'i32'}}
  %0 = shard.broadcast %t on @g grid_axes = [0] root = [%i] : (tensor<3xf32>, i32) -> tensor<3xf32>
  return
}

// -----

shard.grid @g(shape = 3x2)
func.func @attributes(%t: tensor<3xf32>) {
  // expected-error @+1 {{'shard.all_gather' op requires attribute 'gather_axis'}}
  %0 = "shard.all_gather"(%t) {grid = @g} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @scaled_to_wider(%a: f32, %s: f8E8M0FNU) {
  // expected-error @+1 {{operand type 'f32' and result type 'f32' are cast incompatible}}
  %0 = arith.scaling_truncf %a, %s : f32, f8E8M0FNU to f32
  return
}

// -----

func.func @scaled_to_narrower(%a: f32, %s: f8E8M0FNU) {
  // expected-error @+1 {{operand type 'f32' and result type 'f16' are cast incompatible}}
  %0 = arith.scaling_extf %a, %s : f32, f8E8M0FNU to f16
  return
}

// -----

func.func @nan(%a: i32) {
  // expected-error @+1 {{operand must be floating-point-like, but got 'i32'}}
  %0 = math.isnan %a : i32
  return
}
