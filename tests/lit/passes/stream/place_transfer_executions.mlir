// RUN: mesh-opt %s --iree-stream-place-transfer-executions | filecheck %s

#a = #hal.device.affinity<@a>
#b = #hal.device.affinity<@b>

// CHECK-LABEL: @exported
util.func public @exported(%0: !stream.resource<*>, %n: index) -> !hal.buffer_view {
  // CHECK: stream.async.transfer on(#hal.device.affinity<@b>) %0
  %1 = stream.async.transfer %0 : !stream.resource<*>{%n} from(#a) -> to(#b) !stream.resource<external>{%n}
  %2 = stream.tensor.export on(#b) %1 : tensor<4xf32> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %2 : !hal.buffer_view
}

// CHECK-LABEL: @behind_branches_and_writes
util.func public @behind_branches_and_writes(%0: !stream.resource<*>, %n: index, %is: i1, %other: !stream.resource<external>) -> !hal.buffer_view {
  %c0 = arith.constant 0 : index
  %v = arith.constant 7 : i32
  %1 = scf.if %is -> (!stream.resource<external>) {
    // CHECK: stream.async.transfer on(#hal.device.affinity<@b>) %0
    %2 = stream.async.transfer %0 : !stream.resource<*>{%n} from(#a) -> to(#b) !stream.resource<external>{%n}
    %3 = stream.async.fill on(#b) %v, %2[%c0 to %n for %n] : i32 -> %2 as !stream.resource<external>{%n}
    scf.yield %3 : !stream.resource<external>
  } else {
    scf.yield %other : !stream.resource<external>
  }
  %4 = stream.tensor.export on(#b) %1 : tensor<4xf32> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %4 : !hal.buffer_view
}

// CHECK-LABEL: @others
util.func public @others(%0: !stream.resource<*>, %n: index) -> (!stream.resource<*>, !hal.buffer_view) {
  // What is not exported, stays where it is, or is placed already.
  // CHECK-NEXT: stream.async.transfer %0
  %1 = stream.async.transfer %0 : !stream.resource<*>{%n} from(#a) -> to(#b) !stream.resource<*>{%n}
  // CHECK-NEXT: stream.async.transfer %1
  %2 = stream.async.transfer %1 : !stream.resource<*>{%n} from(#b) -> to(#b) !stream.resource<external>{%n}
  // CHECK-NEXT: stream.async.transfer on(#hal.device.affinity<@c>) %2
  %3 = stream.async.transfer on(#hal.device.affinity<@c>) %2 : !stream.resource<external>{%n} from(#b) -> to(#a) !stream.resource<external>{%n}
  %4 = stream.tensor.export on(#a) %3 : tensor<4xf32> in !stream.resource<external>{%n} -> !hal.buffer_view
  util.return %1, %4 : !stream.resource<*>, !hal.buffer_view
}
