// RUN: mesh-opt %s --place-relayouts | filecheck %s

#lhs = #iree_encoding.layout<[#iree_cpu.cpu_encoding_resolver<configuration = {
  encoding_info = {innerDimsPos = [0, 1], innerTileSizes = [4, 1], outerDimsPerm = [0, 1]}}>]>
#on_a = #hal.device.affinity<@a>
#on_b = #hal.device.affinity<@b>
#on_c = #hal.device.affinity<@c>

// Two devices want full tiles of what @a has: @a relays it out once.
// CHECK-LABEL: util.func public @several
// CHECK: %[[E:.*]] = stream.tensor.encode on(#hal.device.affinity<@a>) %v : tensor<8x3xf32>
// CHECK: %[[B:.*]] = stream.async.transfer %[[E]] {{.*}} to(#hal.device.affinity<@b>)
// CHECK: %[[C:.*]] = stream.async.transfer %[[E]] {{.*}} to(#hal.device.affinity<@c>)
// CHECK-NOT: = stream
// CHECK: util.return %[[B]], %[[C]]
util.func public @several(%v: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>) {
  %s = arith.constant 96 : index
  %0 = stream.async.transfer %v : !stream.resource<*>{%s} from(#on_a) -> to(#on_b) !stream.resource<*>{%s}
  %1 = stream.async.transfer %v : !stream.resource<*>{%s} from(#on_a) -> to(#on_c) !stream.resource<*>{%s}
  %2 = stream.tensor.encode on(#on_b) %0 : tensor<8x3xf32> in !stream.resource<*>{%s} -> tensor<8x3xf32, #lhs> in !stream.resource<*>{%s}
  %3 = stream.tensor.encode on(#on_c) %1 : tensor<8x3xf32> in !stream.resource<*>{%s} -> tensor<8x3xf32, #lhs> in !stream.resource<*>{%s}
  util.return %2, %3 : !stream.resource<*>, !stream.resource<*>
}

// @a relays it out for itself: that moves.
// CHECK-LABEL: util.func public @held
// CHECK: %[[E:.*]] = stream.tensor.encode on(#hal.device.affinity<@a>) %v
// CHECK: %[[B:.*]] = stream.async.transfer %[[E]] {{.*}} to(#hal.device.affinity<@b>)
// CHECK-NOT: = stream
// CHECK: util.return %[[E]], %[[B]]
util.func public @held(%v: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>) {
  %s = arith.constant 96 : index
  %0 = stream.async.transfer %v : !stream.resource<*>{%s} from(#on_a) -> to(#on_b) !stream.resource<*>{%s}
  %1 = stream.tensor.encode on(#on_a) %v : tensor<8x3xf32> in !stream.resource<*>{%s} -> tensor<8x3xf32, #lhs> in !stream.resource<*>{%s}
  %2 = stream.tensor.encode on(#on_b) %0 : tensor<8x3xf32> in !stream.resource<*>{%s} -> tensor<8x3xf32, #lhs> in !stream.resource<*>{%s}
  util.return %1, %2 : !stream.resource<*>, !stream.resource<*>
}

// One receiver: nothing is saved. Nor is anything where the receiver reads the rows as well.
// CHECK-LABEL: util.func public @alone
// CHECK: %[[T:.*]] = stream.async.transfer %v
// CHECK: stream.tensor.encode on(#hal.device.affinity<@b>) %[[T]]
// CHECK: %[[E:.*]] = stream.tensor.encode on(#hal.device.affinity<@a>) %w
// CHECK: %[[U:.*]] = stream.async.transfer %w
// CHECK: stream.tensor.encode on(#hal.device.affinity<@b>) %[[U]]
util.func public @alone(%v: !stream.resource<*>, %w: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %s = arith.constant 96 : index
  %0 = stream.async.transfer %v : !stream.resource<*>{%s} from(#on_a) -> to(#on_b) !stream.resource<*>{%s}
  %1 = stream.tensor.encode on(#on_b) %0 : tensor<8x3xf32> in !stream.resource<*>{%s} -> tensor<8x3xf32, #lhs> in !stream.resource<*>{%s}
  %2 = stream.tensor.encode on(#on_a) %w : tensor<8x3xf32> in !stream.resource<*>{%s} -> tensor<8x3xf32, #lhs> in !stream.resource<*>{%s}
  %3 = stream.async.transfer %w : !stream.resource<*>{%s} from(#on_a) -> to(#on_b) !stream.resource<*>{%s}
  %4 = stream.tensor.encode on(#on_b) %3 : tensor<8x3xf32> in !stream.resource<*>{%s} -> tensor<8x3xf32, #lhs> in !stream.resource<*>{%s}
  util.return %1, %2, %3, %4 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// Tiles that may not be full are not moved, though two devices want them. Where only the columns
// are unknown, tiles of one column are as large as rows.
// CHECK-LABEL: util.func public @unknown
// CHECK: stream.tensor.encode on(#hal.device.affinity<@a>) %v : tensor<?x3xf32>
// CHECK: stream.tensor.encode on(#hal.device.affinity<@b>)
// CHECK: %[[E:.*]] = stream.tensor.encode on(#hal.device.affinity<@a>) %v : tensor<8x?xf32>
// CHECK: stream.async.transfer %[[E]]
// CHECK-NOT: = stream
util.func public @unknown(%v: !stream.resource<*>, %n: index, %s: index, %t: index) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %0 = stream.async.transfer %v : !stream.resource<*>{%s} from(#on_a) -> to(#on_b) !stream.resource<*>{%s}
  %1 = stream.tensor.encode on(#on_a) %v : tensor<?x3xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x3xf32, #lhs>{%n} in !stream.resource<*>{%t}
  %2 = stream.tensor.encode on(#on_b) %0 : tensor<?x3xf32>{%n} in !stream.resource<*>{%s} -> tensor<?x3xf32, #lhs>{%n} in !stream.resource<*>{%t}
  %3 = stream.async.transfer %v : !stream.resource<*>{%s} from(#on_a) -> to(#on_b) !stream.resource<*>{%s}
  %4 = stream.tensor.encode on(#on_a) %v : tensor<8x?xf32>{%n} in !stream.resource<*>{%s} -> tensor<8x?xf32, #lhs>{%n} in !stream.resource<*>{%s}
  %5 = stream.tensor.encode on(#on_b) %3 : tensor<8x?xf32>{%n} in !stream.resource<*>{%s} -> tensor<8x?xf32, #lhs>{%n} in !stream.resource<*>{%s}
  util.return %1, %2, %4, %5 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}

// Padded tiles that are moved: rows are smaller. Decoded behind the transfer, decode in front of it;
// read as tiles behind it, encode there; both: no relayout is left.
// CHECK-LABEL: util.func public @padded
// CHECK: %[[D:.*]] = stream.tensor.encode on(#hal.device.affinity<@a>) %p : tensor<5x3xf32, #encoding> in !stream.resource<*>{%t} -> tensor<5x3xf32> in !stream.resource<*>{%s}
// CHECK: %[[R:.*]] = stream.async.transfer %[[D]] : !stream.resource<*>{%s}
// CHECK: %[[T:.*]] = stream.async.transfer %v : !stream.resource<*>{%s}
// CHECK: %[[E:.*]] = stream.tensor.encode on(#hal.device.affinity<@b>) %[[T]]
// CHECK: %[[U:.*]] = stream.async.transfer %w
// CHECK-NOT: = stream
// CHECK: util.return %[[R]], %[[E]], %[[U]]
util.func public @padded(%p: !stream.resource<*>, %v: !stream.resource<*>, %w: !stream.resource<*>) -> (!stream.resource<*>, !stream.resource<*>, !stream.resource<*>) {
  %s = arith.constant 60 : index
  %t = arith.constant 96 : index
  %0 = stream.async.transfer %p : !stream.resource<*>{%t} from(#on_a) -> to(#on_b) !stream.resource<*>{%t}
  %1 = stream.tensor.encode on(#on_b) %0 : tensor<5x3xf32, #lhs> in !stream.resource<*>{%t} -> tensor<5x3xf32> in !stream.resource<*>{%s}
  %2 = stream.tensor.encode on(#on_a) %v : tensor<5x3xf32> in !stream.resource<*>{%s} -> tensor<5x3xf32, #lhs> in !stream.resource<*>{%t}
  %3 = stream.async.transfer %2 : !stream.resource<*>{%t} from(#on_a) -> to(#on_b) !stream.resource<*>{%t}
  %4 = stream.tensor.encode on(#on_a) %w : tensor<5x3xf32> in !stream.resource<*>{%s} -> tensor<5x3xf32, #lhs> in !stream.resource<*>{%t}
  %5 = stream.async.transfer %4 : !stream.resource<*>{%t} from(#on_a) -> to(#on_b) !stream.resource<*>{%t}
  %6 = stream.tensor.encode on(#on_b) %5 : tensor<5x3xf32, #lhs> in !stream.resource<*>{%t} -> tensor<5x3xf32> in !stream.resource<*>{%s}
  util.return %1, %3, %6 : !stream.resource<*>, !stream.resource<*>, !stream.resource<*>
}
