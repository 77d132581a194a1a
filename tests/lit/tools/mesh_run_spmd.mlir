// RUN: mesh-run %s --input=4xf32="1 2 3 4" | filecheck %s
// RUN: mesh-run %s --input=4xf32="1 2 3 4" --per-device | filecheck %s --check-prefix=LOCAL
// RUN: mesh-run %s --input=4xf32="1 2 3 4" --check=%s | filecheck %s --check-prefix=AGREE

// CHECK: result[0]: hal.buffer_view
// CHECK-NEXT: 4xf32=3 4 1 2
// CHECK-NEXT: result[1]: hal.buffer_view
// CHECK-NEXT: 1xf32=10

// LOCAL: device[0] result[0]: hal.buffer_view
// LOCAL-NEXT: 2xf32=3 4
// LOCAL: device[1] result[0]: hal.buffer_view
// LOCAL-NEXT: 2xf32=1 2
// LOCAL-NEXT: device[1] result[1]: hal.buffer_view
// LOCAL-NEXT: 1xf32=10

// AGREE: CHECK @swap on 2 devices agrees with the reference

shard.grid @g(shape = 2)

func.func @swap(%x: tensor<2xf32> {shard.boundary = {global_type = tensor<4xf32>, grid = @g,
                                                     split_axes = #shard<axisarray[[0]]>}})
    -> (tensor<2xf32> {shard.boundary = {global_type = tensor<4xf32>, grid = @g,
                                         split_axes = #shard<axisarray[[0]]>}}, tensor<1xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %y = shard.shift %x on @g grid_axes = [0] shift_axis = 0 offset = 1 rotate
      : tensor<2xf32> -> tensor<2xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<2xf32>) outs(%zero : tensor<f32>)
      dimensions = [0]
  %v = tensor.extract %s[] : tensor<f32>
  %t = tensor.from_elements %v : tensor<1xf32>
  %r = shard.all_reduce %t on @g grid_axes = [0] : tensor<1xf32> -> tensor<1xf32>
  return %y, %r : tensor<2xf32>, tensor<1xf32>
}
