// RUN: mesh-opt %s -p convert-stablehlo-to-linalg | filecheck %s
// RUN: mesh-run %s -p spmd --function=constants --input=8xf32=1 --check | filecheck %s --check-prefix=NATIVE

// Shardings of StableHLO operations stay, those of Shardy's constants too, which it makes one of for each use.

// CHECK-LABEL: func.func @constants
// CHECK: %two = sdy.sharding_constraint %{{.*}} <@m, [{"a"}]> : tensor<8xf32>
// CHECK: %y = sdy.sharding_constraint %{{.*}} <@m, [{"a"}]> : tensor<8xf32>
// NATIVE: 8xf32=5 5 5 5 5 5 5 5
// NATIVE: on 2 devices agrees with the reference
sdy.mesh @m = <["a"=2]>
func.func @constants(%x: tensor<8xf32>) -> tensor<8xf32> {
  %two = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>]>} dense<2.0> : tensor<8xf32>
  %three = sdy.constant dense<3.0> : tensor<8xf32>
  %y = stablehlo.multiply %x, %two {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>]>} : tensor<8xf32>
  %z = stablehlo.add %y, %three : tensor<8xf32>
  return %z : tensor<8xf32>
}

// A constraint that nobody reads is the sharding of its operand.
// CHECK-LABEL: func.func @without_users
// CHECK: [[Y:%.*]] = sdy.sharding_constraint %y <@m, [{"a"}]> : tensor<8xf32>
// CHECK-NEXT: return [[Y]] : tensor<8xf32>
func.func @without_users(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = stablehlo.tanh %x : tensor<8xf32>
  %z = sdy.sharding_constraint %y <@m, [{"a"}]> : tensor<8xf32>
  return %y : tensor<8xf32>
}
