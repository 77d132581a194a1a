// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-stream-schedule-allocation | filecheck %s

// What leaves a region has a resource; what does not, a slice of one that is given back.

// CHECK-LABEL: util.func public @main
// CHECK: %[[Z:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[K:.*]], %[[K_T:.*]] = stream.resource.constants on(#hal.device.affinity<@a>) :
// CHECK-NEXT: !stream.resource<constant>{%n} = dense<1> : tensor<4xi32>
// CHECK-NEXT: => !stream.timepoint
// CHECK-NEXT: %[[R:.*]], %[[R_T:.*]] = stream.resource.alloca uninitialized on(#hal.device.affinity<@a>) await(%t) => !stream.resource<external>{%n} => !stream.timepoint
// CHECK-NEXT: %[[P:.*]]:3 = stream.resource.pack on(#hal.device.affinity<@a>) slices({
// CHECK-NEXT:   [1, 2] = %n,
// CHECK-NEXT:   [2, 3] = %n
// CHECK-NEXT: }) : index
// CHECK-NEXT: %[[T:.*]], %[[T_T:.*]] = stream.resource.alloca uninitialized on(#hal.device.affinity<@a>) await(%t) => !stream.resource<transient>{%[[P]]#0} => !stream.timepoint
// CHECK-NEXT: %[[O:.*]] = arith.addi %[[P]]#1, %o : index
// CHECK-NEXT: %[[W:.*]] = stream.timepoint.join max(%t, %[[K_T]], %[[R_T]], %[[T_T]]) => !stream.timepoint
// CHECK-NEXT: %[[E:.*]] = stream.cmd.execute on(#hal.device.affinity<@a>) await(%[[W]]) => with(%r as %[[A:.*]]: !stream.resource<external>{%n}, %[[K]] as %[[C:.*]]: !stream.resource<constant>{%n}, %[[R]] as %[[B:.*]]: !stream.resource<external>{%n}, %[[T]] as %[[S:.*]]: !stream.resource<transient>{%[[P]]#0}) {
// CHECK-NEXT:   stream.cmd.dispatch @ex::@f[%n](%o : index) {
// CHECK-NEXT:   ro %[[A]][%o for %n] : {{.*}},
// CHECK-NEXT:   wo %[[S]][%[[P]]#1 for %n] : {{.*}}
// CHECK-NEXT: }
// CHECK-NEXT:   stream.cmd.concurrent {
// CHECK-NEXT:     stream.cmd.dispatch @ex::@g(%o : index) {
// CHECK-NEXT:   rw %[[S]][%[[O]] for %n] : {{.*}}
// CHECK-NEXT: }
// CHECK-NEXT:     stream.cmd.fill %v, %[[S]][%[[P]]#2 for %n] : i32 -> !stream.resource<transient>{%[[P]]#0}
// CHECK-NEXT:   }
// CHECK-NEXT:   stream.cmd.copy %[[S]][%[[P]]#2], %[[B]][%[[Z]]], %n
// CHECK-NEXT: } => !stream.timepoint
// CHECK-NEXT: %[[D:.*]] = stream.resource.dealloca on(#hal.device.affinity<@a>) await(%[[E]]) => %[[T]] : !stream.resource<transient>{%[[P]]#0} => !stream.timepoint
// CHECK-NEXT: %[[J:.*]] = stream.timepoint.join max(%[[D]], %[[E]]) => !stream.timepoint
// CHECK-NEXT: stream.timepoint.await %[[J]] => %[[R]], %[[K]], %r
util.global private @a : !hal.device
util.func public @main(%r: !stream.resource<external>, %n: index, %o: index, %v: i32, %t: !stream.timepoint) -> (!stream.resource<external>, !stream.resource<constant>, !stream.resource<external>) {
  %0:4 = stream.async.execute on(#hal.device.affinity<@a>) await(%t) => with(%r as %a: !stream.resource<external>{%n}) -> (!stream.resource<external>{%n}, !stream.resource<constant>{%n}, %r{%n}) {
    %k = stream.async.constant : !stream.resource<constant>{%n} = dense<1> : tensor<4xi32>
    %1 = stream.async.dispatch @ex::@f[%n](%a[%o to %n for %n], %o) : (!stream.resource<external>{%n}, index) -> !stream.resource<transient>{%n}
    %2:2 = stream.async.concurrent with(%1 as %b: !stream.resource<transient>{%n}) -> (%1{%n}, !stream.resource<transient>{%n}) {
      %3 = stream.async.dispatch @ex::@g(%b[%o to %n for %n], %o) : (!stream.resource<transient>{%n}, index) -> %b{%n}
      %4 = stream.async.splat %v : i32 -> !stream.resource<transient>{%n}
      stream.yield %3, %4 : !stream.resource<transient>{%n}, !stream.resource<transient>{%n}
    }
    %5 = stream.async.clone %2#1 : !stream.resource<transient>{%n} -> !stream.resource<external>{%n}
    stream.yield %5, %k, %a : !stream.resource<external>{%n}, !stream.resource<constant>{%n}, !stream.resource<external>{%n}
  } => !stream.timepoint
  %6:3 = stream.timepoint.await %0#3 => %0#0, %0#1, %0#2 : !stream.resource<external>{%n}, !stream.resource<constant>{%n}, !stream.resource<external>{%n}
  util.return %6#0, %6#1, %6#2 : !stream.resource<external>, !stream.resource<constant>, !stream.resource<external>
}

