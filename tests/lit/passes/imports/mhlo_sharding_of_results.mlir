// RUN: mesh-opt %s --remarks=sharding --verify-diagnostics --convert-stablehlo-to-linalg

// A string for several results is not read, and a remark says so.

func.func @several(%x: tensor<8xf32>, %i: tensor<8xi32>) -> tensor<8xf32> {
  // expected-remark @+1 {{drops mhlo.sharding of several results}}
  %y:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {mhlo.sharding = "{{replicated}, {replicated}}"} : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %y#0 : tensor<8xf32>
}
