// RUN: mesh-opt %s '--pass-pipeline=builtin.module(iree-dispatch-creation-set-encoding{encoding-option=padding})' | filecheck %s

// What one dispatch region makes and a contraction of another one reads gets room behind its rows.

#id = affine_map<(m, n) -> (m, n)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: util.func public @between
util.func public @between(%a: tensor<?x256xf32>, %b: tensor<64x256xf32>, %c: tensor<?x64xf32>, %m: index) -> tensor<?x64xf32> {
  // CHECK-NEXT: %[[P:.*]] = flow.dispatch.region -> (tensor<?x256xf32, #iree_encoding.padding<[0, ?]>>{%m})
  %p = flow.dispatch.region -> (tensor<?x256xf32>{%m}) {
    %0 = linalg.exp ins(%a : tensor<?x256xf32>) outs(%a : tensor<?x256xf32>) -> tensor<?x256xf32>
    // CHECK: iree_encoding.set_encoding {{.*}} -> tensor<?x256xf32, #iree_encoding.padding<[0, ?]>>
    // CHECK-NEXT: flow.return
    flow.return %0 : tensor<?x256xf32>
  }
  %r = flow.dispatch.region -> (tensor<?x64xf32>{%m}) {
    // CHECK: %[[D:.*]] = iree_encoding.unset_encoding %[[P]] : {{.*}} -> tensor<?x256xf32>{%m}
    // CHECK-NEXT: linalg.generic {{.*}} ins(%[[D]], %b :
    %0 = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %b : tensor<?x256xf32>, tensor<64x256xf32>) outs(%c : tensor<?x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %t = arith.mulf %x, %y : f32
      %u = arith.addf %o, %t : f32
      linalg.yield %u : f32
    } -> tensor<?x64xf32>
    flow.return %0 : tensor<?x64xf32>
  }
  util.return %r : tensor<?x64xf32>
}

// A result of less than 64 elements does not pay, nor does a sum of unknown length.
// CHECK-LABEL: util.func public @nothing
// CHECK-NOT: padding
util.func public @nothing(%a: tensor<7x256xf32>, %b: tensor<256x9xf32>, %c: tensor<7x9xf32>) -> tensor<7x9xf32> {
  %p = flow.dispatch.region -> (tensor<7x256xf32>) {
    %0 = linalg.exp ins(%a : tensor<7x256xf32>) outs(%a : tensor<7x256xf32>) -> tensor<7x256xf32>
    flow.return %0 : tensor<7x256xf32>
  }
  %r = flow.dispatch.region -> (tensor<7x9xf32>) {
    %0 = linalg.matmul ins(%p, %b : tensor<7x256xf32>, tensor<256x9xf32>) outs(%c : tensor<7x9xf32>) -> tensor<7x9xf32>
    flow.return %0 : tensor<7x9xf32>
  }
  util.return %r : tensor<7x9xf32>
}

// Reshapes between the two move into the region that computes the tensor, wherever they are.
// CHECK-LABEL: util.func public @reshaped
util.func public @reshaped(%a: tensor<?x64x256xf16>, %b: tensor<4x256x512xf16>, %c: tensor<4x?x512xf32>, %m: index, %n: index) -> tensor<4x?x512xf32> {
  // CHECK: %[[P:.*]] = flow.dispatch.region -> (tensor<4x?x256xf16, #iree_encoding.padding<[0, 0, ?]>>{%n})
  %p = flow.dispatch.region -> (tensor<?x64x256xf16>{%m}) {
    // CHECK: %[[E:.*]] = linalg.exp
    %0 = linalg.exp ins(%a : tensor<?x64x256xf16>) outs(%a : tensor<?x64x256xf16>) -> tensor<?x64x256xf16>
    // CHECK: %[[C:.*]] = tensor.collapse_shape %[[E]]
    // CHECK: %[[X:.*]] = tensor.expand_shape %[[C]]
    // CHECK: iree_encoding.set_encoding %[[X]]
    flow.return %0 : tensor<?x64x256xf16>
  }
  %q = tensor.collapse_shape %p [[0, 1], [2]] : tensor<?x64x256xf16> into tensor<?x256xf16>
  // CHECK-NOT: tensor.collapse_shape
  // CHECK: flow.dispatch.region
  %r = flow.dispatch.region -> (tensor<4x?x512xf32>{%n}) {
    // CHECK: %[[D:.*]] = iree_encoding.unset_encoding %[[P]] : {{.*}} -> tensor<4x?x256xf16>{%n}
    // CHECK-NEXT: linalg.batch_matmul ins(%[[D]], %b
    %x = tensor.expand_shape %q [[0, 1], [2]] output_shape [4, %n, 256] : tensor<?x256xf16> into tensor<4x?x256xf16>
    %0 = linalg.batch_matmul ins(%x, %b : tensor<4x?x256xf16>, tensor<4x256x512xf16>) outs(%c : tensor<4x?x512xf32>) -> tensor<4x?x512xf32>
    flow.return %0 : tensor<4x?x512xf32>
  }
  util.return %r : tensor<4x?x512xf32>
}

