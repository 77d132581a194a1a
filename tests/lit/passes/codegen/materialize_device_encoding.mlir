// RUN: mesh-opt %s --iree-codegen-materialize-device-encoding --split-input-file | filecheck %s
// RUN: mesh-opt %s --materialize-encodings --split-input-file | filecheck %s

#target = #hal.executable.target<"llvm-cpu", "x", {
  target_triple = "x86_64-none-elf", cpu_features = "+avx512f",
  iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#lhs = #iree_encoding.encoding<operand_index = 0, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [17, 33, 40]>
#rhs = #iree_encoding.encoding<operand_index = 1, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [17, 33, 40]>
#acc = #iree_encoding.encoding<operand_index = 2, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [17, 33, 40]>

// CHECK-DAG: #map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #map1 = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: %[[A:.*]]: tensor<17x40xf32>, %[[B:.*]]: tensor<40x33xf32>
// CHECK: %[[L:.*]] = linalg.pack %[[A]] padding_value(%{{.*}} : f32) outer_dims_perm = [0, 1] inner_dims_pos = [0, 1] inner_tiles = [16, 1] into %{{.*}} : tensor<17x40xf32> -> tensor<2x40x16x1xf32>
// CHECK: %[[R:.*]] = linalg.pack %[[B]] padding_value(%{{.*}} : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 1] into %{{.*}} : tensor<40x33xf32> -> tensor<3x40x16x1xf32>
// CHECK: %[[F:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<2x3x16x16xf32>)
// CHECK: %[[P:.*]] = linalg.mmt4d ins(%[[L]], %[[R]] : tensor<2x40x16x1xf32>, tensor<3x40x16x1xf32>) outs(%[[F]] : tensor<2x3x16x16xf32>)
// CHECK: %[[U:.*]] = linalg.unpack %[[P]] {{.*}}inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %{{.*}} : tensor<2x3x16x16xf32> -> tensor<17x33xf32>
// CHECK: return %[[U]]
func.func @matmul(%a: tensor<17x40xf32>, %b: tensor<40x33xf32>) -> tensor<17x33xf32>
    attributes {hal.executable.target = #target} {
  %zero = arith.constant 0.0 : f32
  %0 = iree_encoding.set_encoding %a : tensor<17x40xf32> -> tensor<17x40xf32, #lhs>
  %1 = iree_encoding.set_encoding %b : tensor<40x33xf32> -> tensor<40x33xf32, #rhs>
  %2 = tensor.empty() : tensor<17x33xf32, #acc>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<17x33xf32, #acc>) -> tensor<17x33xf32, #acc>
  %4 = linalg.matmul ins(%0, %1 : tensor<17x40xf32, #lhs>, tensor<40x33xf32, #rhs>)
    outs(%3 : tensor<17x33xf32, #acc>) -> tensor<17x33xf32, #acc>
  %5 = iree_encoding.unset_encoding %4 : tensor<17x33xf32, #acc> -> tensor<17x33xf32>
  return %5 : tensor<17x33xf32>
}

// Elementwise operations work on tiles, a row that is the same for all rows is cut like them.
// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME: %[[A:.*]]: tensor<17x33xf32>, %[[ROW:.*]]: tensor<33xf32>
// CHECK-DAG: %[[P:.*]] = linalg.pack %[[A]]
// CHECK-DAG: %[[Q:.*]] = linalg.pack %[[ROW]] padding_value({{.*}}) {{.*}}inner_dims_pos = [0] inner_tiles = [16] into %{{.*}} : tensor<33xf32> -> tensor<3x16xf32>
// CHECK: linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%[[P]], %[[Q]] :
// CHECK: linalg.unpack
func.func @elementwise(%a: tensor<17x33xf32>, %row: tensor<33xf32>) -> tensor<17x33xf32>
    attributes {hal.executable.target = #target} {
  %0 = iree_encoding.set_encoding %a : tensor<17x33xf32> -> tensor<17x33xf32, #acc>
  %1 = tensor.empty() : tensor<17x33xf32, #acc>
  %2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%0, %row : tensor<17x33xf32, #acc>, tensor<33xf32>) outs(%1 : tensor<17x33xf32, #acc>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
  } -> tensor<17x33xf32, #acc>
  %3 = iree_encoding.unset_encoding %2 : tensor<17x33xf32, #acc> -> tensor<17x33xf32>
  return %3 : tensor<17x33xf32>
}

// The index of an element is that of its tile times the size of tiles, plus its own.
// CHECK-LABEL: func.func @indexed(
// CHECK: linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%{{.*}} : tensor<2x3x16x16xindex>)
// CHECK: %[[TILE:.*]] = linalg.index 1 : index
// CHECK: %[[INSIDE:.*]] = linalg.index 3 : index
// CHECK: %[[C16:.*]] = arith.constant 16 : index
// CHECK: %[[START:.*]] = arith.muli %[[TILE]], %[[C16]] : index
// CHECK: %[[COLUMN:.*]] = arith.addi %[[START]], %[[INSIDE]] : index
// CHECK: linalg.yield %[[COLUMN]] : index
func.func @indexed() -> tensor<17x33xindex, #acc> attributes {hal.executable.target = #target} {
  %0 = tensor.empty() : tensor<17x33xindex, #acc>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%0 : tensor<17x33xindex, #acc>) {
    ^bb0(%x: index):
      %j = linalg.index 1 : index
      linalg.yield %j : index
  } -> tensor<17x33xindex, #acc>
  return %1 : tensor<17x33xindex, #acc>
}

