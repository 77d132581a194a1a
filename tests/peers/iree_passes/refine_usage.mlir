// builtin.module(iree-stream-refine-usage)

// Splat returned.
util.func private @a(%n: index) -> !stream.resource<*> {
  %c = arith.constant 1 : i32
  %0 = stream.async.splat %c : i32 -> !stream.resource<*>{%n}
  util.return %0 : !stream.resource<*>
}

// -----

// Arg used by transfer.
util.func public @a(%a: !stream.resource<*>, %n: index) -> !stream.resource<external> {
  %0 = stream.async.transfer %a : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %0 : !stream.resource<external>
}

// -----

// Staging download.
util.func public @a(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c = arith.constant 1.0 : f32
  %c8 = arith.constant 1 : i32
  %0 = stream.async.splat %c8 : i32 -> !stream.resource<*>{%n}
  %1 = stream.async.transfer %0 : !stream.resource<*>{%n} -> !stream.resource<staging>{%n}
  %2 = stream.async.load %1[%c0] : !stream.resource<staging>{%n} -> f32
  util.return %2 : f32
}

// -----

// Load from unknown.
util.func public @a(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 1 : i32
  %0 = stream.async.splat %c8 : i32 -> !stream.resource<*>{%n}
  %1 = stream.async.transfer %0 : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  %2 = stream.async.transfer %1 : !stream.resource<*>{%n} -> !stream.resource<staging>{%n}
  %3 = stream.async.load %2[%c0] : !stream.resource<staging>{%n} -> f32
  util.return %3 : f32
}

// -----

// Global variable.
util.global private mutable @g : !stream.resource<variable>
util.global private mutable @gs : index
util.func public @a(%n: index) {
  %s = util.global.load @gs : index
  %g = util.global.load @g : !stream.resource<variable>
  %0 = stream.async.transfer %g : !stream.resource<variable>{%s} -> !stream.resource<*>{%s}
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1 : i32
  %1 = stream.async.fill %v, %0[%c0 to %c8 for %c8] : i32 -> %0 as !stream.resource<*>{%s}
  %2 = stream.async.transfer %1 : !stream.resource<*>{%s} -> !stream.resource<variable>{%s}
  util.global.store %2, @g : !stream.resource<variable>
  util.return
}

// -----

// Global constant.
util.global private @g : !stream.resource<constant>
util.initializer {
  %c8 = arith.constant 8 : index
  %0 = stream.async.constant : !stream.resource<*>{%c8} = dense<[1,2]> : tensor<2xi32>
  %1 = stream.async.transfer %0 : !stream.resource<*>{%c8} -> !stream.resource<constant>{%c8}
  util.global.store %1, @g : !stream.resource<constant>
  util.return
}

// -----

// Cond br.
util.func private @a(%p: i1, %x: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %v = arith.constant 1 : i32
  %0 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  cf.cond_br %p, ^bb1(%x : !stream.resource<*>), ^bb1(%0 : !stream.resource<*>)
^bb1(%b: !stream.resource<*>):
  util.return %b : !stream.resource<*>
}

// -----

// Calls.
util.func private @callee(%x: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 1 : i32
  %0 = stream.async.fill %v, %x[%c0 to %c4 for %c4] : i32 -> %x as !stream.resource<*>{%n}
  util.return %0 : !stream.resource<*>
}
util.func public @a(%x: !stream.resource<external>, %n: index) -> !stream.resource<external> {
  %0 = stream.async.transfer %x : !stream.resource<external>{%n} -> !stream.resource<*>{%n}
  %1 = util.call @callee(%0, %n) : (!stream.resource<*>, index) -> !stream.resource<*>
  %2 = stream.async.transfer %1 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %2 : !stream.resource<external>
}

// -----

