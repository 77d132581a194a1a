// RUN: mesh-opt %s --spmd --show-shardings 2>&1 >%t | filecheck %s
// RUN: mesh-opt %s --sharding-propagation --show-shardings 2>&1 >%t | filecheck %s --check-prefix=PROPAGATED
// RUN: mesh-opt %s --spmd --show-shardings --color 2>&1 >%t | filecheck %s --check-prefix=COLOR

// CHECK:      @main
// CHECK-EMPTY:
// CHECK-NEXT: %x: 8x16 by @g [{{\[}}0], [1]] on 4 devices: 4 parts
// CHECK-NEXT:        0:8      8:16
// CHECK-NEXT:     ┌────────┬────────┐
// CHECK-NEXT: 0:4 │   0    │   1    │
// CHECK-NEXT:     ├────────┼────────┤
// CHECK-NEXT: 4:8 │   2    │   3    │
// CHECK-NEXT:     └────────┴────────┘
// CHECK:      %w: 16x32 by @g [{{\[}}1], []] on 4 devices: 2 parts, 2 copies of each
// CHECK:      result #0: 8x32 by @g [{{\[}}0], []]

// PROPAGATED: %c, %o: 8x32 by @g [{{\[}}0], []]
// COLOR:      [30;48;5;
shard.grid @g(shape = 2x2)
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x16xf32>
  %c = arith.constant dense<0.0> : tensor<8x32xf32>
  %o = linalg.matmul ins(%a, %w : tensor<8x16xf32>, tensor<16x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %o : tensor<8x32xf32>
}
