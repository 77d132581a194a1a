// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// Devices of the processes of a grid. Upstream reads nothing into them, and knows no devices.

util.global private @a = #hal.device.target<"local"> : !hal.device
// expected-error @+1 {{devices name one device for each process: expected 4 for grid @g, got 2}}
shard.grid @g(shape = 2x2) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@a>]}

// -----

util.global private @a = #hal.device.target<"local"> : !hal.device
// expected-error @+1 {{devices name one device for each process, but @g has extents that are only known at run time}}
shard.grid @g(shape = 2x?) {devices = [#hal.device.affinity<@a>, #hal.device.affinity<@a>]}

// -----

// expected-error @+1 {{devices name @a, but the module defines no such device}}
shard.grid @g(shape = 1) {devices = [#hal.device.affinity<@a>]}

// -----

util.global private @a : index
// expected-error @+1 {{devices name @a, which is a 'util.global', not a device: expected a global of type '!hal.device'}}
shard.grid @g(shape = 1) {devices = [#hal.device.affinity<@a>]}

// -----

func.func private @a()
// expected-error @+1 {{devices name @a, which is a 'func.func', not a device}}
shard.grid @g(shape = 1) {devices = [#hal.device.affinity<@a>]}

// -----

util.global private @a = #hal.device.target<"local"> : !hal.device
// expected-error @+1 {{the device of process 1 is expected to be an affinity of one device, got 3 : i32}}
shard.grid @g(shape = 2) {devices = [#hal.device.affinity<@a>, 3 : i32]}

// -----

util.global private @a = #hal.device.target<"local"> : !hal.device
util.global private @b = #hal.device.target<"local"> : !hal.device
// expected-error @+1 {{the device of process 0 is expected to be an affinity of one device}}
shard.grid @g(shape = 1) {devices = [#hal.device.optimal<[#hal.device.affinity<@a>, #hal.device.affinity<@b>]>]}

// -----

// expected-error @+1 {{devices of a grid are expected to be a list of affinities, got @a}}
shard.grid @g(shape = 1) {devices = @a}
