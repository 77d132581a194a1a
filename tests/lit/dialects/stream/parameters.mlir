// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Contents that are kept outside of the program.

stream.async.func private @ac(%a: !stream.resource<*>, %n: index) -> (%a)
stream.cmd.func private @cc(%a[%n for %m]: !stream.resource<*>, %k: i32)
util.func private @f(%r: !stream.resource<*>, %t: !stream.resource<transient>, %u: !stream.resource<transient>, %s: !stream.resource<staging>, %channel: !stream.channel, %file: !stream.file, %tp: !stream.timepoint, %tq: !stream.timepoint, %n: index, %m: index, %k: index, %i64: i64, %i32: i32, %host: !util.buffer, %scope: !util.buffer, %key: !util.buffer, %c: i1) {
  // CHECK: stream.async.parameter.gather await(%tp) {
  // CHECK-NEXT:   %scope::%key[%i64] -> %t[%n to %m for %k] : !stream.resource<transient>{%n},
  // CHECK-NEXT:   %scope::%key[%i64] -> %t[%n to %m for %k] : !stream.resource<transient>{%n}
  // CHECK-NEXT: } : !stream.resource<transient> => !stream.timepoint
  %v0_0, %v0_1 = stream.async.parameter.gather await(%tp) {%scope::%key[%i64] -> %t[%n to %m for %k] : !stream.resource<transient>{%n}, %scope::%key[%i64] -> %t[%n to %m for %k] : !stream.resource<transient>{%n}} : !stream.resource<transient> => !stream.timepoint
  // CHECK: stream.async.parameter.scatter {
  // CHECK-NEXT:   %t[%n to %m for %k] : !stream.resource<transient>{%n} -> %key[%i64]
  // CHECK-NEXT: } : !stream.resource<transient> => !stream.timepoint
  %v1_0, %v1_1 = stream.async.parameter.scatter {%t[%n to %m for %k] : !stream.resource<transient>{%n} -> %key[%i64]} : !stream.resource<transient> => !stream.timepoint
  // CHECK: stream.async.parameter.scatter on(#hal.device.affinity<@d>) await(%tp) {
  // CHECK-NEXT:   %t[%n to %m for %k] : !stream.resource<transient>{%n} -> %scope::%key[%i64],
  // CHECK-NEXT:   %t[%n to %m for %k] : !stream.resource<transient>{%n} -> %scope::%key[%i64]
  // CHECK-NEXT: } : !stream.resource<transient> => !stream.timepoint
  %v2_0, %v2_1 = stream.async.parameter.scatter on(#hal.device.affinity<@d>) await(%tp) {%t[%n to %m for %k] : !stream.resource<transient>{%n} -> %scope::%key[%i64], %t[%n to %m for %k] : !stream.resource<transient>{%n} -> %scope::%key[%i64]} : !stream.resource<transient> => !stream.timepoint
  // CHECK: stream.async.parameter.load await(%tp) %scope::%key[%i64] : !stream.resource<constant>{%n} => !stream.timepoint
  %v3_0, %v3_1 = stream.async.parameter.load await(%tp) %scope::%key[%i64] : !stream.resource<constant>{%n} => !stream.timepoint
  // CHECK: stream.async.parameter.load on(#hal.device.affinity<@d>) %key[%i64] : !stream.resource<constant>{%n} => !stream.timepoint
  %v4_0, %v4_1 = stream.async.parameter.load on(#hal.device.affinity<@d>) %key[%i64] : !stream.resource<constant>{%n} => !stream.timepoint
  // CHECK: stream.async.parameter.read await(%tp) %scope::%key[%i64] -> %t[%n to %m for %k] : !stream.resource<transient>{%n} => !stream.timepoint
  %v5_0, %v5_1 = stream.async.parameter.read await(%tp) %scope::%key[%i64] -> %t[%n to %m for %k] : !stream.resource<transient>{%n} => !stream.timepoint
  // CHECK: stream.async.parameter.read on(#hal.device.affinity<@d>) %key[%i64] -> %t[%n to %m for %k] : !stream.resource<transient>{%n} => !stream.timepoint
  %v6_0, %v6_1 = stream.async.parameter.read on(#hal.device.affinity<@d>) %key[%i64] -> %t[%n to %m for %k] : !stream.resource<transient>{%n} => !stream.timepoint
  // CHECK: stream.async.parameter.write await(%tp) %t[%n to %m for %k] -> %scope::%key[%i64] : !stream.resource<transient>{%n} => !stream.timepoint
  %v7_0, %v7_1 = stream.async.parameter.write await(%tp) %t[%n to %m for %k] -> %scope::%key[%i64] : !stream.resource<transient>{%n} => !stream.timepoint
  // CHECK: stream.async.parameter.write %t[%n to %m for %k] -> %key[%i64] : !stream.resource<transient>{%n} => !stream.timepoint
  %v8_0, %v8_1 = stream.async.parameter.write %t[%n to %m for %k] -> %key[%i64] : !stream.resource<transient>{%n} => !stream.timepoint
  // CHECK: stream.cmd.parameter.gather await(%tp) => {
  // CHECK-NEXT:   %scope::%key[%i64] -> %t[%n for %m] : !stream.resource<transient>{%n},
  // CHECK-NEXT:   %scope::%key[%i64] -> %t[%n for %m] : !stream.resource<transient>{%n}
  // CHECK-NEXT: } => !stream.timepoint
  %v9 = stream.cmd.parameter.gather await(%tp) => {%scope::%key[%i64] -> %t[%n for %m] : !stream.resource<transient>{%n}, %scope::%key[%i64] -> %t[%n for %m] : !stream.resource<transient>{%n}} => !stream.timepoint
  // CHECK: stream.cmd.parameter.scatter {
  // CHECK-NEXT:   %t[%n for %m] : !stream.resource<transient>{%n} -> %key[%i64]
  // CHECK-NEXT: } => !stream.timepoint
  %v10 = stream.cmd.parameter.scatter {%t[%n for %m] : !stream.resource<transient>{%n} -> %key[%i64]} => !stream.timepoint
  // CHECK: stream.cmd.parameter.scatter on(#hal.device.affinity<@d>) await(%tp) => {
  // CHECK-NEXT:   %t[%n for %m] : !stream.resource<transient>{%n} -> %scope::%key[%i64],
  // CHECK-NEXT:   %t[%n for %m] : !stream.resource<transient>{%n} -> %scope::%key[%i64]
  // CHECK-NEXT: } => !stream.timepoint
  %v11 = stream.cmd.parameter.scatter on(#hal.device.affinity<@d>) await(%tp) => {%t[%n for %m] : !stream.resource<transient>{%n} -> %scope::%key[%i64], %t[%n for %m] : !stream.resource<transient>{%n} -> %scope::%key[%i64]} => !stream.timepoint
  // CHECK: stream.cmd.parameter.read await(%tp) => %scope::%key[%i64] -> %t[%n for %m] : !stream.resource<transient>{%n} => !stream.timepoint
  %v12 = stream.cmd.parameter.read await(%tp) => %scope::%key[%i64] -> %t[%n for %m] : !stream.resource<transient>{%n} => !stream.timepoint
  // CHECK: stream.cmd.parameter.read on(#hal.device.affinity<@d>) %key[%i64] -> %t[%n for %m] : !stream.resource<transient>{%n} => !stream.timepoint
  %v13 = stream.cmd.parameter.read on(#hal.device.affinity<@d>) %key[%i64] -> %t[%n for %m] : !stream.resource<transient>{%n} => !stream.timepoint
  // CHECK: stream.cmd.parameter.write await(%tp) => %t[%n for %m] : !stream.resource<transient>{%n} -> %scope::%key[%i64] => !stream.timepoint
  %v14 = stream.cmd.parameter.write await(%tp) => %t[%n for %m] : !stream.resource<transient>{%n} -> %scope::%key[%i64] => !stream.timepoint
  // CHECK: stream.cmd.parameter.write %t[%n for %m] : !stream.resource<transient>{%n} -> %key[%i64] => !stream.timepoint
  %v15 = stream.cmd.parameter.write %t[%n for %m] : !stream.resource<transient>{%n} -> %key[%i64] => !stream.timepoint
  // CHECK: stream.cmd.parameter.load on(#hal.device.affinity<@d>) await(%tp) => {
  // CHECK-NEXT:   %scope::%key[%i64] : !stream.resource<constant>{%n},
  // CHECK-NEXT:   %scope::%key[%i64] : !stream.resource<constant>{%n}
  // CHECK-NEXT: } => !stream.timepoint
  %v16_0, %v16_1, %v16_2 = stream.cmd.parameter.load on(#hal.device.affinity<@d>) await(%tp) => {%scope::%key[%i64] : !stream.resource<constant>{%n}, %scope::%key[%i64] : !stream.resource<constant>{%n}} => !stream.timepoint
  // CHECK: stream.cmd.parameter.load {
  // CHECK-NEXT:   %key[%i64] : !stream.resource<constant>{%n}
  // CHECK-NEXT: } => !stream.timepoint
  %v17_0, %v17_1 = stream.cmd.parameter.load {%key[%i64] : !stream.resource<constant>{%n}} => !stream.timepoint
  // CHECK: stream.tensor.parameter.load on(#hal.device.affinity<@d>) %scope::%key[%i64] : tensor<?xf32>{%n} in !stream.resource<constant>{%m}
  %v18 = stream.tensor.parameter.load on(#hal.device.affinity<@d>) %scope::%key[%i64] : tensor<?xf32>{%n} in !stream.resource<constant>{%m}
  // CHECK: stream.tensor.parameter.load %key[%i64] : tensor<4xf32> in !stream.resource<constant>{%m}
  %v19 = stream.tensor.parameter.load %key[%i64] : tensor<4xf32> in !stream.resource<constant>{%m}
  // CHECK: stream.tensor.parameter.write on(#hal.device.affinity<@d>) %t -> %scope::%key[%i64] : tensor<?xf32>{%n} in !stream.resource<transient>{%m}
  %v20 = stream.tensor.parameter.write on(#hal.device.affinity<@d>) %t -> %scope::%key[%i64] : tensor<?xf32>{%n} in !stream.resource<transient>{%m}
  // CHECK: stream.tensor.parameter.write %t -> %key[%i64] : tensor<4xf32> in !stream.resource<transient>{%m}
  %v21 = stream.tensor.parameter.write %t -> %key[%i64] : tensor<4xf32> in !stream.resource<transient>{%m}
  util.return
}
