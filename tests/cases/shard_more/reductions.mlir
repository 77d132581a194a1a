// Two-result reduction with different kinds, inner split.
// Collectives: 2 all_reduce.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<4x8xf32>, %unused: tensor<3xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i)>], iterator_types = ["parallel", "reduction"]}
    ins(%xs : tensor<4x8xf32>) outs(%i, %i : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.maximumf %a, %b : f32
    %q = arith.mulf %a, %a : f32
    %n = arith.addf %c, %q : f32
    linalg.yield %m, %n : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Argmax by compare and select with linalg.index.
// Collectives: 2 all_gather.
shard.grid @g(shape = 4)
func.func @f(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %z = arith.constant 0xFF800000 : f32
  %zi = arith.constant 0 : i64
  %e = tensor.empty() : tensor<4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<4xi64>
  %i1 = linalg.fill ins(%zi : i64) outs(%e1 : tensor<4xi64>) -> tensor<4xi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i)>], iterator_types = ["parallel", "reduction"]}
    ins(%xs : tensor<4x8xf32>) outs(%i, %i1 : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64):
    %ix = linalg.index 1 : index
    %ic = arith.index_cast %ix : index to i64
    %m = arith.cmpf ogt, %a, %b : f32
    %q = arith.select %m, %a, %b : f32
    %n = arith.select %m, %ic, %c : i64
    linalg.yield %q, %n : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xi64>
}

// -----

// Min by cmpi ult select, unsigned.
// Collectives: 1 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x8xi8>, %i: tensor<4xi8>) -> tensor<4xi8> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xi8>
  %r = linalg.reduce ins(%xs : tensor<4x8xi8>) outs(%i : tensor<4xi8>) dimensions = [1]
    (%a: i8, %b: i8) {
      %m = arith.cmpi ult, %a, %b : i8
      %q = arith.select %m, %a, %b : i8
      linalg.yield %q : i8
    }
  return %r : tensor<4xi8>
}

// -----

// Tosa reduce_max nan ignore, a shard with only NaN.
// Collectives: 2 all_gather, 1 all_slice.
shard.grid @g(shape = 2)
func.func @f() -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %c = arith.constant dense<[[0x7FC00000, 0x7FC00000, 1.0, 2.0], [3.0, 0x7FC00000, 0x7FC00000, 0x7FC00000]]> : tensor<2x4xf32>
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %cs = shard.shard %c to %s annotate_for_users : tensor<2x4xf32>
  %x = tosa.abs %cs : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = tosa.reduce_max %x {axis = 1 : i32, nan_mode = IGNORE} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = tosa.reduce_min %x {axis = 1 : i32, nan_mode = IGNORE} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  return %0, %1 : tensor<2x1xf32>, tensor<2x1xf32>
}

// -----

