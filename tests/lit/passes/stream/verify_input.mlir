// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-stream-verify-input

util.global private mutable @g : tensor<4xf32>
util.func public @indirect() -> tensor<4xf32> {
  // expected-error @+1 {{'util.global.address' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed}}
  %p = util.global.address @g : !util.ptr<tensor<4xf32>>
  // expected-error @+1 {{'util.global.load.indirect' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed}}
  %x = util.global.load.indirect %p : !util.ptr<tensor<4xf32>> -> tensor<4xf32>
  // expected-error @+1 {{'util.global.store.indirect' op illegal for this phase of lowering in the stream dialect; expected to have been converted or removed}}
  util.global.store.indirect %x, %p : tensor<4xf32> -> !util.ptr<tensor<4xf32>>
  util.return %x : tensor<4xf32>
}

// -----

util.func public @tensors(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.absf %a : tensor<4xf32>
  util.return %0 : tensor<4xf32>
}
