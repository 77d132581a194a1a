// RUN: mesh-opt %s --shard-lower-all-slice | filecheck %s

shard.grid @g(shape = 2x3x4)
shard.grid @any(shape = 2x?)

// CHECK-LABEL: func.func @static
// CHECK-NEXT:    %[[AT:.*]] = shard.process_multi_index on @g axes = [2] : index
// CHECK-NEXT:    %[[SIX:.*]] = arith.constant 6 : index
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.muli %[[AT]], %[[SIX]] : index
// CHECK-NEXT:    %r = tensor.extract_slice %t[%[[OFFSET]], 0] [6, 8] [1, 1] : tensor<24x8xf32> to tensor<6x8xf32>
// CHECK-NEXT:    func.return %r
func.func @static(%t: tensor<24x8xf32>) -> tensor<6x8xf32> {
  %r = shard.all_slice %t on @g grid_axes = [2] slice_axis = 0 : tensor<24x8xf32> -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// The first axis of the list is the slow one.

// CHECK-LABEL: func.func @dynamic_size
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:    %[[SIZE:.*]] = tensor.dim %t, %[[ONE]] : tensor<8x?xf32>
// CHECK-NEXT:    %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-NEXT:    %[[REST:.*]] = arith.remui %[[SIZE]], %[[EIGHT]] : index
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[EVEN:.*]] = arith.cmpi eq, %[[REST]], %[[ZERO]] : index
// CHECK-NEXT:    cf.assert %[[EVEN]], "Slicing a tensor with axis size that is not exactly divisible by the grid process group size is not supported."
// CHECK-NEXT:    %[[PIECE:.*]] = arith.divui %[[SIZE]], %[[EIGHT]] : index
// CHECK-NEXT:    %[[INDEX:.*]]:2 = shard.process_multi_index on @g axes = [2, 0] : index, index
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[ROW:.*]] = arith.muli %[[INDEX]]#0, %[[TWO]] : index
// CHECK-NEXT:    %[[AT:.*]] = arith.addi %[[ROW]], %[[INDEX]]#1 : index
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.muli %[[AT]], %[[PIECE]] : index
// CHECK-NEXT:    %r = tensor.extract_slice %t[0, %[[OFFSET]]] [8, %[[PIECE]]] [1, 1] : tensor<8x?xf32> to tensor<8x?xf32>
func.func @dynamic_size(%t: tensor<8x?xf32>) -> tensor<8x?xf32> {
  %r = shard.all_slice %t on @g grid_axes = [2, 0] slice_axis = 1 : tensor<8x?xf32> -> tensor<8x?xf32>
  return %r : tensor<8x?xf32>
}

// CHECK-LABEL: func.func @dynamic_grid
// CHECK-NEXT:    %[[GROUP:.*]] = shard.grid_shape @any axes = [1] : index
// CHECK-NEXT:    %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-NEXT:    arith.remui %[[EIGHT]], %[[GROUP]] : index
// CHECK:         cf.assert
// CHECK:         %[[PIECE:.*]] = arith.divui %[[EIGHT]], %[[GROUP]] : index
// CHECK:         tensor.extract_slice %t[%{{.*}}] [%[[PIECE]]] [1] : tensor<8xf32> to tensor<?xf32>
func.func @dynamic_grid(%t: tensor<8xf32>) -> tensor<?xf32> {
  %r = shard.all_slice %t on @any grid_axes = [1] slice_axis = 0 : tensor<8xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @less_known_result
// CHECK:         %[[SLICE:.*]] = tensor.extract_slice %t[%{{.*}}] [4] [1] : tensor<8xf32> to tensor<4xf32>
// CHECK-NEXT:    %r = tensor.cast %[[SLICE]] : tensor<4xf32> to tensor<?xf32>
func.func @less_known_result(%t: tensor<8xf32>) -> tensor<?xf32> {
  %r = shard.all_slice %t on @g grid_axes = [0] slice_axis = 0 : tensor<8xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @alone
// CHECK-NEXT:    %r = tensor.extract_slice %t[0] [8] [1] : tensor<8xf32> to tensor<8xf32>
func.func @alone(%t: tensor<8xf32>) -> tensor<8xf32> {
  %r = shard.all_slice %t on @g slice_axis = 0 : tensor<8xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// MLIR has no slice at offset 0 of a dimension without elements.

// CHECK-LABEL: func.func @without_elements
// CHECK-NOT:     extract_slice
// CHECK:         %r = tensor.empty() : tensor<4x0xf32>
// CHECK-NEXT:    return %r
func.func @without_elements(%t: tensor<8x0xf32>) -> tensor<4x0xf32> {
  %r = shard.all_slice %t on @g grid_axes = [0] slice_axis = 0 : tensor<8x0xf32> -> tensor<4x0xf32>
  return %r : tensor<4x0xf32>
}
