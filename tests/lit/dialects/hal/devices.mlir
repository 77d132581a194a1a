// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-local-scope | filecheck %s --check-prefix=EMPTY

// Devices, targets and affinities.

// CHECK-DAG: #device_target_local = #hal.device.target<"local"> : !hal.device
// CHECK-DAG: #executable_target_embedded_elf_x86_64 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">
// CHECK-DAG: #executable_target_vmvx_bytecode_fb = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {ukernels = "none"}>
// CHECK-DAG: #device_target_local_0_ = #hal.device.target<"local", {ordinal = 0 : index}, [#executable_target_vmvx_bytecode_fb, #executable_target_embedded_elf_x86_64]> : !hal.device
// CHECK: util.global private @d = #device_target_local_0_
// CHECK: util.global private @s = #hal.device.select<[#device_target_local, #hal.device.fallback<@d> : !hal.device, #hal.device.alias<"local"[2], {x = 1 : i32}> : !hal.device, #hal.device.ordinal<3> : !hal.device]> : !hal.device
// CHECK: util.global private @a = #hal.device.alias<"hip"> : !hal.device
// CHECK: func.func private @affinities(tensor<4xf32> {iree.abi.affinity = #hal.device.promise<@d>}, tensor<4xf32> {iree.abi.affinity = #hal.device.optimal<[#hal.device.affinity<@d, [0, 1]>, #hal.device.affinity<@s>]>})

builtin.module attributes {stream.affinity.default = #hal.device.affinity<@d>, stream.topology = #hal.device.topology<links = [(@d -> @s = {unified_memory = true, transparent_access = true})]>} {
  util.global private @d = #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<"vmvx", "vmvx-bytecode-fb", {ukernels = "none"}>, #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">]> : !hal.device
  util.global private @s = #hal.device.select<[#hal.device.target<"local"> : !hal.device, #hal.device.fallback<@d> : !hal.device, #hal.device.alias<"local"[2], {x = 1 : i32}> : !hal.device, #hal.device.ordinal<3> : !hal.device]> : !hal.device
  util.global private @a = #hal.device.alias<"hip"> : !hal.device
  func.func private @affinities(tensor<4xf32> {iree.abi.affinity = #hal.device.promise<@d>}, tensor<4xf32> {iree.abi.affinity = #hal.device.optimal<[#hal.device.affinity<@d, [0, 1]>, #hal.device.affinity<@s>]>})
}

// An empty configuration is none.
// EMPTY: a = #hal.executable.target<"a", "b">, b = #hal.device.target<"l", [#hal.executable.target<"a", "b">]> : !hal.device
func.func private @without_configuration() attributes {
  a = #hal.executable.target<"a", "b", {}>,
  b = #hal.device.target<"l", {}, [#hal.executable.target<"a", "b">]> : !hal.device}
