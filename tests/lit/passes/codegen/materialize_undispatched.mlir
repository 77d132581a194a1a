// RUN: mesh-opt %s --materialize-encodings | filecheck %s

// A resolved encoding of 2024 names its solver: a kernel that nobody dispatches is lowered for the
// device of what it writes, and what it reads has the layout of its binding.

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#avx512 = #iree_cpu.cpu_encoding_solver<target_configuration = {target_triple = "x86_64-none-elf", cpu_features = "+avx512f"}>
#sse = #iree_cpu.cpu_encoding_solver<target_configuration = {target_triple = "x86_64-none-elf", cpu_features = ""}>
#lhs = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>>
#bound = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>, targets = [#sse]>
#written = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], round_dims_to = array<i64: 32, 32, 32>, targets = [#avx512]>

stream.executable private @ex {
  stream.executable.export public @relay
  builtin.module {
    // CHECK: func.func @relay
    func.func @relay(%a: !stream.binding, %b: !stream.binding) {
      %c0 = arith.constant 0 : index
      // CHECK: !flow.dispatch.tensor<readonly:tensor<4x8x8x1xf32>>
      %0 = stream.binding.subspan %a[%c0] : !stream.binding -> !flow.dispatch.tensor<readonly:tensor<32x8xf32, #bound>>
      // CHECK: !flow.dispatch.tensor<writeonly:tensor<2x8x16x1xf32>>
      %1 = stream.binding.subspan %b[%c0] : !stream.binding -> !flow.dispatch.tensor<writeonly:tensor<32x8xf32, #written>>
      // CHECK: linalg.unpack {{.*}} inner_tiles = [8, 1]
      // CHECK: linalg.pack {{.*}} inner_tiles = [16, 1]
      %2 = flow.dispatch.tensor.load %0, offsets = [0, 0], sizes = [32, 8], strides = [1, 1] : !flow.dispatch.tensor<readonly:tensor<32x8xf32, #bound>> -> tensor<32x8xf32, #lhs>
      // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x8x16x1xf32>)
      %e = tensor.empty() : tensor<32x8xf32, #lhs>
      %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<32x8xf32, #lhs>) outs(%e : tensor<32x8xf32, #lhs>) {
      ^bb0(%x: f32, %o: f32):
        %y = arith.negf %x : f32
        linalg.yield %y : f32
      } -> tensor<32x8xf32, #lhs>
      flow.dispatch.tensor.store %3, %1, offsets = [0, 0], sizes = [32, 8], strides = [1, 1] : tensor<32x8xf32, #lhs> -> !flow.dispatch.tensor<writeonly:tensor<32x8xf32, #written>>
      return
    }
  }
}

// A function of no target, or of one that lays nothing out, stores its tensors in rows.

// CHECK-LABEL: func.func @no_target
// CHECK-SAME: (%x: tensor<32x8xf32>) -> tensor<32x8xf32>
// CHECK-NEXT: return %x
func.func @no_target(%x: tensor<32x8xf32>) -> tensor<32x8xf32, #lhs> {
  %0 = iree_encoding.set_encoding %x : tensor<32x8xf32> -> tensor<32x8xf32, #lhs>
  return %0 : tensor<32x8xf32, #lhs>
}

// CHECK-LABEL: func.func @unsupported
// CHECK-SAME: (%x: tensor<32x8xf32>) -> tensor<32x8xf32>
func.func @unsupported(%x: tensor<32x8xf32>) -> tensor<32x8xf32, #lhs> attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "x", {encoding_solver = #iree_encoding.unsupported_resolver}>} {
  %0 = iree_encoding.set_encoding %x : tensor<32x8xf32> -> tensor<32x8xf32, #lhs>
  return %0 : tensor<32x8xf32, #lhs>
}