// The size of a collapsed dimension is computed in front of the region.
// CHECK-LABEL: util.func public @collapsed
util.func public @collapsed(%a: tensor<?x64x256xf16>, %b: tensor<256x512xf16>, %c: tensor<?x512xf32>, %m: index, %n: index) -> tensor<?x512xf32> {
  // CHECK: %[[M:.*]] = arith.muli %m, %c64
  // CHECK: flow.dispatch.region -> (tensor<?x256xf16, #iree_encoding.padding<[0, ?]>>{%[[M]]})
  %p = flow.dispatch.region -> (tensor<?x64x256xf16>{%m}) {
    %0 = linalg.exp ins(%a : tensor<?x64x256xf16>) outs(%a : tensor<?x64x256xf16>) -> tensor<?x64x256xf16>
    flow.return %0 : tensor<?x64x256xf16>
  }
  %q = tensor.collapse_shape %p [[0, 1], [2]] : tensor<?x64x256xf16> into tensor<?x256xf16>
  %r = flow.dispatch.region -> (tensor<?x512xf32>{%n}) {
    // CHECK: iree_encoding.unset_encoding {{.*}} -> tensor<?x256xf16>{%[[M]]}
    %0 = linalg.matmul ins(%q, %b : tensor<?x256xf16>, tensor<256x512xf16>) outs(%c : tensor<?x512xf32>) -> tensor<?x512xf32>
    flow.return %0 : tensor<?x512xf32>
  }
  util.return %r : tensor<?x512xf32>
}

// A tensor that is read twice, and one that is reshaped to a size which is not known in front of the region.
// CHECK-LABEL: util.func public @unpadded
// CHECK-NOT: padding
util.func public @unpadded(%a: tensor<128x256xf16>, %b: tensor<256x512xf16>, %c: tensor<128x512xf32>, %d: tensor<?x?x256xf16>, %e: tensor<?x256x512xf16>, %f: tensor<?x?x512xf32>, %m: index) -> (tensor<128x512xf32>, tensor<128x256xf16>, tensor<?x?x512xf32>) {
  %p = flow.dispatch.region -> (tensor<128x256xf16>) {
    %0 = linalg.exp ins(%a : tensor<128x256xf16>) outs(%a : tensor<128x256xf16>) -> tensor<128x256xf16>
    flow.return %0 : tensor<128x256xf16>
  }
  %r = flow.dispatch.region -> (tensor<128x512xf32>) {
    %0 = linalg.matmul ins(%p, %b : tensor<128x256xf16>, tensor<256x512xf16>) outs(%c : tensor<128x512xf32>) -> tensor<128x512xf32>
    flow.return %0 : tensor<128x512xf32>
  }
  %q = flow.dispatch.region -> (tensor<128x256xf16>) {
    %0 = linalg.exp ins(%p : tensor<128x256xf16>) outs(%a : tensor<128x256xf16>) -> tensor<128x256xf16>
    flow.return %0 : tensor<128x256xf16>
  }
  %s = flow.dispatch.region -> (tensor<?x256xf16>{%m}) {
    %0 = tensor.collapse_shape %d [[0, 1], [2]] : tensor<?x?x256xf16> into tensor<?x256xf16>
    flow.return %0 : tensor<?x256xf16>
  }
  %later = util.optimization_barrier %m : index
  %t = tensor.expand_shape %s [[0, 1], [2]] output_shape [%later, %later, 256] : tensor<?x256xf16> into tensor<?x?x256xf16>
  %u = flow.dispatch.region -> (tensor<?x?x512xf32>{%later, %later}) {
    %0 = linalg.batch_matmul ins(%t, %e : tensor<?x?x256xf16>, tensor<?x256x512xf16>) outs(%f : tensor<?x?x512xf32>) -> tensor<?x?x512xf32>
    flow.return %0 : tensor<?x?x512xf32>
  }
  util.return %r, %q, %u : tensor<128x512xf32>, tensor<128x256xf16>, tensor<?x?x512xf32>
}
