// RUN: mesh-opt %s --shard-lower-process-multi-index | filecheck %s

shard.grid @g(shape = 2x3x4)
shard.grid @any(shape = 2x?x4)

// CHECK-LABEL: func.func @all_axes
// CHECK-NEXT:    %[[NUMBER:.*]] = shard.process_linear_index on @g : index
// CHECK-NEXT:    %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-NEXT:    %[[LAST:.*]] = arith.remui %[[NUMBER]], %[[FOUR]] : index
// CHECK-NEXT:    %[[ROWS:.*]] = arith.divui %[[NUMBER]], %[[FOUR]] : index
// CHECK-NEXT:    %[[THREE:.*]] = arith.constant 3 : index
// CHECK-NEXT:    %[[MIDDLE:.*]] = arith.remui %[[ROWS]], %[[THREE]] : index
// CHECK-NEXT:    %[[TWELVE:.*]] = arith.constant 12 : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.divui %[[NUMBER]], %[[TWELVE]] : index
// CHECK-NEXT:    func.return %[[FIRST]], %[[MIDDLE]], %[[LAST]]
func.func @all_axes() -> (index, index, index) {
  %i:3 = shard.process_multi_index on @g : index, index, index
  return %i#0, %i#1, %i#2 : index, index, index
}

// CHECK-LABEL: func.func @some_axes
// CHECK-NEXT:    %[[NUMBER:.*]] = shard.process_linear_index on @any : index
// CHECK-NEXT:    %[[EXTENT:.*]] = shard.grid_shape @any axes = [1] : index
// CHECK-NEXT:    %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-NEXT:    %[[ROWS:.*]] = arith.divui %[[NUMBER]], %[[FOUR]] : index
// CHECK-NEXT:    %[[MIDDLE:.*]] = arith.remui %[[ROWS]], %[[EXTENT]] : index
// CHECK-NEXT:    %[[PLANE:.*]] = arith.muli %[[FOUR]], %[[EXTENT]] : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.divui %[[NUMBER]], %[[PLANE]] : index
// CHECK-NEXT:    func.return %[[MIDDLE]], %[[FIRST]]
func.func @some_axes() -> (index, index) {
  %i:2 = shard.process_multi_index on @any axes = [1, 0] : index, index
  return %i#0, %i#1 : index, index
}
