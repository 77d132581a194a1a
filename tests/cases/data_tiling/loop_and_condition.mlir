// Tensors that a loop and a condition carry, one element that the host reads, a global that changes.
#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-unknown-unknown-eabi-elf", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
util.global private @device_a = #hal.device.target<"local", {ordinal = 0 : index}, [#exe]> : !hal.device
util.global private mutable @state = dense<0.0> : tensor<8x8xf32>
func.func @loop(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %n: index, %flag: i1) -> (tensor<?x8xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<?x8xf32>) {
    %m = tensor.dim %acc, %c0 : tensor<?x8xf32>
    %e = tensor.empty(%m) : tensor<?x8xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    %y = linalg.matmul ins(%acc, %w : tensor<?x8xf32>, tensor<8x8xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
    %t = math.tanh %y : tensor<?x8xf32>
    scf.yield %t : tensor<?x8xf32>
  }
  %s = scf.if %flag -> (tensor<?x8xf32>) {
    %u = arith.addf %r, %r : tensor<?x8xf32>
    scf.yield %u : tensor<?x8xf32>
  } else {
    scf.yield %r : tensor<?x8xf32>
  }
  %st = util.global.load @state : tensor<8x8xf32>
  %st2 = arith.addf %st, %w : tensor<8x8xf32>
  util.global.store %st2, @state : tensor<8x8xf32>
  %v = tensor.extract %s[%c0, %c1] : tensor<?x8xf32>
  return %s, %v : tensor<?x8xf32>, f32
}
