// RUN: mesh-opt %s --split-input-file '--pass-pipeline=builtin.module(assign-devices{cpu-features=+avx2})' | filecheck %s

// CHECK: module attributes {stream.affinity.default = #hal.device.affinity<@device_0>}
// CHECK: util.global private @device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-{{.*}}", {cpu_features = "+avx2", target_triple = "{{.*}}-unknown-unknown-eabi-elf", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
func.func @device(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// CHECK-NOT: stream.affinity.default
// CHECK-NOT: hal.device.target
util.global private @mine : !hal.device
