// The native backend runs what the interpreter runs, on one device and on all devices of a grid.
// RUN: mesh-run %s --backend=native --function=total --input=2x3xf32=1,2,3,4,5,6 | filecheck %s --check-prefix=TOTAL
// RUN: mesh-run %s --backend=native -p spmd --function=gelu --input=4x2xf32=1,-1,2,-2,0,3,0.5,-0.5 --check | filecheck %s --check-prefix=GRID
// RUN: not mesh-run %s --backend=native --function=total --input=3xf32=1,2,3 2>&1 | filecheck %s --check-prefix=SHAPE

// TOTAL: EXEC @total
// TOTAL: 3xf32=5 7 9

// GRID: EXEC @gelu
// GRID: 4x2xf32=

// SHAPE: mesh-run: {{.*}}expected {{.*}}2x3xf32

shard.grid @g(shape = 2)

func.func @total(%a: tensor<2x3xf32>) -> tensor<3xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %0 = linalg.reduce { arith.addf } ins(%a : tensor<2x3xf32>) outs(%i : tensor<3xf32>) dimensions = [0]
  return %0 : tensor<3xf32>
}

func.func @gelu(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %a to %s annotate_for_users : tensor<4x2xf32>
  %1 = math.tanh %0 : tensor<4x2xf32>
  %2 = arith.mulf %1, %0 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
