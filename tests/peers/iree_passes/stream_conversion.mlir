// builtin.module(iree-stream-conversion)
// Channels are on a device; an element is read from staging memory of the tensor's device.
module attributes {stream.affinity.default = #hal.device.affinity<@dev>} {
  util.global private @dev : !hal.device
  util.func public @channel() -> index {
    %channel = flow.channel.default "g" : !flow.channel
    %rank = flow.channel.rank %channel : index
    util.return %rank : index
  }
  util.func public @element(%value: f32, %index: index) -> f32 {
    %0 = flow.tensor.splat %value : tensor<8xf32>
    %1 = flow.dispatch @executable::@kernel(%0) : (tensor<8xf32>) -> tensor<8xf32>
    %2 = flow.tensor.load %1[%index] : tensor<8xf32>
    util.return %2 : f32
  }
}
// -----
// Attributes of a global of tensor type are dropped with it.
util.global private @dev : !hal.device
util.global private @weights <inlining_policy = #util.inline.never> {stream.affinity.default = #hal.device.affinity<@dev>, note} = dense<1.0> : tensor<4xf32>
util.func public @weights_of() -> tensor<4xf32> {
  %0 = util.global.load @weights : tensor<4xf32>
  util.return %0 : tensor<4xf32>
}
// -----
// Other modules may read public globals; what is placed nowhere is on the default device.
module attributes {stream.affinity.default = #hal.device.affinity<@dev>} {
  util.global private @dev : !hal.device
  util.global public @read_elsewhere = dense<1.0> : tensor<4xf32>
  util.global private mutable @only_written = dense<[1.0, 2.0]> : tensor<2xf32>
  util.func public @write(%view: !hal.buffer_view) {
    %0 = hal.tensor.import %view : !hal.buffer_view -> tensor<2xf32>
    util.global.store %0, @only_written : tensor<2xf32>
    util.return
  }
}
// -----
// What is traced is staged by its own device.
module attributes {stream.affinity.default = #hal.device.affinity<@dev>} {
  util.global private @dev : !hal.device
  util.func public @traced(%view: !hal.buffer_view, %size: index) {
    %0 = hal.tensor.import %view : !hal.buffer_view -> tensor<?x8xf32>{%size}
    flow.tensor.trace "values" = [%0 : tensor<?x8xf32>{%size}]
    util.return
  }
}
// -----
// An offset of bytes.
util.func public @a(%t: !hal.buffer_view, %f: !hal.fence, %n: index) -> (tensor<4xf32>, tensor<?xf32>) {
  %0 = hal.tensor.import %t offset(%n) : !hal.buffer_view -> tensor<4xf32>
  %1 = hal.tensor.import wait(%f) => %t offset(%n) "x" : !hal.buffer_view -> tensor<?xf32>{%n}
  util.return %0, %1 : tensor<4xf32>, tensor<?xf32>
}
// -----
util.func public @a(%t: !hal.buffer, %n: index) -> (tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %0 = hal.tensor.import consume %t offset(%c0) : !hal.buffer -> tensor<4xf32>
  util.return %0 : tensor<4xf32>
}
