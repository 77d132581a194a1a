// An encoded tensor on a machine that mesh-opt knows nothing of.

#lhs = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [17, 33, 40]>
util.global private @device = #hal.device.target<"local", [#hal.executable.target<"acme", "acme-binary", {iree.encoding.resolver = #acme.solver<8>}>]> : !hal.device

util.func public @size() -> index {
  %0 = stream.tensor.sizeof on(#hal.device.affinity<@device>) tensor<17x40xf32, #lhs> : index
  util.return %0 : index
}
