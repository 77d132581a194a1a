// RUN: mesh-opt %s --iree-stream-materialize-copy-on-write | filecheck %s

// What is made here and read no more may be written to; what a caller has, or what is read later, is copied.

// CHECK-LABEL: util.func public @writes
// CHECK: %[[C:.*]] = stream.async.clone on(#hal.device.affinity<@d>) %r : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
// CHECK-NEXT: %[[A:.*]] = stream.async.fill on(#hal.device.affinity<@d>) %v, %[[C]][%o to %n for %n] : i32 -> %[[C]] as
// CHECK-NEXT: %[[B:.*]] = stream.async.fill %v, %[[A]][%o to %n for %n] : i32 -> %[[A]] as
// CHECK-NEXT: %[[E:.*]] = stream.async.clone %[[B]]
// CHECK-NEXT: stream.async.fill %v, %[[E]][%o to %n for %n] : i32 -> %[[E]] as
// CHECK-NEXT: stream.async.slice %[[B]]
util.global private @d : !hal.device
util.func public @writes(%r: !stream.resource<*>, %n: index, %o: index, %v: i32) -> (!stream.resource<*>, !stream.resource<*>) {
  %0 = stream.async.fill on(#hal.device.affinity<@d>) %v, %r[%o to %n for %n] : i32 -> %r as !stream.resource<*>{%n}
  %1 = stream.async.fill %v, %0[%o to %n for %n] : i32 -> %0 as !stream.resource<*>{%n}
  %2 = stream.async.fill %v, %1[%o to %n for %n] : i32 -> %1 as !stream.resource<*>{%n}
  %3 = stream.async.slice %1[%o to %n] : !stream.resource<*>{%n} -> !stream.resource<*>{%n}
  util.return %2, %3 : !stream.resource<*>, !stream.resource<*>
}
