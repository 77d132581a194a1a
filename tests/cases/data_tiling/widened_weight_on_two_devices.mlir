// A weight that is widened for two devices: it is widened on the first and moved to the second.
#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-unknown-unknown-eabi-elf", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @device_a = #hal.device.target<"local", {ordinal = 0 : index}, [#exe]> : !hal.device
util.global private @device_b = #hal.device.target<"local", {ordinal = 1 : index}, [#exe]> : !hal.device
util.global private @w = dense<2.0> : tensor<4x4xbf16>
func.func @main(%a: tensor<4x4xf32> {iree.abi.affinity = #hal.device.affinity<@device_a>}) -> tensor<4x4xf32> {
  %w = util.global.load @w : tensor<4x4xbf16>
  %v = arith.extf %w : tensor<4x4xbf16> to tensor<4x4xf32>
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %r = linalg.matmul ins(%a, %v : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = flow.tensor.transfer %r : tensor<4x4xf32> to #hal.device.affinity<@device_b>
  %s = linalg.matmul ins(%b, %v : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
