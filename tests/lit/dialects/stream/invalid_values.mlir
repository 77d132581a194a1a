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

// -----

util.func private @not_captured(%r: !stream.resource<transient>, %i: index) {
  %0 = stream.cmd.execute with() {
    // expected-error @+1 {{used resource not listed in explicit captures (or produced internally)}}
    stream.cmd.flush %r[%i for %i] : !stream.resource<transient>{%i}
  } => !stream.timepoint
  util.return
}

// -----

util.func private @captured_outside(%r: !stream.resource<*>, %i: index) {
  %0:2 = stream.async.execute with(%r as %q: !stream.resource<*>{%i}) -> !stream.resource<*>{%i} {
    %1 = stream.async.concurrent with() -> !stream.resource<*>{%i} {
      // expected-error @+1 {{used resource not listed in explicit captures (or produced internally)}}
      %2 = stream.async.clone %q : !stream.resource<*>{%i} -> !stream.resource<*>{%i}
      stream.yield %2 : !stream.resource<*>{%i}
    }
    stream.yield %1 : !stream.resource<*>{%i}
  } => !stream.timepoint
  util.return
}

// -----

util.func private @no_command(%i: index) {
  %0 = stream.cmd.execute with() {
    stream.cmd.serial {
      // expected-error @+1 {{explicit execution regions must only contain explicit ops}}
      %1 = arith.addi %i, %i : index
    }
  } => !stream.timepoint
  util.return
}

// -----

util.func private @outside_of_commands() {
  // expected-error @+1 {{expects parent op to be one of 'stream.cmd.execute, stream.cmd.serial, stream.cmd.concurrent'}}
  stream.cmd.serial {
  }
  util.return
}

// -----

util.func private @outside_of_execution(%r: !stream.resource<*>, %i: index) {
  // expected-error @+1 {{expects parent op to be one of 'stream.async.execute, stream.async.concurrent'}}
  %0 = stream.async.concurrent with(%r as %q: !stream.resource<*>{%i}) -> !stream.resource<*>{%i} {
    stream.yield %q : !stream.resource<*>{%i}
  }
  util.return
}

// -----

util.func private @long_pattern(%r: !stream.resource<transient>, %i: index, %v: i64) {
  %0 = stream.cmd.execute with(%r as %q: !stream.resource<transient>{%i}) {
    // expected-error @+1 {{operand #4 must be i8 or i16 or i32, but got 'i64'}}
    stream.cmd.fill %v, %q[%i for %i] : i64 -> !stream.resource<transient>{%i}
  } => !stream.timepoint
  util.return
}
