// RUN: not mesh-opt %s --split-input-file --iree-stream-verify-input 2>&1 >%t | filecheck %s --check-prefix=INPUT
// RUN: not mesh-opt %s --split-input-file --iree-stream-verify-lowering-to-tensors 2>&1 >%t | filecheck %s --check-prefix=TENSORS
// RUN: not mesh-opt %s --split-input-file --iree-stream-verify-lowering-to-async-resources 2>&1 >%t | filecheck %s --check-prefix=RESOURCES
// RUN: not mesh-opt %s --split-input-file --iree-stream-verify-lowering-to-async 2>&1 >%t | filecheck %s --check-prefix=ASYNC
// RUN: not mesh-opt %s --split-input-file --iree-stream-verify-lowering-to-cmd 2>&1 >%t | filecheck %s --check-prefix=CMD

// INPUT: 'util.global.address' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// INPUT: 'util.global.load.indirect' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// INPUT: 'util.global.store.indirect' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// INPUT-NOT: error:

// TENSORS: 'tensor.empty' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// TENSORS: 'flow.tensor.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// TENSORS-NOT: error:

// RESOURCES: 'tensor.empty' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// RESOURCES: 'flow.tensor.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// RESOURCES: 'stream.tensor.sizeof' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// RESOURCES-NOT: error:

// ASYNC: 'tensor.empty' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// ASYNC: 'flow.tensor.splat' op : streamable op expected to be in an execution region
// ASYNC: 'flow.tensor.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// ASYNC: 'stream.tensor.sizeof' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// ASYNC: 'stream.async.splat' op : streamable op expected to be in an execution region
// ASYNC: 'stream.async.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// ASYNC: 'util.call' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect
// ASYNC: 'stream.async.execute' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect
// ASYNC: 'stream.async.execute' op result 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect
// ASYNC: 'stream.async.clone' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect
// ASYNC: 'stream.async.clone' op result 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect
// ASYNC: 'stream.yield' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect
// ASYNC-NOT: error:

// CMD: 'tensor.empty' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// CMD: 'flow.tensor.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// CMD: 'stream.tensor.sizeof' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// CMD: 'stream.async.splat' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// CMD: 'util.call' op operand 0 type '!stream.resource<*>' illegal for this phase of lowering in the stream dialect
// CMD: 'stream.async.execute' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed
// CMD-NOT: error:

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

// -----

util.global private mutable @g : tensor<4xf32>
util.func public @indirect() -> tensor<4xf32> {
  %p = util.global.address @g : !util.ptr<tensor<4xf32>>
  %x = util.global.load.indirect %p : !util.ptr<tensor<4xf32>> -> tensor<4xf32>
  util.global.store.indirect %x, %p : tensor<4xf32> -> !util.ptr<tensor<4xf32>>
  util.return %x : tensor<4xf32>
}

// -----

util.func public @tensors(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.absf %a : tensor<4xf32>
  util.return %0 : tensor<4xf32>
}
