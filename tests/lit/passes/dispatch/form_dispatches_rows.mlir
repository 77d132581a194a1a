// RUN: mesh-opt %s --form-dispatches | filecheck %s

// What rows are normalised by is one kernel with the normalisation; the broadcast is in it.
// CHECK:     flow.executable private @normalised_dispatch_0
// CHECK:       linalg.reduce
// CHECK:       linalg.broadcast
// CHECK:       linalg.sub
// CHECK:     func.func @normalised
// CHECK:       flow.dispatch @normalised_dispatch_0
// CHECK-NOT:   linalg
// CHECK-NOT:   flow.dispatch
// CHECK:       func.return
func.func @normalised(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<8xf32>
  %whole = tensor.empty() : tensor<8x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce {arith.addf} ins(%x : tensor<8x32xf32>) outs(%zeros : tensor<8xf32>) dimensions = [1]
  %s = linalg.broadcast ins(%sum : tensor<8xf32>) outs(%whole : tensor<8x32xf32>) dimensions = [1]
  %r = linalg.sub ins(%x, %s : tensor<8x32xf32>, tensor<8x32xf32>) outs(%whole : tensor<8x32xf32>) -> tensor<8x32xf32>
  func.return %r : tensor<8x32xf32>
}

// Sums over columns are not of the rows that sums over rows leave apart.
// CHECK:     func.func @other_rows
// CHECK:       flow.dispatch
// CHECK:       flow.dispatch
// CHECK:       func.return
func.func @other_rows(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<8xf32>
  %whole = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce {arith.addf} ins(%x : tensor<8x8xf32>) outs(%zeros : tensor<8xf32>) dimensions = [1]
  %s = linalg.broadcast ins(%sum : tensor<8xf32>) outs(%whole : tensor<8x8xf32>) dimensions = [1]
  %d = linalg.sub ins(%x, %s : tensor<8x8xf32>, tensor<8x8xf32>) outs(%whole : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.reduce {arith.addf} ins(%d : tensor<8x8xf32>) outs(%zeros : tensor<8xf32>) dimensions = [0]
  func.return %r : tensor<8xf32>
}
