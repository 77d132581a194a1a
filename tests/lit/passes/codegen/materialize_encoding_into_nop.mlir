// RUN: mesh-opt %s --iree-codegen-materialize-encoding-into-nop | filecheck %s

// Encodings go, whatever the target; nothing is packed.

// CHECK-LABEL: func.func @matmul
// CHECK-NOT: linalg.pack
// CHECK: %[[E:.*]] = tensor.empty() : tensor<17x33xf32>
// CHECK: linalg.fill ins({{.*}}) outs(%[[E]]
// CHECK: %[[R:.*]] = linalg.matmul ins(%a, %b : tensor<17x40xf32>, tensor<40x33xf32>)
// CHECK: return %[[R]] : tensor<17x33xf32>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
#e1 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
#e2 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
func.func @matmul(%a: tensor<17x40xf32>, %b: tensor<40x33xf32>) -> tensor<17x33xf32> attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-x-x", cpu_features = "+avx512f", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>} {
  %z = arith.constant 0.0 : f32
  %0 = iree_encoding.set_encoding %a : tensor<17x40xf32> -> tensor<17x40xf32, #e0>
  %1 = iree_encoding.set_encoding %b : tensor<40x33xf32> -> tensor<40x33xf32, #e1>
  %e = tensor.empty() : tensor<17x33xf32, #e2>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<17x33xf32, #e2>) -> tensor<17x33xf32, #e2>
  %m = linalg.matmul ins(%0, %1 : tensor<17x40xf32, #e0>, tensor<40x33xf32, #e1>) outs(%f : tensor<17x33xf32, #e2>) -> tensor<17x33xf32, #e2>
  %u = iree_encoding.unset_encoding %m : tensor<17x33xf32, #e2> -> tensor<17x33xf32>
  return %u : tensor<17x33xf32>
}
