// RUN: mesh-opt %s --shard-partition --split-input-file | filecheck %s

shard.grid @g(shape = 2)

// A split reduction of neutral initial values needs no condition around them.

// CHECK-LABEL: func.func @matmul_over_k(%a: tensor<4x4xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [0]]>}}, %b: tensor<4x6xf32> {shard.boundary = {global_type = tensor<8x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) -> tensor<4x6xf32> {
// CHECK-NEXT:  %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:  %0 = tensor.empty() : tensor<4x6xf32>
// CHECK-NEXT:  %fill = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:  %c = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:  %all_reduce = shard.all_reduce %c on @g grid_axes = [0] : tensor<4x6xf32> -> tensor<4x6xf32>
// CHECK-NEXT:  func.return %all_reduce : tensor<4x6xf32>
func.func @matmul_over_k(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a0 = shard.shard %a to %columns annotate_for_users : tensor<4x8xf32>
  %b0 = shard.shard %b to %rows annotate_for_users : tensor<8x6xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x6xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.matmul ins(%a0, %b0 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%fill : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// -----

shard.grid @g(shape = 2)

// Where the result is wanted split, the reduction is a reduce-scatter; an initial value that is
// not neutral takes part once, at the end.

// CHECK-LABEL: func.func @matmul_scattered(%a: tensor<4x4xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [0]]>}}, %b: tensor<4x6xf32> {shard.boundary = {global_type = tensor<8x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}, %c: tensor<4x6xf32>) -> (tensor<2x6xf32> {shard.boundary = {global_type = tensor<4x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  %cst = arith.constant -0.000000e+00 : f32
// CHECK-NEXT:  %0 = tensor.splat %cst : tensor<4x6xf32>
// CHECK-NEXT:  %d = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:  %reduce_scatter = shard.reduce_scatter %d on @g grid_axes = [0] scatter_axis = 0 : tensor<4x6xf32> -> tensor<2x6xf32>
// CHECK-NEXT:  %all_slice = shard.all_slice %c on @g grid_axes = [0] slice_axis = 0 : tensor<4x6xf32> -> tensor<2x6xf32>
// CHECK-NEXT:  %d_1 = arith.addf %all_slice, %reduce_scatter : tensor<2x6xf32>
// CHECK-NEXT:  func.return %d_1 : tensor<2x6xf32>
func.func @matmul_scattered(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a0 = shard.shard %a to %columns annotate_for_users : tensor<4x8xf32>
  %b0 = shard.shard %b to %rows annotate_for_users : tensor<8x6xf32>
  %d = linalg.matmul ins(%a0, %b0 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  %d0 = shard.shard %d to %rows : tensor<4x6xf32>
  return %d0 : tensor<4x6xf32>
}

// -----

shard.grid @g(shape = 2)

// Collectives compare with signs: unsigned numbers are flipped around them.

// CHECK-LABEL: func.func @unsigned_maximum(%x: tensor<4x3xi32> {shard.boundary = {global_type = tensor<4x6xi32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [0]]>}}, %init: tensor<4xi32>) -> tensor<4xi32> {
// CHECK-NEXT:  %r = linalg.reduce { arith.maxui } ins(%x : tensor<4x3xi32>) outs(%init : tensor<4xi32>) dimensions = [1]
// CHECK-NEXT:  %c-2147483648_i32 = arith.constant -2147483648 : i32
// CHECK-NEXT:  %0 = tensor.splat %c-2147483648_i32 : tensor<4xi32>
// CHECK-NEXT:  %r_1 = arith.xori %r, %0 : tensor<4xi32>
// CHECK-NEXT:  %all_reduce = shard.all_reduce %r_1 on @g grid_axes = [0] reduction =  max : tensor<4xi32> -> tensor<4xi32>
// CHECK-NEXT:  %r_2 = arith.xori %all_reduce, %0 : tensor<4xi32>
// CHECK-NEXT:  func.return %r_2 : tensor<4xi32>
func.func @unsigned_maximum(%x: tensor<4x6xi32>, %init: tensor<4xi32>) -> tensor<4xi32> {
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %columns annotate_for_users : tensor<4x6xi32>
  %r = linalg.reduce { arith.maxui } ins(%x0 : tensor<4x6xi32>) outs(%init : tensor<4xi32>) dimensions = [1]
  return %r : tensor<4xi32>
}

// -----

shard.grid @g(shape = 2)

// They cannot stay pending, since other operations would read the flipped numbers.

// CHECK-LABEL: func.func @pending_unsigned_maximum
// CHECK:       %[[WHOLE:.*]] = shard.all_reduce %{{.*}} on @g grid_axes = [0] reduction =  max
// CHECK-NEXT:  %[[RESULT:.*]] = arith.xori %[[WHOLE]]
// CHECK-NEXT:  func.return %[[RESULT]]
func.func @pending_unsigned_maximum(%x: tensor<4x6xi32>, %init: tensor<4xi32>) -> tensor<4xi32> {
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %pending = shard.sharding @g split_axes = [[]] partial = max[0] : !shard.sharding
  %x0 = shard.shard %x to %columns annotate_for_users : tensor<4x6xi32>
  %r = linalg.reduce { arith.maxui } ins(%x0 : tensor<4x6xi32>) outs(%init : tensor<4xi32>) dimensions = [1]
  %r0 = shard.shard %r to %pending : tensor<4xi32>
  return %r0 : tensor<4xi32>
}

// -----

shard.grid @g(shape = 2)

// No collective drops NaNs: partial results are gathered and combined here.

// CHECK-LABEL: func.func @maximum_of_numbers(%x: tensor<4x3xf32> {shard.boundary = {global_type = tensor<4x6xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [0]]>}}, %init: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:  %r = linalg.reduce { arith.maxnumf } ins(%x : tensor<4x3xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
// CHECK-NEXT:  %0 = tensor.expand_shape %r {{\[\[}}0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
// CHECK-NEXT:  %all_gather = shard.all_gather %0 on @g grid_axes = [0] gather_axis = 0 : tensor<1x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:  %cst = arith.constant 0x7FC00000 : f32
// CHECK-NEXT:  %1 = tensor.splat %cst : tensor<4xf32>
// CHECK-NEXT:  %r_1 = linalg.reduce ins(%all_gather : tensor<2x4xf32>) outs(%1 : tensor<4xf32>) dimensions = [0] (%2: f32, %3: f32) {
// CHECK-NEXT:  %4 = arith.maxnumf %2, %3 : f32
// CHECK-NEXT:  linalg.yield %4 : f32
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %r_1 : tensor<4xf32>
func.func @maximum_of_numbers(%x: tensor<4x6xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %columns annotate_for_users : tensor<4x6xf32>
  %r = linalg.reduce { arith.maxnumf } ins(%x0 : tensor<4x6xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)

// linalg.index counts the whole loop, and what the body reads from outside is gathered.

// CHECK-DAG: #map = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #map1 = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @look_up(%table: tensor<8x4xf32> {shard.boundary = {global_type = tensor<16x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}, %at: tensor<4xindex> {shard.boundary = {global_type = tensor<8xindex>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0]]>}}) -> (tensor<4x4xf32> {shard.boundary = {global_type = tensor<8x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  %proc_linear_idx = shard.process_multi_index on @g axes = [0] : index
// CHECK-NEXT:  %c4 = arith.constant 4 : index
// CHECK-NEXT:  %0 = arith.muli %proc_linear_idx, %c4 : index
// CHECK-NEXT:  %1 = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT:  %all_gather = shard.all_gather %table on @g grid_axes = [0] gather_axis = 0 : tensor<8x4xf32> -> tensor<16x4xf32>
// CHECK-NEXT:  %r = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<4xindex>) outs(%1 : tensor<4x4xf32>) {
// CHECK-NEXT:  ^bb0(%i: index, %out: f32):
// CHECK-NEXT:  %row = linalg.index 0 : index
// CHECK-NEXT:  %row_1 = arith.addi %row, %0 : index
// CHECK-NEXT:  %sum = arith.addi %i, %row_1 : index
// CHECK-NEXT:  %column = linalg.index 1 : index
// CHECK-NEXT:  %e = tensor.extract %all_gather[%sum, %column] : tensor<16x4xf32>
// CHECK-NEXT:  linalg.yield %e : f32
// CHECK-NEXT:  } -> tensor<4x4xf32>
// CHECK-NEXT:  func.return %r : tensor<4x4xf32>
func.func @look_up(%table: tensor<16x4xf32>, %at: tensor<8xindex>) -> tensor<8x4xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %t0 = shard.shard %table to %rows annotate_for_users : tensor<16x4xf32>
  %i0 = shard.shard %at to %rows annotate_for_users : tensor<8xindex>
  %empty = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%i0 : tensor<8xindex>) outs(%empty : tensor<8x4xf32>) {
  ^bb0(%i: index, %out: f32):
    %row = linalg.index 0 : index
    %sum = arith.addi %i, %row : index
    %column = linalg.index 1 : index
    %e = tensor.extract %t0[%sum, %column] : tensor<16x4xf32>
    linalg.yield %e : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

shard.grid @g(shape = 2)

// A convolution split over the image's rows fetches the rows that its window reaches.

// CHECK-LABEL: func.func @stencil(%x: tensor<5xf32> {shard.boundary = {global_type = tensor<10xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0]]>}}, %w: tensor<3xf32>, %o: tensor<4xf32> {shard.boundary = {global_type = tensor<8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0]]>}}) -> (tensor<4xf32> {shard.boundary = {global_type = tensor<8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0]]>}}) {
// CHECK-NEXT:  %proc_linear_idx = shard.process_multi_index on @g axes = [0] : index
// CHECK-NEXT:  %0 = tensor.empty() : tensor<7xf32>
// CHECK-NEXT:  %1 = tensor.insert_slice %x into %0[1] [5] [1] : tensor<5xf32> into tensor<7xf32>
// CHECK-NEXT:  %2 = shard.update_halo %1 on @g split_axes = {{\[\[}}0]] halo_sizes = [1, 1] : tensor<7xf32>
// CHECK-NEXT:  %c-1 = arith.constant -1 : index
// CHECK-NEXT:  %3 = arith.muli %proc_linear_idx, %c-1 : index
// CHECK-NEXT:  %c1 = arith.constant 1 : index
// CHECK-NEXT:  %4 = arith.addi %3, %c1 : index
// CHECK-NEXT:  %5 = tensor.extract_slice %2[%4] [6] [1] : tensor<7xf32> to tensor<6xf32>
// CHECK-NEXT:  %r = linalg.conv_1d ins(%5, %w : tensor<6xf32>, tensor<3xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %r : tensor<4xf32>
func.func @stencil(%x: tensor<10xf32>, %w: tensor<3xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %rows annotate_for_users : tensor<10xf32>
  %o0 = shard.shard %o to %rows annotate_for_users : tensor<8xf32>
  %r = linalg.conv_1d ins(%x0, %w : tensor<10xf32>, tensor<3xf32>) outs(%o0 : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

shard.grid @g(shape = 2)

// 7 rows are 3 and 4.

// CHECK-LABEL: func.func @uneven(%x: tensor<?x4xf32> {shard.boundary = {global_type = tensor<7x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) -> tensor<7x4xf32> {
// CHECK-NEXT:  %y = math.absf %x : tensor<?x4xf32>
// CHECK-NEXT:  %all_gather = shard.all_gather %y on @g grid_axes = [0] gather_axis = 0 : tensor<?x4xf32> -> tensor<?x4xf32>
// CHECK-NEXT:  %y1 = tensor.cast %all_gather : tensor<?x4xf32> to tensor<7x4xf32>
// CHECK-NEXT:  func.return %y1 : tensor<7x4xf32>
func.func @uneven(%x: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %whole = shard.sharding @g split_axes = [[]] : !shard.sharding
  %x0 = shard.shard %x to %rows annotate_for_users : tensor<7x4xf32>
  %y = math.absf %x0 : tensor<7x4xf32>
  %y0 = shard.shard %y to %rows : tensor<7x4xf32>
  %y1 = shard.shard %y0 to %whole annotate_for_users : tensor<7x4xf32>
  return %y1 : tensor<7x4xf32>
}

// -----

shard.grid @g(shape = 2)

// A dimension is the whole tensor's; a tensor as large as another is sized like its shard.

// CHECK-LABEL: func.func @dynamic(%x: tensor<?x4xf32> {shard.boundary = {global_type = tensor<?x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) -> (tensor<?x4xf32> {shard.boundary = {global_type = tensor<?x4xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}, index) {
// CHECK-NEXT:  %c0 = arith.constant 0 : index
// CHECK-NEXT:  %c0_1 = arith.constant 0 : index
// CHECK-NEXT:  %0 = tensor.dim %x, %c0_1 : tensor<?x4xf32>
// CHECK-NEXT:  %1 = arith.index_cast %0 : index to i64
// CHECK-NEXT:  %2 = tensor.from_elements %1 : tensor<1xi64>
// CHECK-NEXT:  %all_reduce = shard.all_reduce %2 on @g grid_axes = [0] : tensor<1xi64> -> tensor<1xi64>
// CHECK-NEXT:  %3 = tensor.extract %all_reduce[%c0_1] : tensor<1xi64>
// CHECK-NEXT:  %d = arith.index_cast %3 : i64 to index
// CHECK-NEXT:  %4 = tensor.empty(%0) : tensor<?x4xf32>
// CHECK-NEXT:  %y = linalg.exp ins(%x : tensor<?x4xf32>) outs(%4 : tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:  func.return %y, %d : tensor<?x4xf32>, index
func.func @dynamic(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, index) {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %rows annotate_for_users : tensor<?x4xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%d) : tensor<?x4xf32>
  %y = linalg.exp ins(%x0 : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y, %d : tensor<?x4xf32>, index
}

// -----

shard.grid @square(shape = 2x2)

// Two processes swap their blocks: one message each.

// CHECK-LABEL: func.func @swap(%x: tensor<2x4xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @square, split_axes = #shard<axisarray{{\[\[}}0], [1]]>}}) -> (tensor<2x4xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @square, split_axes = #shard<axisarray{{\[\[}}1], [0]]>}}) {
// CHECK-NEXT:  %proc_linear_idx = shard.process_multi_index on @square axes = [0] : index
// CHECK-NEXT:  %proc_linear_idx_1 = shard.process_multi_index on @square axes = [1] : index
// CHECK-NEXT:  %send = shard.send %x on @square grid_axes = [0, 1] destination = [%proc_linear_idx_1, %proc_linear_idx] : (tensor<2x4xf32>, index, index) -> tensor<2x4xf32>
// CHECK-NEXT:  %recv = shard.recv %send on @square grid_axes = [0, 1] source = [%proc_linear_idx_1, %proc_linear_idx] : (tensor<2x4xf32>, index, index) -> tensor<2x4xf32>
// CHECK-NEXT:  func.return %recv : tensor<2x4xf32>
func.func @swap(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = shard.sharding @square split_axes = [[0], [1]] : !shard.sharding
  %b = shard.sharding @square split_axes = [[1], [0]] : !shard.sharding
  %x0 = shard.shard %x to %a : tensor<4x8xf32>
  %x1 = shard.shard %x0 to %b annotate_for_users : tensor<4x8xf32>
  return %x1 : tensor<4x8xf32>
}

// -----

shard.grid @g(shape = 2)

// Callers follow, whether annotated or not; declarations and functions beside stay as they are.

// CHECK-LABEL: func.func private @outside(tensor<4x8xf32>) -> tensor<4x8xf32>
func.func private @outside(tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-LABEL: func.func @beside(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:  %y = math.absf %x : tensor<4x8xf32>
// CHECK-NEXT:  func.return %y : tensor<4x8xf32>
func.func @beside(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = math.absf %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
// CHECK-LABEL: func.func private @callee(%x: tensor<2x8xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) -> (tensor<2x8xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}) {
// CHECK-NEXT:  %y = math.exp %x : tensor<2x8xf32>
// CHECK-NEXT:  func.return %y : tensor<2x8xf32>
func.func private @callee(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %rows annotate_for_users : tensor<4x8xf32>
  %y = math.exp %x0 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @caller(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:  %all_slice = shard.all_slice %x on @g grid_axes = [0] slice_axis = 0 : tensor<4x8xf32> -> tensor<2x8xf32>
// CHECK-NEXT:  %y = func.call @callee(%all_slice) : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:  %all_gather = shard.all_gather %y on @g grid_axes = [0] gather_axis = 0 : tensor<2x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT:  %z = func.call @outside(%all_gather) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:  func.return %z : tensor<4x8xf32>
func.func @caller(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = call @callee(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = call @outside(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

shard.grid @g(shape = 2)

// A value that goes round a loop keeps one sharding.

// CHECK-LABEL: func.func @loop(%x: tensor<2x8xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}0], []]>}}, %n: index) -> (tensor<4x4xf32> {shard.boundary = {global_type = tensor<4x8xf32>, grid = @g, split_axes = #shard<axisarray{{\[\[}}], [0]]>}}) {
// CHECK-NEXT:  %zero = arith.constant 0 : index
// CHECK-NEXT:  %one = arith.constant 1 : index
// CHECK-NEXT:  %all_to_all = shard.all_to_all %x on @g grid_axes = [0] split_axis = 1 concat_axis = 0 : tensor<2x8xf32> -> tensor<4x4xf32>
// CHECK-NEXT:  %r = scf.for %i = %zero to %n step %one iter_args(%y = %all_to_all) -> (tensor<4x4xf32>) {
// CHECK-NEXT:  %z = math.absf %y : tensor<4x4xf32>
// CHECK-NEXT:  scf.yield %z : tensor<4x4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %r : tensor<4x4xf32>
func.func @loop(%x: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %x0 = shard.shard %x to %rows : tensor<4x8xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%y = %x0) -> (tensor<4x8xf32>) {
    %y0 = shard.shard %y to %columns annotate_for_users : tensor<4x8xf32>
    %z = math.absf %y0 : tensor<4x8xf32>
    scf.yield %z : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// -----

shard.grid @g(shape = 2)

// Windows beyond the ends: each device adds its part of the padding, and all have as much in the end.

// CHECK-LABEL: func.func @padded_windows
// CHECK:       tensor.pad %{{.*}} low[0, %{{.*}}, 0, 0] high[0, %{{.*}}, 0, 0] {
// CHECK:       } : tensor<1x5x4x2xf32> to tensor<1x6x4x2xf32>
// CHECK-NEXT:  tosa.max_pool2d %{{.*}} pad = array<i64: 0, 0, 0, 0>
func.func @padded_windows(%x: tensor<1x8x4x2xf32>) -> tensor<1x8x4x2xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %s annotate_for_users : tensor<1x8x4x2xf32>
  %0 = tosa.max_pool2d %xs {kernel = array<i64: 3, 1>, stride = array<i64: 1, 1>, pad = array<i64: 1, 1, 0, 0>} : (tensor<1x8x4x2xf32>) -> tensor<1x8x4x2xf32>
  %r = shard.shard %0 to %s : tensor<1x8x4x2xf32>
  return %r : tensor<1x8x4x2xf32>
}

// -----

shard.grid @g(shape = 2)

// An iteration writes one of all rows, so none are split while the loop runs.

// CHECK-LABEL: func.func @rows_one_by_one
// CHECK:       %[[WHOLE:.*]] = shard.all_gather %{{.*}} on @g grid_axes = [0] gather_axis = 0 : tensor<2x6xf32> -> tensor<4x6xf32>
// CHECK:       scf.forall (%{{.*}}) in (3) shared_outs(%{{.*}} = %[[WHOLE]]) -> (tensor<4x6xf32>)
// CHECK:       tensor.parallel_insert_slice %row into
func.func @rows_one_by_one(%x: tensor<4x6xf32>, %row: tensor<1x6xf32>) -> tensor<4x6xf32> {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %rows annotate_for_users : tensor<4x6xf32>
  %y = math.tanh %x0 : tensor<4x6xf32>
  %r = scf.forall (%i) in (3) shared_outs(%o = %y) -> (tensor<4x6xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %row into %o[%i, 0] [1, 6] [1, 1] : tensor<1x6xf32> into tensor<4x6xf32>
    }
  }
  return %r : tensor<4x6xf32>
}

// -----

shard.grid @g(shape = 2)

// The shards of a constant keep its name, also if they differ in length.

// CHECK-LABEL: func.func @named_constant
// CHECK:       %zeros = tensor.splat %{{.*}}[%{{.*}}] : tensor<?xf32>
func.func @named_constant() -> tensor<7xf32> {
  %zeros = arith.constant dense<0.0> : tensor<7xf32>
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %zeros to %s : tensor<7xf32>
  return %a : tensor<7xf32>
}

// -----

// Offsets that are known become static, except past the end, where only nothing can be read.

// CHECK-LABEL: func.func @known_offsets
// CHECK:       tensor.extract_slice %x[0, 3] [%rows, 2] [1, 1]
// CHECK-NEXT:  tensor.extract_slice %x[0, %end] [%rows, 0] [1, 1]
func.func @known_offsets(%x: tensor<?x5xf32>) -> (tensor<?x2xf32>, tensor<?x0xf32>) {
  %c0 = arith.constant 0 : index
  %three = arith.constant 3 : index
  %end = arith.constant 5 : index
  %rows = tensor.dim %x, %c0 : tensor<?x5xf32>
  %two = tensor.extract_slice %x[0, %three] [%rows, 2] [1, 1] : tensor<?x5xf32> to tensor<?x2xf32>
  %none = tensor.extract_slice %x[0, %end] [%rows, 0] [1, 1] : tensor<?x5xf32> to tensor<?x0xf32>
  return %two, %none : tensor<?x2xf32>, tensor<?x0xf32>
}