// Encoded and decoded at once: nothing is left of it.
// CHECK-LABEL: func.func @round_trip(
// CHECK-SAME: %[[A:.*]]: tensor<17x40xf32>
// CHECK-NEXT: return %[[A]]
func.func @round_trip(%a: tensor<17x40xf32>) -> tensor<17x40xf32>
    attributes {hal.executable.target = #target} {
  %0 = iree_encoding.set_encoding %a : tensor<17x40xf32> -> tensor<17x40xf32, #lhs>
  %1 = iree_encoding.unset_encoding %0 : tensor<17x40xf32, #lhs> -> tensor<17x40xf32>
  return %1 : tensor<17x40xf32>
}

// -----

// A narrow result is the transposed product: the factors change places.
#target = #hal.executable.target<"llvm-cpu", "x", {
  target_triple = "x86_64-none-elf", cpu_features = "+avx512f",
  iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#lhs = #iree_encoding.encoding<operand_index = 0, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [17, 3, 40]>
#rhs = #iree_encoding.encoding<operand_index = 1, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [17, 3, 40]>
#acc = #iree_encoding.encoding<operand_index = 2, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [17, 3, 40]>

// CHECK-LABEL: func.func @narrow(
// CHECK: %[[L:.*]] = linalg.pack {{.*}} inner_tiles = [16, 1] into {{.*}} -> tensor<2x40x16x1xf32>
// CHECK: %[[R:.*]] = linalg.pack {{.*}} inner_tiles = [4, 1] into {{.*}} -> tensor<1x40x4x1xf32>
// CHECK: %[[C:.*]] = linalg.pack {{.*}} outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [4, 16] into {{.*}} -> tensor<1x2x4x16xf32>
// CHECK: linalg.mmt4d ins(%[[R]], %[[L]] : tensor<1x40x4x1xf32>, tensor<2x40x16x1xf32>) outs(%[[C]] : tensor<1x2x4x16xf32>)
// CHECK: linalg.unpack {{.*}} outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [4, 16]
func.func @narrow(%a: tensor<17x40xf32>, %b: tensor<40x3xf32>, %c: tensor<17x3xf32>)
    -> tensor<17x3xf32> attributes {hal.executable.target = #target} {
  %0 = iree_encoding.set_encoding %a : tensor<17x40xf32> -> tensor<17x40xf32, #lhs>
  %1 = iree_encoding.set_encoding %b : tensor<40x3xf32> -> tensor<40x3xf32, #rhs>
  %2 = iree_encoding.set_encoding %c : tensor<17x3xf32> -> tensor<17x3xf32, #acc>
  %3 = linalg.matmul ins(%0, %1 : tensor<17x40xf32, #lhs>, tensor<40x3xf32, #rhs>)
    outs(%2 : tensor<17x3xf32, #acc>) -> tensor<17x3xf32, #acc>
  %4 = iree_encoding.unset_encoding %3 : tensor<17x3xf32, #acc> -> tensor<17x3xf32>
  return %4 : tensor<17x3xf32>
}

// -----

// Unsigned factors are widened first; what is summed up beyond the end of K must stay zero, so
// what is computed of a factor is computed before it is packed.
#target = #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {
  iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>, ukernels = "none"}>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#ij = affine_map<(i, j) -> (i, j)>
#lhs = #iree_encoding.encoding<operand_index = 0, op_type = matmul, element_types = [ui8, i8, i32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [16, 16, 6]>
#rhs = #iree_encoding.encoding<operand_index = 1, op_type = matmul, element_types = [ui8, i8, i32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [16, 16, 6]>
#acc = #iree_encoding.encoding<operand_index = 2, op_type = matmul, element_types = [ui8, i8, i32],
  user_indexing_maps = [#mk, #kn, #mn], iteration_sizes = [16, 16, 6]>

// CHECK-LABEL: func.func @unsigned(
// CHECK-SAME: %[[A:.*]]: tensor<16x6xi8>
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<16x6xi8>)
// CHECK: arith.xori
// CHECK: %[[L:.*]] = linalg.pack %[[N]]
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[L]] : tensor<2x2x8x4xi8>)
// CHECK: arith.extui
// CHECK: linalg.mmt4d ins(%[[W]], %{{.*}} : tensor<2x2x8x4xi32>, tensor<2x2x8x4xi8>) outs(%{{.*}} : tensor<2x2x8x8xi32>)
func.func @unsigned(%a: tensor<16x6xi8>, %b: tensor<6x16xi8>, %c: tensor<16x16xi32>)
    -> tensor<16x16xi32> attributes {hal.executable.target = #target} {
  %ones = arith.constant -1 : i8
  %0 = iree_encoding.set_encoding %a : tensor<16x6xi8> -> tensor<16x6xi8, #lhs>
  %e = tensor.empty() : tensor<16x6xi8, #lhs>
  %n = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<16x6xi8, #lhs>) outs(%e : tensor<16x6xi8, #lhs>) {
    ^bb0(%x: i8, %y: i8):
      %s = arith.xori %x, %ones : i8
      linalg.yield %s : i8
  } -> tensor<16x6xi8, #lhs>
  %1 = iree_encoding.set_encoding %b : tensor<6x16xi8> -> tensor<6x16xi8, #rhs>
  %2 = iree_encoding.set_encoding %c : tensor<16x16xi32> -> tensor<16x16xi32, #acc>
  %3 = linalg.generic {indexing_maps = [#mk, #kn, #mn],
        iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%n, %1 : tensor<16x6xi8, #lhs>, tensor<6x16xi8, #rhs>)
      outs(%2 : tensor<16x16xi32, #acc>) {
    ^bb0(%x: i8, %y: i8, %z: i32):
      %u = arith.extui %x : i8 to i32
      %v = arith.extsi %y : i8 to i32
      %p = arith.muli %u, %v : i32
      %s = arith.addi %z, %p : i32
      linalg.yield %s : i32
  } -> tensor<16x16xi32, #acc>
  %4 = iree_encoding.unset_encoding %3 : tensor<16x16xi32, #acc> -> tensor<16x16xi32>
  return %4 : tensor<16x16xi32>
}

// -----

// No tiles, no packs.
#target = #hal.executable.target<"llvm-cpu", "x", {
  iree.encoding.resolver = #iree_encoding.identity_resolver}>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#lhs = #iree_encoding.encoding<operand_index = 0, op_type = matmul, element_types = [f64, f64, f64],
  user_indexing_maps = [#mk, #kn, #mn]>

// CHECK-LABEL: func.func @identity(
// CHECK-SAME: %[[A:.*]]: tensor<?x40xf64>
// CHECK-NOT: pack
// CHECK: math.exp %[[A]] : tensor<?x40xf64>
// CHECK-NOT: pack
// CHECK: return
func.func @identity(%a: tensor<?x40xf64>) -> tensor<?x40xf64>
    attributes {hal.executable.target = #target} {
  %0 = iree_encoding.set_encoding %a : tensor<?x40xf64> -> tensor<?x40xf64, #lhs>
  %1 = math.exp %0 : tensor<?x40xf64, #lhs>
  %d = arith.constant 0 : index
  %2 = tensor.dim %1, %d : tensor<?x40xf64, #lhs>
  %3 = iree_encoding.unset_encoding %1 : tensor<?x40xf64, #lhs> -> tensor<?x40xf64>{%2}
  return %3 : tensor<?x40xf64>
}

// -----

// Rows of two loops: one is tiled, the other counts its tiles along with it.
#target = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-x-x",
  cpu_features = "+avx512f", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#abk = affine_map<(a, b, n, k) -> (a, b, k)>
#kn = affine_map<(a, b, n, k) -> (k, n)>
#abn = affine_map<(a, b, n, k) -> (a, b, n)>
#lhs = #iree_encoding.encoding<operand_index = 0, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#abk, #kn, #abn], iteration_sizes = [3, 32, 16, 7]>
#rhs = #iree_encoding.encoding<operand_index = 1, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#abk, #kn, #abn], iteration_sizes = [3, 32, 16, 7]>
#acc = #iree_encoding.encoding<operand_index = 2, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#abk, #kn, #abn], iteration_sizes = [3, 32, 16, 7]>

// CHECK-LABEL: func.func @rows
// CHECK: tensor.collapse_shape {{.*}} : tensor<3x2x7x16x1xf32> into tensor<6x7x16x1xf32>
// CHECK: tensor.collapse_shape {{.*}} : tensor<3x2x1x16x16xf32> into tensor<6x1x16x16xf32>
// CHECK: linalg.mmt4d {{.*}} -> tensor<6x1x16x16xf32>
// CHECK: tensor.expand_shape {{.*}} into tensor<3x2x1x16x16xf32>
// CHECK: linalg.unpack {{.*}} -> tensor<3x32x16xf32>
func.func @rows(%a: tensor<3x32x7xf32>, %b: tensor<7x16xf32>, %c: tensor<3x32x16xf32>)
    -> tensor<3x32x16xf32> attributes {hal.executable.target = #target} {
  %0 = iree_encoding.set_encoding %a : tensor<3x32x7xf32> -> tensor<3x32x7xf32, #lhs>
  %1 = iree_encoding.set_encoding %b : tensor<7x16xf32> -> tensor<7x16xf32, #rhs>
  %2 = iree_encoding.set_encoding %c : tensor<3x32x16xf32> -> tensor<3x32x16xf32, #acc>
  %3 = linalg.contract indexing_maps = [#abk, #kn, #abn]
    ins(%0, %1 : tensor<3x32x7xf32, #lhs>, tensor<7x16xf32, #rhs>)
    outs(%2 : tensor<3x32x16xf32, #acc>) -> tensor<3x32x16xf32, #acc>
  %4 = iree_encoding.unset_encoding %3 : tensor<3x32x16xf32, #acc> -> tensor<3x32x16xf32>
  return %4 : tensor<3x32x16xf32>
}

// -----

// A convolution gets a loop for each tile of channels.
#target = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-x-x",
  cpu_features = "+avx512f", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>
#in = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#fl = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#out = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>
#lhs = #iree_encoding.encoding<operand_index = 0, op_type = conv, element_types = [f32, f32, f32],
  user_indexing_maps = [#in, #fl, #out]>
#rhs = #iree_encoding.encoding<operand_index = 1, op_type = conv, element_types = [f32, f32, f32],
  user_indexing_maps = [#in, #fl, #out]>
#acc = #iree_encoding.encoding<operand_index = 2, op_type = conv, element_types = [f32, f32, f32],
  user_indexing_maps = [#in, #fl, #out]>

// CHECK-LABEL: func.func @convolution
// CHECK-COUNT-3: linalg.pack
// CHECK: linalg.generic
// CHECK-SAME: ins({{.*}} : tensor<1x1x9x9x16xf32>, tensor<2x1x3x3x16x16xf32>)
// CHECK: } -> tensor<1x2x7x7x16xf32>
// CHECK: linalg.unpack
func.func @convolution(%a: tensor<1x9x9x5xf32>, %b: tensor<3x3x5x20xf32>, %c: tensor<1x7x7x20xf32>)
    -> tensor<1x7x7x20xf32> attributes {hal.executable.target = #target} {
  %0 = iree_encoding.set_encoding %a : tensor<1x9x9x5xf32> -> tensor<1x9x9x5xf32, #lhs>
  %1 = iree_encoding.set_encoding %b : tensor<3x3x5x20xf32> -> tensor<3x3x5x20xf32, #rhs>
  %2 = iree_encoding.set_encoding %c : tensor<1x7x7x20xf32> -> tensor<1x7x7x20xf32, #acc>
  %3 = linalg.conv_2d_nhwc_hwcf
    ins(%0, %1 : tensor<1x9x9x5xf32, #lhs>, tensor<3x3x5x20xf32, #rhs>)
    outs(%2 : tensor<1x7x7x20xf32, #acc>) -> tensor<1x7x7x20xf32, #acc>
  %4 = iree_encoding.unset_encoding %3 : tensor<1x7x7x20xf32, #acc> -> tensor<1x7x7x20xf32>
  return %4 : tensor<1x7x7x20xf32>
}

// -----

// A function that names no target has no tiles: what was only encoded and decoded is left as it was.
#m = affine_map<(m, n, k) -> (m, k)>
#n = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
#lhs = #iree_encoding.encoding<operand_index = 0, op_type = matmul, element_types = [f32, f32, f32],
  user_indexing_maps = [#m, #n, #o]>

// CHECK-LABEL: func.func @no_target
// CHECK-NEXT: return %a
func.func @no_target(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = iree_encoding.set_encoding %a : tensor<8x8xf32> -> tensor<8x8xf32, #lhs>
  %1 = iree_encoding.unset_encoding %0 : tensor<8x8xf32, #lhs> -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// A barrier keeps tiles; a vector is multiplied from the left, as the row of one tile.

// CHECK-LABEL: func.func @barrier
// CHECK-SAME: %x: tensor<3x48x16x1xf32>, %y: tensor<48x1xf32>, %z: tensor<3x16xf32>) -> tensor<3x16xf32>
// CHECK: %[[B:.*]] = util.optimization_barrier %x : tensor<3x48x16x1xf32>
// CHECK: %[[Y:.*]] = tensor.expand_shape %y {{\[\[}}0, 1], [2, 3]]
// CHECK: %[[Z:.*]] = tensor.expand_shape %z {{\[\[}}0, 1], [2, 3]] output_shape [1, 3, 1, 16]
// CHECK: linalg.mmt4d ins(%[[Y]], %[[B]] : tensor<1x48x1x1xf32>, tensor<3x48x16x1xf32>) outs(%[[Z]]
#a = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>], iteration_sizes = [40, 48]>
#b = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>], iteration_sizes = [40, 48]>
#c = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>], iteration_sizes = [40, 48]>
func.func @barrier(%x: tensor<40x48xf32, #a>, %y: tensor<48xf32, #b>, %z: tensor<40xf32, #c>) -> tensor<40xf32, #c> attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-x-x", cpu_features = "+avx512f", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>} {
  %0 = util.optimization_barrier %x : tensor<40x48xf32, #a>
  %1 = linalg.matvec ins(%0, %y : tensor<40x48xf32, #a>, tensor<48xf32, #b>) outs(%z : tensor<40xf32, #c>) -> tensor<40xf32, #c>
  return %1 : tensor<40xf32, #c>
}

// -----

// A filled vector is filled as the matrix that it is multiplied as.

// CHECK-LABEL: func.func @filled
// CHECK: %[[E:.*]] = tensor.empty() : tensor<1x3x1x16xf32>
// CHECK: %[[F:.*]] = linalg.fill ins(%v : f32) outs(%[[E]] : tensor<1x3x1x16xf32>)
// CHECK: linalg.mmt4d {{.*}} outs(%[[F]] :
#a = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>], iteration_sizes = [40, 48]>
#b = #iree_encoding.encoding<operand_index = 1 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>], iteration_sizes = [40, 48]>
#c = #iree_encoding.encoding<operand_index = 2 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>], iteration_sizes = [40, 48]>
func.func @filled(%x: tensor<40x48xf32, #a>, %y: tensor<48xf32, #b>, %v: f32) -> tensor<40xf32, #c> attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "x", {target_triple = "x86_64-x-x", cpu_features = "+avx512f", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}>} {
  %0 = tensor.empty() : tensor<40xf32, #c>
  %1 = linalg.fill ins(%v : f32) outs(%0 : tensor<40xf32, #c>) -> tensor<40xf32, #c>
  %2 = linalg.matvec ins(%x, %y : tensor<40x48xf32, #a>, tensor<48xf32, #b>) outs(%1 : tensor<40xf32, #c>) -> tensor<40xf32, #c>
  return %2 : tensor<40xf32, #c>
}
