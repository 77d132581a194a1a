// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Operations that carry their body: short where the body is one operation, in full otherwise.

// CHECK-DAG: #map = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #map1 = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #map2 = affine_map<(d0) -> ()>
// CHECK-DAG: #map3 = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @generic
// CHECK-NEXT: %0 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%in: f32, %out: f32):
// CHECK-NEXT: %a = arith.addf %out, %in : f32
// CHECK-NEXT: linalg.yield %a : f32
// CHECK-NEXT: } -> tensor<4xf32>
// CHECK-NEXT: %1:2 = linalg.generic {doc = "two results", indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"], library_call = "twice"} outs(%x, %i : tensor<4x6xf32>, tensor<4x6xi32>) attrs = {note = "kept"} {
// CHECK-NEXT: ^bb0(%p: f32, %q: i32):
// CHECK-NEXT: linalg.yield %p, %q : f32, i32
// CHECK-NEXT: } -> (tensor<4x6xf32>, tensor<4x6xi32>)
// CHECK-NEXT: %2 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel"]} ins(%z : f32) outs(%v : tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%in_1: f32, %out_1: f32):
// CHECK-NEXT: %n = linalg.index 0 : index
// CHECK-NEXT: %m = tensor.extract %table[%n] : tensor<16xf32>
// CHECK-NEXT: linalg.yield %m : f32
// CHECK-NEXT: } -> tensor<4xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @generic(%x: tensor<4x6xf32>, %v: tensor<4xf32>, %i: tensor<4x6xi32>, %table: tensor<16xf32>, %idx: tensor<4xindex>, %z: f32) {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<4xf32>
  %1, %2 = linalg.generic {doc = "two results", indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], library_call = "twice"} outs(%x, %i : tensor<4x6xf32>, tensor<4x6xi32>) attrs = {note = "kept"} {
  ^bb0(%p: f32, %q: i32):
    linalg.yield %p, %q : f32, i32
  } -> (tensor<4x6xf32>, tensor<4x6xi32>)
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%z : f32) outs(%v : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = linalg.index 0 : index
    %m = tensor.extract %table[%n] : tensor<16xf32>
    linalg.yield %m : f32
  } -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @map
// CHECK-NEXT: %0 = linalg.map { arith.addf } ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>)
// CHECK-NEXT: %1 = linalg.map { arith.addf {fastmath = #arith.fastmath<fast>} } ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) {note = "kept"}
// CHECK-NEXT: %2 = linalg.map { arith.addi {overflowFlags = #arith.overflow<none>} } ins(%i, %i : tensor<4x6xi32>, tensor<4x6xi32>) outs(%i : tensor<4x6xi32>)
// CHECK-NEXT: %3 = linalg.map { math.absf } ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>)
// CHECK-NEXT: %4 = linalg.map ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) (%a: f32, %b: f32, %init: f32) {
// CHECK-NEXT: %s = arith.subf %b, %a : f32
// CHECK-NEXT: linalg.yield %s : f32
// CHECK-NEXT: }
// CHECK-NEXT: %5 = linalg.map outs(%x : tensor<4x6xf32>) (%init_1: f32) {
// CHECK-NEXT: %c = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: linalg.yield %c : f32
// CHECK-NEXT: }
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @map(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>) {
  %0 = linalg.map { arith.addf } ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>)
  %1 = linalg.map { arith.addf {fastmath = #arith.fastmath<fast>} } ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) {note = "kept"}
  %2 = linalg.map { arith.addi } ins(%i, %i : tensor<4x6xi32>, tensor<4x6xi32>) outs(%i : tensor<4x6xi32>)
  %3 = linalg.map { math.absf } ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>)
  %4 = linalg.map ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) (%a: f32, %b: f32, %init: f32) {
    %s = arith.subf %b, %a : f32
    linalg.yield %s : f32
  }
  %5 = linalg.map outs(%x : tensor<4x6xf32>) (%init: f32) {
    %c = arith.constant 1.0 : f32
    linalg.yield %c : f32
  }
  return
}

