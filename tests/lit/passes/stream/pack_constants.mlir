// RUN: mesh-opt %s --split-input-file --verify-diagnostics --iree-stream-pack-constants | filecheck %s

// Constants are parts of one buffer of the host, which the device reads, or which is copied there.

// CHECK: #composite_of_128b = #util.composite<128xi8, [
// CHECK-NEXT: dense<1> : tensor<4xi32>,
// CHECK-NEXT: dense<0> : vector<48xi8>,
// CHECK-NEXT: dense<2> : tensor<3xi8>,
// CHECK-NEXT: dense<0> : vector<61xi8>,
// CHECK-LABEL: util.func public @constants
// CHECK: %[[I:.*]] = stream.timepoint.immediate => !stream.timepoint
// CHECK: %[[H:.*]] = util.buffer.constant <alignment = 64> : !util.buffer = #composite_of_128b
// CHECK: %[[M:.*]], %[[M_T:.*]] = stream.resource.try_map on(#hal.device.affinity<@a>) %[[H]][%{{.*}}] : !util.buffer -> i1, !stream.resource<constant>{%[[N:.*]]}
// CHECK: %[[R:.*]]:2 = scf.if %[[M]] -> (!stream.timepoint, !stream.resource<constant>) {
// CHECK:   scf.yield %[[I]], %[[M_T]]
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

util.func public @too_small() -> !stream.resource<constant> {
  %n = arith.constant 4 : index
  // expected-error @below {{stores a constant of 160 bytes in a resource of 4}}
  %0, %t = stream.resource.constants : !stream.resource<constant>{%n} = dense<1> : tensor<40xi32> => !stream.timepoint
  util.return %0 : !stream.resource<constant>
}

// -----

// What a variable starts with is read to a resource of its own, as somebody may write to it. Parts
// begin where the device wants them, and no resource is larger than it may be.

#limits = #stream.resource_config<{max_allocation_size = 32, min_buffer_offset_alignment = 16, max_buffer_range = 1024, min_buffer_range_alignment = 16, index_bits = 32}>

// CHECK: #composite_of_16b = #util.composite<16xi8, [
// CHECK: #composite_of_32b = #util.composite<32xi8, [
// CHECK-LABEL: util.func public @variables
// CHECK-NOT: try_map
// CHECK: util.buffer.constant <alignment = 16> : !util.buffer = #composite_of_32b
// CHECK: stream.resource.alloc uninitialized : !stream.resource<variable>
// CHECK: %[[A:.*]] = stream.file.read
// CHECK: stream.resource.subview
// CHECK: stream.resource.subview
// CHECK: util.buffer.constant <alignment = 16> : !util.buffer = #composite_of_16b
// CHECK: %[[B:.*]] = stream.file.read
// CHECK: stream.resource.subview
// CHECK: %[[J:.*]] = stream.timepoint.join max(%[[A]], %[[B]])
// CHECK: util.return %{{.*}}, %[[J]]
util.func public @variables() -> (!stream.resource<variable>, !stream.timepoint) attributes {stream.resources = #limits} {
  %c4 = arith.constant 4 : index
  %0:4 = stream.resource.constants : !stream.resource<variable>{%c4} = dense<1> : tensor<1xi32>, !stream.resource<variable>{%c4} = #util.byte_pattern<1> : vector<4xi8>, !stream.resource<variable>{%c4} = dense<2> : tensor<3xi8> => !stream.timepoint
  util.return %0#0, %0#3 : !stream.resource<variable>, !stream.timepoint
}

// -----

// Parameters are loaded by their scopes, and gathered where they may be written to.

// CHECK-LABEL: util.func public @parameters
// CHECK: %[[S:.*]] = util.buffer.constant {{ *}}: !util.buffer = "s"
// CHECK: %[[A:.*]] = util.buffer.constant {{ *}}: !util.buffer = "a"
// CHECK: %[[B:.*]] = util.buffer.constant {{ *}}: !util.buffer = "b"
// CHECK: %[[Z:.*]] = arith.constant 0 : i64
// CHECK: %[[E:.*]] = arith.constant 8 : i64
// CHECK: %[[L:.*]]:2, %[[L_T:.*]] = stream.cmd.parameter.load {
// CHECK-NEXT:   %[[S]]::%[[A]][%[[Z]]] : !stream.resource<constant>{%c4},
// CHECK-NEXT:   %[[S]]::%[[B]][%[[E]]] : !stream.resource<constant>{%c4}
// CHECK-NEXT: } => !stream.timepoint
// CHECK: util.return %[[L]]#0, %[[L]]#1, %[[L_T]]
util.func public @parameters() -> (!stream.resource<constant>, !stream.resource<constant>, !stream.timepoint) {
  %c4 = arith.constant 4 : index
  %0:3 = stream.resource.constants : !stream.resource<constant>{%c4} = #stream.parameter.named<"s"::"a"> : vector<4xi8>, !stream.resource<constant>{%c4} = #stream.parameter.named<"s"::"b", {offset = 8 : i64}> : vector<4xi8> => !stream.timepoint
  util.return %0#0, %0#1, %0#2 : !stream.resource<constant>, !stream.resource<constant>, !stream.timepoint
}

// CHECK-LABEL: util.func public @variable_parameter
// CHECK: %[[R:.*]] = stream.resource.alloc uninitialized : !stream.resource<variable>
// CHECK: stream.cmd.parameter.gather {
// CHECK-NEXT:   %{{.*}}[%{{.*}}] -> %[[R]][%{{.*}} for %c4] : !stream.resource<variable>{%{{.*}}}
// CHECK-NEXT: } => !stream.timepoint
// CHECK: stream.resource.subview %[[R]]
util.func public @variable_parameter() -> (!stream.resource<variable>, !stream.timepoint) {
  %c4 = arith.constant 4 : index
  %0:2 = stream.resource.constants : !stream.resource<variable>{%c4} = #stream.parameter.named<"a"> : vector<4xi8> => !stream.timepoint
  util.return %0#0, %0#1 : !stream.resource<variable>, !stream.timepoint
}
