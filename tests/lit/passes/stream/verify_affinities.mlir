// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-stream-verify-affinities

// The first is the end.
util.func public @none(%v: i32, %n: index) {
  // expected-error @+1 {{'stream.async.splat' op does not have an affinity assigned; ensure that the op or some ancestor of it has a valid execution affinity assigned}}
  %0 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %1 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  util.return
}

// -----

util.global private @device : !hal.device
util.func public @of_scope(%v: i32, %n: index) attributes {stream.affinity.default = #hal.device.affinity<@device>} {
  %0 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  util.return
}

// -----

util.global private @device : !hal.device
util.func public @ends(%r: !stream.resource<*>, %n: index) {
  %s = stream.resource.size %r : !stream.resource<*>
  %0 = stream.async.transfer %r : !stream.resource<*>{%n} from(#hal.device.affinity<@device>) -> !stream.resource<*>{%n}
  // expected-error @+1 {{'stream.async.transfer' op does not have an affinity assigned; ensure that the op or some ancestor of it has a valid execution affinity assigned}}
  %1 = stream.async.transfer %r : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  util.return
}

// -----

// expected-error @+1 {{'util.global' op does not have an affinity assigned; ensure that the op or some ancestor of it has a valid execution affinity assigned}}
util.global private @tensor : tensor<4xf32>

// -----

util.global private @resource : !stream.resource<constant>
util.func public @constant() -> tensor<4xf32> {
  %0 = arith.constant 1.0 : f32
  // expected-error @+1 {{'arith.constant' op does not have an affinity assigned; ensure that the op or some ancestor of it has a valid execution affinity assigned}}
  %1 = arith.constant dense<1.0> : tensor<4xf32>
  util.return %1 : tensor<4xf32>
}
