// RUN: mesh-opt %s --form-dispatches | filecheck %s

// Two halves of a tensor are rotated and put together by one kernel.
// CHECK:     flow.executable private @rotated_dispatch_0
// CHECK:       tensor.extract_slice
// CHECK:       tensor.extract_slice
// CHECK:       tensor.concat
// CHECK:     func.func @rotated
// CHECK:       flow.dispatch @rotated_dispatch_0
// CHECK-NOT:   flow.dispatch
// CHECK:       func.return
func.func @rotated(%x: tensor<4x8xf32>, %c: tensor<4x4xf32>, %s: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %a = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %ac = linalg.mul ins(%a, %c : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tensor.extract_slice %x[0, 4] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %bs = linalg.mul ins(%b, %s : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.sub ins(%ac, %bs : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %as = linalg.mul ins(%a, %s : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %bc = linalg.mul ins(%b, %c : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.add ins(%as, %bc : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = tensor.concat dim(1) %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// A kernel whose result the host reshapes for another one is not merged with that.
// CHECK:     func.func @between
// CHECK:       flow.dispatch @between_dispatch_0
// CHECK:       flow.tensor.reshape
// CHECK:       flow.dispatch @between_dispatch_1
// CHECK:       func.return
func.func @between(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %a = linalg.exp ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = tensor.collapse_shape %a [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %m = tensor.expand_shape %f [[0, 1]] output_shape [4, 4] : tensor<16xf32> into tensor<4x4xf32>
  %b = linalg.mul ins(%m, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.add ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// What makes a row is not computed again for each row that it is added to.
// CHECK:     func.func @once
// CHECK:       flow.dispatch @once_dispatch_0
// CHECK:       flow.dispatch @once_dispatch_1
// CHECK:       func.return
func.func @once(%x: tensor<4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %row = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%row : tensor<4xf32>) -> tensor<4xf32>
  %b = linalg.exp ins(%y : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.broadcast ins(%a : tensor<4xf32>) outs(%e : tensor<4x4xf32>) dimensions = [0]
  %r = linalg.add ins(%b, %s : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}
