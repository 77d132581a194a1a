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
// -----
util.func public @matmul_f32_f32_f32_17_33_40(%a: tensor<17x40xf32>, %b: tensor<40x33xf32>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xf32>, tensor<40x33xf32>) outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @matmul_f32_f32_f32_1_33_40(%a: tensor<1x40xf32>, %b: tensor<40x33xf32>, %c: tensor<1x33xf32>) -> tensor<1x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xf32>, tensor<40x33xf32>) outs(%c : tensor<1x33xf32>) -> tensor<1x33xf32>
  util.return %r : tensor<1x33xf32>
}
// -----
util.func public @matmul_f64_f64_f64_17_33_40(%a: tensor<17x40xf64>, %b: tensor<40x33xf64>, %c: tensor<17x33xf64>) -> tensor<17x33xf64> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xf64>, tensor<40x33xf64>) outs(%c : tensor<17x33xf64>) -> tensor<17x33xf64>
  util.return %r : tensor<17x33xf64>
}
// -----
util.func public @matmul_f64_f64_f64_1_33_40(%a: tensor<1x40xf64>, %b: tensor<40x33xf64>, %c: tensor<1x33xf64>) -> tensor<1x33xf64> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xf64>, tensor<40x33xf64>) outs(%c : tensor<1x33xf64>) -> tensor<1x33xf64>
  util.return %r : tensor<1x33xf64>
}
// -----
util.func public @matmul_f16_f16_f32_17_33_40(%a: tensor<17x40xf16>, %b: tensor<40x33xf16>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xf16>, tensor<40x33xf16>) outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @matmul_f16_f16_f32_1_33_40(%a: tensor<1x40xf16>, %b: tensor<40x33xf16>, %c: tensor<1x33xf32>) -> tensor<1x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xf16>, tensor<40x33xf16>) outs(%c : tensor<1x33xf32>) -> tensor<1x33xf32>
  util.return %r : tensor<1x33xf32>
}
// -----
util.func public @matmul_bf16_bf16_f32_17_33_40(%a: tensor<17x40xbf16>, %b: tensor<40x33xbf16>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xbf16>, tensor<40x33xbf16>) outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @matmul_bf16_bf16_f32_1_33_40(%a: tensor<1x40xbf16>, %b: tensor<40x33xbf16>, %c: tensor<1x33xf32>) -> tensor<1x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xbf16>, tensor<40x33xbf16>) outs(%c : tensor<1x33xf32>) -> tensor<1x33xf32>
  util.return %r : tensor<1x33xf32>
}
// -----
util.func public @matmul_f16_f16_f16_17_33_40(%a: tensor<17x40xf16>, %b: tensor<40x33xf16>, %c: tensor<17x33xf16>) -> tensor<17x33xf16> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xf16>, tensor<40x33xf16>) outs(%c : tensor<17x33xf16>) -> tensor<17x33xf16>
  util.return %r : tensor<17x33xf16>
}
// -----
util.func public @matmul_f16_f16_f16_1_33_40(%a: tensor<1x40xf16>, %b: tensor<40x33xf16>, %c: tensor<1x33xf16>) -> tensor<1x33xf16> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xf16>, tensor<40x33xf16>) outs(%c : tensor<1x33xf16>) -> tensor<1x33xf16>
  util.return %r : tensor<1x33xf16>
}
// -----
util.func public @matmul_i8_i8_i32_17_33_40(%a: tensor<17x40xi8>, %b: tensor<40x33xi8>, %c: tensor<17x33xi32>) -> tensor<17x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xi8>, tensor<40x33xi8>) outs(%c : tensor<17x33xi32>) -> tensor<17x33xi32>
  util.return %r : tensor<17x33xi32>
}
// -----
util.func public @matmul_i8_i8_i32_1_33_40(%a: tensor<1x40xi8>, %b: tensor<40x33xi8>, %c: tensor<1x33xi32>) -> tensor<1x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xi8>, tensor<40x33xi8>) outs(%c : tensor<1x33xi32>) -> tensor<1x33xi32>
  util.return %r : tensor<1x33xi32>
}
// -----
util.func public @matmul_i4_i4_i32_17_33_40(%a: tensor<17x40xi4>, %b: tensor<40x33xi4>, %c: tensor<17x33xi32>) -> tensor<17x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xi4>, tensor<40x33xi4>) outs(%c : tensor<17x33xi32>) -> tensor<17x33xi32>
  util.return %r : tensor<17x33xi32>
}
// -----
util.func public @matmul_i4_i4_i32_1_33_40(%a: tensor<1x40xi4>, %b: tensor<40x33xi4>, %c: tensor<1x33xi32>) -> tensor<1x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xi4>, tensor<40x33xi4>) outs(%c : tensor<1x33xi32>) -> tensor<1x33xi32>
  util.return %r : tensor<1x33xi32>
}
// -----
util.func public @matmul_i8_i4_i32_17_33_40(%a: tensor<17x40xi8>, %b: tensor<40x33xi4>, %c: tensor<17x33xi32>) -> tensor<17x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xi8>, tensor<40x33xi4>) outs(%c : tensor<17x33xi32>) -> tensor<17x33xi32>
  util.return %r : tensor<17x33xi32>
}
// -----
util.func public @matmul_i8_i4_i32_1_33_40(%a: tensor<1x40xi8>, %b: tensor<40x33xi4>, %c: tensor<1x33xi32>) -> tensor<1x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xi8>, tensor<40x33xi4>) outs(%c : tensor<1x33xi32>) -> tensor<1x33xi32>
  util.return %r : tensor<1x33xi32>
}
// -----
util.func public @matmul_i16_i16_i32_17_33_40(%a: tensor<17x40xi16>, %b: tensor<40x33xi16>, %c: tensor<17x33xi32>) -> tensor<17x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xi16>, tensor<40x33xi16>) outs(%c : tensor<17x33xi32>) -> tensor<17x33xi32>
  util.return %r : tensor<17x33xi32>
}
// -----
util.func public @matmul_i16_i16_i32_1_33_40(%a: tensor<1x40xi16>, %b: tensor<40x33xi16>, %c: tensor<1x33xi32>) -> tensor<1x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xi16>, tensor<40x33xi16>) outs(%c : tensor<1x33xi32>) -> tensor<1x33xi32>
  util.return %r : tensor<1x33xi32>
}
// -----
util.func public @matmul_i1_i1_i32_17_33_40(%a: tensor<17x40xi1>, %b: tensor<40x33xi1>, %c: tensor<17x33xi32>) -> tensor<17x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xi1>, tensor<40x33xi1>) outs(%c : tensor<17x33xi32>) -> tensor<17x33xi32>
  util.return %r : tensor<17x33xi32>
}
// -----
util.func public @matmul_i1_i1_i32_1_33_40(%a: tensor<1x40xi1>, %b: tensor<40x33xi1>, %c: tensor<1x33xi32>) -> tensor<1x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xi1>, tensor<40x33xi1>) outs(%c : tensor<1x33xi32>) -> tensor<1x33xi32>
  util.return %r : tensor<1x33xi32>
}
// -----
util.func public @matmul_i32_i32_i32_17_33_40(%a: tensor<17x40xi32>, %b: tensor<40x33xi32>, %c: tensor<17x33xi32>) -> tensor<17x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xi32>, tensor<40x33xi32>) outs(%c : tensor<17x33xi32>) -> tensor<17x33xi32>
  util.return %r : tensor<17x33xi32>
}
// -----
util.func public @matmul_i32_i32_i32_1_33_40(%a: tensor<1x40xi32>, %b: tensor<40x33xi32>, %c: tensor<1x33xi32>) -> tensor<1x33xi32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xi32>, tensor<40x33xi32>) outs(%c : tensor<1x33xi32>) -> tensor<1x33xi32>
  util.return %r : tensor<1x33xi32>
}
// -----
util.func public @matmul_i64_i64_i64_17_33_40(%a: tensor<17x40xi64>, %b: tensor<40x33xi64>, %c: tensor<17x33xi64>) -> tensor<17x33xi64> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xi64>, tensor<40x33xi64>) outs(%c : tensor<17x33xi64>) -> tensor<17x33xi64>
  util.return %r : tensor<17x33xi64>
}
// -----
util.func public @matmul_i64_i64_i64_1_33_40(%a: tensor<1x40xi64>, %b: tensor<40x33xi64>, %c: tensor<1x33xi64>) -> tensor<1x33xi64> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xi64>, tensor<40x33xi64>) outs(%c : tensor<1x33xi64>) -> tensor<1x33xi64>
  util.return %r : tensor<1x33xi64>
}
// -----
util.func public @matmul_f8E4M3FNUZ_f8E4M3FNUZ_f32_17_33_40(%a: tensor<17x40xf8E4M3FNUZ>, %b: tensor<40x33xf8E4M3FNUZ>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xf8E4M3FNUZ>, tensor<40x33xf8E4M3FNUZ>) outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @matmul_f8E4M3FNUZ_f8E4M3FNUZ_f32_1_33_40(%a: tensor<1x40xf8E4M3FNUZ>, %b: tensor<40x33xf8E4M3FNUZ>, %c: tensor<1x33xf32>) -> tensor<1x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xf8E4M3FNUZ>, tensor<40x33xf8E4M3FNUZ>) outs(%c : tensor<1x33xf32>) -> tensor<1x33xf32>
  util.return %r : tensor<1x33xf32>
}
// -----
util.func public @matmul_f4E2M1FN_f4E2M1FN_f32_17_33_40(%a: tensor<17x40xf4E2M1FN>, %b: tensor<40x33xf4E2M1FN>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xf4E2M1FN>, tensor<40x33xf4E2M1FN>) outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @matmul_f4E2M1FN_f4E2M1FN_f32_1_33_40(%a: tensor<1x40xf4E2M1FN>, %b: tensor<40x33xf4E2M1FN>, %c: tensor<1x33xf32>) -> tensor<1x33xf32> {
  %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b : tensor<1x40xf4E2M1FN>, tensor<40x33xf4E2M1FN>) outs(%c : tensor<1x33xf32>) -> tensor<1x33xf32>
  util.return %r : tensor<1x33xf32>
}
// -----
util.func public @matvec_tensor_17x40xf32__tensor_17xf32_(%a: tensor<17x40xf32>, %b: tensor<40xf32>, %c: tensor<17xf32>) -> tensor<17xf32> {
  %r = linalg.matvec {iree.opt.data_tiling} ins(%a, %b : tensor<17x40xf32>, tensor<40xf32>) outs(%c : tensor<17xf32>) -> tensor<17xf32>
  util.return %r : tensor<17xf32>
}
// -----
util.func public @vecmat_tensor_40xf32__tensor_33xf32_(%a: tensor<40xf32>, %b: tensor<40x33xf32>, %c: tensor<33xf32>) -> tensor<33xf32> {
  %r = linalg.vecmat {iree.opt.data_tiling} ins(%a, %b : tensor<40xf32>, tensor<40x33xf32>) outs(%c : tensor<33xf32>) -> tensor<33xf32>
  util.return %r : tensor<33xf32>
}
// -----
util.func public @batch_matvec_tensor_3x17x40xf32__tensor_3x17xf32_(%a: tensor<3x17x40xf32>, %b: tensor<3x40xf32>, %c: tensor<3x17xf32>) -> tensor<3x17xf32> {
  %r = linalg.batch_matvec {iree.opt.data_tiling} ins(%a, %b : tensor<3x17x40xf32>, tensor<3x40xf32>) outs(%c : tensor<3x17xf32>) -> tensor<3x17xf32>
  util.return %r : tensor<3x17xf32>
}
// -----
util.func public @batch_vecmat_tensor_3x40xf32__tensor_3x33xf32_(%a: tensor<3x40xf32>, %b: tensor<3x40x33xf32>, %c: tensor<3x33xf32>) -> tensor<3x33xf32> {
  %r = linalg.batch_vecmat {iree.opt.data_tiling} ins(%a, %b : tensor<3x40xf32>, tensor<3x40x33xf32>) outs(%c : tensor<3x33xf32>) -> tensor<3x33xf32>
  util.return %r : tensor<3x33xf32>
}
// -----
util.func public @batch_reduce_matmul_tensor_3x17x40xf32__tensor_17x33xf32_(%a: tensor<3x17x40xf32>, %b: tensor<3x40x33xf32>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.batch_reduce_matmul {iree.opt.data_tiling} ins(%a, %b : tensor<3x17x40xf32>, tensor<3x40x33xf32>) outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @dot_tensor_40xi8__tensor_i32_(%a: tensor<40xi8>, %b: tensor<40xi8>, %c: tensor<i32>) -> tensor<i32> {
  %r = linalg.dot {iree.opt.data_tiling} ins(%a, %b : tensor<40xi8>, tensor<40xi8>) outs(%c : tensor<i32>) -> tensor<i32>
  util.return %r : tensor<i32>
}
// -----
util.func public @tb(%a: tensor<17x40xf32>, %b: tensor<33x40xf32>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(m,n,k) -> (m,k)>, affine_map<(m,n,k) -> (n,k)>, affine_map<(m,n,k) -> (m,n)>] ins(%a, %b : tensor<17x40xf32>, tensor<33x40xf32>) outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @tb_gen(%a: tensor<17x40xf32>, %b: tensor<33x40xf32>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m,n,k) -> (m,k)>, affine_map<(m,n,k) -> (n,k)>, affine_map<(m,n,k) -> (m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<17x40xf32>, tensor<33x40xf32>) outs(%c : tensor<17x33xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @ta(%a: tensor<40x17xf32>, %b: tensor<40x33xf32>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(m,n,k) -> (k,m)>, affine_map<(m,n,k) -> (k,n)>, affine_map<(m,n,k) -> (m,n)>] ins(%a, %b : tensor<40x17xf32>, tensor<40x33xf32>) outs(%c : tensor<17x33xf32>) -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @ta_gen(%a: tensor<40x17xf32>, %b: tensor<40x33xf32>, %c: tensor<17x33xf32>) -> tensor<17x33xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m,n,k) -> (k,m)>, affine_map<(m,n,k) -> (k,n)>, affine_map<(m,n,k) -> (m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<40x17xf32>, tensor<40x33xf32>) outs(%c : tensor<17x33xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<17x33xf32>
  util.return %r : tensor<17x33xf32>
}
// -----
util.func public @tc(%a: tensor<17x40xf32>, %b: tensor<40x33xf32>, %c: tensor<33x17xf32>) -> tensor<33x17xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(m,n,k) -> (m,k)>, affine_map<(m,n,k) -> (k,n)>, affine_map<(m,n,k) -> (n,m)>] ins(%a, %b : tensor<17x40xf32>, tensor<40x33xf32>) outs(%c : tensor<33x17xf32>) -> tensor<33x17xf32>
  util.return %r : tensor<33x17xf32>
}
// -----
util.func public @tc_gen(%a: tensor<17x40xf32>, %b: tensor<40x33xf32>, %c: tensor<33x17xf32>) -> tensor<33x17xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m,n,k) -> (m,k)>, affine_map<(m,n,k) -> (k,n)>, affine_map<(m,n,k) -> (n,m)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<17x40xf32>, tensor<40x33xf32>) outs(%c : tensor<33x17xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<33x17xf32>
  util.return %r : tensor<33x17xf32>
}
// -----
util.func public @bb(%a: tensor<3x17x40xf32>, %b: tensor<40x33xf32>, %c: tensor<3x17x33xf32>) -> tensor<3x17x33xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(b,m,n,k) -> (b,m,k)>, affine_map<(b,m,n,k) -> (k,n)>, affine_map<(b,m,n,k) -> (b,m,n)>] ins(%a, %b : tensor<3x17x40xf32>, tensor<40x33xf32>) outs(%c : tensor<3x17x33xf32>) -> tensor<3x17x33xf32>
  util.return %r : tensor<3x17x33xf32>
}
// -----
util.func public @bb_gen(%a: tensor<3x17x40xf32>, %b: tensor<40x33xf32>, %c: tensor<3x17x33xf32>) -> tensor<3x17x33xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(b,m,n,k) -> (b,m,k)>, affine_map<(b,m,n,k) -> (k,n)>, affine_map<(b,m,n,k) -> (b,m,n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<3x17x40xf32>, tensor<40x33xf32>) outs(%c : tensor<3x17x33xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x17x33xf32>
  util.return %r : tensor<3x17x33xf32>
}
// -----
util.func public @ba(%a: tensor<17x40xf32>, %b: tensor<3x40x33xf32>, %c: tensor<3x17x33xf32>) -> tensor<3x17x33xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(b,m,n,k) -> (m,k)>, affine_map<(b,m,n,k) -> (b,k,n)>, affine_map<(b,m,n,k) -> (b,m,n)>] ins(%a, %b : tensor<17x40xf32>, tensor<3x40x33xf32>) outs(%c : tensor<3x17x33xf32>) -> tensor<3x17x33xf32>
  util.return %r : tensor<3x17x33xf32>
}
// -----
util.func public @ba_gen(%a: tensor<17x40xf32>, %b: tensor<3x40x33xf32>, %c: tensor<3x17x33xf32>) -> tensor<3x17x33xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(b,m,n,k) -> (m,k)>, affine_map<(b,m,n,k) -> (b,k,n)>, affine_map<(b,m,n,k) -> (b,m,n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<17x40xf32>, tensor<3x40x33xf32>) outs(%c : tensor<3x17x33xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x17x33xf32>
  util.return %r : tensor<3x17x33xf32>
}
// -----
util.func public @scaled(%a: tensor<16x2x32xf4E2M1FN>, %b: tensor<8x2x32xf4E2M1FN>, %s: tensor<16x2xf8E8M0FNU>, %t: tensor<8x2xf8E8M0FNU>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m,n,k,b) -> (m,k,b)>, affine_map<(m,n,k,b) -> (n,k,b)>, affine_map<(m,n,k,b) -> (m,k)>, affine_map<(m,n,k,b) -> (n,k)>, affine_map<(m,n,k,b) -> (m,n)>], iterator_types = ["parallel","parallel","reduction","reduction"]} ins(%a, %b, %s, %t : tensor<16x2x32xf4E2M1FN>, tensor<8x2x32xf4E2M1FN>, tensor<16x2xf8E8M0FNU>, tensor<8x2xf8E8M0FNU>) outs(%c : tensor<16x8xf32>) attrs = {iree.opt.data_tiling} {
  ^bb0(%x: f4E2M1FN, %y: f4E2M1FN, %u: f8E8M0FNU, %v: f8E8M0FNU, %z: f32):
    %4 = arith.scaling_extf %x, %u : f4E2M1FN, f8E8M0FNU to f32
    %5 = arith.scaling_extf %y, %v : f4E2M1FN, f8E8M0FNU to f32
    %6 = arith.mulf %4, %5 : f32
    %7 = arith.addf %z, %6 : f32
    linalg.yield %7 : f32
  } -> tensor<16x8xf32>
  util.return %r : tensor<16x8xf32>
}
