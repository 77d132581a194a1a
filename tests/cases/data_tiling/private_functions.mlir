// A function that is called twice, a bias that is broadcast, a softmax: reductions and what follows them.
#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx2", target_triple = "x86_64-unknown-unknown-eabi-elf", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @device_a = #hal.device.target<"local", [#exe]> : !hal.device
func.func private @layer(%x: tensor<5x7xf32>, %w: tensor<7x7xf32>, %b: tensor<7xf32>) -> tensor<5x7xf32> {
  %e = tensor.empty() : tensor<5x7xf32>
  %bias = linalg.broadcast ins(%b : tensor<7xf32>) outs(%e : tensor<5x7xf32>) dimensions = [0]
  %y = linalg.matmul ins(%x, %w : tensor<5x7xf32>, tensor<7x7xf32>) outs(%bias : tensor<5x7xf32>) -> tensor<5x7xf32>
  return %y : tensor<5x7xf32>
}
func.func @main(%x: tensor<5x7xf32>, %w: tensor<7x7xf32>, %b: tensor<7xf32>) -> tensor<5x7xf32> {
  %0 = call @layer(%x, %w, %b) : (tensor<5x7xf32>, tensor<7x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  %1 = call @layer(%0, %w, %b) : (tensor<5x7xf32>, tensor<7x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  %low = arith.constant -1.0e30 : f32
  %zero = arith.constant 0.0 : f32
  %v = tensor.empty() : tensor<5xf32>
  %start = linalg.fill ins(%low : f32) outs(%v : tensor<5xf32>) -> tensor<5xf32>
  %max = linalg.reduce { arith.maximumf } ins(%1 : tensor<5x7xf32>) outs(%start : tensor<5xf32>) dimensions = [1]
  %e = tensor.empty() : tensor<5x7xf32>
  %m = linalg.broadcast ins(%max : tensor<5xf32>) outs(%e : tensor<5x7xf32>) dimensions = [1]
  %d = arith.subf %1, %m : tensor<5x7xf32>
  %p = math.exp %d : tensor<5x7xf32>
  %none = linalg.fill ins(%zero : f32) outs(%v : tensor<5xf32>) -> tensor<5xf32>
  %sum = linalg.reduce { arith.addf } ins(%p : tensor<5x7xf32>) outs(%none : tensor<5xf32>) dimensions = [1]
  %s = linalg.broadcast ins(%sum : tensor<5xf32>) outs(%e : tensor<5x7xf32>) dimensions = [1]
  %q = arith.divf %p, %s : tensor<5x7xf32>
  return %q : tensor<5x7xf32>
}
