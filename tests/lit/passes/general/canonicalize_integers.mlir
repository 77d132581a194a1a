// RUN: mesh-opt %s --canonicalize | filecheck %s

// Integers of constants are computed; what is undefined, as a division by zero, is kept.

// CHECK-LABEL: func.func @constants
// CHECK-DAG: %[[M3:.*]] = arith.constant -3 : i32
// CHECK-DAG: %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK-DAG: %[[HALF:.*]] = arith.constant 2147483646 : i32
// CHECK-DAG: %[[M1:.*]] = arith.constant -1 : i32
// CHECK-DAG: %[[WIDE:.*]] = arith.constant 4294967293 : i64
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[Q:.*]] = arith.divui
// CHECK-NEXT: %[[S:.*]] = arith.shli
// CHECK-NEXT: return %[[FIVE]], %[[M3]], %[[HALF]], %[[M1]], %[[WIDE]], %[[FALSE]], %[[TRUE]], %[[Q]], %[[S]]
func.func @constants() -> (i32, i32, i32, i32, i64, i1, i1, i32, i32) {
  %c5 = arith.constant 5 : i32
  %cm3 = arith.constant -3 : i32
  %c2 = arith.constant 2 : i32
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %0 = arith.maxsi %c5, %cm3 : i32
  %1 = arith.maxui %c5, %cm3 : i32
  %2 = arith.divui %cm3, %c2 : i32
  %3 = arith.remsi %cm3, %c2 : i32
  %4 = arith.extui %cm3 : i32 to i64
  %5 = arith.cmpi slt, %c5, %cm3 : i32
  %6 = arith.cmpi ult, %c5, %cm3 : i32
  %7 = arith.divui %c5, %c0 : i32
  %8 = arith.shli %c5, %c32 : i32
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : i32, i32, i32, i32, i64, i1, i1, i32, i32
}

// A cast to 32 bits and back is kept: it may lose bits of an index.

// CHECK-LABEL: func.func @casts
// CHECK-NEXT: %[[N:.*]] = arith.index_cast %i : index to i32
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[N]] : i32 to index
// CHECK-NEXT: %[[W:.*]] = arith.extui %b : i8 to i64
// CHECK-NEXT: %[[T:.*]] = arith.trunci %x : i32 to i8
// CHECK-NEXT: return %[[I]], %x, %[[W]], %[[T]]
func.func @casts(%x: i32, %i: index, %b: i8) -> (index, i32, i64, i8) {
  %0 = arith.index_cast %i : index to i32
  %1 = arith.index_cast %0 : i32 to index
  %2 = arith.index_cast %x : i32 to index
  %3 = arith.index_cast %2 : index to i32
  %4 = arith.extui %b : i8 to i32
  %5 = arith.extsi %4 : i32 to i64
  %6 = arith.extsi %x : i32 to i64
  %7 = arith.trunci %6 : i64 to i8
  return %1, %3, %5, %7 : index, i32, i64, i8
}

// CHECK-LABEL: func.func @identities
// CHECK-NEXT: %[[LEAST:.*]] = arith.constant -2147483648 : i32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[G:.*]] = arith.cmpi sgt, %x, %[[ZERO]] : i32
// CHECK-NEXT: return %x, %x, %[[LEAST]], %[[ZERO]], %x, %[[G]]
func.func @identities(%x: i32) -> (i32, i32, i32, i32, i32, i1) {
  %cmin = arith.constant -2147483648 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %0 = arith.maxsi %x, %x : i32
  %1 = arith.maxsi %cmin, %x : i32
  %2 = arith.minsi %x, %cmin : i32
  %3 = arith.remui %x, %c1 : i32
  %4 = arith.shli %x, %c0 : i32
  %5 = arith.cmpi slt, %c0, %x : i32
  return %0, %1, %2, %3, %4, %5 : i32, i32, i32, i32, i32, i1
}
