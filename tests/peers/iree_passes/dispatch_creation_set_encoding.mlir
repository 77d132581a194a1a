// builtin.module(util.func(iree-dispatch-creation-set-encoding))
util.func public @f(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  util.return %r : tensor<4x6xf32>
}
// -----
util.func public @f(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  util.return %r : tensor<4x6xf32>
}
// -----
util.func public @f(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %z = arith.constant 0.0 : f32
  %c1 = linalg.fill ins(%z : f32) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%c1 : tensor<4x6xf32>) -> tensor<4x6xf32>
  util.return %r : tensor<4x6xf32>
}
// -----
util.func public @dot(%a: tensor<5xf32>, %b: tensor<5xf32>, %c: tensor<f32>) -> tensor<f32> {
  %r = linalg.dot {iree.opt.data_tiling} ins(%a, %b : tensor<5xf32>, tensor<5xf32>) outs(%c : tensor<f32>) -> tensor<f32>
  util.return %r : tensor<f32>
}
// -----
util.func public @multik(%a: tensor<4x5x7xf32>, %b: tensor<5x7x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.generic {iree.opt.data_tiling, indexing_maps = [affine_map<(m,n,k,l) -> (m,k,l)>, affine_map<(m,n,k,l) -> (k,l,n)>, affine_map<(m,n,k,l) -> (m,n)>], iterator_types = ["parallel","parallel","reduction","reduction"]} ins(%a, %b : tensor<4x5x7xf32>, tensor<5x7x6xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x6xf32>
  util.return %r : tensor<4x6xf32>
}
// -----
util.func public @conv(%a: tensor<1x16x16x4xf32>, %b: tensor<3x3x4x16xf32>, %c: tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {iree.opt.data_tiling} ins(%a, %b : tensor<1x16x16x4xf32>, tensor<3x3x4x16xf32>) outs(%c : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  util.return %r : tensor<1x14x14x16xf32>
}
// -----
#e = #iree_encoding.testing<>
util.func public @fillonly(%z: f32, %n: index) -> tensor<?x5xf32, #e> {
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x5xf32>) -> tensor<?x5xf32>
  %r = iree_encoding.set_encoding %f : tensor<?x5xf32> -> tensor<?x5xf32, #e>
  util.return %r : tensor<?x5xf32, #e>
}
// -----
util.func public @complexm(%a: tensor<4x5xcomplex<f32>>, %b: tensor<5x6xcomplex<f32>>, %c: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<4x5xcomplex<f32>>, tensor<5x6xcomplex<f32>>) outs(%c : tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
  util.return %r : tensor<4x6xcomplex<f32>>
}
// -----
util.func public @twice(%a: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r2 = linalg.matmul {iree.opt.data_tiling} ins(%a, %r : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  util.return %r2 : tensor<4x4xf32>
}
// -----
util.func public @convdil(%a: tensor<1x16x16x4xf32>, %b: tensor<3x3x4x16xf32>, %c: tensor<1x12x12x16xf32>) -> tensor<1x12x12x16xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {iree.opt.data_tiling, dilations = dense<2> : tensor<2xi64>} ins(%a, %b : tensor<1x16x16x4xf32>, tensor<3x3x4x16xf32>) outs(%c : tensor<1x12x12x16xf32>) -> tensor<1x12x12x16xf32>
  util.return %r : tensor<1x12x12x16xf32>
}
// -----
util.func public @dw(%a: tensor<1x16x16x4xf32>, %b: tensor<3x3x4xf32>, %c: tensor<1x14x14x4xf32>) -> tensor<1x14x14x4xf32> {
  %r = linalg.depthwise_conv_2d_nhwc_hwc {iree.opt.data_tiling} ins(%a, %b : tensor<1x16x16x4xf32>, tensor<3x3x4xf32>) outs(%c : tensor<1x14x14x4xf32>) -> tensor<1x14x14x4xf32>
  util.return %r : tensor<1x14x14x4xf32>
}
// -----
util.func public @pool(%a: tensor<1x16x16x4xf32>, %b: tensor<3x3xf32>, %c: tensor<1x14x14x4xf32>) -> tensor<1x14x14x4xf32> {
  %r = linalg.pooling_nhwc_sum {iree.opt.data_tiling} ins(%a, %b : tensor<1x16x16x4xf32>, tensor<3x3xf32>) outs(%c : tensor<1x14x14x4xf32>) -> tensor<1x14x14x4xf32>
  util.return %r : tensor<1x14x14x4xf32>
}
// -----
util.func public @i1(%a: tensor<4x5xi1>, %b: tensor<5x6xi1>, %c: tensor<4x6xi1>) -> tensor<4x6xi1> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<4x5xi1>, tensor<5x6xi1>) outs(%c : tensor<4x6xi1>) -> tensor<4x6xi1>
  util.return %r : tensor<4x6xi1>
}
// -----
util.func public @sum3(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.generic {iree.opt.data_tiling, indexing_maps = [affine_map<(m,n,k) -> (m,k)>, affine_map<(m,n,k) -> (k,n)>, affine_map<(m,n,k) -> (m,n)>], iterator_types = ["parallel","parallel","reduction"]} ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %1 = arith.mulf %y, %x : f32
    %3 = arith.truncf %1 : f32 to f16
    %4 = arith.extf %3 : f16 to f32
    %2 = arith.addf %4, %s : f32
    linalg.yield %2 : f32
  } -> tensor<4x6xf32>
  util.return %r : tensor<4x6xf32>
}
// -----
util.func public @poolmax(%a: tensor<1x16x16x4xi8>, %b: tensor<3x3xi32>, %c: tensor<1x14x14x4xi8>) -> tensor<1x14x14x4xi8> {
  %r = linalg.pooling_nhwc_max_unsigned {iree.opt.data_tiling} ins(%a, %b : tensor<1x16x16x4xi8>, tensor<3x3xi32>) outs(%c : tensor<1x14x14x4xi8>) -> tensor<1x14x14x4xi8>
  util.return %r : tensor<1x14x14x4xi8>
}
// -----
util.func public @convgen(%a: tensor<1x16x4xf32>, %b: tensor<3x4x16xf32>, %c: tensor<1x14x16xf32>) -> tensor<1x14x16xf32> {
  %r = linalg.generic {iree.opt.data_tiling, indexing_maps = [affine_map<(n,w,f,k,c) -> (n,w+k,c)>, affine_map<(n,w,f,k,c) -> (k,c,f)>, affine_map<(n,w,f,k,c) -> (n,w,f)>], iterator_types = ["parallel","parallel","parallel","reduction","reduction"]} ins(%a, %b : tensor<1x16x4xf32>, tensor<3x4x16xf32>) outs(%c : tensor<1x14x16xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %1, %s : f32
    linalg.yield %2 : f32
  } -> tensor<1x14x16xf32>
  util.return %r : tensor<1x14x16xf32>
}
// -----
util.func public @ui(%a: tensor<4x5xi8>, %b: tensor<5x6xi8>, %c: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %r = linalg.matmul {iree.opt.data_tiling, cast = #linalg.type_fn<cast_unsigned>} ins(%a, %b : tensor<4x5xi8>, tensor<5x6xi8>) outs(%c : tensor<4x6xi32>) -> tensor<4x6xi32>
  util.return %r : tensor<4x6xi32>
}
// -----
util.func public @neg(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.generic {iree.opt.data_tiling, indexing_maps = [affine_map<(m,n,k) -> (m,k)>, affine_map<(m,n,k) -> (k,n)>, affine_map<(m,n,k) -> (m,n)>], iterator_types = ["parallel","parallel","reduction"]} ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %0 = math.exp %x : f32
    %1 = arith.mulf %y, %0 : f32
    %2 = arith.addf %1, %s : f32
    linalg.yield %2 : f32
  } -> tensor<4x6xf32>
  util.return %r : tensor<4x6xf32>
}
// -----
util.func public @convclamp(%a: tensor<1x3x16x16xf32>, %b: tensor<8x3x3x3xf32>, %c: tensor<1x8x14x14xf32>) -> tensor<1x8x14x14xf32> {
  %r = linalg.conv_2d_nchw_fchw {iree.opt.data_tiling} ins(%a, %b : tensor<1x3x16x16xf32>, tensor<8x3x3x3xf32>) outs(%c : tensor<1x8x14x14xf32>) -> tensor<1x8x14x14xf32>
  util.return %r : tensor<1x8x14x14xf32>
}
// -----
util.func public @grouped(%a: tensor<1x2x3x16x16xf32>, %b: tensor<2x8x3x3x3xf32>, %c: tensor<1x2x8x14x14xf32>) -> tensor<1x2x8x14x14xf32> {
  %r = linalg.conv_2d_ngchw_gfchw {iree.opt.data_tiling} ins(%a, %b : tensor<1x2x3x16x16xf32>, tensor<2x8x3x3x3xf32>) outs(%c : tensor<1x2x8x14x14xf32>) -> tensor<1x2x8x14x14xf32>
  util.return %r : tensor<1x2x8x14x14xf32>
}
