// RUN: mesh-opt %s | mesh-opt | filecheck %s

// How IREE is to compile something is kept as it was written.

#config = #iree_codegen.lowering_config<tile_sizes = [[64, 64, 0], [[32], 4, 0]]>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [16, 8, 1] subgroup_size = 64, {a = 1 : i64}>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>

// CHECK: #compilation = #iree_codegen.compilation_info<lowering_config = #iree_codegen.lowering_config<tile_sizes = {{.*}}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [16, 8, 1] subgroup_size = 64, {a = 1 : i64}>>
// CHECK: #config = #iree_codegen.lowering_config<tile_sizes = {{\[}}[64, 64, 0], {{\[}}[32], 4, 0]]>
// CHECK: #config1 = #iree_cpu.lowering_config<distribution = [1, 2], vector_common_parallel = [4, [4]]>
// CHECK: a = #config}
func.func private @codegen() attributes {a = #config}
// CHECK: b = #compilation
func.func private @compilation() attributes {b = #compilation}
// CHECK: d = #iree_codegen.export_config<workgroup_size = [4, 1, 1]>
func.func private @threads() attributes {d = #iree_codegen.export_config<workgroup_size = [4, 1, 1]>}
// CHECK: e = #iree_gpu.lowering_config<{mma_kind = "x", reduction = [0, 4]}>
func.func private @gpu() attributes {e = #iree_gpu.lowering_config<{reduction = [0, 4], mma_kind = "x"}>}
// CHECK: f = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = true>
func.func private @options() attributes {f = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = true>}
// CHECK: g = #config1
func.func private @cpu() attributes {g = #iree_cpu.lowering_config<distribution = [1, 2], vector_common_parallel = [4, [4]]>}
