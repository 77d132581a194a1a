// builtin.module(func.func(iree-codegen-materialize-device-encoding))
#A = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#B = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#C = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#l = #iree_encoding.encoding<operand_index = 0, op_type = conv, element_types = [f32, f32, f32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [2, 20, 14, 14, 18, 3, 3]>
#r = #iree_encoding.encoding<operand_index = 1, op_type = conv, element_types = [f32, f32, f32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [2, 20, 14, 14, 18, 3, 3]>
#o = #iree_encoding.encoding<operand_index = 2, op_type = conv, element_types = [f32, f32, f32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [2, 20, 14, 14, 18, 3, 3]>
func.func @conv_nchw(%a: tensor<2x18x16x16xf32>, %b: tensor<20x18x3x3xf32>) -> tensor<2x20x14x14xf32> attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-none-elf", cpu_features = "+avx512f", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>} {
  %cst = arith.constant 0.0 : f32
  %0 = iree_encoding.set_encoding %a : tensor<2x18x16x16xf32> -> tensor<2x18x16x16xf32, #l>
  %1 = iree_encoding.set_encoding %b : tensor<20x18x3x3xf32> -> tensor<20x18x3x3xf32, #r>
  %e = tensor.empty() : tensor<2x20x14x14xf32, #o>
  %f = linalg.fill ins(%cst : f32) outs(%e : tensor<2x20x14x14xf32, #o>) -> tensor<2x20x14x14xf32, #o>
  %2 = linalg.generic {indexing_maps = [#A, #B, #C], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%0, %1 : tensor<2x18x16x16xf32, #l>, tensor<20x18x3x3xf32, #r>) outs(%f : tensor<2x20x14x14xf32, #o>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  } -> tensor<2x20x14x14xf32, #o>
  %3 = iree_encoding.unset_encoding %2 : tensor<2x20x14x14xf32, #o> -> tensor<2x20x14x14xf32>
  return %3 : tensor<2x20x14x14xf32>
}
// -----
#A = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#B = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#C = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#l = #iree_encoding.encoding<operand_index = 0, op_type = conv, element_types = [f32, f32, f32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [1, 14, 14, 32, 3, 3, 16]>
#r = #iree_encoding.encoding<operand_index = 1, op_type = conv, element_types = [f32, f32, f32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [1, 14, 14, 32, 3, 3, 16]>
#o = #iree_encoding.encoding<operand_index = 2, op_type = conv, element_types = [f32, f32, f32], user_indexing_maps = [#A, #B, #C], iteration_sizes = [1, 14, 14, 32, 3, 3, 16]>
func.func @conv(%a: tensor<1x16x16x16xf32>, %b: tensor<3x3x16x32xf32>) -> tensor<1x14x14x32xf32> attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-none-elf", cpu_features = "+avx512f", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>} {
  %cst = arith.constant 0.0 : f32
  %0 = iree_encoding.set_encoding %a : tensor<1x16x16x16xf32> -> tensor<1x16x16x16xf32, #l>
  %1 = iree_encoding.set_encoding %b : tensor<3x3x16x32xf32> -> tensor<3x3x16x32xf32, #r>
  %e = tensor.empty() : tensor<1x14x14x32xf32, #o>
  %f = linalg.fill ins(%cst : f32) outs(%e : tensor<1x14x14x32xf32, #o>) -> tensor<1x14x14x32xf32, #o>
  %2 = linalg.generic {indexing_maps = [#A, #B, #C], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%0, %1 : tensor<1x16x16x16xf32, #l>, tensor<3x3x16x32xf32, #r>) outs(%f : tensor<1x14x14x32xf32, #o>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x32xf32, #o>
  %3 = iree_encoding.unset_encoding %2 : tensor<1x14x14x32xf32, #o> -> tensor<1x14x14x32xf32>
  return %3 : tensor<1x14x14x32xf32>
}
