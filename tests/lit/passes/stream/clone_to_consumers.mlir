// RUN: mesh-opt %s --iree-stream-clone-to-consumers | filecheck %s

#a = #hal.device.affinity<@a>
#b = #hal.device.affinity<@b>

// CHECK-LABEL: @chain
util.func private @chain(%v: i32) -> (tensor<4xi32>, tensor<4xi32>) {
  // CHECK-DAG: [[S0:%.*]] = flow.tensor.splat
  // CHECK-DAG: [[R0:%.*]] = flow.tensor.reshape [[S0]]
  // CHECK-DAG: [[S1:%.*]] = flow.tensor.splat
  // CHECK-DAG: [[R1:%.*]] = flow.tensor.reshape [[S1]]
  %0 = flow.tensor.splat %v : tensor<4xi32>
  %1 = flow.tensor.reshape %0 : tensor<4xi32> -> tensor<2x2xi32>
  // CHECK: flow.dispatch @ex::@f(
  %2 = flow.dispatch @ex::@f(%1) {stream.affinity = #a} : (tensor<2x2xi32>) -> tensor<4xi32>
  // CHECK: flow.dispatch @ex::@f(
  %3 = flow.dispatch @ex::@f(%1) {stream.affinity = #b} : (tensor<2x2xi32>) -> tensor<4xi32>
  util.return %2, %3 : tensor<4xi32>, tensor<4xi32>
}

// Once for a device, however often it reads it; and where a transfer takes it to.
// CHECK-LABEL: @transferred
util.func private @transferred(%n: index, %v: i32) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %c0 = arith.constant 0 : index
  // CHECK-COUNT-2: stream.async.splat
  // CHECK-NOT: stream.async.splat
  %0 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %1 = stream.async.transfer %0 : !stream.resource<*>{%n} -> to(#b) !stream.resource<*>{%n}
  %2 = stream.async.dispatch on(#a) @ex::@f(%0[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%n}
  %3 = stream.async.dispatch on(#a) @ex::@f(%0[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%n}
  util.return %1, %2, %3 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// CHECK-LABEL: @kept
util.func private @kept(%v: i32, %x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  // Says where it is; is made of an argument; holds no tensor.
  // CHECK-COUNT-1: flow.tensor.splat
  // CHECK-COUNT-1: flow.tensor.reshape
  // CHECK-COUNT-1: arith.constant
  // CHECK-NEXT: flow.dispatch
  %0 = flow.tensor.splat %v : tensor<4xi32> attributes {stream.affinity = #a}
  %1 = flow.tensor.reshape %x : tensor<4xi32> -> tensor<2x2xi32>
  %c1 = arith.constant 1 : index
  %2 = flow.dispatch @ex::@f[%c1](%0, %1) {stream.affinity = #a} : (tensor<4xi32>, tensor<2x2xi32>) -> tensor<4xi32>
  %3 = flow.dispatch @ex::@f[%c1](%0, %1) {stream.affinity = #b} : (tensor<4xi32>, tensor<2x2xi32>) -> tensor<4xi32>
  util.return %2, %3 : tensor<4xi32>, tensor<4xi32>
}
