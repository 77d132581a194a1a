// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Named operations print as they were written, with the maps and conversions that they need not say left out.

// CHECK-DAG: #map = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #map3 = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-DAG: #map4 = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #map5 = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #map6 = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @contractions
// CHECK-NEXT: %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = linalg.batch_matmul ins(%ab, %bb : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%cb : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %2 = linalg.batch_reduce_matmul ins(%ab, %bb : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %3 = linalg.matvec ins(%a, %v : tensor<4x8xf32>, tensor<8xf32>) outs(%w : tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %4 = linalg.vecmat ins(%w, %a : tensor<4xf32>, tensor<4x8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %5 = linalg.batch_matvec ins(%ab, %vb : tensor<2x4x8xf32>, tensor<2x8xf32>) outs(%wb : tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %6 = linalg.batch_vecmat ins(%vb, %bb : tensor<2x8xf32>, tensor<2x8x6xf32>) outs(%ub : tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %7 = linalg.dot ins(%v, %v : tensor<8xf32>, tensor<8xf32>) outs(%s : tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %8 = linalg.matmul {note = "kept"} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @contractions(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>, %ab: tensor<2x4x8xf32>, %bb: tensor<2x8x6xf32>, %cb: tensor<2x4x6xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %vb: tensor<2x8xf32>, %wb: tensor<2x4xf32>, %ub: tensor<2x6xf32>, %s: tensor<f32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = linalg.batch_matmul ins(%ab, %bb : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%cb : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = linalg.batch_reduce_matmul ins(%ab, %bb : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = linalg.matvec ins(%a, %v : tensor<4x8xf32>, tensor<8xf32>) outs(%w : tensor<4xf32>) -> tensor<4xf32>
  %4 = linalg.vecmat ins(%w, %a : tensor<4xf32>, tensor<4x8xf32>) outs(%v : tensor<8xf32>) -> tensor<8xf32>
  %5 = linalg.batch_matvec ins(%ab, %vb : tensor<2x4x8xf32>, tensor<2x8xf32>) outs(%wb : tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = linalg.batch_vecmat ins(%vb, %bb : tensor<2x8xf32>, tensor<2x8x6xf32>) outs(%ub : tensor<2x6xf32>) -> tensor<2x6xf32>
  %7 = linalg.dot ins(%v, %v : tensor<8xf32>, tensor<8xf32>) outs(%s : tensor<f32>) -> tensor<f32>
  %8 = linalg.matmul {note = "kept"} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @tiled
// CHECK-NEXT: %0 = linalg.mmt4d ins(%a, %b : tensor<2x3x8x1xf32>, tensor<4x3x8x1xf32>) outs(%c : tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
// CHECK-NEXT: %1 = linalg.batch_mmt4d ins(%ab, %bb : tensor<5x2x3x8x1xi8>, tensor<5x4x3x8x1xi8>) outs(%cb : tensor<5x2x4x8x8xi32>) -> tensor<5x2x4x8x8xi32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @tiled(%a: tensor<2x3x8x1xf32>, %b: tensor<4x3x8x1xf32>, %c: tensor<2x4x8x8xf32>, %ab: tensor<5x2x3x8x1xi8>, %bb: tensor<5x4x3x8x1xi8>, %cb: tensor<5x2x4x8x8xi32>) {
  %0 = linalg.mmt4d ins(%a, %b : tensor<2x3x8x1xf32>, tensor<4x3x8x1xf32>) outs(%c : tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %1 = linalg.batch_mmt4d ins(%ab, %bb : tensor<5x2x3x8x1xi8>, tensor<5x4x3x8x1xi8>) outs(%cb : tensor<5x2x4x8x8xi32>) -> tensor<5x2x4x8x8xi32>
  return
}

// CHECK-LABEL: func.func @maps
// CHECK-NEXT: %0 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%a, %bt : tensor<4x8xf32>, tensor<6x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = linalg.matmul indexing_maps = [#map3, #map1, #map2] ins(%v, %bt : tensor<8xf32>, tensor<6x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %2 = linalg.matmul indexing_maps = [#map, #map1, #map2] {cast = #linalg.type_fn<cast_unsigned>} ins(%i, %it : tensor<4x8xi8>, tensor<6x8xi8>) outs(%ci : tensor<4x6xi32>) -> tensor<4x6xi32>
// CHECK-NEXT: %3 = linalg.contract indexing_maps = [#map, #map1, #map2] ins(%a, %bt : tensor<4x8xf32>, tensor<6x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %4 = linalg.matmul ins(%a, %a2 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @maps(%a: tensor<4x8xf32>, %a2: tensor<8x6xf32>, %bt: tensor<6x8xf32>, %v: tensor<8xf32>, %c: tensor<4x6xf32>, %i: tensor<4x8xi8>, %it: tensor<6x8xi8>, %ci: tensor<4x6xi32>) {
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %bt : tensor<4x8xf32>, tensor<6x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%v, %bt : tensor<8xf32>, tensor<6x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] {cast = #linalg.type_fn<cast_unsigned>} ins(%i, %it : tensor<4x8xi8>, tensor<6x8xi8>) outs(%ci : tensor<4x6xi32>) -> tensor<4x6xi32>
  %3 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %bt : tensor<4x8xf32>, tensor<6x8xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %a2 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @elementwise
// CHECK-NEXT: %0 = linalg.fill ins(%z : f32) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %1 = linalg.copy ins(%h : tensor<4x6xf16>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %2 = linalg.exp ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %3 = linalg.add ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %4 = linalg.div_unsigned ins(%i, %i : tensor<4x6xi32>, tensor<4x6xi32>) outs(%i : tensor<4x6xi32>) -> tensor<4x6xi32>
// CHECK-NEXT: %5 = linalg.select ins(%b, %x, %x : tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %6 = linalg.elementwise kind=#linalg.elementwise_kind<tanh> ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %7 = linalg.elementwise kind=#linalg.elementwise_kind<mul> indexing_maps = [#map4, #map5, #map6] ins(%t, %v : tensor<6x4xf32>, tensor<6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %8 = linalg.elementwise kind=#linalg.elementwise_kind<max_signed> ins(%i, %i : tensor<4x6xi32>, tensor<4x6xi32>) outs(%i : tensor<4x6xi32>) -> tensor<4x6xi32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @elementwise(%x: tensor<4x6xf32>, %t: tensor<6x4xf32>, %v: tensor<6xf32>, %b: tensor<4x6xi1>, %i: tensor<4x6xi32>, %h: tensor<4x6xf16>, %z: f32) {
  %0 = linalg.fill ins(%z : f32) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = linalg.copy ins(%h : tensor<4x6xf16>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = linalg.exp ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = linalg.add ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = linalg.div_unsigned ins(%i, %i : tensor<4x6xi32>, tensor<4x6xi32>) outs(%i : tensor<4x6xi32>) -> tensor<4x6xi32>
  %5 = linalg.select ins(%b, %x, %x : tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
  %6 = linalg.elementwise kind=#linalg.elementwise_kind<tanh> ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = linalg.elementwise kind=#linalg.elementwise_kind<mul> indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] ins(%t, %v : tensor<6x4xf32>, tensor<6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = linalg.elementwise <max_signed> ins(%i, %i : tensor<4x6xi32>, tensor<4x6xi32>) outs(%i : tensor<4x6xi32>) -> tensor<4x6xi32>
  return
}

// CHECK-LABEL: func.func @windows
// CHECK-NEXT: %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<1x10x10x3xf32>, tensor<3x3x3x4xf32>) outs(%o : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
// CHECK-NEXT: %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<1x10x10x3xf32>, tensor<3x3x3x4xf32>) outs(%o8 : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
// CHECK-NEXT: %2 = linalg.conv_2d_nhwc_hwcf_q {strides = dense<1> : vector<2xi64>} ins(%q, %kq, %z, %z : tensor<1x10x10x3xi8>, tensor<3x3x3x4xi8>, i32, i32) outs(%oq : tensor<1x8x8x4xi32>) -> tensor<1x8x8x4xi32>
// CHECK-NEXT: %3 = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %dk : tensor<1x10x10x3xf32>, tensor<3x3x3xf32>) outs(%od : tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
// CHECK-NEXT: %4 = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x10x10x3xf32>, tensor<2x2xf32>) outs(%op : tensor<1x5x5x3xf32>) -> tensor<1x5x5x3xf32>
// CHECK-NEXT: %5 = linalg.conv_1d ins(%r, %rk : tensor<12xf32>, tensor<3xf32>) outs(%ro : tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @windows(%x: tensor<1x10x10x3xf32>, %k: tensor<3x3x3x4xf32>, %o: tensor<1x4x4x4xf32>, %o8: tensor<1x8x8x4xf32>, %q: tensor<1x10x10x3xi8>, %kq: tensor<3x3x3x4xi8>, %oq: tensor<1x8x8x4xi32>, %z: i32, %dk: tensor<3x3x3xf32>, %od: tensor<1x8x8x3xf32>, %w: tensor<2x2xf32>, %op: tensor<1x5x5x3xf32>, %r: tensor<12xf32>, %rk: tensor<3xf32>, %ro: tensor<10xf32>) {
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<1x10x10x3xf32>, tensor<3x3x3x4xf32>) outs(%o : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<1x10x10x3xf32>, tensor<3x3x3x4xf32>) outs(%o8 : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %2 = linalg.conv_2d_nhwc_hwcf_q {strides = dense<1> : vector<2xi64>} ins(%q, %kq, %z, %z : tensor<1x10x10x3xi8>, tensor<3x3x3x4xi8>, i32, i32) outs(%oq : tensor<1x8x8x4xi32>) -> tensor<1x8x8x4xi32>
  %3 = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %dk : tensor<1x10x10x3xf32>, tensor<3x3x3xf32>) outs(%od : tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %4 = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x10x10x3xf32>, tensor<2x2xf32>) outs(%op : tensor<1x5x5x3xf32>) -> tensor<1x5x5x3xf32>
  %5 = linalg.conv_1d ins(%r, %rk : tensor<12xf32>, tensor<3xf32>) outs(%ro : tensor<10xf32>) -> tensor<10xf32>
  return
}

// CHECK-LABEL: func.func @buffers
// CHECK-NEXT: linalg.fill ins(%z : f32) outs(%c : memref<4x6xf32>)
// CHECK-NEXT: linalg.matmul ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>)
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @buffers(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %z: f32) {
  linalg.fill ins(%z : f32) outs(%c : memref<4x6xf32>)
  linalg.matmul ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>)
  return
}
