// RUN: mesh-opt %s --split-input-file --verify-diagnostics | filecheck %s

// What is more than a change of words.

mesh.mesh @m(shape = 2x4x3)
mesh.mesh @any(shape = 2x?)

// CHECK-LABEL: func.func @sharding_values(%s: !shard.sharding) -> !shard.sharding attributes {axes = #shard<axisarray{{\[\[}}0]]>, nested = [#shard<partial max>, {deep = !shard.sharding}]}
func.func @sharding_values(%s: !mesh.sharding) -> !mesh.sharding attributes {axes = #mesh<axisarray[[0]]>, nested = [#mesh<partial max>, {deep = !mesh.sharding}]} {
  // CHECK-NEXT: %r = func.call @sharding_values(%s) : (!shard.sharding) -> !shard.sharding
  %r = func.call @sharding_values(%s) : (!mesh.sharding) -> !mesh.sharding
  func.return %r : !mesh.sharding
}

// A device of number n on 2x4x3 is at n/12, n/3 mod 4, n mod 3.

// CHECK-LABEL: func.func @shard_shape
// CHECK-NEXT:    %s = shard.sharding @m
// CHECK-NEXT:    %[[THREE:.*]] = arith.constant 3 : index
// CHECK-NEXT:    %[[LAST:.*]] = arith.remui %n, %[[THREE]] : index
// CHECK-NEXT:    %[[REST:.*]] = arith.divui %n, %[[THREE]] : index
// CHECK-NEXT:    %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-NEXT:    %[[MIDDLE:.*]] = arith.remui %[[REST]], %[[FOUR]] : index
// CHECK-NEXT:    %[[TWELVE:.*]] = arith.constant 12 : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.divui %n, %[[TWELVE]] : index
// CHECK-NEXT:    %shape:2 = shard.shard_shape dims = [8, 16] sharding = %s device = [%[[FIRST]], %[[MIDDLE]], %[[LAST]]] : index, index
func.func @shard_shape(%n: index) -> index {
  %s = mesh.sharding @m split_axes = [[0], [1]] : !mesh.sharding
  %shape:2 = mesh.shard_shape 8x16 %s %n : index, index
  return %shape#1 : index
}

// CHECK-LABEL: func.func @shard_shape_on_dynamic_mesh
// CHECK:         %[[EXTENT:.*]] = shard.grid_shape @any axes = [1] : index
// CHECK-NEXT:    %[[LAST:.*]] = arith.remui %n, %[[EXTENT]] : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.divui %n, %[[EXTENT]] : index
// CHECK-NEXT:    shard.shard_shape dims = [8] sharding = %s device = [%[[FIRST]], %[[LAST]]] : index
func.func @shard_shape_on_dynamic_mesh(%n: index) -> index {
  %s = mesh.sharding @any split_axes = [[1]] : !mesh.sharding
  %shape = mesh.shard_shape 8 %s %n : index
  return %shape : index
}

// CHECK-LABEL: builtin.module @inner
module @inner {
  // CHECK: shard.grid @nested(shape = 2) {sym_visibility = "private"}
  mesh.mesh @nested(shape = 2) {sym_visibility = "private"}
  func.func @loop(%t: tensor<8xf32>, %n: index) -> tensor<8xf32> {
    // CHECK: scf.for
    %r = scf.for %i = %n to %n step %n iter_args(%a = %t) -> (tensor<8xf32>) {
      // CHECK: shard.all_reduce %a on @nested grid_axes = [0]
      %b = mesh.all_reduce %a on @nested mesh_axes = [0] : tensor<8xf32> -> tensor<8xf32>
      scf.yield %b : tensor<8xf32>
    }
    return %r : tensor<8xf32>
  }
}

// -----

mesh.mesh @m(shape = 2)
func.func @unknown_size(%n: index) {
  %s = mesh.sharding @m split_axes = [[0]] : !mesh.sharding
  // expected-error @+1 {{size 1 is dynamic, but its value is not an operand}}
  %shape:2 = mesh.shard_shape 8x? %s %n : index, index
  return
}

// -----

mesh.mesh @m(shape = 2)
func.func @unknown_sharding(%s: !mesh.sharding, %n: index) {
  // expected-error @+1 {{needs a sharding defined by mesh.sharding, to know the coordinates}}
  %shape = mesh.shard_shape 8 %s %n : index
  return
}

// -----

mesh.mesh @m(shape = 2)
// expected-error @+1 {{has the attribute #mesh.shard<@m, [[0]]>, which the shard dialect only supports on mesh.shard}}
func.func @encoding(%t: tensor<8xf32, #mesh.shard<@m, [[0]]>>) {
  return
}
