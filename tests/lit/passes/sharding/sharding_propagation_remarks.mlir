// RUN: mesh-opt %s --allow-unregistered-dialect --sharding-propagation --remarks=sharding 2>&1 >/dev/null | filecheck %s

// CHECK: 'func.func' op [sharding] argument #0 is placed @g {{\[\[0\], \[\]\]}}, as annotated
// CHECK: 'linalg.matmul' op [sharding] result #0 is placed @g {{\[\[0\], \[\]\]}}
// CHECK: note: axis 0 came to dimension 0 through factor 0 (pass-through) of 'linalg.matmul', stage pass-through-factors, aggressive
// CHECK: 'mylib.mystery' op [sharding] has no factor rule: its operands and results are replicated
// CHECK: 'linalg.matmul' op [sharding] operand 1 is resharded from @g {{\[\[0\], \[\]\]}} to @g {{\[\[\], \[\]\]}}
shard.grid @g(shape = 2)
func.func @f(%x: tensor<64x8xf32>, %w: tensor<8x8xf32>, %i: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<64x8xf32>
  %ws = shard.shard %w to %s : tensor<8x8xf32>
  %o = linalg.matmul ins(%xs, %ws : tensor<64x8xf32>, tensor<8x8xf32>) outs(%i : tensor<64x8xf32>) -> tensor<64x8xf32>
  %m = "mylib.mystery"(%o) : (tensor<64x8xf32>) -> tensor<64x8xf32>
  return %m : tensor<64x8xf32>
}
