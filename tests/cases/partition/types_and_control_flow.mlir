shard.grid @g(shape = 2x2)
func.func @i1(%x: tensor<4x6xi1>, %i: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %s = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x6xi1>
  %a = linalg.reduce { arith.maxui } ins(%xs : tensor<4x6xi1>) outs(%i : tensor<4xi1>) dimensions = [1]
  %b = linalg.reduce { arith.addi } ins(%xs : tensor<4x6xi1>) outs(%i : tensor<4xi1>) dimensions = [1]
  %c = linalg.reduce { arith.maxsi } ins(%xs : tensor<4x6xi1>) outs(%i : tensor<4xi1>) dimensions = [1]
  return %a, %b, %c : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}
func.func @f16(%x: tensor<4x6xbf16>, %w: tensor<6x4xbf16>) -> tensor<4x4xf32> {
  %s = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x6xbf16>
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = linalg.matmul ins(%xs, %w : tensor<4x6xbf16>, tensor<6x4xbf16>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %mr = shard.shard %m to %r : tensor<4x4xf32>
  return %mr : tensor<4x4xf32>
}
func.func @i8(%x: tensor<8x6xi8>, %w: tensor<6x4xi8>, %o: tensor<8x4xi32>) -> tensor<8x4xi32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8x6xi8>
  %m = linalg.matmul ins(%xs, %w : tensor<8x6xi8>, tensor<6x4xi8>) outs(%o : tensor<8x4xi32>) -> tensor<8x4xi32>
  return %m : tensor<8x4xi32>
}
func.func @blocks(%x: tensor<4x8xf32>, %p: i1, %q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0, 1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  cf.cond_br %p, ^a(%xs : tensor<4x8xf32>), ^b(%q, %xs : tensor<4x8xf32>, tensor<4x8xf32>)
^a(%y: tensor<4x8xf32>):
  %ys = shard.shard %y to %t annotate_for_users : tensor<4x8xf32>
  %r = tosa.abs %ys : (tensor<4x8xf32>) -> tensor<4x8xf32>
  cf.br ^b(%r, %q : tensor<4x8xf32>, tensor<4x8xf32>)
^b(%u: tensor<4x8xf32>, %v: tensor<4x8xf32>):
  %w = arith.addf %u, %v : tensor<4x8xf32>
  %k = arith.addf %w, %xs : tensor<4x8xf32>
  return %k : tensor<4x8xf32>
}
func.func @rescale(%x: tensor<4x8xf32>, %m: memref<4xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%m : memref<4xf32>)
  %e = tensor.empty() : tensor<4x8xf32>
  %bb = linalg.broadcast ins(%b : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0]
  %r = linalg.div ins(%xs, %bb : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
func.func @recursive(%x: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %p -> (tensor<4x8xf32>) {
    scf.yield %xs : tensor<4x8xf32>
  } else {
    %m = arith.subi %n, %c1 : index
    %h = math.absf %xs : tensor<4x8xf32>
    %y = func.call @recursive(%h, %m) : (tensor<4x8xf32>, index) -> tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}
