func.func @iterate(%x: tensor<64xf32>, %limit: f32) -> (tensor<64xf32>, i32) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %result:2 = scf.while (%y = %x, %n = %none) : (tensor<64xf32>, i32) -> (tensor<64xf32>, i32) {
    %empty = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
    %sum = linalg.reduce { arith.addf } ins(%y : tensor<64xf32>) outs(%start : tensor<f32>)
      dimensions = [0]
    %total = tensor.extract %sum[] : tensor<f32>
    %small = arith.cmpf olt, %total, %limit : f32
    scf.condition(%small) %y, %n : tensor<64xf32>, i32
  } do {
  ^bb0(%y: tensor<64xf32>, %n: i32):
    %next = arith.addf %y, %x : tensor<64xf32>
    %m = arith.addi %n, %one : i32
    scf.yield %next, %m : tensor<64xf32>, i32
  }
  return %result#0, %result#1 : tensor<64xf32>, i32
}
