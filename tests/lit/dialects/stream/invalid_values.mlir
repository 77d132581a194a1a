// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{symbol declaration cannot have public visibility}}
stream.async.func public @declared(%a: !stream.resource<*>) -> %a

// -----

util.func private @affinity(%n: index) {
  // expected-error @+1 {{invalid kind of attribute specified: 'affinity' must be an affinity, but got @d}}
  %0 = stream.tensor.empty on(@d) : tensor<4xf32> in !stream.resource<*>{%n}
  util.return
}

// -----

util.func private @load(%x: !stream.resource<staging>, %i: index) {
  // expected-error @+1 {{indices rank mismatch}}
  %0 = stream.tensor.load %x[%i] : tensor<4x4xf32> in !stream.resource<staging>{%i} -> f32
  util.return
}

// -----

util.func private @open(%x: !stream.resource<*>, %i: index) {
  // expected-error @+1 {{operand #0 must be !stream.resource<staging>, but got '!stream.resource<*>'}}
  %0 = stream.tensor.load %x[%i] : tensor<4xf32> in !stream.resource<*>{%i} -> f32
  util.return
}

// -----

util.func private @store(%x: !stream.resource<staging>, %i: index, %v: f32) {
  // expected-error @+1 {{indices rank mismatch}}
  %0 = stream.tensor.store %v, %x[%i] : f32 -> tensor<4x4xf32> in %x as !stream.resource<staging>{%i}
  util.return
}

// -----

util.func private @slice(%x: !stream.resource<*>, %i: index) {
  // expected-error @+1 {{start_indices/lengths rank mismatch}}
  %0 = stream.tensor.slice %x[%i for %i] : tensor<4x4xf32> in !stream.resource<*>{%i} -> tensor<4xf32> in !stream.resource<*>{%i}
  util.return
}

// -----

util.func private @splat(%i: index, %v: tensor<4xf32>) {
  // expected-error @+1 {{but got 'tensor<4xf32>'}}
  %0 = stream.tensor.splat %v : tensor<4xf32> -> tensor<4xf32> in !stream.resource<*>{%i}
  util.return
}
