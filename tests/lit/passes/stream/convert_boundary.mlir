// RUN: mesh-opt %s --split-input-file --iree-stream-conversion | filecheck %s

// What a caller passes as a buffer view is checked before it is read.

// CHECK-LABEL: util.func public @imports
// CHECK-SAME: (%view: !hal.buffer_view, %n: index, %fence: !hal.fence)
// CHECK: %[[E:.*]] = hal.element_type<i32> : i32
// CHECK: %[[O:.*]] = hal.encoding_type<dense_row_major> : i32
// CHECK: %[[C:.*]] = arith.constant 5 : index
// CHECK: hal.buffer_view.assert<%view : !hal.buffer_view> message("input0") shape([%n, %[[C]]]) type(%[[E]]) encoding(%[[O]])
// CHECK: %[[S:.*]] = stream.tensor.sizeof tensor<?x5xf32>{%n} : index
// CHECK: %[[I:.*]] = stream.tensor.import consume %view : !hal.buffer_view -> tensor<?x5xi32>{%n} in !stream.resource<external>{%[[S]]}
// CHECK: %[[T:.*]] = stream.timepoint.import %fence : (!hal.fence) => !stream.timepoint
// CHECK: %[[W:.*]] = stream.timepoint.await %[[T]] => %[[I]] : !stream.resource<external>{%[[S]]}
// CHECK: stream.async.cast %[[W]] : !stream.resource<external>{%[[S]]} -> !stream.resource<*>{%[[S]]}
util.func public @imports(%view: !hal.buffer_view, %n: index, %fence: !hal.fence) -> tensor<?x5xf32> {
  %0 = hal.tensor.import wait(%fence) => consume %view "input0" : !hal.buffer_view -> tensor<?x5xi32> as tensor<?x5xf32>{%n}
  util.return %0 : tensor<?x5xf32>
}

// -----

// A buffer says nothing of what is in it.

// CHECK-LABEL: util.func public @buffers
// CHECK-NOT: assert
// CHECK: stream.tensor.import %b : !hal.buffer -> tensor<4xf32> in !stream.resource<external>{%{{.*}}}
// CHECK: stream.tensor.export %{{.*}} : tensor<4xi32> in !stream.resource<external>{%{{.*}}} -> !hal.buffer
util.func public @buffers(%b: !hal.buffer) -> !hal.buffer {
  %0 = hal.tensor.import %b : !hal.buffer -> tensor<4xf32>
  %1 = hal.tensor.export %0 : tensor<4xi32> as tensor<4xf32> -> !hal.buffer
  util.return %1 : !hal.buffer
}

// -----

// A tensor that is stored in a caller's buffer is copied there, and read from there.

// CHECK-LABEL: util.func public @alias
// CHECK-SAME: (%x: !stream.resource<*>, %[[S:[0-9]+]]: index, %n: index, %b: !hal.buffer, %fence: !hal.fence)
// CHECK: %[[B:.*]] = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<?xf32>{%n} : index
// CHECK: %[[I:.*]] = stream.tensor.import on(#hal.device.affinity<@a>) consume %b : !hal.buffer -> tensor<?xf32>{%n} in !stream.resource<external>{%[[B]]}
// CHECK: %[[T:.*]] = stream.timepoint.import on(#hal.device.affinity<@a>) %fence : (!hal.fence) => !stream.timepoint
// CHECK: %[[W:.*]] = stream.timepoint.await %[[T]] => %[[I]] : !stream.resource<external>{%[[B]]}
// CHECK: %[[Z:.*]] = arith.constant 0 : index
// CHECK: %[[U:.*]] = stream.async.update on(#hal.device.affinity<@a>) %x, %[[W]][%[[Z]] to %[[S]]] : !stream.resource<*>{%[[S]]} -> %[[W]] as !stream.resource<external>{%[[B]]}
// CHECK: %[[P:.*]] = stream.async.slice on(#hal.device.affinity<@a>) %[[U]][%[[Z]] to %[[S]]] : !stream.resource<external>{%[[B]]} -> !stream.resource<external>{%[[S]]}
// CHECK: stream.async.transfer %[[P]] : !stream.resource<external>{%[[S]]} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@a>) !stream.resource<*>{%[[S]]}
util.global private @a : !hal.device
util.func public @alias(%x: tensor<?xf32>, %n: index, %b: !hal.buffer, %fence: !hal.fence) -> tensor<?xf32> {
  %0 = hal.tensor.alias on(#hal.device.affinity<@a>) wait(%fence) => %x : tensor<?xf32>{%n} to %b : !hal.buffer
  util.return %0 : tensor<?xf32>
}

// -----

// CHECK-LABEL: util.func public @transients
// CHECK-SAME: (%x: !stream.resource<*>, %[[S:[0-9]+]]: index, %b: !hal.buffer)
// CHECK: %[[R:.*]], %[[R_T:.*]] = stream.timepoint.barrier %x : !stream.resource<*>{%[[S]]} => !stream.timepoint
// CHECK: %[[L:.*]] = hal.buffer.length<%b : !hal.buffer> : index
// CHECK: %[[I:.*]] = stream.tensor.import %b : !hal.buffer -> tensor<?xi8>{%[[L]]} in !stream.resource<transient>{%[[L]]}
// CHECK: %[[T:.*]], %[[T_T:.*]] = stream.resource.transients await(%[[R_T]]) => %[[R]] : !stream.resource<*>{%[[S]]} from %[[I]] : !stream.resource<transient>{%[[L]]} => !stream.timepoint
// CHECK: stream.timepoint.await %[[T_T]] => %[[T]] : !stream.resource<*>{%[[S]]}
util.func public @transients(%x: tensor<4xf32>, %b: !hal.buffer) -> tensor<4xf32> {
  %0 = hal.tensor.transients %x : tensor<4xf32> from %b : !hal.buffer
  util.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: util.func public @barrier
// CHECK-SAME: (%x: !stream.resource<*>, %[[X:[0-9]+]]: index, %y: !stream.resource<*>, %[[Y:[0-9]+]]: index, %fence: !hal.fence)
// CHECK: %[[A:.*]], %[[A_T:.*]] = stream.timepoint.barrier %x : !stream.resource<*>{%[[X]]} => !stream.timepoint
// CHECK: %[[B:.*]], %[[B_T:.*]] = stream.timepoint.barrier %y : !stream.resource<*>{%[[Y]]} => !stream.timepoint
// CHECK: %[[J:.*]] = stream.timepoint.join max(%[[A_T]], %[[B_T]]) => !stream.timepoint
// CHECK: stream.timepoint.chain_external %[[J]] => (%fence : !hal.fence)
// CHECK: util.return %[[A]], %[[X]], %[[B]], %[[Y]]
util.func public @barrier(%x: tensor<3xf32>, %y: tensor<4xf32>, %fence: !hal.fence) -> (tensor<3xf32>, tensor<4xf32>) {
  %0:2 = hal.tensor.barrier join(%x, %y : tensor<3xf32>, tensor<4xf32>) => %fence : !hal.fence
  util.return %0#0, %0#1 : tensor<3xf32>, tensor<4xf32>
}
