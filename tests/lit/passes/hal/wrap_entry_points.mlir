// RUN: mesh-opt %s --split-input-file --wrap-entry-points=inline=true | filecheck %s
// RUN: mesh-opt %s --split-input-file --iree-abi-wrap-entry-points=inline=true | filecheck %s

// CHECK-LABEL: util.func public @main(%a: !hal.buffer_view, %i: i32) -> (!hal.buffer_view, i32) attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @main(%input0: tensor<?x4xf32> {iree.abi.affinity = #hal.device.affinity<@x>}, %input1: i32) -> (%output0: tensor<?x4xf32>, %output1: i32)"}}
// CHECK: %[[M:.*]] = hal.buffer_view.dim<%a : !hal.buffer_view>[0] : index
// CHECK: %[[A:.*]] = hal.tensor.import on(#hal.device.affinity<@x>) %a "input0" : !hal.buffer_view -> tensor<?x4xf32>{%[[M]]}
// CHECK: %[[R:.*]] = hal.tensor.export %[[A]] "output0" : tensor<?x4xf32>{%[[M]]} -> !hal.buffer_view
// CHECK: util.return %[[R]], %i
util.global private @x : !hal.device
func.func @main(%a: tensor<?x4xf32> {iree.abi.affinity = #hal.device.affinity<@x>}, %i: i32) -> (tensor<?x4xf32>, i32) {
  return %a, %i : tensor<?x4xf32>, i32
}

// -----

// What nobody outside can call stays.

// CHECK: func.func private @inner(%a: tensor<4xf32>)
func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
