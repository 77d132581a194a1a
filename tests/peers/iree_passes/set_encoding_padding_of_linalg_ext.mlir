// builtin.module(util.func(iree-dispatch-creation-set-encoding{encoding-option=padding}))
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
util.func public @att_padding(%q: tensor<1x128x64xf16>, %k: tensor<1x256x64xf16>, %v: tensor<1x256x2048xf16>, %s: f16, %w: tensor<2048x2048xf16>) -> tensor<128x2048xf32> {
  %0 = flow.dispatch.region -> (tensor<128x2048xf16>) {
    %e = tensor.empty() : tensor<1x128x2048xf16>
    %0 = iree_linalg_ext.attention <indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]> ins(%q, %k, %v, %s : tensor<1x128x64xf16>, tensor<1x256x64xf16>, tensor<1x256x2048xf16>, f16) outs(%e : tensor<1x128x2048xf16>) {
    ^bb0(%a: f32):
      iree_linalg_ext.yield %a : f32
    } -> tensor<1x128x2048xf16>
    %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<1x128x2048xf16> into tensor<128x2048xf16>
    flow.return %1 : tensor<128x2048xf16>
  }
  %r = flow.dispatch.region -> (tensor<128x2048xf32>) {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<128x2048xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    %m = linalg.matmul {iree.opt.data_tiling} ins(%0, %w : tensor<128x2048xf16>, tensor<2048x2048xf16>) outs(%f : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    flow.return %m : tensor<128x2048xf32>
  }
  util.return %r : tensor<128x2048xf32>
}
// -----
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
util.func public @gather_padding(%q: tensor<1x128x64xf16>, %k: tensor<1x256x64xf16>, %v: tensor<1x256x2048xf16>, %s: f16, %w: tensor<2048x2048xf16>) -> tensor<128x2048xf32> {
  %0 = flow.dispatch.region -> (tensor<128x2048xf16>) {
    %e = tensor.empty() : tensor<128x2048xf16>
    %i = tensor.empty() : tensor<128xi32>
    %1 = iree_linalg_ext.gather dimension_map = [0] ins(%w, %i : tensor<2048x2048xf16>, tensor<128xi32>) outs(%e : tensor<128x2048xf16>) -> tensor<128x2048xf16>
    flow.return %1 : tensor<128x2048xf16>
  }
  %r = flow.dispatch.region -> (tensor<128x2048xf32>) {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<128x2048xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    %m = linalg.matmul {iree.opt.data_tiling} ins(%0, %w : tensor<128x2048xf16>, tensor<2048x2048xf16>) outs(%f : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    flow.return %m : tensor<128x2048xf32>
  }
  util.return %r : tensor<128x2048xf32>
}
// -----
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
util.func public @scatter_padding(%q: tensor<1x128x64xf16>, %k: tensor<1x256x64xf16>, %v: tensor<1x256x2048xf16>, %s: f16, %w: tensor<2048x2048xf16>) -> tensor<128x2048xf32> {
  %0 = flow.dispatch.region -> (tensor<128x2048xf16>) {
    %e = tensor.empty() : tensor<128x2048xf16>
    %i = tensor.empty() : tensor<2048xi32>
    %1 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false) ins(%w, %i : tensor<2048x2048xf16>, tensor<2048xi32>) outs(%e : tensor<128x2048xf16>) {
    ^bb0(%a: f16, %b: f16):
      iree_linalg_ext.yield %a : f16
    } -> tensor<128x2048xf16>
    flow.return %1 : tensor<128x2048xf16>
  }
  %r = flow.dispatch.region -> (tensor<128x2048xf32>) {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<128x2048xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    %m = linalg.matmul {iree.opt.data_tiling} ins(%0, %w : tensor<128x2048xf16>, tensor<2048x2048xf16>) outs(%f : tensor<128x2048xf32>) -> tensor<128x2048xf32>
    flow.return %m : tensor<128x2048xf32>
  }
  util.return %r : tensor<128x2048xf32>
}
