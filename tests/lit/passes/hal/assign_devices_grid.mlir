// RUN: mesh-opt %s --split-input-file --assign-devices --verify-diagnostics | filecheck %s

// What runs on a grid runs on the device of the process, which may be any that the grid names.

util.global private @a = #hal.device.target<"local"> : !hal.device
util.global private @b = #hal.device.target<"local"> : !hal.device
// CHECK: util.global private @g_device {shard.grid = @g} = #hal.device.select<[#hal.device.fallback<@a> : !hal.device, #hal.device.fallback<@b> : !hal.device]> : !hal.device
shard.grid @g(shape = 3) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>, #hal.device.affinity<@a>]}
// CHECK: util.global private mutable @state {stream.affinity = #hal.device.affinity<@g_device>} = dense<0.000000e+00> : tensor<4xf32>
util.global private mutable @state = dense<0.0> : tensor<4xf32>
// CHECK: util.global private @weight = dense<0.000000e+00> : tensor<4xf32>
util.global private @weight = dense<0.0> : tensor<4xf32>
// CHECK: func.func @split(%x: tensor<2xf32> {shard.boundary = {{.*}}}) attributes {stream.affinity.default = #hal.device.affinity<@g_device>}
func.func @split(%x: tensor<2xf32> {shard.boundary = {global_type = tensor<6xf32>, grid = @g, split_axes = #shard<axisarray[[0]]>}}) {
  return
}
// CHECK: func.func @communicates(%x: tensor<2xf32>) -> tensor<2xf32> attributes {stream.affinity.default = #hal.device.affinity<@g_device>}
func.func @communicates(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
  call @keeps() : () -> ()
  return %0 : tensor<2xf32>
}
// CHECK: func.func private @keeps() attributes {stream.affinity.default = #hal.device.affinity<@g_device>} {
func.func private @keeps() {
  %0 = util.global.load @state : tensor<4xf32>
  %1 = util.global.load @weight : tensor<4xf32>
  return
}
// CHECK: func.func @elsewhere(%x: tensor<2xf32>) attributes {stream.affinity.default = #hal.device.affinity<@a>} {
func.func @elsewhere(%x: tensor<2xf32>) {
  return
}

// -----

// All processes on one device: nothing to choose.

util.global private @a = #hal.device.target<"local"> : !hal.device
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@a>]}
// CHECK: func.func @split({{.*}}) attributes {stream.affinity.default = #hal.device.affinity<@a>}
func.func @split(%x: tensor<2xf32> {shard.boundary = {global_type = tensor<4xf32>, grid = @g, split_axes = #shard<axisarray[[0]]>}}) {
  return
}

// -----

util.global private @a = #hal.device.target<"local"> : !hal.device
util.global private @b = #hal.device.target<"local"> : !hal.device
// expected-note @+1 {{the grid names the devices here}}
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>]}
func.func @split(%x: tensor<2xf32> {shard.boundary = {global_type = tensor<4xf32>, grid = @g, split_axes = #shard<axisarray[[0]]>}}) {
  // expected-error @+1 {{names device @b, but runs on the processes of @g, each of which has its own device}}
  %0 = flow.tensor.transfer %x : tensor<2xf32> to #hal.device.affinity<@b>
  return
}

// -----

util.global private @a = #hal.device.target<"local"> : !hal.device
util.global private @b = #hal.device.target<"local"> : !hal.device
util.global private @c = #hal.device.target<"local"> : !hal.device
// expected-note @+1 {{the grid names the devices here}}
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>]}
// expected-error @+1 {{has a default device, #hal.device.affinity<@c>, but runs on the processes of @g}}
func.func @split(%x: tensor<2xf32> {shard.boundary = {global_type = tensor<4xf32>, grid = @g, split_axes = #shard<axisarray[[0]]>}}) attributes {stream.affinity.default = #hal.device.affinity<@c>} {
  return
}

// -----

util.global private @a = #hal.device.target<"local"> : !hal.device
util.global private @b = #hal.device.target<"local"> : !hal.device
// expected-note @+1 {{one grid is defined here}}
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@b>]}
// expected-note @+1 {{one grid is defined here}}
shard.grid @h(shape = 2) {devices = [#hal.device.affinity<@b>, #hal.device.affinity<@a>]}
// expected-error @+1 {{runs on the processes of two grids with different devices}}
func.func @split(%x: tensor<2xf32>) {
  %0 = shard.process_linear_index on @g : index
  %1 = shard.process_linear_index on @h : index
  return
}
