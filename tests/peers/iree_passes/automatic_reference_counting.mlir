// builtin.module(iree-stream-automatic-reference-counting)
util.func public @two(%n: index, %t: !stream.timepoint) -> (!stream.timepoint, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %e = stream.cmd.execute on(#hal.device.affinity<@d>) await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %e2 = stream.cmd.execute on(#hal.device.affinity<@e>) await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %e, %e2 : !stream.timepoint, !stream.timepoint
}
util.global private @d : !hal.device
util.global private @e : !hal.device
// -----
util.func public @other(%n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %e = stream.cmd.execute on(#hal.device.affinity<@e>) await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %e : !stream.timepoint
}
util.global private @d : !hal.device
util.global private @e : !hal.device
// -----
util.func public @mix(%n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %e = stream.cmd.execute on(#hal.device.affinity<@d>) await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %e2 = stream.cmd.execute on(#hal.device.affinity<@e>) await(%e) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %e3 = stream.cmd.execute on(#hal.device.affinity<@e>) await(%e2) => with() {
  } => !stream.timepoint
  util.return %e3 : !stream.timepoint
}
util.global private @d : !hal.device
util.global private @e : !hal.device
// -----
util.func public @q(%n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %e = stream.cmd.execute on(#hal.device.affinity<@d, [0]>) await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %e : !stream.timepoint
}
util.global private @d : !hal.device
// -----
util.func public @unused(%n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %r, %rt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  util.return %rt : !stream.timepoint
}
util.global private @d : !hal.device
// -----
util.func public @ret(%n: index, %t: !stream.timepoint, %c: i1) -> (!stream.timepoint) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  cf.cond_br %c, ^a, ^b
^a:
  %e = stream.cmd.execute on(#hal.device.affinity<@d>) await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %e : !stream.timepoint
^b:
  util.return %rt : !stream.timepoint
}
util.global private @d : !hal.device
// -----
util.func private @callee(%n: index, %t: !stream.timepoint) -> (!stream.resource<transient>, !stream.timepoint) {
  %r, %rt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  util.return %r, %rt : !stream.resource<transient>, !stream.timepoint
}
util.func public @caller(%n: index, %t: !stream.timepoint) -> (!stream.timepoint) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = util.call @callee(%n, %t) : (index, !stream.timepoint) -> (!stream.resource<transient>, !stream.timepoint)
  %e = stream.cmd.execute on(#hal.device.affinity<@d>) await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %e : !stream.timepoint
}
util.global private @d : !hal.device
// -----
util.func public @await2(%n: index, %t: !stream.timepoint) -> (!stream.resource<external>) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %o, %ot = stream.resource.alloca uninitialized await(%rt) => !stream.resource<external>{%n} => !stream.timepoint
  %e = stream.cmd.execute await(%ot) => with(%r as %x: !stream.resource<transient>{%n}, %o as %y: !stream.resource<external>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    stream.cmd.copy %x[%c0], %y[%c0], %n : !stream.resource<transient>{%n} -> !stream.resource<external>{%n}
  } => !stream.timepoint
  %a = stream.timepoint.await %e => %o : !stream.resource<external>{%n}
  util.return %a : !stream.resource<external>
}
// -----
util.func public @a(%n: index, %t: !stream.timepoint) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %q, %qt = stream.resource.alloca uninitialized await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %j = stream.timepoint.join max(%rt, %qt) => !stream.timepoint
  %e = stream.cmd.execute await(%j) => with(%r as %x: !stream.resource<transient>{%n}, %q as %y: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    stream.cmd.fill %v, %y[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %e2 = stream.cmd.execute await(%e) => with(%q as %y: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %y[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %e2 : !stream.timepoint
}
// -----
util.func public @a(%n: index, %t: !stream.timepoint, %o: !stream.resource<external>) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %e = stream.cmd.execute await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  %e2 = stream.cmd.execute await(%e) => with(%o as %y: !stream.resource<external>{%n}) {
    stream.cmd.fill %v, %y[%c0 for %n] : i32 -> !stream.resource<external>{%n}
  } => !stream.timepoint
  %j = stream.timepoint.join max(%e, %e2) => !stream.timepoint
  util.return %j : !stream.timepoint
}
// -----
util.func private @a(%n: index, %t: !stream.timepoint) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %e = stream.cmd.execute await(%rt) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %e : !stream.timepoint
}
// -----
util.func public @a(%n: index, %t: !stream.timepoint) -> (!stream.resource<external>, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %r, %rt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %q, %qt = stream.resource.alloca uninitialized on(#hal.device.affinity<@d>) await(%t) => !stream.resource<external>{%n} => !stream.timepoint
  %j = stream.timepoint.join max(%rt, %qt) => !stream.timepoint
  %e = stream.cmd.execute on(#hal.device.affinity<@d>) await(%j) => with(%r as %x: !stream.resource<transient>{%n}, %q as %y: !stream.resource<external>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
    stream.cmd.copy %x[%c0], %y[%c0], %n : !stream.resource<transient>{%n} -> !stream.resource<external>{%n}
  } => !stream.timepoint
  util.return %q, %e : !stream.resource<external>, !stream.timepoint
}
util.global private @d : !hal.device
// -----
util.func private @callee(%r: !stream.resource<transient>, %n: index, %t: !stream.timepoint) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1 : i32
  %e = stream.cmd.execute await(%t) => with(%r as %x: !stream.resource<transient>{%n}) {
    stream.cmd.fill %v, %x[%c0 for %n] : i32 -> !stream.resource<transient>{%n}
  } => !stream.timepoint
  util.return %e : !stream.timepoint
}
util.func public @caller(%n: index, %t: !stream.timepoint) -> !stream.timepoint {
  %r, %rt = stream.resource.alloca uninitialized await(%t) => !stream.resource<transient>{%n} => !stream.timepoint
  %e = util.call @callee(%r, %n, %rt) : (!stream.resource<transient>, index, !stream.timepoint) -> !stream.timepoint
  util.return %e : !stream.timepoint
}
