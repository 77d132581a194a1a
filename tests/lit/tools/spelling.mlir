// RUN: mesh-opt %s | filecheck %s --check-prefix=OLD
// RUN: mesh-opt %s --spelling=today | filecheck %s --check-prefix=TODAY

// The encoding dialects are printed as they were read, or in the spelling that is asked for.

// OLD-DAG: #executable_target_vmvx_bytecode_fb = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {encoding_solver = #iree_cpu.vmvx_encoding_solver<target_configuration = {ukernels = "none"}>}>
// OLD-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// OLD-DAG: #map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
// OLD-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// OLD-DAG: #map3 = affine_map<(d0, d1) -> (d0, d1)>
// OLD-DAG: #device_target_local = #hal.device.target<"local", [#executable_target_vmvx_bytecode_fb]> : !hal.device
// OLD-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], bcast_map = #map3, round_dims_to = array<i64: 32, 32, 32>>
// OLD-DAG: #encoding1 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], targets = [#iree_cpu.vmvx_encoding_solver<>]>
// OLD: #device_target_local
// TODAY-DAG: #executable_target_vmvx_bytecode_fb = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<configuration = {ukernels = "none"}>}>
// TODAY-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// TODAY-DAG: #map1 = affine_map<(d0, d1) -> (d0, d1)>
// TODAY-DAG: #map2 = affine_map<(d0, d1, d2) -> (d2, d1)>
// TODAY-DAG: #map3 = affine_map<(d0, d1, d2) -> (d0, d1)>
// TODAY-DAG: #device_target_local = #hal.device.target<"local", [#executable_target_vmvx_bytecode_fb]> : !hal.device
// TODAY-DAG: #encoding = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map2, #map3]>
// TODAY-DAG: #encoding1 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = {{\[\[}}#map, #map1], #map2, #map3]>
// TODAY-DAG: #encoding2 = #iree_encoding.layout<[#iree_cpu.vmvx_encoding_resolver<configuration = {encoding_attr = #encoding, encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [8, 4], outerDimsPerm = [0, 1]}}>]>
// TODAY: #device_target_local
util.global private @d = #hal.device.target<"local", [#hal.executable.target<"vmvx", "vmvx-bytecode-fb", {encoding_solver = #iree_cpu.vmvx_encoding_solver<target_configuration = {ukernels = "none"}>}>]> : !hal.device

#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], bcast_map = affine_map<(m, k) -> (m, k)>, round_dims_to = array<i64: 32, 32, 32>>

// OLD: !flow.dispatch.tensor<readonly:tensor<?x8xf32, #encoding>>
// OLD: flow.dispatch.workgroup_count_from_slice %n
// OLD: flow.dispatch.workload.ordinal %n, 0 : index
// OLD: flow.dispatch.tensor.load
// OLD: iree_encoding.unset_encoding %{{.*}} : tensor<?x8xf32, #encoding> -> tensor<?x8xf32>
// OLD: flow.dispatch.tensor.store
// TODAY: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x8xf32, #encoding1>>
// TODAY: iree_tensor_ext.dispatch.workgroup_count_from_slice(%n)
// TODAY: iree_tensor_ext.dispatch.workload.ordinal %n, 0 : index
// TODAY: iree_tensor_ext.dispatch.tensor.load
// TODAY: %[[DIM:.*]] = tensor.dim
// TODAY: iree_encoding.unset_encoding %{{.*}} : tensor<?x8xf32, #encoding1> -> tensor<?x8xf32>{%[[DIM]]}
// TODAY: iree_tensor_ext.dispatch.tensor.store
func.func @kernel(%a: !flow.dispatch.tensor<readonly:tensor<?x8xf32, #e>>, %n: index, %o: !flow.dispatch.tensor<writeonly:tensor<?x8xf32>>) {
  %x, %y, %z = flow.dispatch.workgroup_count_from_slice %n
  %0 = flow.dispatch.workload.ordinal %n, 0 : index
  %1 = flow.dispatch.tensor.load %a, offsets = [0, 0], sizes = [%0, 8], strides = [1, 1] : !flow.dispatch.tensor<readonly:tensor<?x8xf32, #e>>{%0} -> tensor<?x8xf32, #e>
  %2 = iree_encoding.unset_encoding %1 : tensor<?x8xf32, #e> -> tensor<?x8xf32>
  flow.dispatch.tensor.store %2, %o, offsets = [0, 0], sizes = [%0, 8], strides = [1, 1] : tensor<?x8xf32> -> !flow.dispatch.tensor<writeonly:tensor<?x8xf32>>{%0}
  return
}

// A resolved layout: today's layout is the one that the solver of 2024 gives.

#settled = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], targets = [#iree_cpu.vmvx_encoding_solver<>]>
// OLD: #encoding1
// TODAY: tensor<8x8xf32, #encoding2
func.func private @settled(tensor<8x8xf32, #settled>)
