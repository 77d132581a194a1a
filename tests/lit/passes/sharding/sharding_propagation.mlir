// RUN: mesh-opt %s --split-input-file --sharding-propagation | filecheck %s

// Batch on one axis, hidden on the other, known of inputs only: the hidden tensor is split both
// ways, and the second weight follows.

// CHECK-LABEL: func.func @mlp
shard.grid @g(shape = 2x2)
func.func @mlp(%x: tensor<4x6xf32>, %w1: tensor<6x8xf32>, %w2: tensor<8x6xf32>) -> tensor<4x6xf32> {
  // CHECK-DAG: [[ROWS1:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[1\]\]}}
  // CHECK-DAG: [[BOTH:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[0\], \[1\]\]}}
  // CHECK: [[W2:%[a-z0-9_]+]] = shard.shard %w2 to [[ROWS1]] : tensor<8x6xf32>
  %b = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %c = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %xs = shard.shard %x to %b annotate_for_users : tensor<4x6xf32>
  %w1s = shard.shard %w1 to %c annotate_for_users : tensor<6x8xf32>
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<4x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: %h = linalg.matmul
  // CHECK-NEXT: [[H:%[a-z0-9_]+]] = shard.shard %h to [[BOTH]] : tensor<4x8xf32>
  // CHECK-NEXT: [[HU:%[a-z0-9_]+]] = shard.shard [[H]] to [[BOTH]] annotate_for_users
  // CHECK-NEXT: %a = math.tanh [[HU]]
  %h = linalg.matmul ins(%xs, %w1s : tensor<4x6xf32>, tensor<6x8xf32>) outs(%f1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = math.tanh %h : tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<4x6xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: shard.shard [[W2]] to [[ROWS1]] annotate_for_users
  %o = linalg.matmul ins(%a, %w2 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %o : tensor<4x6xf32>
}

// -----

// A `tensor.empty` that two operations want in two ways is made twice.

// CHECK-LABEL: func.func @shared_init
shard.grid @g(shape = 2)
func.func @shared_init(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x4xf32>
  %ys = shard.shard %y to %t : tensor<4x4xf32>
  // CHECK-COUNT-2: tensor.empty
  %e = tensor.empty() : tensor<4x4xf32>
  %a = linalg.exp ins(%xs : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = linalg.exp ins(%ys : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// An explicit replication for users is a demand.

// CHECK-LABEL: func.func @demand
shard.grid @g(shape = 2)
func.func @demand(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: [[WHOLE:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[\]\]}}
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x4xf32>
  %ys = shard.shard %y to %r annotate_for_users : tensor<4x4xf32>
  // CHECK: %a = arith.addf
  // CHECK-NEXT: shard.shard %a to [[WHOLE]]
  %a = arith.addf %xs, %ys : tensor<4x4xf32>
  return %a : tensor<4x4xf32>
}

// -----

// Loops carry a sharding from the initial value through the body to the result.

// CHECK-LABEL: func.func @loop
shard.grid @g(shape = 2)
func.func @loop(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  // CHECK: [[S:%[a-z0-9_]+]] = shard.sharding @g split_axes = {{\[\[0\]\]}}
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%a =
  // CHECK-NEXT: shard.shard %a to [[S]]
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %xs) -> (tensor<4x4xf32>) {
    %t = math.tanh %a : tensor<4x4xf32>
    scf.yield %t : tensor<4x4xf32>
  }
  // CHECK: shard.shard %r to [[S]]
  return %r : tensor<4x4xf32>
}

// -----

// Functions without annotations, and declarations, are left alone.

// CHECK-LABEL: func.func @untouched
// CHECK-NEXT: math.tanh %x
// CHECK-NEXT: return
func.func @untouched(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t = math.tanh %x : tensor<4x4xf32>
  return %t : tensor<4x4xf32>
}
func.func private @declared(tensor<4x4xf32>) -> tensor<4x4xf32>

// -----

// A scalar is no tensor of rank 0, though operations on both have one rule: it is not annotated.

// CHECK-LABEL: func.func @scalar_and_rank_0
// CHECK: [[ONE:%[a-z0-9_]+]] = tensor.extract
// CHECK: linalg.generic {{.*}} ins([[ONE]] : f32)
#scalar = affine_map<(d0) -> ()>
#all = affine_map<(d0) -> (d0)>
shard.grid @g(shape = 2)
func.func @scalar_and_rank_0(%x: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8xf32>
  %c = arith.constant dense<1.0> : tensor<f32>
  %one = tensor.extract %c[] : tensor<f32>
  %empty = tensor.empty() : tensor<8xf32>
  %f = linalg.generic {indexing_maps = [#scalar, #all], iterator_types = ["parallel"]} ins(%one : f32) outs(%empty : tensor<8xf32>) {
  ^bb0(%p: f32, %q: f32):
    linalg.yield %p : f32
  } -> tensor<8xf32>
  %g = linalg.generic {indexing_maps = [#scalar, #all], iterator_types = ["parallel"]} ins(%c : tensor<f32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%p: f32, %q: f32):
    linalg.yield %p : f32
  } -> tensor<8xf32>
  %r = linalg.add ins(%a, %f : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %t = linalg.add ins(%r, %g : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  return %t : tensor<8xf32>
}
