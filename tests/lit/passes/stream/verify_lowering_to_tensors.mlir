// RUN: not mesh-opt %s --split-input-file --iree-stream-verify-lowering-to-tensors 2>&1 >%t | filecheck %s

// CHECK: 'tensor.empty' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// CHECK: 'flow.tensor.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// CHECK-NOT: error:

util.func public @tensors(%n: index) {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = flow.tensor.splat %n : tensor<4xindex>
  util.return
}

// -----

// The boundary stays; kernels are not looked at.
util.func public @boundary(%v: !hal.buffer_view, %n: index) {
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
  %0 = stream.async.splat %v : i32 -> !stream.resource<external>{%n}
  util.return
}

// -----

util.func private @taken(!stream.resource<*>)
util.func public @lifetimes(%a: !stream.resource<*>, %n: index) {
  util.call @taken(%a) : (!stream.resource<*>) -> ()
  %r, %t = stream.async.execute with(%a as %b: !stream.resource<*>{%n}) -> !stream.resource<*>{%n} {
    %0 = stream.async.clone %b : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
    stream.yield %0 : !stream.resource<*>{%n}
  } => !stream.timepoint
  util.return
}
