// A two-layer MLP with GELU on four devices, which form a grid of 2x2.
//
// The batch is spread over axis 0 of the grid (data parallelism) and the hidden dimension over axis 1
// (tensor parallelism). Only the inputs say so; propagation finds the rest, and the partial sums of the
// second product, which end up on both devices along axis 1, are added by one collective.
//
//   mesh-opt examples/mlp_dp_tp.mlir --spmd
//   mesh-opt examples/mlp_dp_tp.mlir --spmd | mesh-run - --random-inputs=0 --check=examples/mlp_dp_tp.mlir

#rows_and_columns = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>

shard.grid @devices(shape = 2x2)

func.func @mlp(%x: tensor<8x16xf32>, %w1: tensor<16x32xf32>, %b1: tensor<32xf32>,
               %w2: tensor<32x16xf32>, %b2: tensor<16xf32>) -> tensor<8x16xf32> {
  %batch = shard.sharding @devices split_axes = [[0], []] : !shard.sharding
  %columns = shard.sharding @devices split_axes = [[], [1]] : !shard.sharding
  %hidden = shard.sharding @devices split_axes = [[1]] : !shard.sharding
  %rows = shard.sharding @devices split_axes = [[1], []] : !shard.sharding
  %x_s = shard.shard %x to %batch annotate_for_users : tensor<8x16xf32>
  %w1_s = shard.shard %w1 to %columns annotate_for_users : tensor<16x32xf32>
  %b1_s = shard.shard %b1 to %hidden annotate_for_users : tensor<32xf32>
  %w2_s = shard.shard %w2 to %rows annotate_for_users : tensor<32x16xf32>

  // h = x * w1 + b1
  %zero = arith.constant 0.0 : f32
  %h_empty = tensor.empty() : tensor<8x32xf32>
  %h_zero = linalg.fill ins(%zero : f32) outs(%h_empty : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.matmul ins(%x_s, %w1_s : tensor<8x16xf32>, tensor<16x32xf32>)
                     outs(%h_zero : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h_biased = linalg.generic {
      indexing_maps = [#rows_and_columns, #columns, #rows_and_columns],
      iterator_types = ["parallel", "parallel"]}
      ins(%h, %b1_s : tensor<8x32xf32>, tensor<32xf32>) outs(%h_empty : tensor<8x32xf32>) {
  ^bb0(%value: f32, %bias: f32, %out: f32):
    %sum = arith.addf %value, %bias : f32
    linalg.yield %sum : f32
  } -> tensor<8x32xf32>

  // a = GELU(h) = h * (1 + erf(h / sqrt(2))) / 2
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %inverse_root_two = arith.constant 0.707106769 : f32
  %a = linalg.generic {
      indexing_maps = [#rows_and_columns, #rows_and_columns],
      iterator_types = ["parallel", "parallel"]}
      ins(%h_biased : tensor<8x32xf32>) outs(%h_empty : tensor<8x32xf32>) {
  ^bb0(%value: f32, %out: f32):
    %scaled = arith.mulf %value, %inverse_root_two : f32
    %error = math.erf %scaled : f32
    %shifted = arith.addf %error, %one : f32
    %halved = arith.mulf %value, %half : f32
    %gelu = arith.mulf %halved, %shifted : f32
    linalg.yield %gelu : f32
  } -> tensor<8x32xf32>

  // y = a * w2 + b2
  %y_empty = tensor.empty() : tensor<8x16xf32>
  %y_zero = linalg.fill ins(%zero : f32) outs(%y_empty : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%a, %w2_s : tensor<8x32xf32>, tensor<32x16xf32>)
                     outs(%y_zero : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y_biased = linalg.generic {
      indexing_maps = [#rows_and_columns, #columns, #rows_and_columns],
      iterator_types = ["parallel", "parallel"]}
      ins(%y, %b2 : tensor<8x16xf32>, tensor<16xf32>) outs(%y_empty : tensor<8x16xf32>) {
  ^bb0(%value: f32, %bias: f32, %out: f32):
    %sum = arith.addf %value, %bias : f32
    linalg.yield %sum : f32
  } -> tensor<8x16xf32>
  return %y_biased : tensor<8x16xf32>
}
