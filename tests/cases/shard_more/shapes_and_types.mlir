// Causal mask with linalg.index in both dims.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %z = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel", "parallel"]}
    ins(%xs : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi sge, %i, %j : index
    %q = arith.select %c, %a, %z : f32
    linalg.yield %q : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// 3d grid all permutations.
// Collectives: 2 all_to_all, 1 send.
shard.grid @g(shape = 2x2x2)
func.func @f(%x: tensor<8x8x8xf32>) -> tensor<8x8x8xf32> {
  %s = shard.sharding @g split_axes = [[0], [1], [2]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[2], [0], [1]] : !shard.sharding
  %u = shard.sharding @g split_axes = [[2, 1, 0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x8x8xf32>
  %b = shard.shard %a to %t annotate_for_users : tensor<8x8x8xf32>
  %y = tosa.tanh %b : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %c = shard.shard %y to %u annotate_for_users : tensor<8x8x8xf32>
  return %c : tensor<8x8x8xf32>
}

// -----

// Scalar f32 args into fill, splat, generic.
// Collectives: none.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x8xf32>, %k: f32, %n: index) -> tensor<4x8xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%k : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %sp = tensor.splat %k : tensor<4x8xf32>
  %kk = arith.mulf %k, %k : f32
  %o = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->()>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel", "parallel"]} ins(%xs, %kk : tensor<4x8xf32>, f32) outs(%f : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %1, %k : f32
    %3 = arith.addf %2, %c : f32
    linalg.yield %3 : f32
  } -> tensor<4x8xf32>
  %p = arith.addf %o, %sp : tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// -----

// Dynamic shapes with dim of a computed value.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x4xf32>, %w: tensor<4x8xf32>) -> (tensor<?x8xf32>, index) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x4xf32>
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %y = math.tanh %xs : tensor<?x4xf32>
  %d = tensor.dim %y, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %o = linalg.matmul ins(%y, %w : tensor<?x4xf32>, tensor<4x8xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
  %d2 = tensor.dim %o, %c0 : tensor<?x8xf32>
  %n = arith.addi %d, %d2 : index
  return %o, %n : tensor<?x8xf32>, index
}

// -----

// Dynamic: empty(%n) with n from argument, k split dynamic.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x?xf32>, %w: tensor<?x8xf32>, %unused: index) -> tensor<?x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x?xf32>
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %o = linalg.matmul ins(%xs, %w : tensor<?x?xf32>, tensor<?x8xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// -----

// Integer types: i4, ui8 via i8, i1, i64 matmul.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%a: tensor<4x8xi8>, %b: tensor<8x4xi8>, %c: tensor<4x4xi64>) -> (tensor<4x4xi32>, tensor<4x4xi64>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %as = shard.shard %a to %s annotate_for_users : tensor<4x8xi8>
  %z = arith.constant 3 : i32
  %e = tensor.empty() : tensor<4x4xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<4x4xi32>) -> tensor<4x4xi32>
  %o = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%as, %b : tensor<4x8xi8>, tensor<8x4xi8>) outs(%f : tensor<4x4xi32>) -> tensor<4x4xi32>
  %q = linalg.matmul ins(%c, %c : tensor<4x4xi64>, tensor<4x4xi64>) outs(%c : tensor<4x4xi64>) -> tensor<4x4xi64>
  return %o, %q : tensor<4x4xi32>, tensor<4x4xi64>
}

// -----

// Rank-0 annotated, reduce to rank-0, broadcast back.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<8xf32>, %k: tensor<f32>) -> (tensor<f32>, tensor<8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8xf32>
  %ks = shard.shard %k to %r annotate_for_users : tensor<f32>
  %o = linalg.reduce { arith.addf } ins(%xs : tensor<8xf32>) outs(%ks : tensor<f32>) dimensions = [0]
  %e = tensor.empty() : tensor<8xf32>
  %b = linalg.broadcast ins(%o : tensor<f32>) outs(%e : tensor<8xf32>) dimensions = [0]
  %d = arith.divf %xs, %b : tensor<8xf32>
  return %o, %d : tensor<f32>, tensor<8xf32>
}

// -----

// 0-sized dims.
// Collectives: 2 all_gather.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<0x4xf32>, %y: tensor<4x0xf32>) -> (tensor<0x4xf32>, tensor<4x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<0x4xf32>
  %ys = shard.shard %y to %t annotate_for_users : tensor<4x0xf32>
  %a = math.tanh %xs : tensor<0x4xf32>
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = linalg.matmul ins(%ys, %a : tensor<4x0xf32>, tensor<0x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a, %m : tensor<0x4xf32>, tensor<4x4xf32>
}

// -----

// Size-1 grid axes.
// Collectives: 1 all_gather.
shard.grid @g(shape = 1x2x1)
func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %s = shard.sharding @g split_axes = [[0, 2], [1]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[1], [2, 0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<3x4xf32>
  %a = math.tanh %xs : tensor<3x4xf32>
  %b = shard.shard %a to %t annotate_for_users : tensor<3x4xf32>
  %c = math.absf %b : tensor<3x4xf32>
  return %c : tensor<3x4xf32>
}

// -----

// Fewer elements than devices.
// Collectives: 1 all_to_all.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<3x4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<3x4xf32>
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.reduce { arith.mulf } ins(%xs : tensor<3x4xf32>) outs(%f : tensor<4xf32>) dimensions = [0]
  return %r : tensor<4xf32>
}

// -----

