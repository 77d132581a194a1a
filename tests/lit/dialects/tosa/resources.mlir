// RUN: mesh-opt %s | filecheck %s
// RUN: mesh-run %s --input=2xf32=1,2 | filecheck %s --check-prefix=VALUES
// RUN: mesh-run %s --pass-pipeline=spmd --random-inputs=0 --check --backend=interpreter

// Weights of torch-mlir's output in tosa.
// CHECK: tosa.const{{.*}}values = dense_resource<w> : tensor<2xf32>
// VALUES: 2xf32=4 7
shard.grid @g(shape = 2)
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<2xf32>
  %w = "tosa.const"() <{values = dense_resource<w> : tensor<2xf32>}> : () -> tensor<2xf32>
  %y = tosa.add %a, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x04000000000040400000A040"
    }
  }
#-}
