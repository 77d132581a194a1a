// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-stream-refine-usage | filecheck %s

// What is one storage has one lifetime; a constant that is returned is copied.

// CHECK: util.global private @w : !stream.resource<constant>
// CHECK: util.global private mutable @s : !stream.resource<variable>
// CHECK-LABEL: util.func private @callee
// CHECK-SAME: (%r: !stream.resource<transient>, %n: index) -> !stream.resource<external>
// CHECK: stream.async.splat %{{.*}} -> !stream.resource<external>{%n}
// CHECK-LABEL: util.func public @main
// CHECK: %[[X:.*]] = stream.async.splat %v : i32 -> !stream.resource<transient>{%n}
// CHECK-NEXT: %[[L:.*]] = util.call @callee(%[[X]], %n) : (!stream.resource<transient>, index) -> !stream.resource<external>
// CHECK-NEXT: %[[W:.*]] = util.global.load @w : !stream.resource<constant>
// CHECK-NEXT: %[[C:.*]] = stream.async.transfer %[[W]] : !stream.resource<constant>{%n} from(#hal.device.affinity<@d>) -> to(#hal.device.affinity<@d>) !stream.resource<external>{%n}
// CHECK-NEXT: %[[S:.*]] = stream.async.splat %v : i32 -> !stream.resource<variable>{%n}
// CHECK-NEXT: util.global.store %[[S]], @s
// CHECK-NEXT: util.return %[[L]], %[[C]]
util.global private @d : !hal.device
util.global private @w : !stream.resource<*>
util.global private mutable @s : !stream.resource<*>
util.func private @callee(%r: !stream.resource<*>, %n: index) -> !stream.resource<*> {
  %v = arith.constant 1 : i32
  %0 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  util.return %0 : !stream.resource<*>
}
util.func public @main(%n: index, %v: i32) -> (!stream.resource<*>, !stream.resource<external>) {
  %0 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %1 = util.call @callee(%0, %n) : (!stream.resource<*>, index) -> !stream.resource<*>
  %2 = util.global.load @w : !stream.resource<*>
  %3 = stream.async.cast on(#hal.device.affinity<@d>) %2 : !stream.resource<*>{%n} -> !stream.resource<external>{%n}
  %4 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  util.global.store %4, @s : !stream.resource<*>
  util.return %1, %3 : !stream.resource<*>, !stream.resource<external>
}

// -----

util.global private mutable @s : !stream.resource<variable>
util.func public @main(%n: index, %v: i32) -> !stream.resource<*> {
  // expected-error @below {{accesses a global of lifetime 'variable' as 'external': insert a stream.async.cast between them, which copies}}
  %0 = util.global.load @s : !stream.resource<*>
  util.return %0 : !stream.resource<*>
}

// -----

// What a function outside takes and returns is external, if it does not say.

// CHECK: util.func private @outside(%{{.*}}: !stream.resource<external>, %{{.*}}: index, %{{.*}}: !stream.resource<constant>) -> !stream.resource<external>
// CHECK-LABEL: util.func private @main
// CHECK-SAME: -> !stream.resource<external>
// CHECK: stream.async.splat %v : i32 -> !stream.resource<external>{%n}
// CHECK: stream.async.clone %{{.*}} : !stream.resource<external>{%n} -> !stream.resource<transient>{%n}
util.func private @outside(!stream.resource<*>, index, !stream.resource<constant>) -> !stream.resource<*>
util.func private @main(%n: index, %v: i32, %c: !stream.resource<constant>) -> !stream.resource<*> {
  %0 = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %1 = util.call @outside(%0, %n, %c) : (!stream.resource<*>, index, !stream.resource<constant>) -> !stream.resource<*>
  %2 = stream.async.clone %1 : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  util.return %1 : !stream.resource<*>
}

// -----

// Reading and writing parameters gives the same resource.

// CHECK-LABEL: util.func public @parameters
// CHECK: stream.async.alloca : !stream.resource<external>{%n}
// CHECK: stream.async.parameter.read {{.*}} : !stream.resource<external>{%n}
// CHECK: stream.async.parameter.write {{.*}} : !stream.resource<external>{%n}
util.func public @parameters(%n: index, %o: i64, %k: !util.buffer) -> (!stream.resource<*>, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %0 = stream.async.alloca : !stream.resource<*>{%n}
  %1, %t = stream.async.parameter.read %k[%o] -> %0[%c0 to %n for %n] : !stream.resource<*>{%n} => !stream.timepoint
  %2, %u = stream.async.parameter.write await(%t) %1[%c0 to %n for %n] -> %k[%o] : !stream.resource<*>{%n} => !stream.timepoint
  util.return %2, %u : !stream.resource<*>, !stream.timepoint
}

// -----

// A transfer on one device keeps the lifetime; one that leaves it, or the host, does not. A constant
// that is copied to be written to is none.

// CHECK-LABEL: util.func private @transfers
// CHECK: stream.async.transfer %x : !stream.resource<external>{%n} -> !stream.resource<external>{%n}
// CHECK: stream.async.transfer %{{.*}} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<transient>{%n}
// CHECK: stream.async.transfer %{{.*}} -> !stream.resource<staging>{%n}
// CHECK: stream.async.transfer %c : !stream.resource<constant>{%n} -> !stream.resource<constant>{%n}
// CHECK-NEXT: stream.async.transfer %c : !stream.resource<constant>{%n} -> !stream.resource<constant>{%n}
// CHECK-NEXT: stream.async.transfer %{{.*}} : !stream.resource<constant>{%n} -> !stream.resource<transient>{%n}
// CHECK-NEXT: stream.async.fill
util.func private @transfers(%n: index, %v: i32, %x: !stream.resource<external>, %c: !stream.resource<constant>) -> i32 {
  %c0 = arith.constant 0 : index
  %0 = stream.async.transfer %x : !stream.resource<external>{%n} -> !stream.resource<*>{%n}
  %1 = stream.async.transfer %0 : !stream.resource<*>{%n} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<*>{%n}
  %2 = stream.async.transfer %1 : !stream.resource<*>{%n} -> !stream.resource<staging>{%n}
  %3 = stream.async.load %2[%c0] : !stream.resource<staging>{%n} -> i32
  %4 = stream.async.transfer %c : !stream.resource<constant>{%n} -> !stream.resource<*>{%n}
  %5 = stream.async.transfer %c : !stream.resource<constant>{%n} -> !stream.resource<*>{%n}
  %6 = stream.async.transfer %5 : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  %7 = stream.async.fill %v, %6[%c0 to %n for %n] : i32 -> %6 as !stream.resource<*>{%n}
  util.return %3 : i32
}

// -----

// What shares the lifetime of something written is no constant.

// CHECK-LABEL: util.func private @shared_with_what_is_written
// CHECK: %[[A:.*]] = stream.async.splat %v : i32 -> !stream.resource<transient>{%n}
// CHECK-NEXT: stream.async.transfer %[[A]] : !stream.resource<transient>{%n} -> !stream.resource<transient>{%n}
// CHECK-NEXT: stream.async.fill
// CHECK-NEXT: stream.async.transfer %[[A]] : !stream.resource<transient>{%n} -> !stream.resource<constant>{%n}
util.func private @shared_with_what_is_written(%n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %a = stream.async.splat %v : i32 -> !stream.resource<*>{%n}
  %b = stream.async.transfer %a : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  %w = stream.async.fill %v, %b[%c0 to %n for %n] : i32 -> %b as !stream.resource<*>{%n}
  %c = stream.async.transfer %a : !stream.resource<*>{%n} -> !stream.resource<constant>{%n}
  util.return
}

// -----

// A global that is no resource has no lifetime.

// CHECK: util.global private mutable @n : index
// CHECK-LABEL: util.func private @count
// CHECK-NEXT: util.global.load @n : index
// CHECK-NEXT: util.global.store %{{.*}}, @n : index
util.global private mutable @n : index
util.func private @count() {
  %0 = util.global.load @n : index
  util.global.store %0, @n : index
  util.return
}
