// RUN: mesh-opt %s | mesh-opt - | filecheck %s

// CHECK-LABEL: func.func @casts
func.func @casts(%m: memref<8x6xf32>, %n: memref<8x6xf32, 1>) -> index {
  // CHECK-NEXT: %c = memref.cast %m : memref<8x6xf32> to memref<?x6xf32>
  %c = memref.cast %m : memref<8x6xf32> to memref<?x6xf32>
  // CHECK-NEXT: %s = memref.memory_space_cast %n : memref<8x6xf32, 1 : i64> to memref<8x6xf32>
  %s = memref.memory_space_cast %n : memref<8x6xf32, 1> to memref<8x6xf32>
  // CHECK-NEXT: memref.copy %m, %s : memref<8x6xf32> to memref<8x6xf32>
  memref.copy %m, %s : memref<8x6xf32> to memref<8x6xf32>
  // CHECK-NEXT: %r = memref.rank %c {note} : memref<?x6xf32>
  %r = memref.rank %c {note} : memref<?x6xf32>
  return %r : index
}
