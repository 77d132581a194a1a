// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Channels, collectives, functions and parameters: what lies outside.

flow.func private @ff(%a: tensor<4x?xf32>, %n: index) -> (%a, tensor<4xf32>)
util.func private @f(%channel: !flow.channel, %t: tensor<4x?xf32>, %u: tensor<4x?xf32>, %n: index, %m: index, %i64: i64, %scope: !util.buffer, %key: !util.buffer, %s: tensor<4xf32>) {
  // CHECK: flow.channel.default : !flow.channel
  %v0 = flow.channel.default : !flow.channel
  // CHECK: flow.channel.default "group" : !flow.channel
  %v1 = flow.channel.default "group" : !flow.channel
  // CHECK: flow.channel.count %channel : index
  %v2 = flow.channel.count %channel : index
  // CHECK: flow.channel.rank %channel : index
  %v3 = flow.channel.rank %channel : index
  // CHECK: flow.channel.split %channel, %n, %m : !flow.channel -> !flow.channel
  %v4 = flow.channel.split %channel, %n, %m : !flow.channel -> !flow.channel
  // CHECK: flow.collective.all_gather f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  %v5 = flow.collective.all_gather f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  // CHECK: flow.collective.all_gather f32, %s, %s, %channel : (tensor<4xf32>, tensor<4xf32>, !flow.channel) -> %s as tensor<4xf32>
  %v6 = flow.collective.all_gather f32, %s, %s, %channel : (tensor<4xf32>, tensor<4xf32>, !flow.channel) -> %s as tensor<4xf32>
  // CHECK: flow.collective.all_reduce sum, f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  %v7 = flow.collective.all_reduce sum, f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  // CHECK: flow.collective.reduce_scatter sum, f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  %v8 = flow.collective.reduce_scatter sum, f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  // CHECK: flow.collective.all_to_all f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  %v9 = flow.collective.all_to_all f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  // CHECK: flow.collective.send_recv f32, %t, %u, %channel, %n, %m : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel, index, index) -> %t as tensor<4x?xf32>{%n}
  %v10 = flow.collective.send_recv f32, %t, %u, %channel, %n, %m : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel, index, index) -> %t as tensor<4x?xf32>{%n}
  // CHECK: flow.call @ff(%t, %n) : (tensor<4x?xf32>{%n}, index) -> (%t{%n}, tensor<4xf32>)
  %v11_0, %v11_1 = flow.call @ff(%t, %n) : (tensor<4x?xf32>{%n}, index) -> (%t{%n}, tensor<4xf32>)
  // CHECK: flow.parameter.load %scope::%key[%i64] : tensor<4x?xf32>{%n}
  %v12 = flow.parameter.load %scope::%key[%i64] : tensor<4x?xf32>{%n}
  // CHECK: flow.parameter.load %key[%i64] : tensor<4xf32>
  %v13 = flow.parameter.load %key[%i64] : tensor<4xf32>
  // CHECK: flow.parameter.write %t -> %scope::%key[%i64] : tensor<4x?xf32>{%n}
  %v14 = flow.parameter.write %t -> %scope::%key[%i64] : tensor<4x?xf32>{%n}
  // CHECK: flow.parameter.write %s -> %key[%i64] : tensor<4xf32>
  %v15 = flow.parameter.write %s -> %key[%i64] : tensor<4xf32>
  // CHECK: flow.tensor.dynamic_constant dense<1> : tensor<4xi32> -> tensor<?xi32>
  %v16 = flow.tensor.dynamic_constant dense<1> : tensor<4xi32> -> tensor<?xi32>
  // CHECK: flow.tensor.dynamic_constant #util.byte_pattern<1> : tensor<4xi32> -> tensor<?xi32>
  %v17 = flow.tensor.dynamic_constant #util.byte_pattern<1> : tensor<4xi32> -> tensor<?xi32>
  // CHECK: flow.tensor.trace "foo" = [%t : tensor<4x?xf32>{%n}, %s : tensor<4xf32>]
  flow.tensor.trace "foo" = [%t : tensor<4x?xf32>{%n}, %s : tensor<4xf32>]
  // CHECK: flow.collective.all_reduce sum, f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  %v19 = flow.collective.all_reduce sum, f32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  // CHECK: flow.collective.reduce_scatter maximum, bf16, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  %v20 = flow.collective.reduce_scatter maximum, bf16, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  // CHECK: flow.collective.all_to_all ui32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  %v21 = flow.collective.all_to_all ui32, %t, %u, %channel : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel) -> %t as tensor<4x?xf32>{%n}
  // CHECK: flow.collective.send_recv si8, %t, %u, %channel, %n, %m : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel, index, index) -> %t as tensor<4x?xf32>{%n}
  %v22 = flow.collective.send_recv si8, %t, %u, %channel, %n, %m : (tensor<4x?xf32>, tensor<4x?xf32>, !flow.channel, index, index) -> %t as tensor<4x?xf32>{%n}
  util.return
}
