// A product on one device, and its product on another, whose kernels are of another kind.
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [
  #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">
]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [
  #hal.executable.target<"vmvx", "vmvx-bytecode-fb">
]> : !hal.device
func.func @main(%x: tensor<2x2xf32> {iree.abi.affinity = #hal.device.affinity<@a>})
    -> (tensor<2x2xf32> {iree.abi.affinity = #hal.device.affinity<@b>}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x2xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = linalg.matmul ins(%x, %x : tensor<2x2xf32>, tensor<2x2xf32>)
    outs(%zeros : tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = flow.tensor.transfer %0 : tensor<2x2xf32> to #hal.device.affinity<@b>
  %2 = linalg.matmul ins(%1, %1 : tensor<2x2xf32>, tensor<2x2xf32>)
    outs(%zeros : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
