// RUN: mesh-opt %s --split-input-file --iree-abi-wrap-entry-points | filecheck %s
// RUN: mesh-opt %s --split-input-file --iree-abi-wrap-entry-points=invocation-model=coarse-fences | filecheck %s --check-prefix=FENCES

// Functions are called by those that callers see.

// CHECK-LABEL: util.func public @f(%a: !hal.buffer_view, %b: !hal.buffer) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func
// CHECK: %[[A:.*]] = hal.tensor.import %a "input0" : !hal.buffer_view -> tensor<?xf32>{%{{.*}}}
// CHECK: %[[R:.*]] = util.call @_f(%[[A]], %b) : (tensor<?xf32>, !hal.buffer) -> tensor<?xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[R]]
// CHECK: %[[S:.*]] = hal.tensor.alias %[[R]] : tensor<?xf32>{%[[N]]} to %b : !hal.buffer
// CHECK: hal.tensor.export %[[S]] "output0" : tensor<?xf32>{%[[N]]} -> !hal.buffer_view
// CHECK: util.func private @_f(%a: tensor<?xf32>, %b: !hal.buffer) -> tensor<?xf32> attributes {hal.abi.convention = #hal.abi.convention<synchronous>} {
// FENCES-LABEL: util.func public @f(%a: !hal.buffer_view, %b: !hal.buffer, %{{.*}}: !hal.fence, %{{.*}}: !hal.fence) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "async func {{.*}}, iree.abi.model = "coarse-fences"}}
// FENCES: %[[A:.*]] = hal.tensor.import wait(%[[WAIT:.*]]) => %a "input0"
// FENCES: %[[R:.*]] = util.call @_f(%[[A]], %b)
// FENCES: %[[S:.*]] = hal.tensor.alias wait(%[[WAIT]]) => %[[R]]
// FENCES: %[[E:.*]] = hal.tensor.barrier join(%[[S]] : tensor<?xf32>) => %{{.*}} : !hal.fence
// FENCES: hal.tensor.export %[[E]]
// FENCES: util.func private @_f{{.*}}coarse_fences
util.func public @f(%a: tensor<?xf32>, %b: !hal.buffer {iree.abi.output = 0 : index}) -> tensor<?xf32> {
  util.return %a : tensor<?xf32>
}

// -----

// What gives no tensors is ready at once.

// CHECK-LABEL: util.func public @number(%a: i32) -> i32
// CHECK: util.call @_number(%a) : (i32) -> i32
// FENCES-LABEL: util.func public @number(%a: i32, %{{.*}}: !hal.fence, %{{.*}}: !hal.fence) -> i32
// FENCES: util.call @_number(%a) : (i32) -> i32
// FENCES: hal.fence.signal<%{{.*}} : !hal.fence>
util.func public @number(%a: i32) -> i32 {
  util.return %a : i32
}

// -----

// A function of others is called by one on tensors.

// CHECK-LABEL: util.func private @theirs(%{{.*}}: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub}
// CHECK: util.func private @_theirs(%[[A:.*]]: tensor<?x2xi32>) -> tensor<2x?xi32> attributes {hal.abi.convention = #hal.abi.convention<synchronous>} {
// CHECK: %[[E:.*]] = hal.tensor.export %[[A]] : tensor<?x2xi32>{%{{.*}}} -> !hal.buffer_view
// CHECK: %[[R:.*]] = util.call @theirs(%[[E]]) : (!hal.buffer_view) -> !hal.buffer_view
// CHECK: %[[N:.*]] = hal.buffer_view.dim<%[[R]] : !hal.buffer_view>[1] : index
// CHECK: hal.tensor.import %[[R]] : !hal.buffer_view -> tensor<2x?xi32>{%[[N]]}
// CHECK: util.call @_theirs(%a)
// FENCES-LABEL: util.func private @theirs(%{{.*}}: !hal.buffer_view, %{{.*}}: !hal.fence, %{{.*}}: !hal.fence) -> !hal.buffer_view attributes {iree.abi.stub}
// FENCES: %[[GIVEN:.*]] = hal.fence.create
// FENCES: %[[E:.*]] = hal.tensor.barrier join(%{{.*}} : tensor<?x2xi32>) => %[[GIVEN]] : !hal.fence
// FENCES: %[[READY:.*]] = hal.fence.create
// FENCES: hal.tensor.export %[[E]]
// FENCES: util.call @theirs(%{{.*}}, %[[GIVEN]], %[[READY]])
// FENCES: hal.tensor.import wait(%[[READY]])
util.func private @theirs(tensor<?x2xi32>) -> tensor<2x?xi32>
util.func private @caller(%a: tensor<?x2xi32>) -> tensor<2x?xi32> {
  %0 = util.call @theirs(%a) : (tensor<?x2xi32>) -> tensor<2x?xi32>
  util.return %0 : tensor<2x?xi32>
}

// -----

// No tensor waits for what a function of others does, so its caller does.

// FENCES-LABEL: util.func private @_effects(%{{.*}}: i32) -> i32 attributes {hal.abi.convention = #hal.abi.convention<synchronous>} {
// FENCES: hal.fence.create
// FENCES: %[[DONE:.*]] = hal.fence.create
// FENCES: %[[R:.*]] = util.call @effects(%{{.*}}, %{{.*}}, %[[DONE]])
// FENCES: hal.fence.await until([%[[DONE]]])
// FENCES: util.return %[[R]]
util.func private @effects(i32) -> i32
util.func private @caller(%a: i32) -> i32 {
  %0 = util.call @effects(%a) : (i32) -> i32
  util.return %0 : i32
}

// -----

// Nor is there a fence to signal if it has no side effects.

// FENCES-LABEL: util.func private @_pure(%{{.*}}: i32) -> i32 attributes {hal.abi.convention = #hal.abi.convention<coarse_fences>} {
// FENCES: %[[NONE:.*]] = util.null : !hal.fence
// FENCES: util.call @pure(%{{.*}}, %{{.*}}, %[[NONE]])
// FENCES-NOT: hal.fence.await
util.func private @pure(i32) -> i32 attributes {nosideeffects}
util.func private @caller(%a: i32) -> i32 {
  %0 = util.call @pure(%a) : (i32) -> i32
  util.return %0 : i32
}
