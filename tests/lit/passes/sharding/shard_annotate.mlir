// RUN: mesh-opt %s -p "shard-annotate{grid=2x2 args=x:[[0]],\"p['w']\":[[],[1]],w*:[[1]] results=result*:[[0],[1]] values=o:[[0],[1]]}" | filecheck %s
// RUN: mesh-opt %s -p "shard-annotate{grid=2x2 functions=inn?r args=arg0:[[1]]}" | filecheck %s --check-prefix=INNER
// RUN: mesh-opt %s -p "shard-annotate{grid=4 args=x:[[0]]},spmd" | filecheck %s --check-prefix=SPMD
// RUN: mesh-opt %s -p "shard-annotate{grid=2x2 functions=unnamed values=0#1:[[0]],2:[[1]],cst:[[],[0]]}" | filecheck %s --check-prefix=UNNAMED

// A grid of these extents is there already, so none is made.
// CHECK: shard.grid @devices(shape = 2x2)
// CHECK-NOT: shard.grid
// INNER: shard.grid @devices
// SPMD: shard.grid @grid(shape = 4)
shard.grid @devices(shape = 2x2)

// The location of the first `%w` names it before the pattern `w*` does; the second is named by that alone.
// CHECK-LABEL: func.func @main
// CHECK-DAG: [[ROWS:%[a-z0-9_]+]] = shard.sharding @devices split_axes = {{\[\[0\]\]}}
// CHECK-DAG: [[X:%[a-z0-9_]+]] = shard.shard %x to [[ROWS]] : tensor<8x16xf32>
// CHECK-DAG: [[COLUMNS:%[a-z0-9_]+]] = shard.sharding @devices split_axes = {{\[\[\], \[1\]\]}}
// CHECK-DAG: [[W:%[a-z0-9_]+]] = shard.shard %w to [[COLUMNS]] : tensor<16x32xf32>
// CHECK-DAG: [[OTHER:%[a-z0-9_]+]] = shard.sharding @devices split_axes = {{\[\[1\]\]}}
// CHECK-DAG: shard.shard %w_1 to [[OTHER]] : tensor<16x32xf32>
// CHECK: %o = linalg.matmul ins([[X]], [[W]]
// CHECK-NEXT: [[BOTH:%[a-z0-9_]+]] = shard.sharding @devices split_axes = {{\[\[0\], \[1\]\]}}
// CHECK-NEXT: [[O:%[a-z0-9_]+]] = shard.shard %o to [[BOTH]] : tensor<8x32xf32>
// CHECK-NEXT: [[BOTH_2:%[a-z0-9_]+]] = shard.sharding @devices
// CHECK-NEXT: [[R:%[a-z0-9_]+]] = shard.shard [[O]] to [[BOTH_2]] annotate_for_users
// CHECK-NEXT: return [[R]]
// SPMD: func.func @main(%x: tensor<2x16xf32>
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32> loc("p['w']"), %w_1: tensor<16x32xf32>)
    -> (tensor<8x32xf32> {jax.result_info = "result['o']"}) {
  %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
  %o = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x32xf32>) outs(%zeros : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %o : tensor<8x32xf32>
}

// Private functions only where they are asked for.
// CHECK-LABEL: func.func private @inner
// CHECK-NEXT: return
// INNER-LABEL: func.func private @inner
// INNER: shard.shard %arg0 to
func.func private @inner(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}

// Values without names are annotated by those that they are printed with.
// UNNAMED-LABEL: func.func private @unnamed
func.func private @unnamed(%x: tensor<8x16xf32>, %c: i1) -> tensor<8x16xf32> {
  // UNNAMED: %cst = arith.constant
  // UNNAMED-NEXT: [[COLUMNS:%[a-z0-9_]+]] = shard.sharding @devices split_axes = {{\[\[\], \[0\]\]}}
  // UNNAMED-NEXT: [[CST:%[a-z0-9_]+]] = shard.shard %cst to [[COLUMNS]]
  %cst = arith.constant dense<1.0> : tensor<8x16xf32>
  // UNNAMED: [[BOTH:%[a-z0-9_]+]]:2 = scf.if
  %0:2 = scf.if %c -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %1 = arith.negf %x : tensor<8x16xf32>
    scf.yield %x, %1 : tensor<8x16xf32>, tensor<8x16xf32>
  } else {
    scf.yield %cst, %x : tensor<8x16xf32>, tensor<8x16xf32>
  }
  // UNNAMED: [[SECOND:%[a-z0-9_]+]] = shard.shard [[BOTH]]#1 to
  // UNNAMED: [[SUM:%[a-z0-9_]+]] = arith.addf [[BOTH]]#0, [[SECOND]]
  // UNNAMED-NEXT: [[AXIS_1:%[a-z0-9_]+]] = shard.sharding @devices split_axes = {{\[\[1\]\]}}
  // UNNAMED-NEXT: shard.shard [[SUM]] to [[AXIS_1]]
  %2 = arith.addf %0#0, %0#1 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
