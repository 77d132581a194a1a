// builtin.module(iree-dispatch-creation-hoist-encoding-ops)
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @scatter_in_region(%o: tensor<8x40xf32>, %i: tensor<3xi32>, %u: tensor<3x40xf32>) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32, #e>) {
    %1 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i : tensor<3x40xf32>, tensor<3xi32>) outs(%o : tensor<8x40xf32>) {
    ^bb0(%a: f32, %b: f32):
      iree_linalg_ext.yield %a : f32
    } -> tensor<8x40xf32>
    %2 = iree_encoding.set_encoding %1 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
    flow.return %2 : tensor<8x40xf32, #e>
  }
  util.return %0 : tensor<8x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [?, 40, 33]>
util.func public @unset_then_sort(%o: tensor<?x40xf32, #e>, %m: index) -> tensor<?x40xf32> {
  %0 = flow.dispatch.region -> (tensor<?x40xf32>{%m}) {
    %1 = iree_encoding.unset_encoding %o encoding_dims{%m} : tensor<?x40xf32, #e> -> tensor<?x40xf32>{%m}
    %2 = iree_linalg_ext.sort dimension(1) outs(%1 : tensor<?x40xf32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.cmpf ogt, %a, %b : f32
      iree_linalg_ext.yield %c : i1
    } -> tensor<?x40xf32>
    flow.return %2 : tensor<?x40xf32>
  }
  util.return %0 : tensor<?x40xf32>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 40, 10]>
