// builtin.module(iree-stream-propagate-timepoints)

// Global.
util.global private mutable @g : !stream.resource<variable>
util.func private @a(%n: index) -> !stream.resource<variable> {
  %0 = util.global.load @g : !stream.resource<variable>
  util.return %0 : !stream.resource<variable>
}

// -----

// Func arg result.
util.func private @a(%x: !stream.resource<external>, %n: index) -> !stream.resource<external> {
  util.return %x : !stream.resource<external>
}
util.func public @b(%x: !stream.resource<external>, %n: index) -> !stream.resource<external> {
  %0 = util.call @a(%x, %n) : (!stream.resource<external>, index) -> !stream.resource<external>
  util.return %0 : !stream.resource<external>
}

// -----

// Execute chain.
util.func public @b(%x: !stream.resource<external>, %n: index) -> !stream.resource<transient> {
  %v = arith.constant 1 : i32
  %r, %t = stream.async.execute with(%x as %b: !stream.resource<external>{%n}) -> !stream.resource<transient>{%n} {
    %0 = stream.async.splat %v : i32 -> !stream.resource<transient>{%n}
    stream.yield %0 : !stream.resource<transient>{%n}
  } => !stream.timepoint
  %r1 = stream.timepoint.await %t => %r : !stream.resource<transient>{%n}
  %r2, %t2 = stream.async.execute with(%r1 as %b: !stream.resource<transient>{%n}) -> !stream.resource<transient>{%n} {
    %0 = stream.async.clone %b : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
    stream.yield %0 : !stream.resource<transient>{%n}
  } => !stream.timepoint
  %r3 = stream.timepoint.await %t2 => %r2 : !stream.resource<transient>{%n}
  util.return %r3 : !stream.resource<transient>
}

// -----

// Branch.
util.func private @b(%p: i1, %n: index) -> !stream.resource<transient> {
  %v = arith.constant 1 : i32
  %r, %t = stream.async.execute with() -> !stream.resource<transient>{%n} {
    %0 = stream.async.splat %v : i32 -> !stream.resource<transient>{%n}
    stream.yield %0 : !stream.resource<transient>{%n}
  } => !stream.timepoint
  %r1 = stream.timepoint.await %t => %r : !stream.resource<transient>{%n}
  cf.cond_br %p, ^bb1(%r1: !stream.resource<transient>), ^bb2(%r1: !stream.resource<transient>)
^bb1(%x: !stream.resource<transient>):
  util.return %x : !stream.resource<transient>
^bb2(%y: !stream.resource<transient>):
  %r2, %t2 = stream.async.execute with(%y as %b: !stream.resource<transient>{%n}) -> !stream.resource<transient>{%n} {
    %0 = stream.async.clone %b : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
    stream.yield %0 : !stream.resource<transient>{%n}
  } => !stream.timepoint
  %r3 = stream.timepoint.await %t2 => %r2 : !stream.resource<transient>{%n}
  util.return %r3 : !stream.resource<transient>
}

// -----

// Select.
util.func private @b(%p: i1, %n: index, %y: !stream.resource<transient>, %x: !stream.resource<transient>, %ty: !stream.timepoint, %tx: !stream.timepoint) -> !stream.resource<transient> {
  %x1 = stream.timepoint.await %tx => %x : !stream.resource<transient>{%n}
  %y1 = stream.timepoint.await %ty => %y : !stream.resource<transient>{%n}
  %s = arith.select %p, %x1, %y1 : !stream.resource<transient>
  %r2, %t2 = stream.async.execute with(%s as %b: !stream.resource<transient>{%n}) -> !stream.resource<transient>{%n} {
    %0 = stream.async.clone %b : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
    stream.yield %0 : !stream.resource<transient>{%n}
  } => !stream.timepoint
  %r3 = stream.timepoint.await %t2 => %r2 : !stream.resource<transient>{%n}
  util.return %r3 : !stream.resource<transient>
}
