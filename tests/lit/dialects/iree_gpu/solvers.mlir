// RUN: mesh-opt %s --verify-roundtrip --specialize-encodings | filecheck %s

// A processor is described at length; its solver looks at the architecture only.

// CHECK-DAG: #encoding = #iree_encoding.layout<[#iree_gpu.gpu_encoding_resolver<configuration = {encoding_info = {innerDimsPos = [1, 0], innerTileSizes = [64, 16], outerDimsPerm = [1, 0]}}>]>
// CHECK-DAG: #encoding1 = #iree_encoding.layout<[#iree_encoding.identity]>
// CHECK-DAG: #executable_target_rocm_hsaco_fb = #hal.executable.target<"rocm", "rocm-hsaco-fb", {abi = "hip", iree.encoding.resolver = #iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp64|fp32, storage = b64|b32, subgroup = shuffle|arithmetic, mma = [<MFMA_F32_16x16x4_F32>, <MFMA_F32_16x16x16_F16>], subgroup_size_choices = [64], simds_per_wgp = 4>, chip = <wgp_count = 304, sku = "mi300x">>}>
// CHECK-DAG: #device_target_hip = #hal.device.target<"hip", [#executable_target_rocm_hsaco_fb]> : !hal.device
// CHECK: #device_target_hip
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@known>) tensor<1024x1024xf32, #encoding>
// CHECK: stream.tensor.sizeof on(#hal.device.affinity<@unknown>) tensor<1024x1024xf32, #encoding1>
util.global private @known = #hal.device.target<"hip", [#hal.executable.target<"rocm", "rocm-hsaco-fb", {abi = "hip", iree.encoding.resolver = #iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp64|fp32, storage = b64|b32, subgroup = shuffle|arithmetic, mma = [<MFMA_F32_16x16x4_F32>, <MFMA_F32_16x16x16_F16>], subgroup_size_choices = [64], simds_per_wgp = 4>, chip = <wgp_count = 304, sku = "mi300x">>}>]> : !hal.device
util.global private @unknown = #hal.device.target<"cuda", [#hal.executable.target<"cuda", "cuda-nvptx-fb", {iree.encoding.resolver = #iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info = #iree_gpu.target<arch = "sm_90">}>]> : !hal.device
#rhs = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [1024, 1024, 1024]>
util.func public @sizes() {
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@known>) tensor<1024x1024xf32, #rhs> : index
  %1 = stream.tensor.sizeof on(#hal.device.affinity<@unknown>) tensor<1024x1024xf32, #rhs> : index
  util.return
}

// CHECK: func.func private @cache(tensor<4xf32, #iree_gpu.gpu_padding_resolver<cache_line_bytes = 128, cache_sets = 4>>)
func.func private @cache(tensor<4xf32, #iree_gpu.gpu_padding_resolver<cache_sets = 4, cache_line_bytes = 128>>)
