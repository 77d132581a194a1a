// RUN: mesh-opt %s --split-input-file '--pass-pipeline=builtin.module(assign-devices{cpu-features=+avx2})' | filecheck %s
// RUN: mesh-opt %s --split-input-file -p 'assign-devices{layouts=false}' | filecheck %s --check-prefix=ROWS
// ROWS-NOT: iree.encoding.resolver

// CHECK-DAG: #executable_target_embedded_elf_x86_64 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx2", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
// CHECK-DAG: #device_target_local = #hal.device.target<"local", [#executable_target_embedded_elf_x86_64]> : !hal.device
// CHECK: module attributes {stream.affinity.default = #hal.device.affinity<@device_0>}
// CHECK: util.global private @device_0 = #device_target_local
func.func @device(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// CHECK-NOT: stream.affinity.default
// CHECK-NOT: hal.device.target
util.global private @mine : !hal.device
