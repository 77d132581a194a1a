// builtin.module(util.func(iree-dispatch-creation-set-encoding))
util.func public @nochan(%a0: tensor<8xf32>, %a1: tensor<5x6xf32>, %a2: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m + k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<8xf32>, tensor<5x6xf32>) outs(%a2 : tensor<4x6xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x0: f32, %x1: f32, %x2: f32):
    %m = arith.mulf %x0, %x1 : f32
    %s = arith.addf %x2, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  util.return %r : tensor<4x6xf32>
}
// -----
util.func public @depthwise(%a0: tensor<1x16x16x8xf32>, %a1: tensor<3x3x8xf32>, %a2: tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, kh, kw) -> (n, h + kh, w + kw, c)>, affine_map<(n, h, w, c, kh, kw) -> (kh, kw, c)>, affine_map<(n, h, w, c, kh, kw) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a0, %a1 : tensor<1x16x16x8xf32>, tensor<3x3x8xf32>) outs(%a2 : tensor<1x14x14x8xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x0: f32, %x1: f32, %x2: f32):
    %m = arith.mulf %x0, %x1 : f32
    %s = arith.addf %x2, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x8xf32>
  util.return %r : tensor<1x14x14x8xf32>
}
// -----
util.func public @depthmult(%a0: tensor<1x16x16x8xf32>, %a1: tensor<3x3x8x2xf32>, %a2: tensor<1x14x14x8x2xf32>) -> tensor<1x14x14x8x2xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, m, kh, kw) -> (n, h + kh, w + kw, c)>, affine_map<(n, h, w, c, m, kh, kw) -> (kh, kw, c, m)>, affine_map<(n, h, w, c, m, kh, kw) -> (n, h, w, c, m)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a0, %a1 : tensor<1x16x16x8xf32>, tensor<3x3x8x2xf32>) outs(%a2 : tensor<1x14x14x8x2xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x0: f32, %x1: f32, %x2: f32):
    %m = arith.mulf %x0, %x1 : f32
    %s = arith.addf %x2, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x8x2xf32>
  util.return %r : tensor<1x14x14x8x2xf32>
}
// -----
util.func public @strided_dilated(%a0: tensor<1x17x17x8xf32>, %a1: tensor<3x3x8x16xf32>, %a2: tensor<1x7x7x16xf32>) -> tensor<1x7x7x16xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, kh, kw, c) -> (n, h * 2 + kh * 2, w * 2 + kw * 2, c)>, affine_map<(n, h, w, f, kh, kw, c) -> (kh, kw, c, f)>, affine_map<(n, h, w, f, kh, kw, c) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a0, %a1 : tensor<1x17x17x8xf32>, tensor<3x3x8x16xf32>) outs(%a2 : tensor<1x7x7x16xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x0: f32, %x1: f32, %x2: f32):
    %m = arith.mulf %x0, %x1 : f32
    %s = arith.addf %x2, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x7x7x16xf32>
  util.return %r : tensor<1x7x7x16xf32>
}
// -----
util.func public @grouped(%a0: tensor<1x5x3x7x7xf32>, %a1: tensor<5x6x3x3x3xf32>, %a2: tensor<1x5x6x5x5xf32>) -> tensor<1x5x6x5x5xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(n, g, f, h, w, c, kh, kw) -> (n, g, c, h + kh, w + kw)>, affine_map<(n, g, f, h, w, c, kh, kw) -> (g, f, c, kh, kw)>, affine_map<(n, g, f, h, w, c, kh, kw) -> (n, g, f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a0, %a1 : tensor<1x5x3x7x7xf32>, tensor<5x6x3x3x3xf32>) outs(%a2 : tensor<1x5x6x5x5xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x0: f32, %x1: f32, %x2: f32):
    %m = arith.mulf %x0, %x1 : f32
    %s = arith.addf %x2, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x5x6x5x5xf32>
  util.return %r : tensor<1x5x6x5x5xf32>
}
// -----
util.func public @c1d(%a0: tensor<16xf32>, %a1: tensor<3xf32>, %a2: tensor<14xf32>) -> tensor<14xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(w, k) -> (w + k)>, affine_map<(w, k) -> (k)>, affine_map<(w, k) -> (w)>], iterator_types = ["parallel", "reduction"]} ins(%a0, %a1 : tensor<16xf32>, tensor<3xf32>) outs(%a2 : tensor<14xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x0: f32, %x1: f32, %x2: f32):
    %m = arith.mulf %x0, %x1 : f32
    %s = arith.addf %x2, %m : f32
    linalg.yield %s : f32
  } -> tensor<14xf32>
  util.return %r : tensor<14xf32>
}
// -----
util.func public @pool_max(%a0: tensor<1x16x16x8xf32>, %a1: tensor<3x3xf32>, %a2: tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, kh, kw) -> (n, h + kh, w + kw, c)>, affine_map<(n, h, w, c, kh, kw) -> (kh, kw)>, affine_map<(n, h, w, c, kh, kw) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a0, %a1 : tensor<1x16x16x8xf32>, tensor<3x3xf32>) outs(%a2 : tensor<1x14x14x8xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x0: f32, %x1: f32, %x2: f32):
    %s = arith.maximumf %x2, %x0 : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x8xf32>
  util.return %r : tensor<1x14x14x8xf32>
}
// -----
util.func public @conv_ext(%a0: tensor<1x17x17x8xi8>, %a1: tensor<3x3x8x16xi8>, %a2: tensor<1x13x13x16xi32>) -> tensor<1x13x13x16xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, kh, kw, c) -> (n, h + kh * 2, w + kw * 2, c)>, affine_map<(n, h, w, f, kh, kw, c) -> (kh, kw, c, f)>, affine_map<(n, h, w, f, kh, kw, c) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a0, %a1 : tensor<1x17x17x8xi8>, tensor<3x3x8x16xi8>) outs(%a2 : tensor<1x13x13x16xi32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x0: i8, %x1: i8, %x2: i32):
    %e = arith.extsi %x0 : i8 to i32
    %g = arith.extui %x1 : i8 to i32
    %m = arith.muli %e, %g : i32
    %s = arith.addi %x2, %m : i32
    linalg.yield %s : i32
  } -> tensor<1x13x13x16xi32>
  util.return %r : tensor<1x13x13x16xi32>
}
