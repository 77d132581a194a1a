// RUN: mesh-opt %s --iree-util-simplify-global-accesses --split-input-file | filecheck %s
// RUN: mesh-opt %s --pass-pipeline='builtin.module(util.func(iree-util-simplify-global-accesses))' --split-input-file | filecheck %s

// Immutable globals are loaded once, where the function starts.
// CHECK-LABEL: @immutable
// CHECK-NEXT: %[[A:.*]] = util.global.load @a
// CHECK-NEXT: %[[B:.*]] = util.global.load @b
// CHECK-NEXT: util.call @other
// CHECK-NEXT: cf.cond_br
// CHECK: util.return %[[A]]
// CHECK: util.return %[[B]]
util.global private @a : index
util.global private @b : index
util.func private @other()
util.func public @immutable(%c: i1) -> index {
  util.call @other() : () -> ()
  %0 = util.global.load @a : index
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %1 = util.global.load @a : index
  util.return %1 : index
^bb2:
  %2 = util.global.load @b : index
  util.return %2 : index
}

// -----

// CHECK-LABEL: @mutable
// CHECK-SAME: (%[[N:.*]]: index)
// CHECK-NEXT: %[[A:.*]] = util.global.load @a
// CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[A]], %[[A]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[SUM]], %[[SUM]]
// CHECK-NEXT: util.global.store %[[NEXT]], @a
// CHECK-NEXT: util.call @other
// CHECK-NEXT: %[[AGAIN:.*]] = util.global.load @a
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.muli %[[N]], %[[AGAIN]]
// CHECK-NEXT: util.return %[[PRODUCT]]
util.global private mutable @a = 5 : index
util.func private @other()
util.func public @mutable(%n: index) -> index {
  %0 = util.global.load @a : index
  %1 = util.global.load @a : index
  %2 = arith.addi %0, %1 : index
  util.global.store %2, @a : index
  %3 = util.global.load @a : index
  %4 = arith.addi %3, %3 : index
  util.global.store %4, @a : index
  util.call @other() : () -> ()
  %5 = util.global.load @a : index
  %6 = arith.muli %n, %5 : index
  util.return %6 : index
}

// -----

// The branch may store to @a and call others; @b is not accessed there.
// CHECK-LABEL: @regions
// CHECK-SAME: (%[[C:.*]]: i1, %[[N:.*]]: index)
// CHECK-NEXT: util.global.store %[[N]], @a
// CHECK-NEXT: scf.if %[[C]]
// CHECK: }
// CHECK-NEXT: %[[A:.*]] = util.global.load @a
// CHECK-NEXT: util.global.store %[[N]], @b
// CHECK-NEXT: util.return %[[A]], %[[N]]
util.global private mutable @a = 5 : index
util.global private mutable @b = 5 : index
util.func public @regions(%c: i1, %n: index) -> (index, index) {
  util.global.store %n, @a : index
  util.global.store %n, @b : index
  scf.if %c {
    %0 = arith.addi %n, %n : index
    util.global.store %0, @a : index
  }
  %1 = util.global.load @a : index
  %2 = util.global.load @b : index
  util.return %1, %2 : index, index
}

// -----

// CHECK-LABEL: @region_with_call
// CHECK: util.global.store
// CHECK-NEXT: scf.if
// CHECK: util.global.load
// CHECK-LABEL: @pointers
// CHECK: util.global.store
// CHECK: util.global.store.indirect
// CHECK: util.global.load
util.global private mutable @a = 5 : index
util.func private @other()
util.func public @region_with_call(%c: i1, %n: index) -> index {
  util.global.store %n, @a : index
  scf.if %c {
    util.call @other() : () -> ()
  }
  %0 = util.global.load @a : index
  util.return %0 : index
}
util.func public @pointers(%n: index) -> index {
  %p = util.global.address @a : !util.ptr<index>
  util.global.store %n, @a : index
  %0 = arith.addi %n, %n : index
  util.global.store.indirect %0, %p : index -> !util.ptr<index>
  %1 = util.global.load @a : index
  util.return %1 : index
}

// -----

// A value is not replaced by one of another type.
// CHECK-LABEL: @types
// CHECK-NEXT: util.global.store %{{.*}}, @a : tensor<4xf32>
// CHECK-NEXT: util.global.load @a : tensor<?xf32>
util.global private mutable @a : tensor<4xf32>
util.func public @types(%x: tensor<4xf32>) -> tensor<?xf32> {
  util.global.store %x, @a : tensor<4xf32>
  %0 = util.global.load @a : tensor<?xf32>
  util.return %0 : tensor<?xf32>
}

// -----

// A load has its own type.
// CHECK-LABEL: @types
// CHECK-NEXT: %[[ANY:.*]] = util.global.load @a : tensor<?xf32>
// CHECK-NEXT: %[[KNOWN:.*]] = util.global.load @a : tensor<2xf32>
// CHECK-NEXT: util.return %[[ANY]], %[[KNOWN]]
util.global private @a = dense<[1.0, 2.0]> : tensor<2xf32>
util.func public @types() -> (tensor<?xf32>, tensor<2xf32>) {
  %0 = util.global.load @a : tensor<?xf32>
  %1 = util.global.load @a : tensor<2xf32>
  util.return %0, %1 : tensor<?xf32>, tensor<2xf32>
}
