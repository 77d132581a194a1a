// Scans, sorts, and searches for the first elements of an order.
func.func @scans(%x: tensor<3x70xf32>, %first: tensor<3xf32>) -> (tensor<3x70xf32>, tensor<3x70xf32>, tensor<3xf32>) {
  %e = tensor.empty() : tensor<3x70xf32>
  %0:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<3x70xf32>) outs(%e, %first : tensor<3x70xf32>, tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    iree_linalg_ext.yield %sum : f32
  } -> tensor<3x70xf32>, tensor<3xf32>
  %1:2 = iree_linalg_ext.scan dimension(1) inclusive(false) ins(%x : tensor<3x70xf32>) outs(%e, %first : tensor<3x70xf32>, tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %most = arith.maximumf %a, %b : f32
    iree_linalg_ext.yield %most : f32
  } -> tensor<3x70xf32>, tensor<3xf32>
  return %0#0, %1#0, %1#1 : tensor<3x70xf32>, tensor<3x70xf32>, tensor<3xf32>
}

func.func @sorted(%x: tensor<5x9xf32>, %y: tensor<5x9xi32>) -> (tensor<5x9xf32>, tensor<5x9xi32>) {
  %0:2 = iree_linalg_ext.sort dimension(1) outs(%x, %y : tensor<5x9xf32>, tensor<5x9xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    %is_before = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %is_before : i1
  } -> tensor<5x9xf32>, tensor<5x9xi32>
  return %0#0, %0#1 : tensor<5x9xf32>, tensor<5x9xi32>
}

func.func @firsts(%x: tensor<2x10xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<10xf32>, tensor<10xi64>) {
  %low = arith.constant dense<0xFF800000> : tensor<2x3xf32>
  %zero = arith.constant dense<0> : tensor<2x3xi32>
  %0:2 = iree_linalg_ext.topk dimension(1) ins(%x : tensor<2x10xf32>) outs(%low, %zero : tensor<2x3xf32>, tensor<2x3xi32>) {
  ^bb0(%a: f32, %b: f32):
    %is_before = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %is_before : i1
  } -> tensor<2x3xf32>, tensor<2x3xi32>
  %high = arith.constant dense<0x7F800000> : tensor<10xf32>
  %none = arith.constant dense<0> : tensor<10xi64>
  %1:2 = iree_linalg_ext.arg_compare dimension(0) ins(%x : tensor<2x10xf32>) outs(%high, %none : tensor<10xf32>, tensor<10xi64>) {
  ^bb0(%a: f32, %b: f32):
    %is_less = arith.cmpf olt, %a, %b : f32
    iree_linalg_ext.yield %is_less : i1
  } -> tensor<10xf32>, tensor<10xi64>
  return %0#0, %0#1, %1#0, %1#1 : tensor<2x3xf32>, tensor<2x3xi32>, tensor<10xf32>, tensor<10xi64>
}
