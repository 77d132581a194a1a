// builtin.module(iree-stream-schedule-allocation)
// Storage is allocated after what the region waits for.
util.func public @chain(%input: !stream.resource<external>, %before: !stream.timepoint) -> (!stream.resource<external>, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %result, %timepoint = stream.async.execute await(%before) => with(%input as %x: !stream.resource<external>{%c32}) -> !stream.resource<external>{%c32} {
    %0 = stream.async.dispatch @ex::@f(%x[%c0 to %c32 for %c32]) : (!stream.resource<external>{%c32}) -> !stream.resource<transient>{%c32}
    %1 = stream.async.dispatch @ex::@g(%0[%c0 to %c32 for %c32]) : (!stream.resource<transient>{%c32}) -> !stream.resource<external>{%c32}
    stream.yield %1 : !stream.resource<external>{%c32}
  } => !stream.timepoint
  util.return %result, %timepoint : !stream.resource<external>, !stream.timepoint
}
