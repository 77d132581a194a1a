// builtin.module(func.func(iree-codegen-materialize-device-encoding))
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [64, 33, 40]>
#t = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, cpu_features = "+avx512f", target_triple = "x86_64-none-elf"}>
func.func @scatter_then_encode(%o: tensor<64x40xf32>, %i: tensor<3xi32>, %u: tensor<3x40xf32>, %k: tensor<40x33xf32>) -> tensor<64x40xf32> attributes {hal.executable.target = #t} {
  %1 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i : tensor<3x40xf32>, tensor<3xi32>) outs(%o : tensor<64x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<64x40xf32>
  %2 = iree_encoding.set_encoding %1 : tensor<64x40xf32> -> tensor<64x40xf32, #e0>
  %b = util.optimization_barrier %2 : tensor<64x40xf32, #e0>
  %3 = iree_encoding.unset_encoding %b : tensor<64x40xf32, #e0> -> tensor<64x40xf32>
  return %3 : tensor<64x40xf32>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [64, 33, 40]>
#t = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, cpu_features = "+avx512f", target_triple = "x86_64-none-elf"}>
func.func @decode_sort(%o: tensor<64x40xf32, #e0>) -> tensor<64x40xf32> attributes {hal.executable.target = #t} {
  %3 = iree_encoding.unset_encoding %o : tensor<64x40xf32, #e0> -> tensor<64x40xf32>
  %1 = iree_linalg_ext.sort dimension(1) outs(%3 : tensor<64x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<64x40xf32>
  return %1 : tensor<64x40xf32>
}
