// RUN: mesh-opt %s --split-input-file --iree-stream-conversion | filecheck %s

// CHECK-LABEL: util.func public @channels
// CHECK-SAME: (%color: index, %key: index) -> (!stream.channel, index, index)
// CHECK: %[[D:.*]] = stream.channel.create group("group") : !stream.channel
// CHECK: %[[S:.*]] = stream.channel.split %[[D]], %color, %key : !stream.channel -> !stream.channel
// CHECK: %[[R:.*]] = stream.channel.rank %[[S]] : index
// CHECK: %[[C:.*]] = stream.channel.count %[[S]] : index
// CHECK: util.return %[[S]], %[[R]], %[[C]] : !stream.channel, index, index
util.func public @channels(%color: index, %key: index) -> (!flow.channel, index, index) {
  %0 = flow.channel.default "group" : !flow.channel
  %1 = flow.channel.split %0, %color, %key : !flow.channel -> !flow.channel
  %2 = flow.channel.rank %1 : index
  %3 = flow.channel.count %1 : index
  util.return %1, %2, %3 : !flow.channel, index, index
}

// -----

// CHECK-LABEL: util.func public @all_reduce
// CHECK-SAME: (%channel: !stream.channel, %x: !stream.resource<*>, %[[X:[0-9]+]]: index, %n: index)
// CHECK: %[[S:.*]] = stream.tensor.sizeof tensor<?x4xf32>{%n} : index
// CHECK: %[[E:.*]] = stream.tensor.empty : tensor<?x4xf32>{%n} in !stream.resource<*>{%[[S]]}
// CHECK: %[[Z:.*]] = arith.constant 0 : index
// CHECK: %[[F:.*]] = arith.constant 4 : index
// CHECK: %[[N:.*]] = arith.muli %[[F]], %n : index
// CHECK: %[[R:.*]] = stream.async.collective<all_reduce with maximum : f32>[%[[N]]] channel(%channel) %x[%[[Z]] to %[[X]] for %[[X]]], %[[E]][%[[Z]] to %[[S]] for %[[S]]] : !stream.resource<*>{%[[X]]} -> %[[E]] as !stream.resource<*>{%[[S]]}
// CHECK: util.return %[[R]], %[[S]]
util.func public @all_reduce(%channel: !flow.channel, %x: tensor<?x4xf32>, %n: index) -> tensor<?x4xf32> {
  %0 = flow.tensor.empty : tensor<?x4xf32>{%n}
  %1 = flow.collective.all_reduce maximum, f32, %0, %x, %channel : (tensor<?x4xf32>, tensor<?x4xf32>, !flow.channel) -> %0 as tensor<?x4xf32>{%n}
  util.return %1 : tensor<?x4xf32>
}

// -----

// The elements that are counted are those of the target.

// CHECK-LABEL: util.func public @others
// CHECK: %[[A:.*]] = arith.constant 8 : index
// CHECK: stream.async.collective<all_gather : f32>[%[[A]]]
// CHECK: %[[B:.*]] = arith.constant 8 : index
// CHECK: stream.async.collective<all_to_all : f32>[%[[B]]]
// CHECK: %[[C:.*]] = arith.constant 4 : index
// CHECK: stream.async.collective<reduce_scatter with sum : f32>[%[[C]]]
util.func public @others(%channel: !flow.channel, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = flow.tensor.empty : tensor<8xf32>
  %1 = flow.collective.all_gather f32, %0, %x, %channel : (tensor<8xf32>, tensor<4xf32>, !flow.channel) -> %0 as tensor<8xf32>
  %2 = flow.tensor.empty : tensor<8xf32>
  %3 = flow.collective.all_to_all f32, %2, %1, %channel : (tensor<8xf32>, tensor<8xf32>, !flow.channel) -> %2 as tensor<8xf32>
  %4 = flow.tensor.empty : tensor<4xf32>
  %5 = flow.collective.reduce_scatter sum, f32, %4, %3, %channel : (tensor<4xf32>, tensor<8xf32>, !flow.channel) -> %4 as tensor<4xf32>
  util.return %5 : tensor<4xf32>
}

// -----

// Whom to send to and whom to receive from share a number.

// CHECK-LABEL: util.func public @send_recv
// CHECK: %[[S:.*]] = arith.index_cast %send : index to i32
// CHECK: %[[M:.*]] = arith.constant 65535 : i32
// CHECK: %[[L:.*]] = arith.andi %[[S]], %[[M]] : i32
// CHECK: %[[R:.*]] = arith.index_cast %recv : index to i32
// CHECK: %[[H:.*]] = arith.constant 16 : i32
// CHECK: %[[U:.*]] = arith.shli %[[R]], %[[H]] : i32
// CHECK: %[[P:.*]] = arith.ori %[[U]], %[[L]] : i32
// CHECK: stream.async.collective<send_recv : f32>[%{{.*}}] channel(%channel) source_target_pair(%[[P]])
util.func public @send_recv(%channel: !flow.channel, %x: tensor<4xf32>, %send: index, %recv: index) -> tensor<4xf32> {
  %0 = flow.tensor.empty : tensor<4xf32>
  %1 = flow.collective.send_recv f32, %0, %x, %channel, %send, %recv : (tensor<4xf32>, tensor<4xf32>, !flow.channel, index, index) -> %0 as tensor<4xf32>
  util.return %1 : tensor<4xf32>
}
