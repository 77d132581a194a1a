// RUN: mesh-opt %s --iree-codegen-materialize-device-encoding --canonicalize --cse | filecheck %s
// RUN: mesh-run %s --pass-pipeline=iree-codegen-materialize-device-encoding --random-inputs=0 --check | filecheck %s --check-prefix=RUNS

// A function that names a target with microkernels asks for tiles when it runs.

// RUNS: CHECK @matmul agrees with the reference
// CHECK-DAG: affine_map<()[s0] -> (17 ceildiv s0)>
// CHECK-DAG: affine_map<()[s0, s1] -> (s0 ceildiv s1)>
// CHECK-LABEL: func.func @matmul
// CHECK: %[[L:.*]]:2 = iree_codegen.query_tile_sizes tensor<17x?xf32, #[[E:.*]]> -> index, index
// CHECK: affine.apply #{{.*}}()[%[[L]]#0]
// CHECK: %[[A:.*]] = linalg.pack %a padding_value({{.*}}) outer_dims_perm = [0, 1] inner_dims_pos = [0, 1] inner_tiles = [%[[L]]#0, %[[L]]#1] into %{{.*}} : tensor<17x?xf32> -> tensor<?x?x?x?xf32>
// CHECK: %[[R:.*]]:2 = iree_codegen.query_tile_sizes tensor<?x33xf32, #{{.*}}>
// CHECK: %[[B:.*]] = linalg.pack %b {{.*}}inner_dims_pos = [1, 0] inner_tiles = [%[[R]]#0, %[[R]]#1]
// CHECK: %[[C:.*]]:2 = iree_codegen.query_tile_sizes tensor<17x33xf32, #{{.*}}>
// CHECK: %[[P:.*]] = linalg.mmt4d ins(%[[A]], %[[B]] :
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<?x?x?x?xf32>)
// CHECK: math.exp
// CHECK: linalg.unpack %[[X]] {{.*}}inner_tiles = [%[[C]]#0, %[[C]]#1] into %{{.*}} : tensor<?x?x?x?xf32> -> tensor<17x33xf32>
#a = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]>
#b = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]>
#c = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]>
func.func @matmul(%a: tensor<17x?xf32>, %b: tensor<?x33xf32>) -> tensor<17x33xf32> attributes {hal.executable.target = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {ukernels = "all", iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}>} {
  %z = arith.constant 0.0 : f32
  %0 = iree_encoding.set_encoding %a : tensor<17x?xf32> -> tensor<17x?xf32, #a>
  %1 = iree_encoding.set_encoding %b : tensor<?x33xf32> -> tensor<?x33xf32, #b>
  %e = tensor.empty() : tensor<17x33xf32, #c>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<17x33xf32, #c>) -> tensor<17x33xf32, #c>
  %m = linalg.matmul ins(%0, %1 : tensor<17x?xf32, #a>, tensor<?x33xf32, #b>) outs(%f : tensor<17x33xf32, #c>) -> tensor<17x33xf32, #c>
  %x = linalg.exp ins(%m : tensor<17x33xf32, #c>) outs(%e : tensor<17x33xf32, #c>) -> tensor<17x33xf32, #c>
  %u = iree_encoding.unset_encoding %x : tensor<17x33xf32, #c> -> tensor<17x33xf32>
  return %u : tensor<17x33xf32>
}
