// RUN: mesh-opt %s --shard-simplify | filecheck %s

shard.grid @g(shape = 2x4)

// Equal collectives of one value are one, and those that nobody reads are none.

// CHECK-LABEL: func.func @common(%x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:  %a = shard.all_gather %x on @g grid_axes = [0] gather_axis = 0 : tensor<4x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  func.return %a, %a : tensor<8x8xf32>, tensor<8x8xf32>
func.func @common(%x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = shard.all_gather %x on @g grid_axes = [0] gather_axis = 0 : tensor<4x8xf32> -> tensor<8x8xf32>
  %b = shard.all_gather %x on @g grid_axes = [0] gather_axis = 0 : tensor<4x8xf32> -> tensor<8x8xf32>
  %c = shard.all_reduce %x on @g grid_axes = [0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
}

// What is sliced and gathered again is the same on all devices of the group, as arguments need not be.

// CHECK-LABEL: func.func @inverse(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:  %z = shard.all_reduce %y on @g grid_axes = [0, 1] : tensor<8x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  %n = arith.negf %z : tensor<8x8xf32>
// CHECK-NEXT:  func.return %x, %n : tensor<4x8xf32>, tensor<8x8xf32>
func.func @inverse(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
  %a = shard.all_gather %x on @g grid_axes = [1] gather_axis = 1 : tensor<4x8xf32> -> tensor<4x32xf32>
  %b = shard.all_slice %a on @g grid_axes = [1] slice_axis = 1 : tensor<4x32xf32> -> tensor<4x8xf32>
  %z = shard.all_reduce %y on @g grid_axes = [0, 1] : tensor<8x8xf32> -> tensor<8x8xf32>
  %n = arith.negf %z : tensor<8x8xf32>
  %c = shard.all_slice %n on @g grid_axes = [0, 1] slice_axis = 0 : tensor<8x8xf32> -> tensor<1x8xf32>
  %d = shard.all_gather %c on @g grid_axes = [0, 1] gather_axis = 0 : tensor<1x8xf32> -> tensor<8x8xf32>
  return %b, %d : tensor<4x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: func.func @mixture(%y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:  %c = shard.all_slice %y on @g grid_axes = [0, 1] slice_axis = 0 : tensor<8x8xf32> -> tensor<1x8xf32>
// CHECK-NEXT:  %d = shard.all_gather %c on @g grid_axes = [0, 1] gather_axis = 0 : tensor<1x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  %z = shard.all_reduce %y on @g grid_axes = [0] reduction =  max : tensor<8x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  %e = shard.all_slice %z on @g grid_axes = [1] slice_axis = 0 : tensor<8x8xf32> -> tensor<2x8xf32>
// CHECK-NEXT:  %f = shard.all_gather %e on @g grid_axes = [1] gather_axis = 0 : tensor<2x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  func.return %d, %f : tensor<8x8xf32>, tensor<8x8xf32>
func.func @mixture(%y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = shard.all_slice %y on @g grid_axes = [0, 1] slice_axis = 0 : tensor<8x8xf32> -> tensor<1x8xf32>
  %d = shard.all_gather %c on @g grid_axes = [0, 1] gather_axis = 0 : tensor<1x8xf32> -> tensor<8x8xf32>
  %z = shard.all_reduce %y on @g grid_axes = [0] reduction = max : tensor<8x8xf32> -> tensor<8x8xf32>
  %e = shard.all_slice %z on @g grid_axes = [1] slice_axis = 0 : tensor<8x8xf32> -> tensor<2x8xf32>
  %f = shard.all_gather %e on @g grid_axes = [1] gather_axis = 0 : tensor<2x8xf32> -> tensor<8x8xf32>
  return %d, %f : tensor<8x8xf32>, tensor<8x8xf32>
}

// The boundary of an argument tells that devices along an axis hold the same value.

// CHECK-LABEL: func.func @same_argument
// CHECK-NEXT:  func.return %y : tensor<4x8xf32>
func.func @same_argument(%y: tensor<4x8xf32> {shard.boundary = {global_type = tensor<8x8xf32>, grid = @g, split_axes = #shard<axisarray[[0], []]>}}) -> tensor<4x8xf32> {
  %c = shard.all_slice %y on @g grid_axes = [1] slice_axis = 0 : tensor<4x8xf32> -> tensor<1x8xf32>
  %d = shard.all_gather %c on @g grid_axes = [1] gather_axis = 0 : tensor<1x8xf32> -> tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// In another order of the axes, or along another dimension, it is not what was sliced.

// CHECK-LABEL: func.func @no_inverse(%y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:  %c = shard.all_slice %y on @g grid_axes = [0, 1] slice_axis = 0 : tensor<8x8xf32> -> tensor<1x8xf32>
// CHECK-NEXT:  %d = shard.all_gather %c on @g grid_axes = [1, 0] gather_axis = 0 : tensor<1x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  %e = shard.all_gather %c on @g grid_axes = [0, 1] gather_axis = 1 : tensor<1x8xf32> -> tensor<1x64xf32>
// CHECK-NEXT:  %f = shard.all_to_all %e on @g grid_axes = [0, 1] split_axis = 1 concat_axis = 0 : tensor<1x64xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  func.return %d, %f : tensor<8x8xf32>, tensor<8x8xf32>
func.func @no_inverse(%y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = shard.all_slice %y on @g grid_axes = [0, 1] slice_axis = 0 : tensor<8x8xf32> -> tensor<1x8xf32>
  %d = shard.all_gather %c on @g grid_axes = [1, 0] gather_axis = 0 : tensor<1x8xf32> -> tensor<8x8xf32>
  %e = shard.all_gather %c on @g grid_axes = [0, 1] gather_axis = 1 : tensor<1x8xf32> -> tensor<1x64xf32>
  %f = shard.all_to_all %e on @g grid_axes = [0, 1] split_axis = 1 concat_axis = 0 : tensor<1x64xf32> -> tensor<8x8xf32>
  return %d, %f : tensor<8x8xf32>, tensor<8x8xf32>
}

// A slice along another dimension and another axis comes before a gather that nobody else reads.

// CHECK-LABEL: func.func @slice_first(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<16x4xf32>) {
// CHECK-NEXT:  %all_slice = shard.all_slice %x on @g grid_axes = [0] slice_axis = 1 : tensor<4x8xf32> -> tensor<4x4xf32>
// CHECK-NEXT:  %all_gather = shard.all_gather %all_slice on @g grid_axes = [1] gather_axis = 0 : tensor<4x4xf32> -> tensor<16x4xf32>
// CHECK-NEXT:  func.return %x, %all_gather : tensor<4x8xf32>, tensor<16x4xf32>
func.func @slice_first(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<16x4xf32>) {
  %a = shard.all_gather %x on @g grid_axes = [0] gather_axis = 0 : tensor<4x8xf32> -> tensor<8x8xf32>
  %b = shard.all_gather %a on @g grid_axes = [1] gather_axis = 1 : tensor<8x8xf32> -> tensor<8x32xf32>
  %c = shard.all_slice %b on @g grid_axes = [0] slice_axis = 0 : tensor<8x32xf32> -> tensor<4x32xf32>
  %d = shard.all_slice %c on @g grid_axes = [1] slice_axis = 1 : tensor<4x32xf32> -> tensor<4x8xf32>
  %e = shard.all_gather %x on @g grid_axes = [1] gather_axis = 0 : tensor<4x8xf32> -> tensor<16x8xf32>
  %f = shard.all_slice %e on @g grid_axes = [0] slice_axis = 1 : tensor<16x8xf32> -> tensor<16x4xf32>
  return %d, %f : tensor<4x8xf32>, tensor<16x4xf32>
}

// CHECK-LABEL: func.func @scatter(%x: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x2xf32>) {
// CHECK-NEXT:  %reduce_scatter = shard.reduce_scatter %x on @g grid_axes = [0] reduction =  max scatter_axis = 0 : tensor<8x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT:  %reduce_scatter_1 = shard.reduce_scatter %x on @g grid_axes = [1] scatter_axis = 1 : tensor<8x8xf32> -> tensor<8x2xf32>
// CHECK-NEXT:  %all_reduce = shard.all_reduce %reduce_scatter_1 on @g grid_axes = [0] : tensor<8x2xf32> -> tensor<8x2xf32>
// CHECK-NEXT:  func.return %reduce_scatter, %all_reduce : tensor<4x8xf32>, tensor<8x2xf32>
func.func @scatter(%x: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x2xf32>) {
  %a = shard.all_reduce %x on @g grid_axes = [0] reduction = max : tensor<8x8xf32> -> tensor<8x8xf32>
  %b = shard.all_slice %a on @g grid_axes = [0] slice_axis = 0 : tensor<8x8xf32> -> tensor<4x8xf32>
  %c = shard.all_reduce %x on @g grid_axes = [0, 1] : tensor<8x8xf32> -> tensor<8x8xf32>
  %d = shard.all_slice %c on @g grid_axes = [1] slice_axis = 1 : tensor<8x8xf32> -> tensor<8x2xf32>
  return %b, %d : tensor<4x8xf32>, tensor<8x2xf32>
}

// Slices along an axis that is not reduced, and of a value that others read, stay.

// CHECK-LABEL: func.func @no_scatter(%x: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x2xf32>) {
// CHECK-NEXT:  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<8x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  %b = shard.all_slice %a on @g grid_axes = [0] slice_axis = 0 : tensor<8x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT:  %y = math.absf %x : tensor<8x8xf32>
// CHECK-NEXT:  %c = shard.all_reduce %y on @g grid_axes = [0] reduction =  min : tensor<8x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT:  %d = shard.all_slice %c on @g grid_axes = [1] slice_axis = 1 : tensor<8x8xf32> -> tensor<8x2xf32>
// CHECK-NEXT:  func.return %b, %a, %d : tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x2xf32>
func.func @no_scatter(%x: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x2xf32>) {
  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %b = shard.all_slice %a on @g grid_axes = [0] slice_axis = 0 : tensor<8x8xf32> -> tensor<4x8xf32>
  %y = math.absf %x : tensor<8x8xf32>
  %c = shard.all_reduce %y on @g grid_axes = [0] reduction = min : tensor<8x8xf32> -> tensor<8x8xf32>
  %d = shard.all_slice %c on @g grid_axes = [1] slice_axis = 1 : tensor<8x8xf32> -> tensor<8x2xf32>
  return %b, %a, %d : tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x2xf32>
}

// The sum of three finished sums is one finished sum.

// CHECK-LABEL: func.func @endomorphism(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:  %0 = arith.addf %x, %y : tensor<8xf32>
// CHECK-NEXT:  %1 = arith.addf %0, %z : tensor<8xf32>
// CHECK-NEXT:  %all_reduce = shard.all_reduce %1 on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:  func.return %all_reduce : tensor<8xf32>
func.func @endomorphism(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %b = shard.all_reduce %y on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %c = shard.all_reduce %z on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %d = arith.addf %a, %b : tensor<8xf32>
  %e = arith.addf %d, %c : tensor<8xf32>
  return %e : tensor<8xf32>
}

// CHECK-LABEL: func.func @no_endomorphism(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
// CHECK-NEXT:  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:  %b = shard.all_reduce %y on @g grid_axes = [0] reduction =  max : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:  %c = arith.maximumf %a, %b : tensor<8xf32>
// CHECK-NEXT:  %d = shard.all_reduce %c on @g grid_axes = [1] : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:  %e = arith.addf %d, %d : tensor<8xf32>
// CHECK-NEXT:  func.return %c, %e : tensor<8xf32>, tensor<8xf32>
func.func @no_endomorphism(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %b = shard.all_reduce %y on @g grid_axes = [0] reduction = max : tensor<8xf32> -> tensor<8xf32>
  %c = arith.maximumf %a, %b : tensor<8xf32>
  %d = shard.all_reduce %c on @g grid_axes = [1] : tensor<8xf32> -> tensor<8xf32>
  %e = arith.addf %d, %d : tensor<8xf32>
  return %c, %e : tensor<8xf32>, tensor<8xf32>
}

// Two small reductions that are ready together are one.

// CHECK-LABEL: func.func @merged(%x: tensor<4x2xf32>, %y: tensor<f32>) -> tensor<4x2xf32> {
// CHECK-NEXT:  %0 = tensor.collapse_shape %x {{\[\[}}0, 1]] : tensor<4x2xf32> into tensor<8xf32>
// CHECK-NEXT:  %1 = tensor.extract %y[] : tensor<f32>
// CHECK-NEXT:  %2 = tensor.from_elements %1 : tensor<1xf32>
// CHECK-NEXT:  %3 = tensor.concat dim(0) %0, %2 : (tensor<8xf32>, tensor<1xf32>) -> tensor<9xf32>
// CHECK-NEXT:  %all_reduce = shard.all_reduce %3 on @g grid_axes = [0] : tensor<9xf32> -> tensor<9xf32>
// CHECK-NEXT:  %4 = tensor.extract_slice %all_reduce[0] [8] [1] : tensor<9xf32> to tensor<8xf32>
// CHECK-NEXT:  %a = tensor.expand_shape %4 {{\[\[}}0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
// CHECK-NEXT:  %5 = tensor.extract_slice %all_reduce[8] [1] [1] : tensor<9xf32> to tensor<1xf32>
// CHECK-NEXT:  %c0 = arith.constant 0 : index
// CHECK-NEXT:  %6 = tensor.extract %5[%c0] : tensor<1xf32>
// CHECK-NEXT:  %b = tensor.from_elements %6 : tensor<f32>
// CHECK-NEXT:  %s = tensor.extract %b[] : tensor<f32>
// CHECK-NEXT:  %f = tensor.splat %s : tensor<4x2xf32>
// CHECK-NEXT:  %r = arith.divf %a, %f : tensor<4x2xf32>
// CHECK-NEXT:  func.return %r : tensor<4x2xf32>
func.func @merged(%x: tensor<4x2xf32>, %y: tensor<f32>) -> tensor<4x2xf32> {
  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<4x2xf32> -> tensor<4x2xf32>
  %b = shard.all_reduce %y on @g grid_axes = [0] : tensor<f32> -> tensor<f32>
  %s = tensor.extract %b[] : tensor<f32>
  %f = tensor.splat %s : tensor<4x2xf32>
  %r = arith.divf %a, %f : tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// The second needs the first.

// CHECK-LABEL: func.func @not_ready(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:  %y = math.exp %a : tensor<4xf32>
// CHECK-NEXT:  %b = shard.all_reduce %y on @g grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:  func.return %b : tensor<4xf32>
func.func @not_ready(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  %y = math.exp %a : tensor<4xf32>
  %b = shard.all_reduce %y on @g grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// A message goes with its reception.

// CHECK-LABEL: func.func @message(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:  func.return %x : tensor<4xf32>
func.func @message(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.send %x on @g grid_axes = [0] destination = [0] : (tensor<4xf32>) -> tensor<4xf32>
  %r = shard.recv %s on @g grid_axes = [0] source = [0] : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func @inverse_twice() -> (tensor<8x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT:  %y = arith.constant dense<1.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT:  func.return %y, %y : tensor<8x8xf32>, tensor<8x8xf32>
func.func @inverse_twice() -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %y = arith.constant dense<1.0> : tensor<8x8xf32>
  %c = shard.all_slice %y on @g grid_axes = [0] slice_axis = 0 : tensor<8x8xf32> -> tensor<4x8xf32>
  %d = shard.all_gather %c on @g grid_axes = [0] gather_axis = 0 : tensor<4x8xf32> -> tensor<8x8xf32>
  %e = shard.all_gather %c on @g grid_axes = [0] gather_axis = 0 : tensor<4x8xf32> -> tensor<8x8xf32>
  return %d, %e : tensor<8x8xf32>, tensor<8x8xf32>
}
