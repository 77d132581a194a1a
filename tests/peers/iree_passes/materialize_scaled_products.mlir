// builtin.module(func.func(iree-codegen-materialize-device-encoding))
// A product of block-scaled factors on a matrix instruction.
#t = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree.encoding.resolver = #iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx950", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, dot = none, mma = [], scaled_mma = [<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f4E2M1FN, rhs_elem_type = f4E2M1FN, acc_elem_type = f32>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647], max_load_instruction_bits = 128, simds_per_wgp = 4, vgpr_space_bits = 16384>>}>
#m0 = affine_map<(m, n, ko, kb) -> (m, ko, kb)>
#m1 = affine_map<(m, n, ko, kb) -> (n, ko, kb)>
#m2 = affine_map<(m, n, ko, kb) -> (m, ko)>
#m3 = affine_map<(m, n, ko, kb) -> (n, ko)>
#m4 = affine_map<(m, n, ko, kb) -> (m, n)>
#e0 = #iree_encoding.encoding<operand_index = 0, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1024, 1000, 100, 32]>
#e1 = #iree_encoding.encoding<operand_index = 1, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1024, 1000, 100, 32]>
#e2 = #iree_encoding.encoding<operand_index = 2, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1024, 1000, 100, 32]>
#e3 = #iree_encoding.encoding<operand_index = 3, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1024, 1000, 100, 32]>
#e4 = #iree_encoding.encoding<operand_index = 4, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1024, 1000, 100, 32]>
func.func @scaled(%a: tensor<1024x100x32xf4E2M1FN, #e0>, %b: tensor<1000x100x32xf4E2M1FN, #e1>, %s: tensor<1024x100xf8E8M0FNU, #e2>, %u: tensor<1000x100xf8E8M0FNU, #e3>, %c: tensor<1024x1000xf32, #e4>) -> tensor<1024x1000xf32, #e4> attributes {hal.executable.target = #t} {
  %r = linalg.generic {indexing_maps = [#m0, #m1, #m2, #m3, #m4], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %s, %u : tensor<1024x100x32xf4E2M1FN, #e0>, tensor<1000x100x32xf4E2M1FN, #e1>, tensor<1024x100xf8E8M0FNU, #e2>, tensor<1000x100xf8E8M0FNU, #e3>) outs(%c : tensor<1024x1000xf32, #e4>) {
  ^bb0(%x: f4E2M1FN, %y: f4E2M1FN, %p: f8E8M0FNU, %q: f8E8M0FNU, %o: f32):
    %1 = arith.scaling_extf %x, %p : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.scaling_extf %y, %q : f4E2M1FN, f8E8M0FNU to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1024x1000xf32, #e4>
  return %r : tensor<1024x1000xf32, #e4>
}
// -----
// Factors and scales are packed in the order in which lanes load them; the result is unpacked.
#t = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree.encoding.resolver = #iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx950", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, dot = none, mma = [<MFMA_F32_16x16x4_F32>], scaled_mma = [<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f4E2M1FN, rhs_elem_type = f4E2M1FN, acc_elem_type = f32>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647], max_load_instruction_bits = 128, simds_per_wgp = 4, vgpr_space_bits = 16384>>}>
#m0 = affine_map<(m, n, ko, kb) -> (m, ko, kb)>
#m1 = affine_map<(m, n, ko, kb) -> (n, ko, kb)>
#m2 = affine_map<(m, n, ko, kb) -> (m, ko)>
#m3 = affine_map<(m, n, ko, kb) -> (n, ko)>
#m4 = affine_map<(m, n, ko, kb) -> (m, n)>
#e0 = #iree_encoding.encoding<operand_index = 0, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1000, 1000, 100, 32]>
#e2 = #iree_encoding.encoding<operand_index = 2, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1000, 1000, 100, 32]>
#e4 = #iree_encoding.encoding<operand_index = 4, op_type = scaled_matmul, element_types = [f4E2M1FN, f4E2M1FN, f8E8M0FNU, f8E8M0FNU, f32], user_indexing_maps = [#m0, #m1, #m2, #m3, #m4], iteration_sizes = [1000, 1000, 100, 32]>
func.func @set0(%a: tensor<1000x100x32xf4E2M1FN>) -> tensor<1000x100x32xf4E2M1FN, #e0> attributes {hal.executable.target = #t} {
  %0 = iree_encoding.set_encoding %a : tensor<1000x100x32xf4E2M1FN> -> tensor<1000x100x32xf4E2M1FN, #e0>
  return %0 : tensor<1000x100x32xf4E2M1FN, #e0>
}
func.func @set2(%a: tensor<1000x100xf8E8M0FNU>) -> tensor<1000x100xf8E8M0FNU, #e2> attributes {hal.executable.target = #t} {
  %0 = iree_encoding.set_encoding %a : tensor<1000x100xf8E8M0FNU> -> tensor<1000x100xf8E8M0FNU, #e2>
  return %0 : tensor<1000x100xf8E8M0FNU, #e2>
}
func.func @unset(%a: tensor<1000x1000xf32, #e4>) -> tensor<1000x1000xf32> attributes {hal.executable.target = #t} {
  %0 = iree_encoding.unset_encoding %a : tensor<1000x1000xf32, #e4> -> tensor<1000x1000xf32>
  return %0 : tensor<1000x1000xf32>
}