// -----

// Staging memory and memory of other devices is made visible before and after a transfer.

// CHECK-LABEL: util.func public @transfers
// CHECK: stream.cmd.execute on(#hal.device.affinity<@a>) {{.*}}with(%r as %[[R:[^:]*]]: !stream.resource<external>{%n}, %{{[^ ]*}} as %[[S:[^:]*]]: !stream.resource<staging>{%n}
// CHECK-NEXT: stream.cmd.invalidate from(#hal.device.affinity<@b>) %[[R]][%{{.*}} for %n] : !stream.resource<external>{%n}
// CHECK-NEXT: stream.cmd.copy
// CHECK-NEXT: stream.cmd.copy
// CHECK-NEXT: stream.cmd.flush %[[S]][%{{.*}} for %n] : !stream.resource<staging>{%n}
util.global private @a : !hal.device
util.global private @b : !hal.device
util.func public @transfers(%r: !stream.resource<external>, %n: index) -> !stream.resource<staging> {
  %0, %t = stream.async.execute on(#hal.device.affinity<@a>) with(%r as %a: !stream.resource<external>{%n}) -> !stream.resource<staging>{%n} {
    %1 = stream.async.transfer %a : !stream.resource<external>{%n} from(#hal.device.affinity<@b>) -> to(#hal.device.affinity<@a>) !stream.resource<transient>{%n}
    %2 = stream.async.transfer %1 : !stream.resource<transient>{%n} -> !stream.resource<staging>{%n}
    stream.yield %2 : !stream.resource<staging>{%n}
  } => !stream.timepoint
  %3 = stream.timepoint.await %t => %0 : !stream.resource<staging>{%n}
  util.return %3 : !stream.resource<staging>
}

// -----

// Commands take a resource once, however often the region took it.

// CHECK-LABEL: util.func public @twice
// CHECK: stream.cmd.execute {{.*}}with(%r as %[[A:[^:]*]]: !stream.resource<external>{%n}, %{{[^ ]*}} as %[[B:[^:]*]]: !stream.resource<external>{%n}) {
// CHECK-NEXT: stream.cmd.copy %[[A]][%{{.*}}], %[[B]][%{{.*}}], %n
// CHECK-NEXT: stream.cmd.copy %[[A]][%{{.*}}], %[[B]][%{{.*}}], %n
util.func public @twice(%r: !stream.resource<external>, %n: index) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %0, %t = stream.async.execute with(%r as %a: !stream.resource<external>{%n}, %r as %b: !stream.resource<external>{%n}) -> !stream.resource<external>{%n} {
    %1 = stream.async.clone %a : !stream.resource<external>{%n} -> !stream.resource<external>{%n}
    %2 = stream.async.update %b, %1[%c0 to %n] : !stream.resource<external>{%n} -> %1 as !stream.resource<external>{%n}
    stream.yield %2 : !stream.resource<external>{%n}
  } => !stream.timepoint
  %3 = stream.timepoint.await %t => %0 : !stream.resource<external>{%n}
  util.return %3 : !stream.resource<external>
}

// -----

util.func public @main(%n: index, %v: i32) -> !stream.resource<external> {
  // expected-error @below {{is not in a stream.async.execute: run iree-stream-schedule-execution first}}
  %0 = stream.async.splat %v : i32 -> !stream.resource<external>{%n}
  util.return %0 : !stream.resource<external>
}

// -----

// A function outside is given its results, too, unless they are stored in what it takes.

