// RUN: mesh-opt %s --split-input-file --allow-unregistered-dialect --iree-abi-wrap-entry-points=inline=true | filecheck %s

// A function that the program calls stays, and callers get another one.

// CHECK-LABEL: util.func public @outer(%a: !hal.buffer_view) -> !hal.buffer_view
// CHECK: util.call @_other_0(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: util.func public @other(%{{.*}}: !hal.buffer_view) -> !hal.buffer_view
// CHECK: %[[I:.*]] = hal.tensor.import
// CHECK: %[[R:.*]] = util.call @_other_0(%[[I]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: hal.tensor.export %[[R]] "output0"
// CHECK: util.func private @_other_0(%a: tensor<4xf32>) -> tensor<4xf32> attributes {hal.abi.convention = #hal.abi.convention<synchronous>} {
// CHECK-NEXT: util.return %a
// CHECK-LABEL: util.func public @of_func(
// CHECK: func.call @_of_func(
// CHECK: func.func private @_of_func(%a: tensor<4xf32>) -> tensor<4xf32> attributes {hal.abi.convention = #hal.abi.convention<synchronous>} {
// CHECK-NEXT: func.call @_of_func(
util.func private @_other() {
  util.return
}
util.func public @outer(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = util.call @other(%a) : (tensor<4xf32>) -> tensor<4xf32>
  util.return %0 : tensor<4xf32>
}
util.func public @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  util.return %a : tensor<4xf32>
}
func.func @of_func(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @of_func(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// What arguments and results say of callers: their names and types, and where a result is stored.

// CHECK: util.func public @told(%a: !hal.buffer_view {iree.abi.name = "aa"}, %b: !hal.buffer, %c: !hal.buffer_view {iree.abi.consume}) -> (!hal.buffer_view, !hal.buffer_view {iree.abi.name = "rr"})
// CHECK-SAME: "sync func @told(%aa: tensor<?x8xf32>, %input1: !hal.buffer {iree.abi.output = 1 : index}, %input2: tensor<4x8xf32> {iree.abi.consume = unit, iree.abi.encoding = tensor<4x2xf64>}) -> (%output0: tensor<4x8xf32> {iree.abi.encoding = tensor<8x4xf32>}, %rr: tensor<?x8xf32>)"
// CHECK: hal.tensor.import %a "aa" : !hal.buffer_view -> tensor<?x8xf32>{%{{.*}}}
// CHECK: hal.tensor.import consume %c "input2" : !hal.buffer_view -> tensor<4x2xf64> as tensor<4x8xf32>
// CHECK: %[[S:.*]] = hal.tensor.alias %{{.*}} : tensor<?x8xf32>{%[[D:.*]]} to %b : !hal.buffer
// CHECK: hal.tensor.export %{{.*}} "output0" : tensor<8x4xf32> as tensor<4x8xf32> -> !hal.buffer_view
// CHECK-NEXT: hal.tensor.export %[[S]] "rr" : tensor<?x8xf32>{%[[D]]} -> !hal.buffer_view
util.func public @told(%a: tensor<?x8xf32> {iree.abi.name = "aa"}, %b: !hal.buffer {iree.abi.output = 1 : index}, %c: tensor<4x8xf32> {iree.abi.consume, iree.abi.encoding = tensor<4x2xf64>}) -> (tensor<4x8xf32> {iree.abi.encoding = tensor<8x4xf32>}, tensor<?x8xf32> {iree.abi.name = "rr"}) {
  util.return %c, %a : tensor<4x8xf32>, tensor<?x8xf32>
}

// -----

// What has the interface of callers already stays as it is.

// CHECK: util.func public @stub(%a: tensor<4xf32>) -> tensor<4xf32> attributes {iree.abi.stub} {
util.func public @stub(%a: tensor<4xf32>) -> tensor<4xf32> attributes {iree.abi.stub} {
  util.return %a : tensor<4xf32>
}

// -----

// A result is stored in the buffer view of an argument, which the function may write to before.

// CHECK: util.func public @stored(%x: !hal.buffer_view, %o: !hal.buffer_view) -> !hal.buffer_view
// CHECK: %[[O:.*]] = hal.tensor.import consume %o "input1" : !hal.buffer_view -> tensor<4xf32>
// CHECK: %[[S:.*]] = arith.addf %{{.*}}, %[[O]]
// CHECK-NEXT: %[[A:.*]] = hal.tensor.alias %[[S]] : tensor<4xf32> to %o : !hal.buffer_view
// CHECK-NEXT: hal.tensor.export %[[A]] "output0"
util.func public @stored(%x: tensor<4xf32>, %o: tensor<4xf32> {iree.abi.output = 0 : index}) -> tensor<4xf32> {
  %0 = arith.addf %x, %o : tensor<4xf32>
  util.return %0 : tensor<4xf32>
}
