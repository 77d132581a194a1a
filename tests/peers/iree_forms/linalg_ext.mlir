func.func @scatter(%o: tensor<8xi32>, %i: tensor<3x1xi32>, %u: tensor<3xi32>) -> tensor<8xi32> {
  %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i : tensor<3xi32>, tensor<3x1xi32>) outs(%o : tensor<8xi32>) {
  ^bb0(%a: i32, %b: i32):
    iree_linalg_ext.yield %a : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
// -----
func.func @sort(%o: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = iree_linalg_ext.sort {my.attr} dimension(1) outs(%o : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
// -----
func.func @fft(%r: tensor<4x8xf32>, %i: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = arith.constant 1 : index
  %0:2 = iree_linalg_ext.fft ins(%c : index) outs(%r, %i : tensor<4x8xf32>, tensor<4x8xf32>) : tensor<4x8xf32>, tensor<4x8xf32>
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xf32>
}
// -----
func.func @scan(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>, %a: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %0:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<4x8xf32>) outs(%o, %a : tensor<4x8xf32>, tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %c = arith.addf %p, %q : f32
    iree_linalg_ext.yield %c : f32
  } -> tensor<4x8xf32>, tensor<4xf32>
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4xf32>
}
// -----
func.func @topk(%x: tensor<2x10xf32>, %o: tensor<2x3xf32>, %oi: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0:2 = iree_linalg_ext.topk dimension(1) ins(%x : tensor<2x10xf32>) outs(%o, %oi : tensor<2x3xf32>, tensor<2x3xi32>) {
  ^bb0(%p: f32, %q: f32):
    %c = arith.cmpf ogt, %p, %q : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<2x3xf32>, tensor<2x3xi32>
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
}
// -----
func.func @gather(%s: tensor<10x4xf32>, %i: tensor<3xi32>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%s, %i : tensor<10x4xf32>, tensor<3xi32>) outs(%o : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
// -----
func.func @wi(%x: tensor<1x10x10x1280xf32>, %o: tensor<8x8x1x2x2x1280xf32>) -> tensor<8x8x1x2x2x1280xf32> {
  %0 = iree_linalg_ext.winograd.input_transform output_tile_size(6) kernel_size(3) image_dimensions([1, 2]) ins(%x : tensor<1x10x10x1280xf32>) outs(%o : tensor<8x8x1x2x2x1280xf32>) -> tensor<8x8x1x2x2x1280xf32>
  return %0 : tensor<8x8x1x2x2x1280xf32>
}
// -----
func.func @wf(%x: tensor<3x3x32x16xf32>, %o: tensor<8x8x32x16xf32>) -> tensor<8x8x32x16xf32> {
  %0 = iree_linalg_ext.winograd.filter_transform output_tile_size(6) kernel_size(3) kernel_dimensions([0, 1]) ins(%x : tensor<3x3x32x16xf32>) outs(%o : tensor<8x8x32x16xf32>) -> tensor<8x8x32x16xf32>
  return %0 : tensor<8x8x32x16xf32>
}
// -----
func.func @wo(%x: tensor<8x8x1x2x2x32xf32>, %o: tensor<1x12x12x32xf32>) -> tensor<1x12x12x32xf32> {
  %0 = iree_linalg_ext.winograd.output_transform output_tile_size(6) kernel_size(3) image_dimensions([1, 2]) ins(%x : tensor<8x8x1x2x2x32xf32>) outs(%o : tensor<1x12x12x32xf32>) -> tensor<1x12x12x32xf32>
  return %0 : tensor<1x12x12x32xf32>
}
// -----
func.func @custom(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = iree_linalg_ext.custom_op {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = [#iree_linalg_ext.iterator_type<parallel>]} attributes {x} ins(%a : tensor<?xf32>) outs(%b : tensor<?xf32>) {
  ^bb0(%x: tensor<?xf32>, %y: tensor<?xf32>):
    %i = iree_linalg_ext.index 0 : index
    iree_linalg_ext.yield %x : tensor<?xf32>
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
func.func @mapstore(%a: tensor<4xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %0 = iree_linalg_ext.map_store %a into %b {
  ^bb0(%i: index):
    %t = arith.constant true
    iree_linalg_ext.yield %i, %t : index, i1
  } : tensor<4xf32> into tensor<16xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// -----
func.func @mapload(%a: tensor<4xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %0 = iree_linalg_ext.map_load %a into %b {
  ^bb0(%i: index):
    %t = arith.constant 0.0 : f32
    iree_linalg_ext.yield %i, %t : index, f32
  } : tensor<4xf32> into tensor<16xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// -----
func.func @argc(%a: tensor<2x10xf32>, %v: tensor<2xf32>, %i: tensor<2xindex>) -> (tensor<2xf32>, tensor<2xindex>) {
  %0:2 = iree_linalg_ext.arg_compare dimension(1) ins(%a : tensor<2x10xf32>) outs(%v, %i : tensor<2xf32>, tensor<2xindex>) {
  ^bb0(%x: f32, %y: f32):
    %c = arith.cmpf ogt, %x, %y : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<2xf32>, tensor<2xindex>
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xindex>
}
// -----
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#k = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#v = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#s = affine_map<(b, m, n, k1, k2) -> ()>
#o = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
#r = affine_map<(b, m, n, k1, k2) -> (b, m)>
func.func @att(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %s: f32, %o: tensor<2x8x5xf32>) -> tensor<2x8x5xf32> {
  %0 = "iree_linalg_ext.attention"(%q, %k, %v, %s, %o) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%a: f32):
    iree_linalg_ext.yield %a : f32
  }) {my.attr}: (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, f32, tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  return %0 : tensor<2x8x5xf32>
}
// -----
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#k = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#v = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#s = affine_map<(b, m, n, k1, k2) -> ()>
#o = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
#r = affine_map<(b, m, n, k1, k2) -> (b, m)>
func.func @att(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %s: f32, %o: tensor<2x8x5xf32>, %m: tensor<2x8xf32>) -> tensor<2x8x5xf32> {
  %0:3 = "iree_linalg_ext.online_attention"(%q, %k, %v, %s, %o, %m, %m) <{indexing_maps = [#q, #k, #v, #s, #o, #r, #r]}> ({
  ^bb0(%a: f32):
    iree_linalg_ext.yield %a : f32
  }) {my.attr}: (tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, f32, tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8x5xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return %0#0 : tensor<2x8x5xf32>
}
// -----
func.func @im2col(%a: tensor<2x34x34x640xf32>, %o: tensor<2x1024x5760xf32>) -> tensor<2x1024x5760xf32> {
  %0 = iree_linalg_ext.im2col strides = [1, 1] dilations = [1, 1] kernel_size = [3, 3] offsets = [0, 0, 0] output_sizes = [[2], [32, 32], [3, 3, 640]] batch_pos = [0] m_pos = [1, 2] k_pos = [3] input_k_perm = [0, 1, 2] output_perm = [0, 1, 2] ins(%a : tensor<2x34x34x640xf32>) outs(%o : tensor<2x1024x5760xf32>) -> tensor<2x1024x5760xf32>
  return %0 : tensor<2x1024x5760xf32>
}
// -----
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
func.func @er(%s: tensor<8x6xf32>, %v: tensor<8x6xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  %0:3 = "iree_linalg_ext.exp_reduction"(%s, %v, %o, %o, %o) <{operandSegmentSizes = array<i32: 2, 3>, indexing_maps = [#m, #m, #r, #r, #r], iterator_types = [#iree_linalg_ext.iterator_type<parallel>, #iree_linalg_ext.iterator_type<reduction>], exp_reduced_operands = array<i64: 1, 2>}> ({
  ^bb0(%p: f32, %q: f32, %m: f32, %sm: f32, %ac: f32):
    %n = arith.addf %p, %sm : f32
    %n2 = arith.addf %q, %ac : f32
    iree_linalg_ext.yield %m, %n, %n2 : f32, f32, f32
  }) {x} : (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0 : tensor<8xf32>
}
// -----
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
func.func @dqa(%a: tensor<2x10xi8>, %s: tensor<2xf32>, %z: tensor<2xi8>, %o: tensor<2x10xf32>) -> tensor<2x10xf32> {
  %0 = "iree_linalg_ext.dequantize_affine"(%a, %s, %z, %o) <{indexing_maps = [#m, #r, #r, #m]}> {x} : (tensor<2x10xi8>, tensor<2xf32>, tensor<2xi8>, tensor<2x10xf32>) -> tensor<2x10xf32>
  return %0 : tensor<2x10xf32>
}
// -----
func.func @topk(%x: tensor<2x10xf32>, %o: tensor<2x3xf32>, %oi: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0:2 = iree_linalg_ext.topk_v2 dimension(1) ins(%x : tensor<2x10xf32>) outs(%o, %oi : tensor<2x3xf32>, tensor<2x3xi32>) {
  ^bb0(%p: f32, %q: f32):
    %c = arith.cmpf ogt, %p, %q : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<2x3xf32>, tensor<2x3xi32>
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
}
// -----
func.func @topk(%x: tensor<2x10xf32>, %i: tensor<2x10xi32>, %o: tensor<2x3xf32>, %oi: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0:2 = iree_linalg_ext.topk {y} dimension(1) ins(%x, %i : tensor<2x10xf32>, tensor<2x10xi32>) outs(%o, %oi : tensor<2x3xf32>, tensor<2x3xi32>) {
  ^bb0(%p: f32, %q: f32):
    %c = arith.cmpf ogt, %p, %q : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<2x3xf32>, tensor<2x3xi32>
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
}
// -----
func.func @argc(%a: tensor<2x10xf32>, %v: tensor<2xf32>, %i: tensor<2xindex>, %b: index) -> (tensor<2xf32>, tensor<2xindex>) {
  %0:2 = iree_linalg_ext.arg_compare {z} dimension(1) ins(%a : tensor<2x10xf32>) outs(%v, %i : tensor<2xf32>, tensor<2xindex>) index_base(%b : index) {
  ^bb0(%x: f32, %y: f32):
    %c = arith.cmpf ogt, %x, %y : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<2xf32>, tensor<2xindex>
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xindex>
}
// -----
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#k = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#v = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#s = affine_map<(b, m, n, k1, k2) -> ()>
#o = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
#ma = affine_map<(b, m, n, k1, k2) -> (b, m, k2)>
func.func @att(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %s: f32, %ma: tensor<2x8x6xi1>, %o: tensor<2x8x5xf32>) -> tensor<2x8x5xf32> {
  %0 = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #ma, #o], decomposition_config = {a = 1}}> ins(%q, %k, %v, %s, %ma : tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, f32, tensor<2x8x6xi1>) outs(%o : tensor<2x8x5xf32>) {
  ^bb0(%a: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<2x8x5xf32>
  return %0 : tensor<2x8x5xf32>
}
// -----
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#k = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#v = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#s = affine_map<(b, m, n, k1, k2) -> ()>
#o = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
#ma = affine_map<(b, m, n, k1, k2) -> (b, m, k2)>
func.func @att(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %s: f32, %ma: tensor<2x8x6xi1>, %o: tensor<2x8x5xf32>) -> tensor<2x8x5xf32> {
  %0 = iree_linalg_ext.attention <indexing_maps = [#q, #k, #v, #s, #ma, #o], decomposition_config = {a = 1}> ins(%q, %k, %v, %s, %ma : tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32>, f32, tensor<2x8x6xi1>) outs(%o : tensor<2x8x5xf32>) {
  ^bb0(%a: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<2x8x5xf32>
  return %0 : tensor<2x8x5xf32>
}
// -----
func.func @scatter(%o: memref<8xi32>, %i: memref<3x1xi32>, %u: memref<3xi32>) {
  iree_linalg_ext.scatter {lowering_config = 1} dimension_map = [0] unique_indices(false) ins(%u, %i : memref<3xi32>, memref<3x1xi32>) outs(%o : memref<8xi32>) {
  ^bb0(%a: i32, %b: i32):
    iree_linalg_ext.yield %a : i32
  }
  return
}
// -----
func.func @mask(%o: tensor<8x4xi32>, %i: tensor<3xi32>, %u: tensor<3x4xi32>, %m: tensor<3xi1>) -> tensor<8x4xi32> {
  %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i, %m : tensor<3x4xi32>, tensor<3xi32>, tensor<3xi1>) outs(%o : tensor<8x4xi32>) {
  ^bb0(%a: i32, %b: i32):
    iree_linalg_ext.yield %a : i32
  } -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}
// -----
func.func @im2col(%a: tensor<?x34x34x640xf32>, %o: tensor<?x1024x5760xf32>, %d: index, %e: index, %p: f32) -> tensor<?x1024x5760xf32> {
  %0 = iree_linalg_ext.im2col {x} strides = [1, 1] dilations = [1, 1] kernel_size = [3, 3] offsets = [%d, 0, %e] output_sizes = [[%d], [32, 32], [3, 3, %e]] batch_pos = [0] m_pos = [1, 2] k_pos = [3] input_k_perm = [0, 1, 2] output_perm = [0, 1, 2] input_pad_low = [0, 0, 0, 0] input_pad_high = [0, 0, 0, 0] pad_value(%p : f32) ins(%a : tensor<?x34x34x640xf32>) outs(%o : tensor<?x1024x5760xf32>) -> tensor<?x1024x5760xf32>
  return %0 : tensor<?x1024x5760xf32>
}
// -----
func.func @empty_custom() attributes {a = #iree_linalg_ext.split_reduction_mapping<0>, b = #iree_linalg_ext.iterator_type<parallel>} {
  return
}
// -----
func.func @topk(%x: tensor<2x10xf32>, %o: tensor<2x3xf32>, %oi: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0:2 = "iree_linalg_ext.topk_v2" (%x, %o, %oi) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> ({
  ^bb0(%p: f32, %q: f32):
    %c = arith.cmpf ogt, %p, %q : f32
    iree_linalg_ext.yield %c : i1
  }) : (tensor<2x10xf32>, tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
}
// -----
func.func @topk(%x: tensor<2x10xf32>, %o: tensor<2x3xf32>, %oi: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0:2 = "iree_linalg_ext.topk_v2" (%x, %o, %oi) <{dimension = 1 : i64, is_sorted, operandSegmentSizes = array<i32: 1, 0, 1, 1>}> ({
  ^bb0(%p: f32, %q: f32):
    %c = arith.cmpf ogt, %p, %q : f32
    iree_linalg_ext.yield %c : i1
  }) : (tensor<2x10xf32>, tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
}
// -----
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
func.func @qa(%a: tensor<2x10xf32>, %s: tensor<2xf32>, %o: tensor<2x10xi8>) -> tensor<2x10xi8> {
  %0 = iree_linalg_ext.quantize_affine <{indexing_maps = [#m, #r, #m], quant_min = -128 : i64, quant_max = 127 : i64}> ins(%a, %s : tensor<2x10xf32>, tensor<2xf32>) outs(%o : tensor<2x10xi8>) -> tensor<2x10xi8>
  return %0 : tensor<2x10xi8>
}
// -----
func.func @im2col(%a: tensor<?x34x34x640xf32>, %o: tensor<?x1024x5760xf32>, %d: index, %e: index, %p: f32) -> tensor<?x1024x5760xf32> {
  %0 = iree_linalg_ext.im2col {x} strides = [1, 1] dilations = [1, 1] kernel_size = [3, %d] offsets = [%d, 0, %e] output_sizes = [[%d], [32, 32], [3, 3, %e]] batch_pos = [0] m_pos = [1, 2] k_pos = [3] input_k_perm = [0, 1, 2] output_perm = [0, 1, 2] input_pad_low = [0, 0, 0, 0] input_pad_high = [0, 0, %d, 0] output_pad_low = [0, 0, 0] output_pad_high = [0, %d, 0] pad_value(%p : f32) ins(%a : tensor<?x34x34x640xf32>) outs(%o : tensor<?x1024x5760xf32>) -> tensor<?x1024x5760xf32>
  return %0 : tensor<?x1024x5760xf32>
}
// -----
func.func @fft(%r: tensor<4x8xf32>, %i: tensor<4x8xf32>, %cr: tensor<1xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = arith.constant 1 : index
  %0:2 = iree_linalg_ext.fft ins(%c, %cr, %cr : index, tensor<1xf32>, tensor<1xf32>) outs(%r, %i : tensor<4x8xf32>, tensor<4x8xf32>) : tensor<4x8xf32>, tensor<4x8xf32>
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xf32>
}
// -----
func.func @argc(%a: tensor<2x10xf32>, %ai: tensor<2x10xindex>, %v: tensor<2xf32>, %i: tensor<2xindex>, %b: index) -> (tensor<2xf32>, tensor<2xindex>) {
  %0:2 = iree_linalg_ext.arg_compare dimension(1) ins(%a, %ai : tensor<2x10xf32>, tensor<2x10xindex>) outs(%v, %i : tensor<2xf32>, tensor<2xindex>) {
  ^bb0(%x: f32, %y: f32):
    %c = arith.cmpf ogt, %x, %y : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<2xf32>, tensor<2xindex>
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xindex>
}
// -----
func.func @tk(%x: tensor<2x10xf32>, %o: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = iree_linalg_ext.topk_v2 dimension(1) ins(%x : tensor<2x10xf32>) outs(%o : tensor<2x3xf32>) {
  ^bb0(%p: f32, %q: f32):
    %c = arith.cmpf ogt, %p, %q : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// -----
func.func @mapstore(%a: vector<4xf32>, %b: memref<16xf32>) {
  iree_linalg_ext.map_store {x} %a into %b {
  ^bb0(%i: index):
    %t = arith.constant true
    iree_linalg_ext.yield %i, %t : index, i1
  } : vector<4xf32> into memref<16xf32>
  return
}
// -----
func.func @fft(%r: memref<4x8xf32>, %i: memref<4x8xf32>, %cr: memref<1xf32>) {
  %c = arith.constant 1 : index
  iree_linalg_ext.fft {x} ins(%c, %cr, %cr : index, memref<1xf32>, memref<1xf32>) outs(%r, %i : memref<4x8xf32>, memref<4x8xf32>)
  return
}
// -----
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
func.func @qa(%a: tensor<2x10xf32>, %s: tensor<2xf32>, %o: tensor<2x10xi8>) -> tensor<2x10xi8> {
  %0 = iree_linalg_ext.quantize_affine <indexing_maps = [#m, #r, #m], quant_min = -128, quant_max = 127 > ins(%a, %s : tensor<2x10xf32>, tensor<2xf32>) outs(%o : tensor<2x10xi8>) -> tensor<2x10xi8>
  return %0 : tensor<2x10xi8>
}
// -----
func.func @gather(%s: tensor<10x4xf32>, %i: tensor<3xi32>, %m: tensor<3xi1>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = iree_linalg_ext.gather dimension_map = [0] ins(%s, %i, %m : tensor<10x4xf32>, tensor<3xi32>, tensor<3xi1>) outs(%o : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
