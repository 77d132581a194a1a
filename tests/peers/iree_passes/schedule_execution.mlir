// builtin.module(util.func(iree-stream-schedule-execution))
// Regions wait for what their operations wait for.
util.func public @a(%t: !stream.timepoint, %v: i32, %n: index) -> (!stream.resource<external>) {
  %0 = stream.async.splat await(%t) %v : i32 -> !stream.resource<external>{%n}
  util.return %0 : !stream.resource<external>
}
// -----
util.func public @a(%t: !stream.timepoint) -> (!stream.resource<constant>) {
  %c16 = arith.constant 16 : index
  %cst = stream.async.constant await(%t) : !stream.resource<constant>{%c16} = dense<1> : tensor<4xi32>
  util.return %cst : !stream.resource<constant>
}
