// RUN: mesh-opt %s --split-input-file --verify-diagnostics --materialize-encodings

#m = affine_map<(m, n, k) -> (m, k)>
#n = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
#acc = #iree_encoding.encoding<operand_index = 2, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#m, #n, #o]>
stream.executable private @no_target {
  stream.executable.export public @fill
  builtin.module {
    func.func @fill(%a: f32) -> tensor<8x8xf32> {
      %0 = tensor.empty() : tensor<8x8xf32, #acc>
      // expected-error @+2 {{in a kernel that no device runs}}
      // expected-note @+1 {{data-tile makes kernels for devices; a function may also name its target itself, as 'hal.executable.target'}}
      %1 = linalg.fill ins(%a : f32) outs(%0 : tensor<8x8xf32, #acc>) -> tensor<8x8xf32, #acc>
      %2 = iree_encoding.unset_encoding %1 : tensor<8x8xf32, #acc> -> tensor<8x8xf32>
      return %2 : tensor<8x8xf32>
    }
  }
}
