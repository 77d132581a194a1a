// builtin.module(util.func(iree-stream-schedule-concurrency))
// Allocations are in no wave.
util.func public @allocations(%input: !stream.resource<external>) -> (!stream.resource<external>, !stream.resource<external>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c255_i32 = arith.constant 255 : i32
  %results:2, %timepoint = stream.async.execute with(%input as %x: !stream.resource<external>{%c32}) -> (!stream.resource<external>{%c32}, !stream.resource<external>{%c32}) {
    %0 = stream.async.alloca : !stream.resource<external>{%c32}
    %1 = stream.async.splat %c255_i32 : i32 -> !stream.resource<transient>{%c32}
    %2 = stream.async.alloca : !stream.resource<external>{%c32}
    %3 = stream.async.dispatch @ex::@d(%1[%c0 to %c32 for %c32], %0[%c0 to %c32 for %c32]) : (!stream.resource<transient>{%c32}, !stream.resource<external>{%c32}) -> %0{%c32}
    %4 = stream.async.dispatch @ex::@d(%x[%c0 to %c32 for %c32], %2[%c0 to %c32 for %c32]) : (!stream.resource<external>{%c32}, !stream.resource<external>{%c32}) -> %2{%c32}
    stream.yield %3, %4 : !stream.resource<external>{%c32}, !stream.resource<external>{%c32}
  } => !stream.timepoint
  %ready:2 = stream.timepoint.await %timepoint => %results#0, %results#1 : !stream.resource<external>{%c32}, !stream.resource<external>{%c32}
  util.return %ready#0, %ready#1 : !stream.resource<external>, !stream.resource<external>
}
// -----
// Not between two dependent operations, either.
util.func public @chain(%input: !stream.resource<external>) -> (!stream.resource<external>, !stream.resource<external>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %results:2, %timepoint = stream.async.execute with(%input as %x: !stream.resource<external>{%c32}) -> (!stream.resource<external>{%c32}, !stream.resource<external>{%c32}) {
    %0 = stream.async.alloca : !stream.resource<external>{%c32}
    %1 = stream.async.dispatch @ex::@d(%x[%c0 to %c32 for %c32], %0[%c0 to %c32 for %c32]) : (!stream.resource<external>{%c32}, !stream.resource<external>{%c32}) -> %0{%c32}
    %2 = stream.async.alloca : !stream.resource<external>{%c32}
    %3 = stream.async.dispatch @ex::@d(%1[%c0 to %c32 for %c32], %2[%c0 to %c32 for %c32]) : (!stream.resource<external>{%c32}, !stream.resource<external>{%c32}) -> %2{%c32}
    stream.yield %1, %3 : !stream.resource<external>{%c32}, !stream.resource<external>{%c32}
  } => !stream.timepoint
  %ready:2 = stream.timepoint.await %timepoint => %results#0, %results#1 : !stream.resource<external>{%c32}, !stream.resource<external>{%c32}
  util.return %ready#0, %ready#1 : !stream.resource<external>, !stream.resource<external>
}
