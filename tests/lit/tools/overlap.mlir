// RUN: mesh-opt %s --emit=host-code | filecheck %s

// A collective begins once its operands are there, and ends before the step that reads its result.

shard.grid @g(shape = 2)

// The sum is asked for after the exponentials, and begins before them.
// CHECK-LABEL: func @begins_early
// CHECK-NEXT:    start #[[N:[0-9]+]], values(%arg2)
// CHECK:         run @math.exp
// CHECK:         [[R:%.+]], %{{.+}} = exchange #[[N]], values(%arg2)
// CHECK:         run @arith.addf{{.*}}[[R]]
func.func @begins_early(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %e = math.exp %a : tensor<64xf32>
  %f = tensor.expand_shape %e [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
  %m = linalg.matmul ins(%f, %f : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = tensor.collapse_shape %m [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %r = shard.all_reduce %b on @g grid_axes = [0] : tensor<64xf32> -> tensor<64xf32>
  %s = arith.addf %n, %r : tensor<64xf32>
  return %s : tensor<64xf32>
}

// The operand is read for the last time by a kernel that would write in its place; it lives on.
// CHECK-LABEL: func @ends_late
// CHECK:         [[V:%.+]] = {{reuse|allocate}}
// CHECK-NEXT:    run @arith.addf
// CHECK:         start #[[N:[0-9]+]], values([[V]])
// CHECK:         [[M:%.+]] = allocate
// CHECK-NEXT:    run @arith.mulf{{.*}}bindings([[M]], [[V]])
// CHECK:         = exchange #[[N]], values([[V]])
// CHECK:         release [[V]]
func.func @ends_late(%a: tensor<64xf32>, %c: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %v = arith.addf %a, %c : tensor<64xf32>
  %w = arith.addf %v, %v : tensor<64xf32>
  %r = shard.all_reduce %v on @g grid_axes = [0] : tensor<64xf32> -> tensor<64xf32>
  %m = arith.mulf %v, %v : tensor<64xf32>
  %x = tensor.expand_shape %m [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
  %y = linalg.matmul ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = tensor.collapse_shape %y [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %s = arith.addf %z, %r : tensor<64xf32>
  return %s, %r : tensor<64xf32>, tensor<64xf32>
}

// One at a time, in the order of the program: the second begins when the first has ended.
// CHECK-LABEL: func @one_at_a_time
// CHECK-NEXT:    start #[[N:[0-9]+]]
// CHECK:         run @math.exp
// CHECK:         exchange #[[N]]
// CHECK-NEXT:    start #[[M:[0-9]+]]
// CHECK:         run @arith.addf
// CHECK:         exchange #[[M]]
// CHECK-NOT:     start
func.func @one_at_a_time(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<8xf32>) {
  %e = math.exp %a : tensor<8xf32>
  %r = shard.all_reduce %b on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %s = arith.addf %e, %r : tensor<8xf32>
  %t = shard.all_gather %b on @g grid_axes = [0] gather_axis = 0 : tensor<8xf32> -> tensor<16xf32>
  return %s, %t, %e : tensor<8xf32>, tensor<16xf32>, tensor<8xf32>
}

// Nothing lies between its operand and its reader.
// CHECK-LABEL: func @at_once
// CHECK-NOT:     start
// CHECK:         return
func.func @at_once(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = math.exp %a : tensor<8xf32>
  %r = shard.all_reduce %e on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %s = math.exp %r : tensor<8xf32>
  return %s : tensor<8xf32>
}

// A call may meet the other devices, so nothing is under way.
// CHECK-LABEL: func @calls
// CHECK-NOT:     start
// CHECK:         call
// CHECK:         return
func.func @calls(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %c = func.call @at_once(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %r = shard.all_reduce %b on @g grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %s = arith.addf %c, %r : tensor<8xf32>
  return %s : tensor<8xf32>
}
