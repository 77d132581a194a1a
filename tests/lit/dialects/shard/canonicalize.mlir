// RUN: mesh-opt %s --allow-unregistered-dialect --canonicalize | filecheck %s

shard.grid @g(shape = 2x4x1)
shard.grid @any(shape = 2x?)

// CHECK-LABEL: func.func @groups_of_one
// CHECK-NEXT:    %to_itself = shard.send %t on @g grid_axes = [2] destination = [0] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    %recv = shard.recv %t on @g grid_axes = [0] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    %widened = shard.all_reduce %t on @g : tensor<8xf32> -> tensor<8xf64>
// CHECK-NEXT:    func.return %t, %t, %t, %t, %t, %t, %t, %t, %t, %widened
func.func @groups_of_one(%t: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf64>) {
  %0 = shard.all_reduce %t on @g : tensor<8xf32> -> tensor<8xf32>
  %1 = shard.all_gather %t on @g grid_axes = [2] gather_axis = 0 : tensor<8xf32> -> tensor<8xf32>
  %2 = shard.all_slice %t on @g slice_axis = 0 : tensor<8xf32> -> tensor<8xf32>
  %3 = shard.all_to_all %t on @g grid_axes = [2] split_axis = 0 concat_axis = 0 : tensor<8xf32> -> tensor<8xf32>
  %4 = shard.broadcast %t on @g root = [] : (tensor<8xf32>) -> tensor<8xf32>
  %5 = shard.gather %t on @g gather_axis = 0 root = [] : (tensor<8xf32>) -> tensor<8xf32>
  %6 = shard.reduce %t on @g grid_axes = [2] root = [0] : (tensor<8xf32>) -> tensor<8xf32>
  %7 = shard.reduce_scatter %t on @g scatter_axis = 0 : tensor<8xf32> -> tensor<8xf32>
  %8 = shard.send %t on @g destination = [] : (tensor<8xf32>) -> tensor<8xf32>
  %to_itself = shard.send %t on @g grid_axes = [2] destination = [0] : (tensor<8xf32>) -> tensor<8xf32>
  %recv = shard.recv %t on @g grid_axes = [0] : (tensor<8xf32>) -> tensor<8xf32>
  %widened = shard.all_reduce %t on @g : tensor<8xf32> -> tensor<8xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %widened : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf64>
}

