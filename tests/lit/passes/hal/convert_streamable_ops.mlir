// RUN: mesh-opt %s --iree-abi-convert-streamable-ops | filecheck %s

// Sizes of results are arguments, those of a tied argument, or computed by another function.

// CHECK: flow.func private @given(%{{.*}}: tensor<?xf32>, %{{.*}}: index) -> tensor<?xf32>
// CHECK-NOT: iree.abi
util.func private @given(%a: tensor<?xf32>, %n: index) -> (tensor<?xf32> {iree.abi.dims = [1]}) attributes {iree.abi.streamable}
// CHECK: flow.func private @tied(%[[T:.*]]: tensor<?xf32>) -> %[[T]] attributes {iree.reflection
util.func private @tied(%a: tensor<?xf32>) -> %a attributes {iree.abi.streamable, iree.reflection = {x = "y"}}
util.func private @sizes(tensor<?x?xf32>, i32) -> (index, index)
// CHECK: flow.func private @computed
util.func private @computed(%a: tensor<?x?xf32>, %i: i32) -> tensor<?x?xf32> attributes {iree.abi.streamable, iree.abi.result_dims = @sizes}
// CHECK: util.func private @other
util.func private @other(%a: tensor<?xf32>) -> tensor<?xf32>

// CHECK: util.func public @main(%x: tensor<?xf32>, %y: tensor<?x?xf32>, %n: index, %i: i32)
util.func public @main(%x: tensor<?xf32>, %y: tensor<?x?xf32>, %n: index, %i: i32) -> (tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>) {
  // CHECK: %[[D:.*]] = tensor.dim %x
  // CHECK: %[[G:.*]] = flow.call @given(%x, %n) : (tensor<?xf32>{%[[D]]}, index) -> tensor<?xf32>{%n}
  %0 = util.call @given(%x, %n) : (tensor<?xf32>, index) -> tensor<?xf32>
  // CHECK: flow.call @tied(%[[G]]) : (tensor<?xf32>{%{{.*}}}) -> %[[G]]{
  %1 = util.call @tied(%0) : (tensor<?xf32>) -> %0
  // CHECK: %[[S:.*]]:2 = util.call @sizes(%y, %i)
  // CHECK: flow.call @computed(%y, %i) : (tensor<?x?xf32>{%{{.*}}, %{{.*}}}, i32) -> tensor<?x?xf32>{%[[S]]#0, %[[S]]#1}
  %2 = util.call @computed(%y, %i) : (tensor<?x?xf32>, i32) -> tensor<?x?xf32>
  // CHECK: util.call @other
  %3 = util.call @other(%1) : (tensor<?xf32>) -> tensor<?xf32>
  util.return %1, %3, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>
}