// Mixed: reshape merging split dims 2x4.
// Collectives: 1 all_gather.
shard.grid @g(shape = 2x4)
func.func @f(%x: tensor<4x8x6xf32>) -> tensor<32x6xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8x6xf32>
  %c = tensor.collapse_shape %xs [[0, 1], [2]] : tensor<4x8x6xf32> into tensor<32x6xf32>
  %y = math.tanh %c : tensor<32x6xf32>
  return %y : tensor<32x6xf32>
}

// -----

// Insert_slice, extract_slice with strides, pad with const, in split dim.
// Collectives: 1 all_to_all, 2 update_halo.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<16x4xf32>, %u: tensor<4x4xf32>, %o: index) -> (tensor<16x4xf32>, tensor<5x4xf32>, tensor<20x4xf32>, tensor<4x4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<16x4xf32>
  %z = arith.constant 0.5 : f32
  %i = tensor.insert_slice %u into %xs[3, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<16x4xf32>
  %e = tensor.extract_slice %xs[1, 0] [5, 4] [3, 1] : tensor<16x4xf32> to tensor<5x4xf32>
  %p = tensor.pad %xs low[1, 0] high[3, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %z : f32
  } : tensor<16x4xf32> to tensor<20x4xf32>
  %d = tensor.extract_slice %xs[%o, 0] [4, 4] [1, 1] : tensor<16x4xf32> to tensor<4x4xf32>
  return %i, %e, %p, %d : tensor<16x4xf32>, tensor<5x4xf32>, tensor<20x4xf32>, tensor<4x4xf32>
}

// -----

// Map, broadcast, transpose, dot, vecmat, mmt4d, matmul_transpose.
// Collectives: 2 all_gather, 3 all_reduce.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8xf32>, %w: tensor<8x4xf32>, %v: tensor<4x8xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<8x8xf32>, tensor<4x8xf32>) {
  %s = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %t = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<8xf32>
  %ws = shard.shard %w to %t annotate_for_users : tensor<8x4xf32>
  %z = arith.constant dense<1.0> : tensor<f32>
  %d = linalg.dot ins(%xs, %xs : tensor<8xf32>, tensor<8xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  %e = arith.constant dense<2.0> : tensor<4xf32>
  %m = linalg.vecmat ins(%xs, %ws : tensor<8xf32>, tensor<8x4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %e2 = arith.constant dense<0.0> : tensor<8x8xf32>
  %mm = linalg.matmul indexing_maps = [affine_map<(i,j,k)->(i,k)>, affine_map<(i,j,k)->(j,k)>, affine_map<(i,j,k)->(i,j)>] ins(%ws, %ws : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e2 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %e3 = tensor.empty() : tensor<4x8xf32>
  %tr = linalg.transpose ins(%ws : tensor<8x4xf32>) outs(%e3 : tensor<4x8xf32>) permutation = [1, 0]
  %mp = linalg.map { arith.addf } ins(%tr, %v : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e3 : tensor<4x8xf32>)
  return %d, %m, %mm, %mp : tensor<f32>, tensor<4xf32>, tensor<8x8xf32>, tensor<4x8xf32>
}

// -----

// Destinations that are read, transposed maps, linalg.index.
// Collectives: none.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x6xi64>, %y: tensor<6xi64>, %o: tensor<6x4xi64>) -> tensor<6x4xi64> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %os = shard.shard %o to %s annotate_for_users : tensor<6x4xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(j,i)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xi64>, tensor<6xi64>) outs(%os : tensor<6x4xi64>) {
  ^bb0(%a: i64, %b: i64, %c: i64):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %1 = arith.muli %a, %b : i64
    %2 = arith.addi %1, %c : i64
    %3 = arith.addi %2, %k : i64
    linalg.yield %3 : i64
  } -> tensor<6x4xi64>
  return %r : tensor<6x4xi64>
}

// -----

// More processes than elements.
// Collectives: none.
shard.grid @g(shape = 4x4)
func.func @f(%x: tensor<1x5xf32>) -> tensor<5xf32> {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %a = shard.shard %x to %s annotate_for_users : tensor<1x5xf32>
  %z = arith.constant dense<0.0> : tensor<5xf32>
  %r = linalg.reduce { arith.addf } ins(%a : tensor<1x5xf32>) outs(%z : tensor<5xf32>) dimensions = [0]
  return %r : tensor<5xf32>
}

// -----

// A dynamic batch, sliced, padded and joined.
// Collectives: 1 all_reduce, 1 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x6xf32>, tensor<?x8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<?x4xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f32
  %n = tensor.dim %xs, %c0 : tensor<?x4xf32>
  %h = arith.subi %n, %c2 : index
  %q = tensor.extract_slice %xs[1, 0] [%h, 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  %p = tensor.pad %xs low[0, 1] high[0, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %z : f32
  } : tensor<?x4xf32> to tensor<?x6xf32>
  %c = tensor.concat dim(1) %xs, %xs : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  return %q, %p, %c : tensor<?x4xf32>, tensor<?x6xf32>, tensor<?x8xf32>
}

// -----

// A dynamic destination next to a split dimension.
// Collectives: none.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<?x8xf32>, %n: index) -> tensor<?x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<?x8xf32>
  %xu = shard.shard %xs to %s annotate_for_users : tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %es = shard.shard %e to %s : tensor<?x8xf32>
  %eu = shard.shard %es to %s annotate_for_users : tensor<?x8xf32>
  %y = linalg.exp ins(%xu : tensor<?x8xf32>) outs(%eu : tensor<?x8xf32>) -> tensor<?x8xf32>
  %ys = shard.shard %y to %s : tensor<?x8xf32>
  %yu = shard.shard %ys to %s annotate_for_users : tensor<?x8xf32>
  return %yu : tensor<?x8xf32>
}