// CHECK-LABEL: func.func @reduce
// CHECK-NEXT: %0 = linalg.reduce { arith.addf } ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
// CHECK-NEXT: %1 = linalg.reduce ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1] (%in: f32, %init: f32) {
// CHECK-NEXT: %s = arith.addf %in, %init : f32
// CHECK-NEXT: linalg.yield %s : f32
// CHECK-NEXT: }
// CHECK-NEXT: %2:2 = linalg.reduce ins(%x, %i : tensor<4x6xf32>, tensor<4x6xi32>) outs(%v, %vi : tensor<4xf32>, tensor<4xi32>) dimensions = [1] {note = "kept"} (%a: f32, %b: i32, %c: f32, %d: i32) {
// CHECK-NEXT: %s_1 = arith.addf %a, %c : f32
// CHECK-NEXT: %t = arith.addi %b, %d : i32
// CHECK-NEXT: linalg.yield %s_1, %t : f32, i32
// CHECK-NEXT: }
// CHECK-NEXT: linalg.reduce { arith.maximumf } ins(%m : memref<4x6xf32>) outs(%n : memref<4xf32>) dimensions = [1]
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @reduce(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %v: tensor<4xf32>, %vi: tensor<4xi32>, %m: memref<4x6xf32>, %n: memref<4xf32>) {
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  %1 = linalg.reduce ins(%x : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1] (%in: f32, %init: f32) {
    %s = arith.addf %in, %init : f32
    linalg.yield %s : f32
  }
  %2, %3 = linalg.reduce ins(%x, %i : tensor<4x6xf32>, tensor<4x6xi32>) outs(%v, %vi : tensor<4xf32>, tensor<4xi32>) dimensions = [1] {note = "kept"} (%a: f32, %b: i32, %c: f32, %d: i32) {
    %s = arith.addf %a, %c : f32
    %t = arith.addi %b, %d : i32
    linalg.yield %s, %t : f32, i32
  }
  linalg.reduce { arith.maximumf } ins(%m : memref<4x6xf32>) outs(%n : memref<4xf32>) dimensions = [1]
  return
}

// CHECK-LABEL: func.func @relayout
// CHECK-NEXT: %0 = linalg.broadcast ins(%v : tensor<4xf32>) outs(%x : tensor<4x6xf32>) dimensions = [1]
// CHECK-NEXT: %1 = linalg.transpose ins(%x : tensor<4x6xf32>) outs(%t : tensor<6x4xf32>) permutation = [1, 0]
// CHECK-NEXT: %2 = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %3 = linalg.pack %x padding_value(%z : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 4] into %r : tensor<4x6xf32> -> tensor<1x1x8x4xf32>
// CHECK-NEXT: %4 = linalg.pack %d padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [%n, 8] into %q : tensor<?x?xf32> -> tensor<?x?x?x8xf32>
// CHECK-NEXT: %5 = linalg.unpack %r outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 4] into %x : tensor<1x1x8x4xf32> -> tensor<4x6xf32>
// CHECK-NEXT: %6 = linalg.unpack %q inner_dims_pos = [0, 1] inner_tiles = [%n, 8] into %d : tensor<?x?x?x8xf32> -> tensor<?x?xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @relayout(%x: tensor<4x6xf32>, %t: tensor<6x4xf32>, %v: tensor<4xf32>, %r: tensor<1x1x8x4xf32>, %d: tensor<?x?xf32>, %q: tensor<?x?x?x8xf32>, %n: index, %z: f32) {
  %0 = linalg.broadcast ins(%v : tensor<4xf32>) outs(%x : tensor<4x6xf32>) dimensions = [1]
  %1 = linalg.transpose ins(%x : tensor<4x6xf32>) outs(%t : tensor<6x4xf32>) permutation = [1, 0]
  %2 = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%x : tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = linalg.pack %x padding_value(%z : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 4] into %r : tensor<4x6xf32> -> tensor<1x1x8x4xf32>
  %4 = linalg.pack %d padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [%n, 8] into %q : tensor<?x?xf32> -> tensor<?x?x?x8xf32>
  %5 = linalg.unpack %r outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 4] into %x : tensor<1x1x8x4xf32> -> tensor<4x6xf32>
  %6 = linalg.unpack %q inner_dims_pos = [0, 1] inner_tiles = [%n, 8] into %d : tensor<?x?x?x8xf32> -> tensor<?x?xf32>
  return
}
