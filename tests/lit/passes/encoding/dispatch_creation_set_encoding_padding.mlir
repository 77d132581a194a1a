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
