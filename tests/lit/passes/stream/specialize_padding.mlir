// RUN: mesh-opt %s --iree-stream-specialize-encodings --mlir-print-local-scope | filecheck %s

// Each target chooses how much room there is behind rows: one line of the cache where rows would
// meet in few of its sets, what fills the last line, or none.

#cpu = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-none-elf", cpu_features = "", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#gpu = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree.encoding.resolver = #iree_gpu.gpu_padding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <>>}>
#pad = #iree_encoding.padding<[0, ?]>
util.global private @c = #hal.device.target<"local", [#cpu]> : !hal.device
util.global private @g = #hal.device.target<"hip", [#gpu]> : !hal.device

util.func public @f(%m: index) -> (index, index, index, index) {
  // CHECK: tensor<?x4096xf16, #iree_encoding.layout<[#iree_encoding.identity]>>{%m}
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@c>) tensor<?x4096xf16, #pad>{%m} : index
  // CHECK: tensor<?x4096xf16, #iree_encoding.layout<[#iree_encoding.padding<[0, 64]>]>>{%m}
  %1 = stream.tensor.sizeof on(#hal.device.affinity<@g>) tensor<?x4096xf16, #pad>{%m} : index
  // CHECK: tensor<?x500xf16, #iree_encoding.layout<[#iree_encoding.padding<[0, 76]>]>>{%m}
  %2 = stream.tensor.sizeof on(#hal.device.affinity<@g>) tensor<?x500xf16, #pad>{%m} : index
  // CHECK: tensor<?x4160xf16, #iree_encoding.layout<[#iree_encoding.identity]>>{%m}
  %3 = stream.tensor.sizeof on(#hal.device.affinity<@g>) tensor<?x4160xf16, #pad>{%m} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}

// A solver that does not pad rows chooses the layout.

#test = #hal.executable.target<"llvm-cpu", "x", {iree.encoding.resolver = #iree_encoding.specialization_resolver<7>}>
util.global private @t = #hal.device.target<"local", [#test]> : !hal.device

// CHECK-LABEL: @chosen
util.func public @chosen() -> index {
  // CHECK: tensor<4x8xf32, #iree_encoding.layout<[#iree_encoding.specialized<7, tensor<4x8xf32>>]>>
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@t>) tensor<4x8xf32, #pad> : index
  util.return %0 : index
}

// The cache is that of the target, whatever the solver says.

#named = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree.encoding.resolver = #iree_gpu.gpu_padding_resolver<cache_line_bytes = 64, cache_sets = 2>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <>>}>
util.global private @n = #hal.device.target<"hip", [#named]> : !hal.device

// CHECK-LABEL: @cache_of_the_target
util.func public @cache_of_the_target() -> index {
  // CHECK: tensor<8x512xf16, #iree_encoding.layout<[#iree_encoding.padding<[0, 64]>]>>
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@n>) tensor<8x512xf16, #pad> : index
  util.return %0 : index
}
