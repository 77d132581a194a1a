// builtin.module(iree-dispatch-creation-hoist-encoding-ops)
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
util.func public @copy_id(%a: tensor<4x4xf32>) -> tensor<4x4xf32, #e0> {
  %r = flow.dispatch.region -> (tensor<4x4xf32, #e0>) {
    %b_i = tensor.empty() : tensor<4x4xf32>
    %b = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xf32>) outs(%b_i : tensor<4x4xf32>) {
    ^bb0(%x: f32, %zq: f32):
      linalg.yield %x : f32
    } -> tensor<4x4xf32>
    %q = iree_encoding.set_encoding %b : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    flow.return %q : tensor<4x4xf32, #e0>
  }
  util.return %r : tensor<4x4xf32, #e0>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#tr2 = affine_map<(d0, d1) -> (d1, d0)>
util.func public @tr_in(%a: tensor<4x4xf32>) -> tensor<4x4xf32, #e0> {
  %r = flow.dispatch.region -> (tensor<4x4xf32, #e0>) {
    %b_i = tensor.empty() : tensor<4x4xf32>
    %b = linalg.generic {indexing_maps = [#tr2, #id2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xf32>) outs(%b_i : tensor<4x4xf32>) {
    ^bb0(%x: f32, %zq: f32):
      linalg.yield %x : f32
    } -> tensor<4x4xf32>
    %q = iree_encoding.set_encoding %b : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    flow.return %q : tensor<4x4xf32, #e0>
  }
  util.return %r : tensor<4x4xf32, #e0>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#tr2 = affine_map<(d0, d1) -> (d1, d0)>
util.func public @ext_tr_in(%a: tensor<4x4xf16>) -> tensor<4x4xf32, #e0> {
  %r = flow.dispatch.region -> (tensor<4x4xf32, #e0>) {
    %b_i = tensor.empty() : tensor<4x4xf32>
    %b = linalg.generic {indexing_maps = [#tr2, #id2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xf16>) outs(%b_i : tensor<4x4xf32>) {
    ^bb0(%x: f16, %zq: f32):
      %w = arith.extf %x : f16 to f32
      linalg.yield %w : f32
    } -> tensor<4x4xf32>
    %q = iree_encoding.set_encoding %b : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    flow.return %q : tensor<4x4xf32, #e0>
  }
  util.return %r : tensor<4x4xf32, #e0>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#tr2 = affine_map<(d0, d1) -> (d1, d0)>
util.func public @bc_tr_out(%a: tensor<4xf32>) -> tensor<4x4xf32, #e0> {
  %r = flow.dispatch.region -> (tensor<4x4xf32, #e0>) {
    %b_i = tensor.empty() : tensor<4x4xf32>
    %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, #tr2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4xf32>) outs(%b_i : tensor<4x4xf32>) {
    ^bb0(%x: f32, %zq: f32):
      linalg.yield %x : f32
    } -> tensor<4x4xf32>
    %q = iree_encoding.set_encoding %b : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    flow.return %q : tensor<4x4xf32, #e0>
  }
  util.return %r : tensor<4x4xf32, #e0>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
util.func public @bc_ext(%a: tensor<4xf16>) -> tensor<4x4xf32, #e0> {
  %r = flow.dispatch.region -> (tensor<4x4xf32, #e0>) {
    %b_i = tensor.empty() : tensor<4x4xf32>
    %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, #id2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4xf16>) outs(%b_i : tensor<4x4xf32>) {
    ^bb0(%x: f16, %zq: f32):
      %w = arith.extf %x : f16 to f32
      linalg.yield %w : f32
    } -> tensor<4x4xf32>
    %q = iree_encoding.set_encoding %b : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    flow.return %q : tensor<4x4xf32, #e0>
  }
  util.return %r : tensor<4x4xf32, #e0>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
util.func public @sitofp(%a: tensor<4x4xi8>) -> tensor<4x4xf32, #e0> {
  %r = flow.dispatch.region -> (tensor<4x4xf32, #e0>) {
    %b_i = tensor.empty() : tensor<4x4xf32>
    %b = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xi8>) outs(%b_i : tensor<4x4xf32>) {
    ^bb0(%x: i8, %zq: f32):
      %w = arith.sitofp %x : i8 to f32
      linalg.yield %w : f32
    } -> tensor<4x4xf32>
    %q = iree_encoding.set_encoding %b : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    flow.return %q : tensor<4x4xf32, #e0>
  }
  util.return %r : tensor<4x4xf32, #e0>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
