// RUN: mesh-opt %s --cse --canonicalize --cse | filecheck %s

shard.grid @g(shape = 2x4)

// Two equal producers with different shardings become one with two annotations: each user still
// reads its own.

// CHECK-LABEL: func.func @merged_producers
// CHECK-DAG:     %[[ROWS:.*]] = shard.sharding @g split_axes = {{\[\[}}0]] : !shard.sharding
// CHECK-DAG:     %[[COLUMNS:.*]] = shard.sharding @g split_axes = {{\[\[}}], [1]] : !shard.sharding
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<8x8xf32>
// CHECK:         %[[BY_ROWS:.*]] = shard.shard %[[EMPTY]] to %[[ROWS]] : tensor<8x8xf32>
// CHECK:         %[[BY_COLUMNS:.*]] = shard.shard %[[EMPTY]] to %[[COLUMNS]] : tensor<8x8xf32>
// CHECK-NEXT:    func.return %[[BY_ROWS]], %[[BY_COLUMNS]]
func.func @merged_producers() -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %a = tensor.empty() : tensor<8x8xf32>
  %a_rows = shard.shard %a to %rows : tensor<8x8xf32>
  %b = tensor.empty() : tensor<8x8xf32>
  %b_columns = shard.shard %b to %columns : tensor<8x8xf32>
  return %a_rows, %b_columns : tensor<8x8xf32>, tensor<8x8xf32>
}

// Shardings that differ only in an attribute are not one.

// CHECK-LABEL: func.func @different
// CHECK-COUNT-5: shard.sharding
func.func @different() -> (!shard.sharding, !shard.sharding, !shard.sharding, !shard.sharding, !shard.sharding) {
  %0 = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %1 = shard.sharding @g split_axes = [[1]] : !shard.sharding
  %2 = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
  %3 = shard.sharding @g split_axes = [[0]] partial = sum[1] : !shard.sharding
  %4 = shard.sharding @g split_axes = [[0]] partial = max[1] : !shard.sharding
  return %0, %1, %2, %3, %4 : !shard.sharding, !shard.sharding, !shard.sharding, !shard.sharding, !shard.sharding
}

// Collectives are pure, so equal ones are one and unused ones are none; messages stay.

// CHECK-LABEL: func.func @collectives
// CHECK-NEXT:    %[[SUM:.*]] = shard.all_reduce %t on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:    %[[MAX:.*]] = shard.all_reduce %t on @g grid_axes = [0] reduction =  max : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:    shard.send
// CHECK-NEXT:    shard.send
// CHECK-NEXT:    shard.recv
// CHECK-NEXT:    func.return %[[SUM]], %[[SUM]], %[[MAX]]
func.func @collectives(%t: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = shard.all_reduce %t on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %1 = shard.all_reduce %t on @g grid_axes = [0] reduction = sum : tensor<8xf32> -> tensor<8xf32>
  %2 = shard.all_reduce %t on @g grid_axes = [0] reduction = max : tensor<8xf32> -> tensor<8xf32>
  %unused = shard.all_gather %t on @g grid_axes = [1] gather_axis = 0 : tensor<8xf32> -> tensor<32xf32>
  %place = shard.process_linear_index on @g : index
  %3 = shard.send %t on @g grid_axes = [0] destination = [0] : (tensor<8xf32>) -> tensor<8xf32>
  %4 = shard.send %t on @g grid_axes = [0] destination = [0] : (tensor<8xf32>) -> tensor<8xf32>
  %5 = shard.recv %t on @g grid_axes = [0] : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
