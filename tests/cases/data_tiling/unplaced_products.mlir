// Products of constants only: they run where their results are wanted, since nothing else says where.
#cpu = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-unknown-unknown-eabi-elf", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#vm = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>, ukernels = "none"}>
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#cpu]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#vm]> : !hal.device
util.global private @w = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
func.func @main(%n: index) -> (tensor<2x2xf32> {iree.abi.affinity = #hal.device.affinity<@b>}, tensor<2x2xf32> {iree.abi.affinity = #hal.device.affinity<@a>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %w = util.global.load @w : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %w) -> (tensor<2x2xf32>) {
    %y = linalg.matmul ins(%acc, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%f : tensor<2x2xf32>) -> tensor<2x2xf32>
    scf.yield %y : tensor<2x2xf32>
  }
  %p = arith.cmpi eq, %n, %c1 : index
  %s = scf.if %p -> (tensor<2x2xf32>) {
    scf.yield %w : tensor<2x2xf32>
  } else {
    %y = linalg.matmul ins(%w, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%f : tensor<2x2xf32>) -> tensor<2x2xf32>
    %yb = flow.tensor.transfer %y : tensor<2x2xf32> to #hal.device.affinity<@b>
    %x = linalg.matmul ins(%yb, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%f : tensor<2x2xf32>) -> tensor<2x2xf32>
    scf.yield %x : tensor<2x2xf32>
  }
  return %r, %s : tensor<2x2xf32>, tensor<2x2xf32>
}
