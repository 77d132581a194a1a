// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-stream-verify-lowering-to-async

util.func public @tensors(%n: index) {
  // expected-error @+1 {{'tensor.empty' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed}}
  %0 = tensor.empty() : tensor<4xf32>
  // expected-error @+2 {{'flow.tensor.splat' op : streamable op expected to be in an execution region}}
  // expected-error @+1 {{'flow.tensor.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed}}
  %1 = flow.tensor.splat %n : tensor<4xindex>
  util.return
}

// -----

// The boundary stays; kernels are not looked at.
util.func public @boundary(%v: !hal.buffer_view, %n: index) {
  // expected-error @+1 {{'stream.tensor.sizeof' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed}}
  %0 = stream.tensor.sizeof tensor<4xf32> : index
  %1 = stream.tensor.import %v : !hal.buffer_view -> tensor<4xf32> in !stream.resource<external>{%n}
  util.return
}
stream.executable private @ex {
  builtin.module {
    func.func @kernel(%t: tensor<4xf32>, %n: index) -> f32 {
      %0 = tensor.extract %t[%n] : tensor<4xf32>
      return %0 : f32
    }
  }
}

// -----

util.func public @streams(%v: i32, %n: index) {
  // expected-error @+2 {{'stream.async.splat' op : streamable op expected to be in an execution region}}
  // expected-error @+1 {{'stream.async.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed}}
  %0 = stream.async.splat %v : i32 -> !stream.resource<external>{%n}
  util.return
}

// -----

util.func private @taken(!stream.resource<*>)
util.func public @lifetimes(%a: !stream.resource<*>, %n: index) {
  // expected-error @+1 {{'util.call' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect}}
  util.call @taken(%a) : (!stream.resource<*>) -> ()
  // expected-error @+2 {{'stream.async.execute' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect}}
  // expected-error @+1 {{'stream.async.execute' op result 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect}}
  %r, %t = stream.async.execute with(%a as %b: !stream.resource<*>{%n}) -> !stream.resource<*>{%n} {
    // expected-error @+2 {{'stream.async.clone' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect}}
    // expected-error @+1 {{'stream.async.clone' op result 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect}}
    %0 = stream.async.clone %b : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
    // expected-error @+1 {{'stream.yield' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect}}
    stream.yield %0 : !stream.resource<*>{%n}
  } => !stream.timepoint
  util.return
}
