// RUN: mesh-opt %s --iree-stream-conversion | filecheck %s

// A trace reads staging memory; a barrier hides bytes but not their size; the sizes of a dynamic
// constant are hidden as well.

// CHECK: util.func public @f(%x: !stream.resource<*>, [[BYTES:%[0-9]+]]: index, %n: index)
// CHECK-NEXT: [[STAGED:%[0-9]+]] = stream.async.transfer %x : !stream.resource<*>{[[BYTES]]} from(#hal.device.affinity<@device>) -> to(#hal.device.affinity<@device>) !stream.resource<staging>{[[BYTES]]}
// CHECK-NEXT: stream.tensor.trace "k" = [
// CHECK-NEXT: [[STAGED]] : tensor<?x4xf32>{%n} in !stream.resource<staging>{[[BYTES]]}
// CHECK-NEXT: ]
// CHECK-NEXT: %y = util.optimization_barrier %x : !stream.resource<*>
// CHECK-NEXT: [[SIZE:%[0-9]+]] = stream.tensor.sizeof on(#hal.device.affinity<@device>) tensor<4xf32> : index
// CHECK-NEXT: %a = stream.async.alloca on(#hal.device.affinity<@device>) : !stream.resource<*>{[[SIZE]]}
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: [[HIDDEN:%[0-9]+]] = util.optimization_barrier %c2 : index
// CHECK-NEXT: stream.tensor.constant on(#hal.device.affinity<@device>) : tensor<?xf32>{[[HIDDEN]]} in !stream.resource<constant> = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: util.return %y, [[BYTES]], %a, [[SIZE]]
util.global private @device = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "x">]> : !hal.device
util.func public @f(%x: tensor<?x4xf32>, %n: index) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<?xf32>) {
  flow.tensor.trace "k" = [%x : tensor<?x4xf32>{%n}]
  %y = util.optimization_barrier %x : tensor<?x4xf32>
  %a = flow.tensor.alloca : tensor<4xf32>
  %c = flow.tensor.dynamic_constant dense<[1.0, 2.0]> : tensor<2xf32> -> tensor<?xf32>
  util.return %y, %a, %c : tensor<?x4xf32>, tensor<4xf32>, tensor<?xf32>
}
