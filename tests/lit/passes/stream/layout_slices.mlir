// RUN: mesh-opt %s --iree-stream-layout-slices | filecheck %s

// Slices of known sizes overlap where they can.

// CHECK-LABEL: util.func public @known
// CHECK-DAG: %[[T:.*]] = arith.constant 192 : index
// CHECK-DAG: %[[B:.*]] = arith.constant 128 : index
// CHECK: util.return %[[T]], %[[A:.*]], %[[B]], %[[C:.*]] : index
util.func public @known() -> (index, index, index, index) {
  %c100 = arith.constant 100 : index
  %c4 = arith.constant 4 : index
  %0:4 = stream.resource.pack slices({[0, 1] = %c100, [1, 2] = %c4, [2, 3] = %c100}) : index
  util.return %0#0, %0#1, %0#2, %0#3 : index, index, index, index
}

// One of an open size takes the place of another of that size that is not needed any more.

// CHECK-LABEL: util.func public @open
// CHECK: %[[N:.*]] = util.align %n, %{{.*}} : index
// CHECK: %[[X:.*]] = arith.addi %{{.*}}, %[[N]] : index
// CHECK: %[[M:.*]] = util.align %m, %{{.*}} : index
// CHECK: %[[Y:.*]] = arith.addi %[[X]], %[[M]] : index
// CHECK: %[[T:.*]] = arith.addi %o, %[[Y]] : index
// CHECK: %[[C:.*]] = arith.constant 64 : index
// CHECK: %[[A:.*]] = arith.addi %o, %[[C]] : index
// CHECK: %[[B:.*]] = arith.addi %o, %[[X]] : index
// CHECK: %[[D:.*]] = arith.addi %o, %{{.*}} : index
// CHECK: util.return %[[T]], %[[A]], %[[B]], %[[D]], %o
util.func public @open(%n: index, %m: index, %o: index) -> (index, index, index, index, index) {
  %c4 = arith.constant 4 : index
  %0:5 = stream.resource.pack offset(%o) slices({[0, 1] = %n, [1, 2] = %m, [2, 3] = %n, [0, 3] = %c4}) : index
  util.return %0#0, %0#1, %0#2, %0#3, %0#4 : index, index, index, index, index
}

// Slices of one open size are next to each other.

// CHECK-LABEL: util.func public @grouped
// CHECK: %[[N:.*]] = util.align %n, %{{.*}} : index
// CHECK-NEXT: %[[TWO:.*]] = arith.addi %[[N]], %[[N]] : index
// CHECK: %[[M:.*]] = util.align %m, %{{.*}} : index
// CHECK-NEXT: %[[T:.*]] = arith.addi %[[TWO]], %[[M]] : index
// CHECK: util.return %[[T]], %[[ZERO:.*]], %[[TWO]], %[[AGAIN:.*]], %[[N]]
util.func public @grouped(%n: index, %m: index) -> (index, index, index, index, index) {
  %0:5 = stream.resource.pack slices({[0, 1] = %n, [0, 2] = %m, [2, 3] = %n, [3, 4] = %n}) : index
  util.return %0#0, %0#1, %0#2, %0#3, %0#4 : index, index, index, index, index
}

// Offsets are multiples of what the device asks for.

// CHECK-LABEL: util.func public @limits
// CHECK: %[[T:.*]] = arith.constant 48 : index
// CHECK: %[[A:.*]] = arith.constant 0 : index
// CHECK: %[[B:.*]] = arith.constant 32 : index
// CHECK: util.return %[[T]], %[[A]], %[[B]]
util.func public @limits() -> (index, index, index) attributes {stream.resources = #stream.resource_config<{max_allocation_size = 1024, min_buffer_offset_alignment = 16, max_buffer_range = 1024, min_buffer_range_alignment = 16, index_bits = 32}>} {
  %c17 = arith.constant 17 : index
  %c4 = arith.constant 4 : index
  %0:3 = stream.resource.pack slices({
    [0, 1] = %c17,
    [0, 1] = %c4
  }) : index
  util.return %0#0, %0#1, %0#2 : index, index, index
}