util.func public @sitofp_same(%a: tensor<4x4xi32>) -> tensor<4x4xf32, #e0> {
  %r = flow.dispatch.region -> (tensor<4x4xf32, #e0>) {
    %b_i = tensor.empty() : tensor<4x4xf32>
    %b = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xi32>) outs(%b_i : tensor<4x4xf32>) {
    ^bb0(%x: i32, %zq: f32):
      %w = arith.sitofp %x : i32 to f32
      linalg.yield %w : f32
    } -> tensor<4x4xf32>
    %q = iree_encoding.set_encoding %b : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    flow.return %q : tensor<4x4xf32, #e0>
  }
  util.return %r : tensor<4x4xf32, #e0>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#e1 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#e2 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#tr2 = affine_map<(d0, d1) -> (d1, d0)>
util.func public @mm_tr(%a: tensor<4x4xf32>, %bb: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = flow.dispatch.region -> (tensor<4x4xf32>) {
    %b_i = tensor.empty() : tensor<4x4xf32>
    %b = linalg.generic {indexing_maps = [#tr2, #id2], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x4xf32>) outs(%b_i : tensor<4x4xf32>) {
    ^bb0(%x: f32, %zq: f32):
      linalg.yield %x : f32
    } -> tensor<4x4xf32>
    %ea = iree_encoding.set_encoding %b : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    %eb = iree_encoding.set_encoding %bb : tensor<4x4xf32> -> tensor<4x4xf32, #e1>
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x4xf32, #e2>
    %ec = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32, #e2>) -> tensor<4x4xf32, #e2>
    %m = linalg.matmul ins(%ea, %eb : tensor<4x4xf32, #e0>, tensor<4x4xf32, #e1>) outs(%ec : tensor<4x4xf32, #e2>) -> tensor<4x4xf32, #e2>
    %q = iree_encoding.unset_encoding %m : tensor<4x4xf32, #e2> -> tensor<4x4xf32>
    flow.return %q : tensor<4x4xf32>
  }
  util.return %r : tensor<4x4xf32>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#e1 = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
#e2 = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
util.func public @nested_mm(%a: tensor<4x4xf32>, %bb: tensor<4x4xf32>, %p: i1) -> tensor<4x4xf32> {
  %r = flow.dispatch.region -> (tensor<4x4xf32>) {
    %q = scf.if %p -> (tensor<4x4xf32>) {
    %ea = iree_encoding.set_encoding %a : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    %eb = iree_encoding.set_encoding %bb : tensor<4x4xf32> -> tensor<4x4xf32, #e1>
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x4xf32, #e2>
    %ec = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32, #e2>) -> tensor<4x4xf32, #e2>
    %m = linalg.matmul ins(%ea, %eb : tensor<4x4xf32, #e0>, tensor<4x4xf32, #e1>) outs(%ec : tensor<4x4xf32, #e2>) -> tensor<4x4xf32, #e2>
    %q1 = iree_encoding.unset_encoding %m : tensor<4x4xf32, #e2> -> tensor<4x4xf32>
    scf.yield %q1 : tensor<4x4xf32>
    } else {
    scf.yield %a : tensor<4x4xf32>
    }
    flow.return %q : tensor<4x4xf32>
  }
  util.return %r : tensor<4x4xf32>
}
// -----
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#e0 = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#map, #map1, #map2], iteration_sizes = [4, 4, 4]>
util.func public @nested_if(%a: tensor<4x4xf32>, %p: i1) -> tensor<4x4xf32, #e0> {
  %r = flow.dispatch.region -> (tensor<4x4xf32, #e0>) {
    %q = scf.if %p -> (tensor<4x4xf32, #e0>) {
    %q1 = iree_encoding.set_encoding %a : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    scf.yield %q1 : tensor<4x4xf32, #e0>
    } else {
    %q1 = iree_encoding.set_encoding %a : tensor<4x4xf32> -> tensor<4x4xf32, #e0>
    scf.yield %q1 : tensor<4x4xf32, #e0>
    }
    flow.return %q : tensor<4x4xf32, #e0>
  }
  util.return %r : tensor<4x4xf32, #e0>
}
