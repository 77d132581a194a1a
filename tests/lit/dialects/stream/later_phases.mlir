// RUN: mesh-opt %s --allow-unregistered-dialect --verify-roundtrip | filecheck %s

// Operations of IREE's later phases, which no pass makes or reads, are kept as they are.

// CHECK: util.func private @commands
// CHECK-NEXT: %t = "stream.cmd.execute"(%r, %r, %s, %s, %tp) <{once, affinity = #hal.device.affinity<@d>, operandSegmentSizes = array<i32: 2, 2, 1>}> ({
// CHECK-NEXT: ^bb0(%a: !stream.resource<transient>, %b: !stream.resource<transient>):
// CHECK-NEXT: "stream.cmd.concurrent"() ({
// CHECK: "stream.cmd.dispatch"(%n, %v, %n, %a, %b, %s, %s, %c0, %c0, %s, %s) <{entry_points = [@ex::@f, @ex::@g]
"util.func"() <{sym_visibility = "private", sym_name = "commands", function_type = (!stream.resource<transient>, index, !stream.timepoint, i32, index, index) -> ()}> ({
^bb0(%r: !stream.resource<transient>, %s: index, %tp: !stream.timepoint, %v: i32, %n: index, %c0: index):
  %t = "stream.cmd.execute"(%r, %r, %s, %s, %tp) <{once, affinity = #hal.device.affinity<@d>, operandSegmentSizes = array<i32: 2, 2, 1>}> ({
  ^bb0(%a: !stream.resource<transient>, %b: !stream.resource<transient>):
    "stream.cmd.concurrent"() ({
      "stream.cmd.invalidate"(%a, %s, %c0, %s) <{source_affinity = #hal.device.affinity<@d>}> : (!stream.resource<transient>, index, index, index) -> ()
      "stream.cmd.serial"() ({
        "stream.cmd.fill"(%a, %s, %c0, %s, %v) : (!stream.resource<transient>, index, index, index, i32) -> ()
        "stream.cmd.copy"(%a, %s, %c0, %b, %s, %c0, %s) : (!stream.resource<transient>, index, index, !stream.resource<transient>, index, index, index) -> ()
        "stream.yield"() : () -> ()
      }) : () -> ()
      "stream.cmd.discard"(%b, %s, %c0, %s) : (!stream.resource<transient>, index, index, index) -> ()
      "stream.yield"() : () -> ()
    }) : () -> ()
    "stream.cmd.dispatch"(%n, %v, %n, %a, %b, %s, %s, %c0, %c0, %s, %s) <{entry_points = [@ex::@f, @ex::@g], resource_accesses = [1 : i32, 3 : i32], operandSegmentSizes = array<i32: 1, 2, 2, 2, 2, 2>}> : (index, i32, index, !stream.resource<transient>, !stream.resource<transient>, index, index, index, index, index, index) -> ()
    "stream.cmd.dispatch"(%b, %s, %c0, %s) <{entry_points = [@ex::@g], resource_accesses = [2 : i32], operandSegmentSizes = array<i32: 0, 0, 1, 1, 1, 1>}> : (!stream.resource<transient>, index, index, index) -> ()
    "stream.cmd.flush"(%b, %s, %c0, %s) <{source_affinity = #hal.device.affinity<@d>}> : (!stream.resource<transient>, index, index, index) -> ()
    "stream.yield"() : () -> ()
  }) : (!stream.resource<transient>, !stream.resource<transient>, index, index, !stream.timepoint) -> !stream.timepoint
  "util.return"() : () -> ()
}) : () -> ()
