// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Channels and collectives, functions from outside, and what is asked of resources.

stream.async.func private @ac(%a: !stream.resource<*>, %n: index) -> (%a)
stream.cmd.func private @cc(%a[%n for %m]: !stream.resource<*>, %k: i32)
util.func private @f(%r: !stream.resource<*>, %t: !stream.resource<transient>, %u: !stream.resource<transient>, %s: !stream.resource<staging>, %channel: !stream.channel, %file: !stream.file, %tp: !stream.timepoint, %tq: !stream.timepoint, %n: index, %m: index, %k: index, %i64: i64, %i32: i32, %host: !util.buffer, %scope: !util.buffer, %key: !util.buffer, %c: i1) {
  // CHECK: stream.async.collective<all_gather : f32>[%k] channel(%channel) %u[%n to %n for %n], %t[%n to %n for %n] : !stream.resource<transient>{%n} -> %t as !stream.resource<transient>{%n}
  %v0 = stream.async.collective<all_gather : f32>[%k] channel(%channel) %u[%n to %n for %n], %t[%n to %n for %n] : !stream.resource<transient>{%n} -> %t as !stream.resource<transient>{%n}
  // CHECK: stream.async.collective<broadcast : f32>[%k] on(#hal.device.affinity<@d>) channel(%channel) source(%i32) %u[%n to %n for %n], %t[%n to %n for %n] : !stream.resource<transient>{%n} -> %t as !stream.resource<transient>{%n}
  %v1 = stream.async.collective<broadcast : f32>[%k] on(#hal.device.affinity<@d>) channel(%channel) source(%i32) %u[%n to %n for %n], %t[%n to %n for %n] : !stream.resource<transient>{%n} -> %t as !stream.resource<transient>{%n}
  // CHECK: stream.async.call @ac(%r[%n to %m for %k], %n) : (!stream.resource<*>{%n}, index) -> %r{%n}
  %v2 = stream.async.call @ac(%r[%n to %m for %k], %n) : (!stream.resource<*>{%n}, index) -> %r{%n}
  // CHECK: stream.async.call on(#hal.device.affinity<@d>) @ac(%r[%n to %m for %k], %n) : (!stream.resource<*>{%n}, index) -> %r{%n}
  %v3 = stream.async.call on(#hal.device.affinity<@d>) @ac(%r[%n to %m for %k], %n) : (!stream.resource<*>{%n}, index) -> %r{%n}
  // CHECK: stream.cmd.call @cc(%i32) : (i32) -> ()
  stream.cmd.call @cc(%i32) : (i32) -> ()
  // CHECK: stream.cmd.call @cc(ro %r[%n for %m], %i32) : (!stream.resource<*>{%n}, i32) -> ()
  stream.cmd.call @cc(ro %r[%n for %m], %i32) : (!stream.resource<*>{%n}, i32) -> ()
  // CHECK: stream.channel.count %channel : index
  %v6 = stream.channel.count %channel : index
  // CHECK: stream.channel.rank %channel : index
  %v7 = stream.channel.rank %channel : index
  // CHECK: stream.channel.create : !stream.channel
  %v8 = stream.channel.create : !stream.channel
  // CHECK: stream.channel.create on(#hal.device.affinity<@d>) id(%host) group("group") rank(%n) count(%m) : !stream.channel
  %v9 = stream.channel.create on(#hal.device.affinity<@d>) id(%host) group("group") rank(%n) count(%m) : !stream.channel
  // CHECK: stream.channel.split %channel, %n, %m : !stream.channel -> !stream.channel
  %v10 = stream.channel.split %channel, %n, %m : !stream.channel -> !stream.channel
  // CHECK: stream.context.resolve : !hal.allocator
  %v11 = stream.context.resolve : !hal.allocator
  // CHECK: stream.context.resolve on(#hal.device.affinity<@d>) : !hal.device, i64
  %v12_0, %v12_1 = stream.context.resolve on(#hal.device.affinity<@d>) : !hal.device, i64
  // CHECK: stream.resource.constants on(#hal.device.affinity<@d>) :
  // CHECK-NEXT: !stream.resource<constant>{%n} = dense<1> : tensor<4xi8>,
  // CHECK-NEXT: !stream.resource<constant>{%m} = dense<2> : tensor<8xi8>
  // CHECK-NEXT: => !stream.timepoint
  %v13_0, %v13_1, %v13_2 = stream.resource.constants on(#hal.device.affinity<@d>) : !stream.resource<constant>{%n} = dense<1> : tensor<4xi8>, !stream.resource<constant>{%m} = dense<2> : tensor<8xi8> => !stream.timepoint
  // CHECK: stream.resource.constants :
  // CHECK-NEXT: !stream.resource<constant>{%n} = dense<1> : tensor<4xi8>
  // CHECK-NEXT: => !stream.timepoint
  %v14_0, %v14_1 = stream.resource.constants : !stream.resource<constant>{%n} = dense<1> : tensor<4xi8> => !stream.timepoint
  // CHECK: stream.resource.is_terminal %t : !stream.resource<transient>{%n}
  %v15 = stream.resource.is_terminal %t : !stream.resource<transient>{%n}
  // CHECK: stream.resource.release %t : !stream.resource<transient>{%n}
  %v16 = stream.resource.release %t : !stream.resource<transient>{%n}
  // CHECK: stream.resource.retain %t : !stream.resource<transient>{%n}
  stream.resource.retain %t : !stream.resource<transient>{%n}
  // CHECK: stream.resource.load %s[%n] : !stream.resource<staging>{%n} -> i32
  %v18 = stream.resource.load %s[%n] : !stream.resource<staging>{%n} -> i32
  // CHECK: stream.resource.store %i32, %s[%n] : i32 -> !stream.resource<staging>{%n}
  stream.resource.store %i32, %s[%n] : i32 -> !stream.resource<staging>{%n}
  // CHECK: stream.resource.transients on(#hal.device.affinity<@d>) await(%tp) => %t : !stream.resource<transient>{%n} from %u : !stream.resource<transient>{%m} => !stream.timepoint
  %v20_0, %v20_1 = stream.resource.transients on(#hal.device.affinity<@d>) await(%tp) => %t : !stream.resource<transient>{%n} from %u : !stream.resource<transient>{%m} => !stream.timepoint
  util.return
}