#id = affine_map<(d0, d1) -> (d0, d1)>
util.func public @extend_behind_gather(%i: tensor<10xi32>, %s: tensor<100x40xbf16>) -> tensor<10x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<10x40xf32, #e>) {
    %e = tensor.empty() : tensor<10x40xbf16>
    %f = tensor.empty() : tensor<10x40xf32>
    %g = iree_linalg_ext.gather dimension_map = [0] ins(%s, %i : tensor<100x40xbf16>, tensor<10xi32>) outs(%e : tensor<10x40xbf16>) -> tensor<10x40xbf16>
    %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%g : tensor<10x40xbf16>) outs(%f : tensor<10x40xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      linalg.yield %w : f32
    } -> tensor<10x40xf32>
    %x = iree_encoding.set_encoding %h : tensor<10x40xf32> -> tensor<10x40xf32, #e>
    flow.return %x : tensor<10x40xf32, #e>
  }
  util.return %0 : tensor<10x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @scatter(%o: tensor<8x40xf32>, %i: tensor<3xi32>, %u: tensor<3x40xf32>) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32>) {
    %1 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i : tensor<3x40xf32>, tensor<3xi32>) outs(%o : tensor<8x40xf32>) {
    ^bb0(%a: f32, %b: f32):
      iree_linalg_ext.yield %a : f32
    } -> tensor<8x40xf32>
    flow.return %1 : tensor<8x40xf32>
  }
  %2 = iree_encoding.set_encoding %0 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
  util.return %2 : tensor<8x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @sort(%o: tensor<8x40xf32>) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32>) {
    %1 = iree_linalg_ext.sort dimension(1) outs(%o : tensor<8x40xf32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.cmpf ogt, %a, %b : f32
      iree_linalg_ext.yield %c : i1
    } -> tensor<8x40xf32>
    flow.return %1 : tensor<8x40xf32>
  }
  %2 = iree_encoding.set_encoding %0 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
  util.return %2 : tensor<8x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @gather(%s: tensor<100x40xf32>, %i: tensor<8xi32>) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32>) {
    %e = tensor.empty() : tensor<8x40xf32>
    %1 = iree_linalg_ext.gather dimension_map = [0] ins(%s, %i : tensor<100x40xf32>, tensor<8xi32>) outs(%e : tensor<8x40xf32>) -> tensor<8x40xf32>
    flow.return %1 : tensor<8x40xf32>
  }
  %2 = iree_encoding.set_encoding %0 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
  util.return %2 : tensor<8x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @attention(%q: tensor<1x8x4xf32>, %k: tensor<1x6x4xf32>, %v: tensor<1x6x40xf32>, %s: f32) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32>) {
    %e = tensor.empty() : tensor<1x8x40xf32>
    %0 = iree_linalg_ext.attention <indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]> ins(%q, %k, %v, %s : tensor<1x8x4xf32>, tensor<1x6x4xf32>, tensor<1x6x40xf32>, f32) outs(%e : tensor<1x8x40xf32>) {
    ^bb0(%a: f32):
      iree_linalg_ext.yield %a : f32
    } -> tensor<1x8x40xf32>
    %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<1x8x40xf32> into tensor<8x40xf32>
    flow.return %1 : tensor<8x40xf32>
  }
  %2 = iree_encoding.set_encoding %0 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
  util.return %2 : tensor<8x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @scan(%x: tensor<8x40xf32>, %a: tensor<8xf32>) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32>) {
    %e = tensor.empty() : tensor<8x40xf32>
    %1:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<8x40xf32>) outs(%e, %a : tensor<8x40xf32>, tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32):
      %c = arith.addf %p, %q : f32
      iree_linalg_ext.yield %c : f32
    } -> tensor<8x40xf32>, tensor<8xf32>
    flow.return %1#0 : tensor<8x40xf32>
  }
  %2 = iree_encoding.set_encoding %0 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
  util.return %2 : tensor<8x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @custom(%x: tensor<8x40xf32>, %y: tensor<8x40xf32>) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32>) {
    %1 = iree_linalg_ext.custom_op{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = [#iree_linalg_ext.iterator_type<parallel>, #iree_linalg_ext.iterator_type<parallel>]} ins(%x : tensor<8x40xf32>) outs(%y : tensor<8x40xf32>) {
    ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>):
      iree_linalg_ext.yield %a : tensor<?x?xf32>
    } -> tensor<8x40xf32>
    flow.return %1 : tensor<8x40xf32>
  }
  %2 = iree_encoding.set_encoding %0 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
  util.return %2 : tensor<8x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @map_store(%x: tensor<320xf32>, %y: tensor<8x40xf32>) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32>) {
    %1 = iree_linalg_ext.map_store %x into %y {
    ^bb0(%i: index):
      %t = arith.constant true
      %c = arith.constant 40 : index
      %r = arith.divui %i, %c : index
      %s = arith.remui %i, %c : index
      iree_linalg_ext.yield %r, %s, %t : index, index, i1
    } : tensor<320xf32> into tensor<8x40xf32> -> tensor<8x40xf32>
    flow.return %1 : tensor<8x40xf32>
  }
  %2 = iree_encoding.set_encoding %0 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
  util.return %2 : tensor<8x40xf32, #e>
}
// -----
#m0 = affine_map<(m, n, k) -> (m, k)>
#m1 = affine_map<(m, n, k) -> (k, n)>
#m2 = affine_map<(m, n, k) -> (m, n)>
#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [#m0, #m1, #m2], iteration_sizes = [8, 33, 40]>
util.func public @winograd(%x: tensor<8x8x1x2x2x32xf32>, %y: tensor<8x40xf32>) -> tensor<8x40xf32, #e> {
  %0 = flow.dispatch.region -> (tensor<8x40xf32>) {
    %e = tensor.empty() : tensor<1x12x12x32xf32>
    %0 = iree_linalg_ext.winograd.output_transform output_tile_size(6) kernel_size(3) image_dimensions([1, 2]) ins(%x : tensor<8x8x1x2x2x32xf32>) outs(%e : tensor<1x12x12x32xf32>) -> tensor<1x12x12x32xf32>
    %1 = tensor.extract_slice %0[0, 0, 0, 0] [1, 8, 1, 32] [1, 1, 1, 1] : tensor<1x12x12x32xf32> to tensor<8x32xf32>
    %2 = tensor.insert_slice %1 into %y[0, 0] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<8x40xf32>
    flow.return %2 : tensor<8x40xf32>
  }
  %2 = iree_encoding.set_encoding %0 : tensor<8x40xf32> -> tensor<8x40xf32, #e>
  util.return %2 : tensor<8x40xf32, #e>
}