// CHECK-LABEL: util.func private @calls
// CHECK: %[[R:.*]], %{{.*}} = stream.resource.alloca
// CHECK: stream.cmd.execute {{.*}} with(%x as %[[X:.*]]: {{.*}}, %[[R]] as %[[Y:.*]]: {{.*}}) {
// CHECK-NEXT: stream.cmd.call @fresh(ro %[[X]][%{{.*}} for %n], %v, wo %[[Y]][%{{.*}} for %n]) : (!stream.resource<external>{%n}, i32, !stream.resource<external>{%n}) -> ()
// CHECK-NEXT: stream.cmd.call @tied(rw %[[Y]][%{{.*}} for %n]) : (!stream.resource<external>{%n}) -> ()
// CHECK: stream.cmd.func private @fresh(%{{.*}}[%{{.*}} for %{{.*}}]: !stream.resource<*>, %{{.*}}: i32, %{{.*}}[%{{.*}} for %{{.*}}]: !stream.resource<*>)
// CHECK: stream.cmd.func private @tied(%{{.*}}[%{{.*}} for %{{.*}}]: !stream.resource<*>)
util.func private @calls(%n: index, %x: !stream.resource<external>, %v: i32) -> (!stream.resource<external>, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %r, %t = stream.async.execute with(%x as %c: !stream.resource<external>{%n}) -> !stream.resource<external>{%n} {
    %0 = stream.async.call @fresh(%c[%c0 to %n for %n], %v) : (!stream.resource<external>{%n}, i32) -> !stream.resource<external>{%n}
    %1 = stream.async.call @tied(%0[%c0 to %n for %n]) : (!stream.resource<external>{%n}) -> %0{%n}
    stream.yield %1 : !stream.resource<external>{%n}
  } => !stream.timepoint
  util.return %r, %t : !stream.resource<external>, !stream.timepoint
}
stream.async.func private @fresh(%arg0: !stream.resource<*>, %arg1: i32) -> !stream.resource<*>
stream.async.func private @tied(%arg0: !stream.resource<*>) -> %arg0

// -----

// Parameters are read, written and loaded by operations of their own; memory of the host is awaited.

// CHECK-LABEL: util.func private @outside
// CHECK: %[[L:.*]], %[[T:.*]] = stream.cmd.parameter.load {
// CHECK-NEXT:   %k[%o] : !stream.resource<constant>{%n}
// CHECK-NEXT: } => !stream.timepoint
// CHECK: %[[A:.*]], %[[A_T:.*]] = stream.resource.alloca
// CHECK: %[[W:.*]] = stream.timepoint.await %[[A_T]] => %[[A]]
// CHECK: %[[G:.*]] = stream.cmd.parameter.read await(%[[T]]) => %k[%o] -> %[[W]][%{{.*}} for %n] : !stream.resource<transient>{%n} => !stream.timepoint
// CHECK: %[[P:.*]] = stream.cmd.parameter.write await(%[[G]]) => %[[W]][%{{.*}} for %n] : !stream.resource<transient>{%n} -> %k[%o] => !stream.timepoint
// CHECK: util.return %[[L]], %[[P]]
util.func private @outside(%n: index, %o: i64, %k: !util.buffer) -> (!stream.resource<constant>, !stream.timepoint) {
  %c0 = arith.constant 0 : index
  %0, %t = stream.async.parameter.load %k[%o] : !stream.resource<constant>{%n} => !stream.timepoint
  %1 = stream.async.alloca : !stream.resource<transient>{%n}
  %2, %u = stream.async.parameter.read await(%t) %k[%o] -> %1[%c0 to %n for %n] : !stream.resource<transient>{%n} => !stream.timepoint
  %3, %w = stream.async.parameter.write await(%u) %2[%c0 to %n for %n] -> %k[%o] : !stream.resource<transient>{%n} => !stream.timepoint
  util.return %0, %w : !stream.resource<constant>, !stream.timepoint
}

// -----

util.func private @long_pattern(%n: index, %v: i64) -> !stream.resource<external> {
  %0, %t = stream.async.execute with() -> !stream.resource<external>{%n} {
    // expected-error @+1 {{fills with a pattern of 64 bits, expected at most 32: run iree-stream-materialize-builtins, which dispatches a kernel for it}}
    %1 = stream.async.splat %v : i64 -> !stream.resource<external>{%n}
    stream.yield %1 : !stream.resource<external>{%n}
  } => !stream.timepoint
  util.return %0 : !stream.resource<external>
}
