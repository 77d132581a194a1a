// The encoded result of one device is decoded on another, which lays tensors out differently.
#exe_a = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f", target_triple = "x86_64-unknown-unknown-eabi-elf", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#exe_b = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>, ukernels = "none"}>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
#e1 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
#e2 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
util.global private @device_a = #hal.device.target<"local", {ordinal = 0 : index}, [#exe_a]> : !hal.device
util.global private @device_b = #hal.device.target<"local", {ordinal = 1 : index}, [#exe_b]> : !hal.device
func.func @main(%a: tensor<17x40xf32> {iree.abi.affinity = #hal.device.affinity<@device_b>}, %b: tensor<40x33xf32> {iree.abi.affinity = #hal.device.affinity<@device_b>}) -> (tensor<17x33xf32> {iree.abi.affinity = #hal.device.affinity<@device_a>}) {
  %ea = iree_encoding.set_encoding %a : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
  %eb = iree_encoding.set_encoding %b : tensor<40x33xf32> -> tensor<40x33xf32, #e1>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x33xf32, #e2>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<17x33xf32, #e2>) -> tensor<17x33xf32, #e2>
  %r = linalg.matmul ins(%ea, %eb : tensor<17x40xf32, #e0>, tensor<40x33xf32, #e1>) outs(%f : tensor<17x33xf32, #e2>) -> tensor<17x33xf32, #e2>
  %t = flow.tensor.transfer %r : tensor<17x33xf32, #e2> to #hal.device.affinity<@device_a>
  %u = iree_encoding.unset_encoding %t : tensor<17x33xf32, #e2> -> tensor<17x33xf32>
  return %u : tensor<17x33xf32>
}
