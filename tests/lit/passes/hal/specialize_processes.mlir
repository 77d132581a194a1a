// RUN: mesh-opt %s --split-input-file --specialize-processes --verify-diagnostics | filecheck %s

// Processes of two kinds: two copies of what runs on the device of the process, and a choice.

util.global private @a = #hal.device.target<"local", [#hal.executable.target<"vmvx", "x">]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"vmvx", "y">]> : !hal.device
util.global private @c = #hal.device.target<"local", [#hal.executable.target<"vmvx", "y">]> : !hal.device
// CHECK: util.global private @g_device_1 = #hal.device.select<[#hal.device.fallback<@b> : !hal.device, #hal.device.fallback<@c> : !hal.device]> : !hal.device
// CHECK-NOT: @g_device {shard.grid
util.global private @g_device {shard.grid = @g} = #hal.device.select<[#hal.device.fallback<@a>, #hal.device.fallback<@b>, #hal.device.fallback<@c>]> : !hal.device
shard.grid @g(shape = 4) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>, #hal.device.affinity<@a>, #hal.device.affinity<@c>]}

// CHECK: util.global private @g_kind {shard.grid = @g} : index
// CHECK-NEXT: util.initializer {
// CHECK-NEXT:   %[[PROCESS:.*]] = shard.process_linear_index on @g : index
// CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[NUMBER:.*]] = util.switch index from [%[[ZERO]], %[[ONE]], %[[ZERO]], %[[ONE]]] at %[[PROCESS]] else %[[ONE]] : index
// CHECK-NEXT:   util.global.store %[[NUMBER]], @g_kind : index
// CHECK: util.global private @w_on_a {stream.affinity = #hal.device.affinity<@a>} : !stream.resource<constant>
// CHECK: util.global private @w_on_g_device_1 {stream.affinity = #hal.device.affinity<@g_device_1>} : !stream.resource<constant>
util.global private @w {stream.affinity = #hal.device.affinity<@g_device>} : !stream.resource<constant>
// CHECK: util.global private @w__size_on_a : index
// CHECK: util.global private @w__size_on_g_device_1 : index
util.global private @w__size : index
// CHECK: util.initializer {
// CHECK-NEXT: %{{.*}} = util.global.load @g_kind : index
// CHECK-NEXT: scf.index_switch
// CHECK-NEXT: case 0 {
// CHECK:        stream.tensor.constant on(#hal.device.affinity<@a>)
// CHECK-NEXT:   util.global.store %{{.*}}, @w_on_a
// CHECK-NEXT:   util.global.store %{{.*}}, @w__size_on_a
// CHECK-NEXT:   scf.yield
// CHECK:      default {
// CHECK:      util.return
// CHECK: util.initializer {
// CHECK:        case 1 {
// CHECK:        util.global.store %{{.*}}, @w_on_g_device_1
util.initializer {
  %size = arith.constant 8 : index
  %0 = stream.tensor.constant on(#hal.device.affinity<@g_device>) : tensor<2xf32> in !stream.resource<constant> = dense<1.0> : tensor<2xf32>
  util.global.store %0, @w : !stream.resource<constant>
  util.global.store %size, @w__size : index
  util.return
}

// CHECK: util.func private @main_on_a(%x: !hal.buffer_view) -> index attributes {stream.affinity.default = #hal.device.affinity<@a>} {
// CHECK:   util.global.load immutable @w__size_on_a : index
// CHECK: util.func private @main_on_g_device_1(%x: !hal.buffer_view) -> index attributes {stream.affinity.default = #hal.device.affinity<@g_device_1>} {
// CHECK:   util.global.load immutable @w__size_on_g_device_1 : index
// CHECK: util.func public @main(%x: !hal.buffer_view {x.note}) -> index attributes {iree.abi.stub} {
// CHECK-NEXT: %[[KIND:.*]] = util.global.load @g_kind : index
// CHECK-NEXT: %[[RESULT:.*]] = scf.index_switch %[[KIND]] -> index
// CHECK-NEXT: case 0 {
// CHECK-NEXT:   %[[A:.*]] = util.call @main_on_a(%x) : (!hal.buffer_view) -> index
// CHECK-NEXT:   scf.yield %[[A]] : index
// CHECK:      default {
// CHECK-NEXT:   %[[B:.*]] = util.call @main_on_g_device_1(%x) : (!hal.buffer_view) -> index
// CHECK:      util.return %[[RESULT]] : index
util.func public @main(%x: !hal.buffer_view {x.note}) -> index attributes {iree.abi.stub, stream.affinity.default = #hal.device.affinity<@g_device>} {
  %0 = util.global.load immutable @w__size : index
  util.return %0 : index
}
// CHECK: util.func public @other() {
util.func public @other() {
  util.return
}

// -----

// Devices of equal targets are of one kind: nothing to choose.

util.global private @a = #hal.device.target<"local", [#hal.executable.target<"vmvx", "x">]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#hal.executable.target<"vmvx", "x">]> : !hal.device
util.global private @g_device {shard.grid = @g} = #hal.device.select<[#hal.device.fallback<@a>, #hal.device.fallback<@b>]> : !hal.device
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>]}
// CHECK: util.func public @alike() attributes {stream.affinity.default = #hal.device.affinity<@g_device>} {
util.func public @alike() attributes {stream.affinity.default = #hal.device.affinity<@g_device>} {
  util.return
}

// -----

util.global private @a = #hal.device.target<"local", [#hal.executable.target<"vmvx", "x">]> : !hal.device
// expected-note @+1 {{device @b is defined here}}
util.global private @b = #hal.device.target<"local"> : !hal.device
util.global private @g_device {shard.grid = @g} = #hal.device.select<[#hal.device.fallback<@a>, #hal.device.fallback<@b>]> : !hal.device
// expected-error @+1 {{runs on @b, whose executable targets are not known}}
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>]}

// -----

util.global private @a = #hal.device.target<"local", [#hal.executable.target<"vmvx", "x">]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"vmvx", "y">]> : !hal.device
util.global private @g_device {shard.grid = @g} = #hal.device.select<[#hal.device.fallback<@a>, #hal.device.fallback<@b>]> : !hal.device
// expected-note @+1 {{the grid is defined here}}
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>]}
util.global private @w {stream.affinity = #hal.device.affinity<@g_device>} : !stream.resource<constant>
util.func public @outside() {
  // expected-error @+1 {{uses a value that is specific to each process of @g, but is in a function that does not run on these processes}}
  %0 = util.global.load immutable @w : !stream.resource<constant>
  util.return
}

// -----

// Nothing is placed yet: functions are placed where their grid says first.

util.global private @a = #hal.device.target<"local", [#hal.executable.target<"vmvx", "x">]> : !hal.device
util.global private @b = #hal.device.target<"local", [#hal.executable.target<"vmvx", "y">]> : !hal.device
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>]}
// CHECK-LABEL: func.func private @main_on_a(%x: tensor<4xf32>) -> tensor<4xf32> attributes {stream.affinity.default = #hal.device.affinity<@a>}
// CHECK: func.func private @main_on_b
// CHECK: func.func @main
// CHECK: scf.index_switch
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = shard.all_reduce %x on @g grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}