// Select.
util.func public @a(%p: i1, %x: !stream.resource<external>, %n: index) -> !stream.resource<external> {
  %0 = stream.async.transfer %x : !stream.resource<external>{%n} -> !stream.resource<*>{%n}
  %v = arith.constant 1 : i32
  %1 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %2 = arith.select %p, %0, %1 : !stream.resource<*>
  %3 = stream.async.transfer %2 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// -----

// Dispatch chain transient.
stream.executable private @e { stream.executable.export public @f workgroups(%x: index) -> (index,index,index) { stream.return %x, %x, %x : index,index,index } }
util.func public @a(%x: !stream.resource<external>, %n: index) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.transfer %x : !stream.resource<external>{%n} -> !stream.resource<*>{%n}
  %1 = stream.async.dispatch @e::@f[%n](%0[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> !stream.resource<*>{%n}
  %2 = stream.async.dispatch @e::@f[%n](%1[%c0 to %n for %n]) : (!stream.resource<*>{%n}) -> %1{%n}
  %3 = stream.async.transfer %2 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// -----

// Scf if.
util.func public @a(%p: i1, %n: index) -> !stream.resource<external> {
  %v = arith.constant 1 : i32
  %w = arith.constant 2 : i32
  %0 = scf.if %p -> (!stream.resource<*>) {
    %1 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
    scf.yield %1 : !stream.resource<*>
  } else {
    %1 = stream.async.splat %w : i32 -> !stream.resource<*>{%n}
    scf.yield %1 : !stream.resource<*>
  }
  %3 = stream.async.transfer %0 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// -----

// Scf for.
util.func public @a(%k: index, %n: index) -> !stream.resource<external> {
  %v = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %i = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %0 = scf.for %j = %c0 to %k step %c1 iter_args(%a = %i) -> !stream.resource<*> {
    %1 = stream.async.fill %v, %a[%c0 to %c4 for %c4] : i32 -> %a as !stream.resource<*>{%n}
    scf.yield %1 : !stream.resource<*>
  }
  %3 = stream.async.transfer %0 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// -----

// Scf while.
util.func public @a(%k: i32, %n: index) -> !stream.resource<external> {
  %v = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %0:2 = scf.while(%a = %i, %c = %k) : (!stream.resource<*>, i32) -> (!stream.resource<*>, i32) {
    %p = arith.cmpi slt, %c, %v : i32
    scf.condition(%p) %a, %c : !stream.resource<*>, i32
  } do {
  ^bb0(%a: !stream.resource<*>, %c: i32):
    %1 = stream.async.fill %v, %a[%c0 to %c4 for %c4] : i32 -> %a as !stream.resource<*>{%n}
    %d = arith.addi %c, %v : i32
    scf.yield %1, %d : !stream.resource<*>, i32
  }
  %3 = stream.async.transfer %0#0 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// -----

// Execute region.
util.func public @a(%x: !stream.resource<external>, %n: index) -> (!stream.resource<*>, !stream.timepoint) {
  %v = arith.constant 1 : i32
  %r, %t = stream.async.execute with(%x as %b: !stream.resource<external>{%n}) -> !stream.resource<*>{%n} {
    %0 = stream.async.clone %b : !stream.resource<external>{%n} -> !stream.resource<*>{%n}
    %1 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
    stream.yield %0 : !stream.resource<*>{%n}
  } => !stream.timepoint
  util.return %r, %t : !stream.resource<*>, !stream.timepoint
}

// -----

// Optimization barrier.
util.func public @a(%x: !stream.resource<external>, %n: index) -> !stream.resource<external> {
  %0 = stream.async.transfer %x : !stream.resource<external>{%n} -> !stream.resource<*>{%n}
  %1 = util.optimization_barrier %0 : !stream.resource<*>
  %3 = stream.async.transfer %1 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// -----

// Await.
util.func public @a(%x: !stream.resource<*>, %t: !stream.timepoint, %n: index) -> !stream.resource<external> {
  %1 = stream.timepoint.await %t => %x : !stream.resource<*>{%n}
  %3 = stream.async.transfer %1 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// -----

// Tensor import to unknown.
util.func public @a(%v: !hal.buffer_view, %n: index) -> !hal.buffer_view {
  %0 = stream.tensor.import %v : !hal.buffer_view -> tensor<4xf32> in !stream.resource<external>{%n}
  %1 = stream.async.transfer %0 : !stream.resource<external>{%n} -> !stream.resource<*>{%n}
  %2 = stream.async.clone %1 : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  %3 = stream.async.transfer %2 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  %4 = stream.tensor.export %3 : tensor<4xf32> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %4 : !hal.buffer_view
}

// -----

// Recursion.
util.func private @f(%x: !stream.resource<*>, %n: index, %p: i1) -> !stream.resource<*> {
  cf.cond_br %p, ^a, ^b
^a:
  util.return %x : !stream.resource<*>
^b:
  %0 = util.call @f(%x, %n, %p) : (!stream.resource<*>, index, i1) -> !stream.resource<*>
  util.return %0 : !stream.resource<*>
}
util.func public @a(%x: !stream.resource<external>, %n: index, %p: i1) -> !stream.resource<external> {
  %0 = stream.async.transfer %x : !stream.resource<external>{%n} -> !stream.resource<*>{%n}
  %1 = util.call @f(%0, %n, %p) : (!stream.resource<*>, index, i1) -> !stream.resource<*>
  %2 = stream.async.transfer %1 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  util.return %2 : !stream.resource<external>
}

// -----

// Alloca'd, dealloca, resource cast.
util.func public @a(%x: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %c = stream.async.cast %x : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  util.return %c : !stream.resource<*>
}

// -----

// Async.alloca with slice update.
util.func public @a(%u: !stream.resource<*>, %n: index, %m: index) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.alloca : !stream.resource<*>{%n}
  %1 = stream.async.update %u, %0[%c0 to %m] : !stream.resource<*>{%m} -> %0 as !stream.resource<*>{%n}
  %2 = stream.async.slice %1[%c0 to %m] : !stream.resource<*>{%n} -> !stream.resource<*>{%m}
  %3 = stream.async.transfer %2 : !stream.resource<*>{%m} -> !stream.resource<external>{%m}
  util.return %3 : !stream.resource<external>
}

// -----

// Two affinities transfer.
util.global private @d0 : !hal.device
util.global private @d1 : !hal.device
util.func public @a(%x: !stream.resource<external>, %n: index) -> !stream.resource<external> {
  %0 = stream.async.transfer %x : !stream.resource<external>{%n} from(#hal.device.affinity<@d0>) -> to(#hal.device.affinity<@d1>) !stream.resource<*>{%n}
  %1 = stream.async.clone on(#hal.device.affinity<@d1>) %0 : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  %2 = stream.async.transfer %1 : !stream.resource<*>{%n} from(#hal.device.affinity<@d1>) -> to(#hal.device.affinity<@d0>) !stream.resource<external>{%n}
  util.return %2 : !stream.resource<external>
}
