// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// A grid may name the device of each process.

util.global private @a = #hal.device.target<"local"> : !hal.device
util.global private @b = #hal.device.target<"local"> : !hal.device

// CHECK: shard.grid @g(shape = 2x2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>, #hal.device.affinity<@b>, #hal.device.affinity<@a, [1]>]}
shard.grid @g(shape = 2x2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>, #hal.device.affinity<@b>, #hal.device.affinity<@a, [1]>]}

// Devices of an outer module are seen.

module @inner {
  // CHECK: shard.grid @h(shape = 1) {devices = [#hal.device.affinity<@a>]}
  shard.grid @h(shape = 1) {devices = [#hal.device.affinity<@a>]}
}
