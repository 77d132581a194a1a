// Sums of no terms, whose operands are computed: what holds no elements is stored, too.
func.func @main(%x: tensor<2x0xf32>, %y: tensor<0x7xf32>) -> tensor<2x7xf32> {
  %a = math.absf %x : tensor<2x0xf32>
  %b = math.absf %y : tensor<0x7xf32>
  %c = arith.constant dense<3.0> : tensor<2x7xf32>
  %r = linalg.matmul ins(%a, %b : tensor<2x0xf32>, tensor<0x7xf32>) outs(%c : tensor<2x7xf32>) -> tensor<2x7xf32>
  return %r : tensor<2x7xf32>
}
