// RUN: mesh-opt %s --split-input-file --spmd | filecheck %s

// A window on a padded image: one row of each neighbour, of the image as it is. The rows of padding
// are at the ends, the columns everywhere.

// CHECK-LABEL: func.func @padded
// CHECK:       shard.update_halo {{.*}} halo_sizes = [1, 1] : tensor<6x6xf32>
// CHECK:       tensor.pad {{.*}} low[{{.*}}, 1] high[{{.*}}, 1]
// CHECK:       linalg.generic
// CHECK-NOT:   shard.
// CHECK:       func.return
shard.grid @g(shape = 4)
#in = affine_map<(i, j, k, l) -> (i + k, j + l)>
#w = affine_map<(i, j, k, l) -> (k, l)>
#out = affine_map<(i, j, k, l) -> (i, j)>
func.func @padded(%x: tensor<16x6xf32>, %w: tensor<3x3xf32>) -> tensor<16x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<16x6xf32>
  %c = arith.constant 0.0 : f32
  %p = tensor.pad %xs low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<16x6xf32> to tensor<18x8xf32>
  %e = tensor.empty() : tensor<16x6xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32>
  %r = linalg.generic {indexing_maps = [#in, #w, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w : tensor<18x8xf32>, tensor<3x3xf32>) outs(%f : tensor<16x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<16x6xf32>
  return %r : tensor<16x6xf32>
}

// -----

// The gradient of a kernel: the long loop, over the image, is split, and the sums are added.

// CHECK-LABEL: func.func @gradient
// CHECK:       shard.update_halo {{.*}} halo_sizes = [1, 1]
// CHECK:       linalg.generic
// CHECK:       shard.all_reduce {{.*}} tensor<3xf32> -> tensor<3xf32>
// CHECK-NOT:   shard.
// CHECK:       func.return
shard.grid @g(shape = 4)
#in = affine_map<(k, i) -> (k + i)>
#g = affine_map<(k, i) -> (i)>
#out = affine_map<(k, i) -> (k)>
func.func @gradient(%x: tensor<16xf32>, %d: tensor<16xf32>) -> tensor<3xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<16xf32>
  %ds = shard.shard %d to %s annotate_for_users : tensor<16xf32>
  %c = arith.constant 0.0 : f32
  %p = tensor.pad %xs low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<16xf32> to tensor<18xf32>
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %r = linalg.generic {indexing_maps = [#in, #g, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %ds : tensor<18xf32>, tensor<16xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// -----

// Elements that are cut out are read of what they are cut out of: 3 to 9 by the first process.

// CHECK-LABEL: func.func @cut
// CHECK:       shard.update_halo {{.*}} halo_sizes = [0, 2]
// CHECK-NOT:   shard.
// CHECK:       func.return
shard.grid @g(shape = 2)
#in = affine_map<(i, k) -> (i + k)>
#w = affine_map<(i, k) -> (k)>
#out = affine_map<(i, k) -> (i)>
func.func @cut(%x: tensor<16xf32>, %w: tensor<3xf32>) -> tensor<10xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<16xf32>
  %c = arith.constant 0.0 : f32
  %p = tensor.extract_slice %xs[3] [12] [1] : tensor<16xf32> to tensor<12xf32>
  %e = tensor.empty() : tensor<10xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<10xf32>) -> tensor<10xf32>
  %r = linalg.generic {indexing_maps = [#in, #w, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<12xf32>, tensor<3xf32>) outs(%f : tensor<10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// -----

// Rows that count are read along the loop: each process reads its own.

// CHECK-LABEL: func.func @counted
// CHECK:       linalg.index
// CHECK-NOT:   shard.
// CHECK:       func.return
sdy.mesh @mesh = <["x"=4]>
func.func @counted(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x1xi32>
  %1 = stablehlo.concatenate %0, %i, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
  %2 = "stablehlo.gather"(%x, %1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
