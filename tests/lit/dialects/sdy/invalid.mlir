// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Shardings that their mesh or their tensor cannot have.

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op duplicate axis ref: "a"}}
  %r = sdy.sharding_constraint %x <@m, [{"a"}, {"a"}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op unknown axis name: "z"}}
  %r = sdy.sharding_constraint %x <@m, [{"z"}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op sharding doesn't match tensor rank: 1 != 2}}
  %r = sdy.sharding_constraint %x <@m, [{}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op duplicate axis ref: "a"}}
  %r = sdy.sharding_constraint %x <@m, [{"a"}, {}], replicated={"a"}> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op unknown mesh: @other}}
  %r = sdy.sharding_constraint %x <@other, [{"a"}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op sub-axis next pre-size 3 doesn't divide the size of the full axis 4: "b":(1)3}}
  %r = sdy.sharding_constraint %x <@m, [{"b":(1)3}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op sub-axis size is equal to the full axis size: "b":(1)4}}
  %r = sdy.sharding_constraint %x <@m, [{"b":(1)4}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op two consecutive sub-axes can be merged: "b":(1)2, "b":(2)2}}
  %r = sdy.sharding_constraint %x <@m, [{"b":(1)2, "b":(2)2}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op overlapping axis refs: "b", "b":(1)2}}
  %r = sdy.sharding_constraint %x <@m, [{"b"}, {"b":(1)2}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op dim 1 is empty and closed but has a priority}}
  %r = sdy.sharding_constraint %x <@m, [{}, {}p0]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op non-empty sharding for a mesh of one device}}
  %r = sdy.sharding_constraint %x <@one, [{"a"}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{expected '?' once, at the end of a dimension's axes}}
  %r = sdy.sharding_constraint %x <@m, [{?, "a"}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{expected a priority such as p1, got x1}}
  %r = sdy.sharding_constraint %x <@m, [{"a"}x1, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op sub-axis size must be greater than 1: "b":(1)1}}
  %r = sdy.sharding_constraint %x <@m, [{"b":(1)1}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op expected value 0 inside to have shape [4, 8] after in_shardings, got [8, 8]}}
  %r = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<8x8xf32>) {
    sdy.return %y : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op number of in_shardings (0), values outside (1) and inside (1) must be equal}}
  %r = sdy.manual_computation(%x) in_shardings=[] out_shardings=[<@m, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op unknown manual axis "c"}}
  %r = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>] manual_axes={"c"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// expected-error @+1 {{duplicate axis name: "a"}}
sdy.mesh @q = <["a"=2, "a"=4]>

// -----

// expected-error @+1 {{axis size must be at least 1, got: 0}}
sdy.mesh @q = <["a"=0]>

// -----

// expected-error @+1 {{sorted device ids must be iota(product(axes)), got: 0, 0}}
sdy.mesh @q = <["a"=2], device_ids=[0, 0]>

// -----

// expected-error @+1 {{total product of axis sizes must match total number of device ids, got: 2 != 3}}
sdy.mesh @q = <["a"=2], device_ids=[0, 1, 2]>

// -----

// expected-error @+1 {{device id must be non-negative, got: -1}}
sdy.mesh @q = <["a"=2], device_ids=[-1, 1]>

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{unknown axis name: "z"}}
  %0 = sdy.all_gather [{"z"}, {}] %x out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{lists axes for 1 dimensions of a tensor of rank 2}}
  %0 = sdy.all_slice [{"a"}] %x out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{expected different dimensions of a tensor of rank 2 in an all-to-all, got [1, 2]}}
  %0 = sdy.all_to_all [{"a"}: 1->2] %x out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
// expected-error @+1 {{sdy.sharding of argument #0: unknown axis name: "c"}}
func.func @f(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"c"}, {}]>}) {
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
// expected-error @+1 {{sdy.sharding of result #0: sharding doesn't match tensor rank: 1 != 2}}
func.func @f(%x: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}) {
  return %x : tensor<8x8xf32>
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{duplicate axis ref: "a"}}
  %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {"a"}]>]>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=4]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{sdy.sharding has 2 shardings for 1 values}}
  %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}]>, <@m, [{}, {}]>]>} : tensor<8x8xf32>
  return
}

// -----

// A sharding on one device says nothing about dimensions, and may be that of an effect.
sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) {
  return
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @f(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{expected value 0 inside to have elements of type f32, as outside, got f16}}
  %r = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{"a"}, {}]>] manual_axes={"a"} (%t: tensor<4x8xf16>) {
    sdy.return %t : tensor<4x8xf16>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{number of out_shardings (2), values outside (2) and inside (1) must be equal}}
  %r:2 = sdy.named_computation<"foo">(%x) (%t: tensor<8xf32>) {
    sdy.return %t : tensor<8xf32>
  } : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

sdy.mesh @m = <["a"=2, "b"=2]>
%x = "test.op"() : () -> tensor<8x8x8xf32>
// expected-error @+1 {{expected different dimensions of a tensor of rank 3 in an all-to-all, got [0, 1, 1, 2]}}
%0 = sdy.all_to_all [{"a"}: 0->1, {"b"}: 1->2] %x out_sharding=<@m, [{}, {"a"}, {"b"}]> : tensor<8x8x8xf32>

// -----

sdy.mesh @m = <["a"=2, "b"=2]>
%x = "test.op"() : () -> tensor<8xf32>
// expected-error @+1 {{replicated axes are not in the order of the mesh: {"b", "a"}}}
%0 = sdy.sharding_constraint %x <@m, [{}], replicated={"b", "a"}> : tensor<8xf32>

// -----

sdy.mesh @m = <["a"=2]>
%x = "test.op"() : () -> tensor<8xf32>
// expected-error @+1 {{expected an axis after 'unreduced'}}
%0 = sdy.sharding_constraint %x <@m, [{}], unreduced={}> : tensor<8xf32>

// -----

%x = "test.op"() : () -> tensor<8xf32>
// expected-error @+1 {{expected one of NONE, FORWARD, BACKWARD}}
%0 = sdy.propagation_barrier %x allowed_direction=BOTH : tensor<8xf32>

// -----

sdy.mesh @m = <["a"=4]>
func.func @whole(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected a manual axis to be whole, got "a":(1)2}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a":(1)2}]>] out_shardings=[<@m, [{"a":(1)2}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
    sdy.return %y : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2]>
sdy.mesh @n = <["a"=4]>
func.func @meshes(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected all shardings to be on one mesh, got <["a"=2]>, <["a"=4]>}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{}]>] out_shardings=[<@n, [{}]>] manual_axes={"a"} (%y: tensor<8xf32>) {
    sdy.return %y : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @bound(%x: tensor<8xf32>) {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
    // expected-error @+1 {{axis "a" is manual in the computation around the op}}
    %1 = stablehlo.abs %y {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}], replicated={"a"}>]>} : tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @m = <["a"=2]>
func.func @known(%x: tensor<8xf32>) {
  // expected-error @+1 {{to have shape [4] after in_shardings}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a"} (%y: tensor<?xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @isolated(%x: tensor<8xf32>) {
  %0 = sdy.named_computation<"part">(%x) (%y: tensor<8xf32>) {
    // expected-error @+1 {{use of undefined value '%x'}}
    sdy.return %x : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}
