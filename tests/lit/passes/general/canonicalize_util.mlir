// RUN: mesh-opt %s --canonicalize | filecheck %s

// CHECK-LABEL: @assumptions(%n
// CHECK-NEXT: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK-NEXT: %[[R:.*]] = util.assume.int %n<umin = 1, umax = 8, udiv = 12> : index
// CHECK-NEXT: util.return %[[R]], %[[R]], %[[FIVE]], %[[FIVE]]
util.func public @assumptions(%n: index, %m: index) -> (index, index, index, index) {
  %five = arith.constant 5 : index
  %0:4 = util.assume.int
      %n<umin = 0, umax = 8, udiv = 6>,
      %n<umin = 1, umax = 9, udiv = 4>,
      %five<umin = 0>,
      %m<umin = 5, umax = 5>
    : index, index, index, index
  util.return %0#0, %0#1, %0#2, %0#3 : index, index, index, index
}

// A single fact holds at every call site.

// CHECK-LABEL: @call_sites(%n
// CHECK-NEXT: %[[R:.*]] = util.assume.int %n[<umax = 8, udiv = 16>, <umin = 4, udiv = 16>] : index
// CHECK-NEXT: util.return %[[R]], %[[R]]
util.func public @call_sites(%n: index) -> (index, index) {
  %0:2 = util.assume.int %n[<umax = 8, udiv = 2>, <umin = 4>], %n<udiv = 16> : index, index
  util.return %0#0, %0#1 : index, index
}

// CHECK-LABEL: @strings
// CHECK-NEXT: %[[TEXT:.*]] = util.buffer.constant : !util.buffer = "{5}-251"
// CHECK-NEXT: %[[REST:.*]] = util.string.format "{{[{][{]}}5:{}"(%n) : (index)
// CHECK-NEXT: util.return %[[TEXT]], %[[REST]]
util.func public @strings(%n: index) -> (!util.buffer, !util.buffer) {
  %five = arith.constant 5 : index
  %negative = arith.constant -5 : i8
  %text = util.string.format "{{{}}}-{}"(%five, %negative) : (index, i8) -> !util.buffer
  %rest = util.string.format "{{{}:{}"(%five, %n) : (index, index) -> !util.buffer
  util.return %text, %rest : !util.buffer, !util.buffer
}

// CHECK-LABEL: @multiples
// CHECK: %[[SUM:.*]] = arith.addi
// CHECK-NEXT: %[[ODD:.*]] = util.align %[[SUM]], %{{.*}}
// CHECK-NEXT: util.return %[[SUM]], %[[ODD]]
util.func public @multiples(%n: index) -> (index, index) {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %aligned = util.align %n, %c16 : index
  %sum = arith.addi %aligned, %c8 : index
  %same = util.align %sum, %c8 : index
  %more = util.align %sum, %c16 : index
  util.return %same, %more : index, index
}

// CHECK-LABEL: @storage(%b: !util.buffer, %n
// CHECK-NEXT: %[[M:.*]], %[[AT:.*]] = util.buffer.storage %b : !util.buffer{%n}
// CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[AT]], %k
// CHECK-NEXT: util.return %[[M]], %[[SUM]]
util.func public @storage(%b: !util.buffer, %n: index, %k: index) -> (memref<?xi8>, index) {
  %part = util.buffer.subspan %b[%k] : !util.buffer{%n} -> !util.buffer{%k}
  %m, %at = util.buffer.storage %part : !util.buffer{%k} -> (memref<?xi8>, index)
  util.return %m, %at : memref<?xi8>, index
}