// CHECK-LABEL: func.func @shifts
// CHECK-NEXT:    %pushed = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = 4 :
// CHECK-NEXT:    %turned = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = -5 rotate :
// CHECK-NEXT:    func.return %t, %t, %pushed, %turned
func.func @shifts(%t: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %none = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = 0 : tensor<8xf32> -> tensor<8xf32>
  %whole_turn = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = -8 rotate : tensor<8xf32> -> tensor<8xf32>
  %pushed = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = 4 : tensor<8xf32> -> tensor<8xf32>
  %turned = shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = -5 rotate : tensor<8xf32> -> tensor<8xf32>
  return %none, %whole_turn, %pushed, %turned : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @extents
// CHECK:         %[[ASKED:.*]] = shard.grid_shape @any axes = [1] : index
// CHECK:         %[[TWO:.*]] = arith.constant 2 : index
// CHECK:         %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-NEXT:    func.return %[[ASKED]], %[[TWO]], %[[FOUR]], %[[TWO]]
func.func @extents() -> (index, index, index, index) {
  %mixed:2 = shard.grid_shape @any axes = [1, 0] : index, index
  %static:2 = shard.grid_shape @g axes = [1, 0] : index, index
  return %mixed#0, %mixed#1, %static#0, %static#1 : index, index, index, index
}

// A piece that is gathered again is what was cut only where all devices cut the same tensor.

// CHECK-LABEL: func.func @gather_and_slice
// CHECK-NEXT:    %piece = shard.all_slice %t on @g grid_axes = [1] slice_axis = 0
// CHECK-NEXT:    %gathered = shard.all_gather %piece on @g grid_axes = [1] gather_axis = 0
// CHECK-NEXT:    %sum = shard.all_reduce %t on @g grid_axes = [1, 0]
// CHECK-NEXT:    %elsewhere = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0
// CHECK-NEXT:    %other_piece = shard.all_slice %elsewhere on @g grid_axes = [0] slice_axis = 0
// CHECK-NEXT:    func.return %t, %gathered, %sum, %other_piece
func.func @gather_and_slice(%t: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16xf32>) {
  %whole = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0 : tensor<8xf32> -> tensor<32xf32>
  %back = shard.all_slice %whole on @g grid_axes = [1] slice_axis = 0 : tensor<32xf32> -> tensor<8xf32>
  %piece = shard.all_slice %t on @g grid_axes = [1] slice_axis = 0 : tensor<8xf32> -> tensor<2xf32>
  %gathered = shard.all_gather %piece on @g grid_axes = [1] gather_axis = 0 : tensor<2xf32> -> tensor<8xf32>
  %sum = shard.all_reduce %t on @g grid_axes = [1, 0] : tensor<8xf32> -> tensor<8xf32>
  %sum_piece = shard.all_slice %sum on @g grid_axes = [1] slice_axis = 0 : tensor<8xf32> -> tensor<2xf32>
  %sum_back = shard.all_gather %sum_piece on @g grid_axes = [1] gather_axis = 0 : tensor<2xf32> -> tensor<8xf32>
  %elsewhere = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0 : tensor<8xf32> -> tensor<32xf32>
  %other_piece = shard.all_slice %elsewhere on @g grid_axes = [0] slice_axis = 0 : tensor<32xf32> -> tensor<16xf32>
  return %back, %gathered, %sum_back, %other_piece : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16xf32>
}

// Groups of other grids are made of other devices.

shard.grid @other(shape = 1x4x2)

// CHECK-LABEL: func.func @groups_of_other_grids
// CHECK-NEXT:    shard.all_reduce
// CHECK-NEXT:    shard.all_slice
// CHECK-NEXT:    %gathered = shard.all_gather
// CHECK-NEXT:    shard.all_gather
// CHECK-NEXT:    %slice = shard.all_slice
// CHECK-NEXT:    func.return %gathered, %slice
func.func @groups_of_other_grids(%t: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %sum = shard.all_reduce %t on @other grid_axes = [1] : tensor<8xf32> -> tensor<8xf32>
  %piece = shard.all_slice %sum on @g grid_axes = [1] slice_axis = 0 : tensor<8xf32> -> tensor<2xf32>
  %gathered = shard.all_gather %piece on @g grid_axes = [1] gather_axis = 0 : tensor<2xf32> -> tensor<8xf32>
  %whole = shard.all_gather %t on @other grid_axes = [1] gather_axis = 0 : tensor<8xf32> -> tensor<32xf32>
  %slice = shard.all_slice %whole on @g grid_axes = [1] slice_axis = 0 : tensor<32xf32> -> tensor<8xf32>
  return %gathered, %slice : tensor<8xf32>, tensor<8xf32>
}

// The argument of a partitioned function says along which axes devices hold different shards.

// CHECK-LABEL: func.func @whole_argument
// CHECK-NEXT:    func.return %t
func.func @whole_argument(%t: tensor<4x8xf32> {shard.boundary = {global_type = tensor<8x8xf32>, grid = @g, split_axes = #shard<axisarray[[0], []]>}}) -> tensor<4x8xf32> {
  %piece = shard.all_slice %t on @g grid_axes = [1] slice_axis = 0 : tensor<4x8xf32> -> tensor<1x8xf32>
  %gathered = shard.all_gather %piece on @g grid_axes = [1] gather_axis = 0 : tensor<1x8xf32> -> tensor<4x8xf32>
  return %gathered : tensor<4x8xf32>
}

// What is computed of equal values is equal.

// CHECK-LABEL: func.func @computed
// CHECK-NEXT:    shard.all_reduce
// CHECK-NEXT:    %n = arith.negf
// CHECK-NEXT:    func.return %n
func.func @computed(%t: tensor<8xf32>) -> tensor<8xf32> {
  %sum = shard.all_reduce %t on @g grid_axes = [1] : tensor<8xf32> -> tensor<8xf32>
  %n = arith.negf %sum : tensor<8xf32>
  %piece = shard.all_slice %n on @g grid_axes = [1] slice_axis = 0 : tensor<8xf32> -> tensor<2xf32>
  %gathered = shard.all_gather %piece on @g grid_axes = [1] gather_axis = 0 : tensor<2xf32> -> tensor<8xf32>
  return %gathered : tensor<8xf32>
}

// CHECK-LABEL: func.func @split_argument
// CHECK-NEXT:    shard.all_slice
// CHECK-NEXT:    shard.all_gather
func.func @split_argument(%t: tensor<4x8xf32> {shard.boundary = {global_type = tensor<16x8xf32>, grid = @g, split_axes = #shard<axisarray[[1], []]>}}) -> tensor<4x8xf32> {
  %piece = shard.all_slice %t on @g grid_axes = [1] slice_axis = 0 : tensor<4x8xf32> -> tensor<1x8xf32>
  %gathered = shard.all_gather %piece on @g grid_axes = [1] gather_axis = 0 : tensor<1x8xf32> -> tensor<4x8xf32>
  return %gathered : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @shardings
func.func @shardings(%n: i64) {
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  // CHECK: [[HALO:%.*]] = shard.sharding @g split_axes = {{\[\[}}0], [1]] halo_sizes = [3, 0, %n, 1] {note} : !shard.sharding
  %halo = shard.sharding @g split_axes = [[0], [1]] halo_sizes = [%c3, %c0, %n, 1] {note} : !shard.sharding
  // CHECK: shard.sharding @g split_axes = {{\[\[}}0], []] partial = sum[1] : !shard.sharding
  %no_halo = shard.sharding @g split_axes = [[0], []] partial = sum[1] halo_sizes = [0, %c0] : !shard.sharding
  // CHECK: shard.sharding @g split_axes = {{\[\[}}0], [1]] : !shard.sharding
  %uniform = shard.sharding @g split_axes = [[0], [1]] sharded_dims_offsets = [0, %c3, 6, 0, 2, 4, 6, 8] : !shard.sharding
  // CHECK: shard.sharding @g split_axes = {{\[\[}}0, 1]] : !shard.sharding
  %uniform_product = shard.sharding @g split_axes = [[0, 1]] sharded_dims_offsets = [0, 2, 4, 6, 8, 10, 12, 14, 16] : !shard.sharding
  // CHECK: shard.sharding @g split_axes = {{\[\[}}0], [1]] sharded_dims_offsets = [0, 4, 8, 0, 2, 4, 6, 7] : !shard.sharding
  %one_uneven = shard.sharding @g split_axes = [[0], [1]] sharded_dims_offsets = [0, 4, 8, 0, 2, 4, 6, 7] : !shard.sharding
  "test.use"(%halo) {halo = "kept"} : (!shard.sharding) -> ()
  "test.use"(%no_halo, %uniform, %uniform_product, %one_uneven) : (!shard.sharding, !shard.sharding, !shard.sharding, !shard.sharding) -> ()
  return
}

// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    shard.shard_shape dims = [8, %i] sharding = %s device = [1, 0, %i] : index, index
// CHECK-NEXT:    shard.update_halo %t on @g split_axes = {{\[\[}}0]] halo_sizes = [1, 0] : tensor<8xf32>
// CHECK:         "test.use"(%t)
func.func @constants(%s: !shard.sharding, %i: index, %t: tensor<8xf32>) {
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %shape:2 = shard.shard_shape dims = [%c8, %i] sharding = %s device = [%c1, 0, %i] : index, index
  %halo = shard.update_halo %t on @g split_axes = [[0]] halo_sizes = [%one, 0] : tensor<8xf32>
  %nothing = shard.update_halo %t on @g split_axes = [[0]] halo_sizes = [%zero, 0] : tensor<8xf32>
  "test.use"(%shape#0, %shape#1, %halo) : (index, index, tensor<8xf32>) -> ()
  "test.use"(%nothing) : (tensor<8xf32>) -> ()
  return
}

// CHECK-LABEL: func.func @annotations
// CHECK-NEXT:    %s = shard.sharding @g split_axes = {{\[\[}}0], []] : !shard.sharding
// CHECK-NEXT:    %same = shard.sharding @g split_axes = {{\[\[}}0]] : !shard.sharding
// CHECK-NEXT:    %other = shard.sharding @g split_axes = {{\[\[}}1]] : !shard.sharding
// CHECK-NEXT:    %def = shard.shard %t to %s : tensor<8x8xf32>
// CHECK-NEXT:    %use = shard.shard %def to %same annotate_for_users : tensor<8x8xf32>
// CHECK-NEXT:    %other_use = shard.shard %def to %other annotate_for_users : tensor<8x8xf32>
// CHECK-NEXT:    %urgent = shard.shard %other_use to %other annotate_for_users priority = 1 : tensor<8x8xf32>
// CHECK-NEXT:    func.return %use, %use, %other_use, %urgent, %same
func.func @annotations(%t: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, !shard.sharding) {
  %s = shard.sharding @g split_axes = [[0], []] : !shard.sharding
  %same = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %other = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %def = shard.shard %t to %s : tensor<8x8xf32>
  %def_again = shard.shard %def to %same : tensor<8x8xf32>
  %use = shard.shard %def_again to %same annotate_for_users : tensor<8x8xf32>
  %use_again = shard.shard %def to %s annotate_for_users : tensor<8x8xf32>
  %other_use = shard.shard %def to %other annotate_for_users : tensor<8x8xf32>
  %urgent = shard.shard %other_use to %other annotate_for_users priority = 1 : tensor<8x8xf32>
  %got = shard.get_sharding %use : tensor<8x8xf32> -> !shard.sharding
  return %use, %use_again, %other_use, %urgent, %got : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, !shard.sharding
}

// A constant is made anew where it is wanted in two ways, so its annotations may be chained; an
// argument would be resharded twice.
// CHECK-LABEL: func.func @annotations_of_one_value
// CHECK:         %rows = shard.shard %one to %s : tensor<8xf32>
// CHECK-NEXT:    %columns = shard.shard %rows to %other annotate_for_users : tensor<8xf32>
// CHECK-NEXT:    %r = shard.shard %t to %s : tensor<8xf32>
// CHECK-NEXT:    %c = shard.shard %t to %other : tensor<8xf32>
// CHECK-NEXT:    func.return %rows, %columns, %rows, %r, %c
func.func @annotations_of_one_value(%t: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %other = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %one_more = arith.constant dense<1.0> : tensor<8xf32>
  %rows = shard.shard %one to %s : tensor<8xf32>
  %columns = shard.shard %one_more to %other annotate_for_users : tensor<8xf32>
  %rows_again = shard.shard %one_more to %s : tensor<8xf32>
  %r = shard.shard %t to %s : tensor<8xf32>
  %c = shard.shard %t to %other : tensor<8xf32>
  return %rows, %columns, %rows_again, %r, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
