// builtin.module(iree-stream-elide-async-copies)
util.func public @unused_clone(%a: !stream.resource<transient>, %n: index) -> !stream.resource<transient> {
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  util.return %0 : !stream.resource<transient>
}
// -----
util.func public @splat_clone(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 7 : i32
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  util.return %0 : !stream.resource<transient>
}
// -----
util.func public @fill_after_clone(%n: index) -> (!stream.resource<transient>, !stream.resource<transient>) {
  %c = arith.constant 7 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  util.return %a, %1 : !stream.resource<transient>, !stream.resource<transient>
}
// -----
util.func public @fill_last(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 7 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  util.return %1 : !stream.resource<transient>
}
// -----
util.func private @callee(%a: !stream.resource<transient>, %n: index) -> !stream.resource<transient> {
  %c = arith.constant 7 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  util.return %1 : !stream.resource<transient>
}
util.func public @call_last(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = util.call @callee(%a, %n) : (!stream.resource<transient>, index) -> !stream.resource<transient>
  util.return %0 : !stream.resource<transient>
}
// -----
util.func private @callee2(%a: !stream.resource<transient>, %n: index) -> !stream.resource<transient> {
  %c = arith.constant 7 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  util.return %1 : !stream.resource<transient>
}
util.func public @call_notlast(%n: index) -> (!stream.resource<transient>, !stream.resource<transient>) {
  %c = arith.constant 1 : i32
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = util.call @callee2(%a, %n) : (!stream.resource<transient>, index) -> !stream.resource<transient>
  util.return %0, %a : !stream.resource<transient>, !stream.resource<transient>
}
// -----
util.func private @callee3(%a: !stream.resource<transient>, %n: index) -> !stream.resource<transient> {
  %c = arith.constant 7 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  util.return %1 : !stream.resource<transient>
}
util.func public @two_calls(%n: index) -> (!stream.resource<transient>, !stream.resource<transient>) {
  %c = arith.constant 1 : i32
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = util.call @callee3(%a, %n) : (!stream.resource<transient>, index) -> !stream.resource<transient>
  %1 = util.call @callee3(%0, %n) : (!stream.resource<transient>, index) -> !stream.resource<transient>
  util.return %0, %1 : !stream.resource<transient>, !stream.resource<transient>
}
// -----
util.func public @loop(%n: index, %m: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%x = %a) -> !stream.resource<transient> {
    %0 = stream.async.clone %x : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
    %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
    scf.yield %1 : !stream.resource<transient>
  }
  util.return %r : !stream.resource<transient>
}
// -----
util.func public @loop_after(%n: index, %m: index) -> (!stream.resource<transient>, !stream.resource<transient>) {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%x = %a) -> !stream.resource<transient> {
    %0 = stream.async.clone %x : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
    %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
    scf.yield %1 : !stream.resource<transient>
  }
  util.return %r, %a : !stream.resource<transient>, !stream.resource<transient>
}
// -----
util.func public @branch(%p: i1, %n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %r = scf.if %p -> !stream.resource<transient> {
    %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
    %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
    scf.yield %1 : !stream.resource<transient>
  } else {
    scf.yield %a : !stream.resource<transient>
  }
  util.return %r : !stream.resource<transient>
}
// -----
util.func public @branch_result(%p: i1, %n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %r = scf.if %p -> !stream.resource<transient> {
    %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
    scf.yield %a : !stream.resource<transient>
  } else {
    %c3 = arith.constant 3 : i32
    %b = stream.async.splat %c3 : i32 -> !stream.resource<transient>{%n}
    scf.yield %b : !stream.resource<transient>
  }
  %0 = stream.async.clone %r : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  util.return %1 : !stream.resource<transient>
}
// -----
util.func public @loop_result(%n: index, %m: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%x = %a) -> !stream.resource<transient> {
    %1 = stream.async.fill %c, %x[%c0 to %c4 for %c4] : i32 -> %x as !stream.resource<transient>{%n}
    scf.yield %1 : !stream.resource<transient>
  }
  %0 = stream.async.clone %r : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %2 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  util.return %2 : !stream.resource<transient>
}
// -----
util.func private @make(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  util.return %a : !stream.resource<transient>
}
util.func public @call_result(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %r = util.call @make(%n) : (index) -> !stream.resource<transient>
  %0 = stream.async.clone %r : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %2 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  util.return %2 : !stream.resource<transient>
}
// -----
util.func public @cf(%p: i1, %n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  cf.cond_br %p, ^bb1(%a : !stream.resource<transient>), ^bb2(%a : !stream.resource<transient>)
^bb1(%x: !stream.resource<transient>):
  %0 = stream.async.clone %x : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.fill %c, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
  cf.br ^bb2(%1 : !stream.resource<transient>)
^bb2(%y: !stream.resource<transient>):
  util.return %y : !stream.resource<transient>
}
// -----
util.global private @k : !stream.resource<constant>
util.func public @constant_global(%n: index) -> !stream.resource<transient> {
  %a = util.global.load @k : !stream.resource<constant>
  %0 = stream.async.clone %a : !stream.resource<constant>{%n} -> !stream.resource<transient>{%n}
  util.return %0 : !stream.resource<transient>
}
// -----
util.func public @slice(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%c16}
  %0 = stream.async.slice %a[%c0 to %c16] : !stream.resource<transient>{%c16} -> !stream.resource<transient>{%c16}
  util.return %0 : !stream.resource<transient>
}
// -----
util.func public @update_whole(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%c16}
  %b = stream.async.splat %c2 : i32 -> !stream.resource<transient>{%c16}
  %0 = stream.async.update %b, %a[%c0 to %c16] : !stream.resource<transient>{%c16} -> %a as !stream.resource<transient>{%c16}
  util.return %0 : !stream.resource<transient>
}
// -----
stream.executable private @ex { stream.executable.export public @d }
util.func public @dispatch_tied(%n: index) -> (!stream.resource<transient>, !stream.resource<transient>) {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.dispatch @ex::@d(%0[%c0 to %n for %n]) : (!stream.resource<transient>{%n}) -> %0{%n}
  %2 = stream.async.clone %1 : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %3 = stream.async.dispatch @ex::@d(%2[%c0 to %n for %n]) : (!stream.resource<transient>{%n}) -> %2{%n}
  util.return %1, %3 : !stream.resource<transient>, !stream.resource<transient>
}
// -----
stream.executable private @ex { stream.executable.export public @d }
util.func public @dispatch_twice(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %2 = stream.async.dispatch @ex::@d(%0[%c0 to %n for %n], %1[%c0 to %n for %n]) : (!stream.resource<transient>{%n}, !stream.resource<transient>{%n}) -> %0{%n}
  util.return %2 : !stream.resource<transient>
}
// -----
stream.executable private @ex { stream.executable.export public @d }
util.func public @read_only(%a: !stream.resource<external>, %n: index) -> !stream.resource<transient> {
  %c0 = arith.constant 0 : index
  %0 = stream.async.clone %a : !stream.resource<external>{%n} -> !stream.resource<transient>{%n}
  %2 = stream.async.dispatch @ex::@d(%0[%c0 to %n for %n]) : (!stream.resource<transient>{%n}) -> !stream.resource<transient>{%n}
  util.return %2 : !stream.resource<transient>
}
// -----
util.func public @affinity(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %a = stream.async.splat on(#hal.device.affinity<@a>) %c : i32 -> !stream.resource<transient>{%n}
  %0 = stream.async.clone on(#hal.device.affinity<@b>) %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  util.return %0 : !stream.resource<transient>
}
util.global private @a : !hal.device
util.global private @b : !hal.device
// -----
util.func public @arg_const(%a: !stream.resource<constant>, %n: index) -> !stream.resource<constant> {
  %0 = stream.async.clone %a : !stream.resource<constant>{%n} -> !stream.resource<constant>{%n}
  util.return %0 : !stream.resource<constant>
}
// -----
util.func public @while(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : i32
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %r:2 = scf.while (%x = %a, %i = %c) : (!stream.resource<transient>, i32) -> (!stream.resource<transient>, i32) {
    %p = arith.cmpi slt, %i, %c10 : i32
    scf.condition(%p) %x, %i : !stream.resource<transient>, i32
  } do {
  ^bb0(%y: !stream.resource<transient>, %j: i32):
    %0 = stream.async.clone %y : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
    %1 = stream.async.fill %j, %0[%c0 to %c4 for %c4] : i32 -> %0 as !stream.resource<transient>{%n}
    %k = arith.addi %j, %c : i32
    scf.yield %1, %k : !stream.resource<transient>, i32
  }
  util.return %r#0 : !stream.resource<transient>
}
// -----
util.func private @used(!stream.resource<transient>)
util.func public @extern_call(%n: index) -> !stream.resource<transient> {
  %c = arith.constant 1 : i32
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  util.call @used(%0) : (!stream.resource<transient>) -> ()
  util.return %a : !stream.resource<transient>
}
// -----
util.func public @timepoint(%n: index) -> (!stream.resource<transient>, !stream.timepoint) {
  %c = arith.constant 1 : i32
  %a = stream.async.splat %c : i32 -> !stream.resource<transient>{%n}
  %0 = stream.async.clone %a : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
  %1, %t = stream.timepoint.barrier %0 : !stream.resource<transient>{%n} => !stream.timepoint
  util.return %1, %t : !stream.resource<transient>, !stream.timepoint
}