// Tosa reductions of all kinds over split dim.
// Collectives: 6 all_reduce, 1 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x8xf32>, %b: tensor<4x8xi1>, %i: tensor<4x8xi32>) -> (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xi1>, tensor<4x1xi1>, tensor<4x1xi32>, tensor<4xi32>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x8xf32>
  %bs = shard.shard %b to %s annotate_for_users : tensor<4x8xi1>
  %is = shard.shard %i to %s annotate_for_users : tensor<4x8xi32>
  %0 = tosa.reduce_max %xs {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = tosa.reduce_min %xs {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = tosa.reduce_product %xs {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %3 = tosa.reduce_all %bs {axis = 1 : i32} : (tensor<4x8xi1>) -> tensor<4x1xi1>
  %4 = tosa.reduce_any %bs {axis = 1 : i32} : (tensor<4x8xi1>) -> tensor<4x1xi1>
  %5 = tosa.reduce_sum %is {axis = 1 : i32} : (tensor<4x8xi32>) -> tensor<4x1xi32>
  %6 = tosa.argmax %xs {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4xi32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xi1>, tensor<4x1xi1>, tensor<4x1xi32>, tensor<4xi32>
}

// -----

// Gathers of unsigned and i1 comparisons, i1 reductions, xor, select.
// Collectives: 2 all_reduce.
shard.grid @g(shape = 3)
func.func @f(%x: tensor<4x6xi32>, %i: tensor<4xi1>, %j: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi32>, tensor<4x6xi1>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x6xi32>
  %c1 = arith.constant dense<1> : tensor<4x6xi32>
  %p = arith.cmpi ugt, %xs, %c1 : tensor<4x6xi32>
  %r = linalg.reduce { arith.ori } ins(%p : tensor<4x6xi1>) outs(%i : tensor<4xi1>) dimensions = [1]
  %q = linalg.reduce { arith.xori } ins(%xs : tensor<4x6xi32>) outs(%j : tensor<4xi32>) dimensions = [1]
  return %r, %q, %p : tensor<4xi1>, tensor<4xi32>, tensor<4x6xi1>
}

// -----

// F16 bf16 f64 complex.
// Collectives: 3 all_reduce.
shard.grid @g(shape = 2)
func.func @f(%a: tensor<4x8xf16>, %b: tensor<4x8xbf16>, %c: tensor<4x8xcomplex<f32>>, %d: tensor<4x8xf64>) -> (tensor<4xf16>, tensor<4xbf16>, tensor<4x8xcomplex<f32>>, tensor<4xf64>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %as = shard.shard %a to %s annotate_for_users : tensor<4x8xf16>
  %bs = shard.shard %b to %s annotate_for_users : tensor<4x8xbf16>
  %cs = shard.shard %c to %s annotate_for_users : tensor<4x8xcomplex<f32>>
  %ds = shard.shard %d to %s annotate_for_users : tensor<4x8xf64>
  %z0 = arith.constant 0.0 : f16
  %z1 = arith.constant 1.0 : bf16
  %z2 = arith.constant 1.0 : f64
  %e0 = tensor.empty() : tensor<4xf16>
  %e1 = tensor.empty() : tensor<4xbf16>
  %e2 = tensor.empty() : tensor<4xf64>
  %f0 = linalg.fill ins(%z0 : f16) outs(%e0 : tensor<4xf16>) -> tensor<4xf16>
  %f1 = linalg.fill ins(%z1 : bf16) outs(%e1 : tensor<4xbf16>) -> tensor<4xbf16>
  %f2 = linalg.fill ins(%z2 : f64) outs(%e2 : tensor<4xf64>) -> tensor<4xf64>
  %r0 = linalg.reduce { arith.maximumf } ins(%as : tensor<4x8xf16>) outs(%f0 : tensor<4xf16>) dimensions = [1]
  %r1 = linalg.reduce { arith.minimumf } ins(%bs : tensor<4x8xbf16>) outs(%f1 : tensor<4xbf16>) dimensions = [1]
  %c0 = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>
  %cc = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>
  %r3 = linalg.reduce { arith.mulf } ins(%ds : tensor<4x8xf64>) outs(%f2 : tensor<4xf64>) dimensions = [1]
  return %r0, %r1, %cs, %r3 : tensor<4xf16>, tensor<4xbf16>, tensor<4x8xcomplex<f32>>, tensor<4xf64>
}

// -----

// A product added to a tensor, split unevenly on a 3-d grid.
// Collectives: 1 all_gather, 1 all_reduce.
shard.grid @g(shape = 2x3x1)
func.func @f(%a: tensor<5x7xf32>, %b: tensor<7x4xf32>, %c: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %s = shard.sharding @g split_axes = [[0, 2], [1]] : !shard.sharding
  %as = shard.shard %a to %s annotate_for_users : tensor<5x7xf32>
  %o = linalg.matmul ins(%as, %b : tensor<5x7xf32>, tensor<7x4xf32>) outs(%c : tensor<5x4xf32>) -> tensor<5x4xf32>
  %t = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %os = shard.shard %o to %t : tensor<5x4xf32>
  return %os : tensor<5x4xf32>
}

// -----

// A sum of terms that the product beside it has multiplied: no partial sums.
// Collectives: 1 all_to_all.
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x6xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<4x6xi32>
  %i = arith.constant dense<2> : tensor<4xi32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i)>], iterator_types = ["parallel", "reduction"]}
    ins(%xs : tensor<4x6xi32>) outs(%i, %i : tensor<4xi32>, tensor<4xi32>) {
  ^bb0(%a: i32, %p: i32, %q: i32):
    %m = arith.muli %p, %a : i32
    %n = arith.addi %q, %m : i32
    linalg.yield %m, %n : i32, i32
  } -> (tensor<4xi32>, tensor<4xi32>)
  return %r#0, %r#1 : tensor<4xi32>, tensor<4xi32>
}

// -----

// Complex sums from constants: neutral, one, and different ones.
// Collectives: 1 all_reduce, 1 all_slice, 1 all_to_all.
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<5x4xcomplex<f32>>) -> (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<5x4xcomplex<f32>>
  %zero = arith.constant dense<(0.0, 0.0)> : tensor<4xcomplex<f32>>
  %one = arith.constant dense<(1.0, 0.0)> : tensor<4xcomplex<f32>>
  %some = arith.constant dense<[(0.0, 0.0), (0.0, 1.0), (2.0, 0.0), (0.0, 0.0)]> : tensor<4xcomplex<f32>>
  %0 = linalg.reduce ins(%a : tensor<5x4xcomplex<f32>>) outs(%zero : tensor<4xcomplex<f32>>) dimensions = [0] (%p: complex<f32>, %q: complex<f32>) {
    %r = complex.add %p, %q : complex<f32>
    linalg.yield %r : complex<f32>
  }
  %1 = linalg.reduce ins(%a : tensor<5x4xcomplex<f32>>) outs(%one : tensor<4xcomplex<f32>>) dimensions = [0] (%p: complex<f32>, %q: complex<f32>) {
    %r = complex.add %p, %q : complex<f32>
    linalg.yield %r : complex<f32>
  }
  %2 = linalg.reduce ins(%a : tensor<5x4xcomplex<f32>>) outs(%some : tensor<4xcomplex<f32>>) dimensions = [0] (%p: complex<f32>, %q: complex<f32>) {
    %r = complex.mul %p, %q : complex<f32>
    linalg.yield %r : complex<f32>
  }
  return %0, %1, %2 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
}
