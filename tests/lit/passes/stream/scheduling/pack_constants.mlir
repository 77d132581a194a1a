// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-stream-pack-constants | filecheck %s

// Constants are parts of one buffer of the host, which the device reads, or which is copied there.

// CHECK-LABEL: util.func public @constants
// CHECK: %[[H:.*]] = util.buffer.constant {{ *}}<alignment = 64> : !util.buffer = #util.composite<128xi8, [
// CHECK-NEXT: dense<1> : tensor<4xi32>,
// CHECK-NEXT: dense<0> : vector<48xi8>,
// CHECK-NEXT: dense<2> : tensor<3xi8>,
// CHECK-NEXT: dense<0> : vector<61xi8>,
// CHECK: %[[I:.*]] = stream.timepoint.immediate => !stream.timepoint
// CHECK: %[[M:.*]]:2 = stream.resource.try_map on(#hal.device.affinity<@a>) %[[H]][%{{.*}}] : !util.buffer -> i1, !stream.resource<constant>{%[[N:.*]]}
// CHECK: %[[R:.*]]:2 = scf.if %[[M]]#0 -> (!stream.timepoint, !stream.resource<constant>) {
// CHECK:   scf.yield %[[I]], %[[M]]#1
// CHECK: } else {
// CHECK:   %[[A:.*]] = stream.resource.alloc uninitialized on(#hal.device.affinity<@a>) : !stream.resource<constant>{%[[N]]}
// CHECK:   %[[F:.*]] = stream.file.constant on(#hal.device.affinity<@a>) %[[H]]
// CHECK:   %[[T:.*]] = stream.file.read on(#hal.device.affinity<@a>) await(%[[I]]) => %[[F]]
// CHECK:   scf.yield %[[T]], %[[A]]
// CHECK: %[[X:.*]] = stream.resource.subview %[[R]]#1[%{{.*}}] : !stream.resource<constant>{%[[N]]} -> !stream.resource<constant>{%c16}
// CHECK: %[[Y:.*]] = stream.resource.subview %[[R]]#1[%{{.*}}] : !stream.resource<constant>{%[[N]]} -> !stream.resource<constant>{%c4}
// CHECK: util.return %[[X]], %[[Y]], %[[R]]#0
util.func public @constants() -> (!stream.resource<constant>, !stream.resource<constant>, !stream.timepoint) {
  %c16 = arith.constant 16 : index
  %c4 = arith.constant 4 : index
  %0:3 = stream.resource.constants on(#hal.device.affinity<@a>) : !stream.resource<constant>{%c16} = dense<1> : tensor<4xi32>, !stream.resource<constant>{%c4} = dense<2> : tensor<3xi8> => !stream.timepoint
  util.return %0#0, %0#1, %0#2 : !stream.resource<constant>, !stream.resource<constant>, !stream.timepoint
}

// -----

util.func public @parameter() -> (!stream.resource<constant>, !stream.timepoint) {
  %c16 = arith.constant 16 : index
  // expected-error @below {{only constants of the program are packed}}
  %0:2 = stream.resource.constants : !stream.resource<constant>{%c16} = #stream.parameter.named<"s"::"k"> : tensor<4xi32> => !stream.timepoint
  util.return %0#0, %0#1 : !stream.resource<constant>, !stream.timepoint
}

// -----

util.func public @too_small() -> !stream.resource<constant> {
  %n = arith.constant 4 : index
  // expected-error @below {{keeps a constant of 160 bytes in a resource of 4}}
  %0, %t = stream.resource.constants : !stream.resource<constant>{%n} = dense<1> : tensor<40xi32> => !stream.timepoint
  util.return %0 : !stream.resource<constant>
}
