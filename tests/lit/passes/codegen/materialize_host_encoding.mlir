// RUN: mesh-opt %s --split-input-file --iree-codegen-materialize-host-encoding --verify-diagnostics | filecheck %s

#map = affine_map<(m, n, k) -> (m, k)>
#map1 = affine_map<(m, n, k) -> (k, n)>
#map2 = affine_map<(m, n, k) -> (m, n)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [17, 33, 40]>
#avx2 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx2", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#avx512 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#on_a = #hal.device.affinity<@a>
#on_b = #hal.device.affinity<@b>
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#avx2]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#avx512]> : !hal.device

// Each function has the tiles of the device that it runs on. Several targets have none in common.

// CHECK-LABEL: @on_default_of_its_scope
// CHECK: linalg.pack {{.*}} inner_tiles = [16, 1]
util.func public @on_default_of_its_scope(%x: tensor<17x40xf32>) -> tensor<17x40xf32, #e0> attributes {stream.affinity.default = #on_b} {
  %0 = iree_encoding.set_encoding %x : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
  util.return %0 : tensor<17x40xf32, #e0>
}

// CHECK-LABEL: @where_its_argument_is
// CHECK: linalg.pack {{.*}} inner_tiles = [8, 1]
func.func @where_its_argument_is(%x: tensor<17x40xf32> {iree.abi.affinity = #on_a}) -> tensor<17x40xf32, #e0> {
  %0 = iree_encoding.set_encoding %x : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
  return %0 : tensor<17x40xf32, #e0>
}

// CHECK-LABEL: @nowhere
// CHECK: iree_encoding.set_encoding
func.func @nowhere(%x: tensor<17x40xf32>) -> tensor<17x40xf32, #e0> {
  %0 = iree_encoding.set_encoding %x : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
  return %0 : tensor<17x40xf32, #e0>
}

// -----

#map = affine_map<(m, n, k) -> (m, k)>
#map1 = affine_map<(m, n, k) -> (k, n)>
#map2 = affine_map<(m, n, k) -> (m, n)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [17, 33, 40]>
#avx512 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-x-x", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#vmvx = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}>
#on_c = #hal.device.affinity<@c>
util.global private @c = #hal.device.target<"local", [#avx512, #vmvx]> : !hal.device

// expected-error @+1 {{runs on 2 targets, but its tensors can have the layout of only one}}
util.func public @of_two_targets(%x: tensor<17x40xf32>) -> tensor<17x40xf32, #e0> attributes {stream.affinity.default = #on_c} {
  %0 = iree_encoding.set_encoding %x : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
  util.return %0 : tensor<17x40xf32, #e0>
}

// -----

#map = affine_map<(m, n, k) -> (m, k)>
#map1 = affine_map<(m, n, k) -> (k, n)>
#map2 = affine_map<(m, n, k) -> (m, n)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [17, 33, 40]>
#vmvx = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {ukernels = "none", iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}>
#on_d = #hal.device.affinity<@d>
util.global private @d = #hal.device.target<"local", [#vmvx]> : !hal.device

// A target of VMVX.

// CHECK-LABEL: @of_vmvx
// CHECK: linalg.pack {{.*}} inner_tiles = [8, 4]
util.func public @of_vmvx(%x: tensor<17x40xf32>) -> tensor<17x40xf32, #e0> attributes {stream.affinity.default = #on_d} {
  %0 = iree_encoding.set_encoding %x : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
  util.return %0 : tensor<17x40xf32, #e0>
}
