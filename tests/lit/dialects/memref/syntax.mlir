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

// CHECK: memref.global "private" constant @table : memref<2x2xf32> = dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, -0.000000e+00]]> {alignment = 64 : i64}
memref.global "private" constant @table : memref<2x2xf32> = dense<[[1.0, 2.0], [3.0, -0.0]]> {alignment = 64}
// CHECK-NEXT: memref.global @bytes : memref<4xi8> = dense<[1, 2, 3, 4]>
memref.global @bytes : memref<4xi8> = dense<"0x01020304">
// CHECK-NEXT: memref.global @open : memref<4xf32> = uninitialized
memref.global @open : memref<4xf32> = uninitialized
// CHECK-NEXT: memref.global "nested" @outside : memref<4xf32>
memref.global "nested" @outside : memref<4xf32>

// CHECK-LABEL: func.func @updates
func.func @updates(%m: memref<10xf32>, %v: f32, %i: index) -> f32 {
  // CHECK-NEXT: %a = memref.atomic_rmw maximumf %v, %m[%i] {note} : (f32, memref<10xf32>) -> f32
  %a = memref.atomic_rmw maximumf %v, %m[%i] {note} : (f32, memref<10xf32>) -> f32
  // CHECK-NEXT: %g = memref.generic_atomic_rmw %m[%i] : memref<10xf32> {
  // CHECK-NEXT: ^bb0(%old: f32):
  // CHECK-NEXT:   memref.atomic_yield %old : f32
  // CHECK-NEXT: } {note}
  %g = memref.generic_atomic_rmw %m[%i] : memref<10xf32> {
  ^bb0(%old: f32):
    memref.atomic_yield %old : f32
  } {note}
  // CHECK-NEXT: memref.prefetch %m[%i], write, locality<3>, data : memref<10xf32>
  memref.prefetch %m[%i], write, locality<3>, data : memref<10xf32>
  // CHECK-NEXT: affine.prefetch %m[%i + 2], read, locality<0>, instr : memref<10xf32>
  affine.prefetch %m[%i + 2], read, locality<0>, instr : memref<10xf32>
  // CHECK-NEXT: memref.alloca_scope {
  // CHECK-NEXT: }
  memref.alloca_scope {
    memref.alloca_scope.return
  }
  // CHECK-NEXT: %s = memref.alloca_scope -> (f32) {
  // CHECK-NEXT:   memref.alloca_scope.return %a : f32
  // CHECK-NEXT: }
  %s = memref.alloca_scope -> (f32) {
    memref.alloca_scope.return %a : f32
  }
  return %s : f32
}

// CHECK-LABEL: func.func @views
func.func @views(%m: memref<4x3xf32>, %n: memref<?xf32>, %s: memref<2xindex>, %i: index) {
  // CHECK-NEXT: %t = memref.transpose %m (d0, d1) -> (d1, d0) : memref<4x3xf32> to memref<3x4xf32, strided<[1, 3]>>
  %t = memref.transpose %m (i, j) -> (j, i) : memref<4x3xf32> to memref<3x4xf32, strided<[1, 3]>>
  // CHECK-NEXT: %r = memref.reshape %n(%s) : (memref<?xf32>, memref<2xindex>) -> memref<?x?xf32>
  %r = memref.reshape %n(%s) : (memref<?xf32>, memref<2xindex>) -> memref<?x?xf32>
  // CHECK-NEXT: %d:2 = memref.distinct_objects %m, %n : memref<4x3xf32>, memref<?xf32>
  %d:2 = memref.distinct_objects %m, %n : memref<4x3xf32>, memref<?xf32>
  // CHECK-NEXT: %a = memref.realloc %n(%i) {alignment = 8 : i64} : memref<?xf32> to memref<?xf32>
  %a = memref.realloc %n(%i) {alignment = 8} : memref<?xf32> to memref<?xf32>
  return
}

// CHECK-LABEL: func.func @loops
func.func @loops(%m: memref<8xf32>, %n: index) {
  // CHECK-NEXT: affine.parallel (%i, %j) = (0, max(1, %n - 4)) to (symbol(%n), min(symbol(%n), 6)) step (2, 3) {
  affine.parallel (%i, %j) = (0, max(1, %n - 4)) to (symbol(%n), min(symbol(%n), 6)) step (2, 3) {
    // CHECK-NEXT: %x = affine.load %m[%i + 1] {note} : memref<8xf32>
    %x = affine.load %m[%i + 1] {note} : memref<8xf32>
    // CHECK-NEXT: affine.store %x, %m[%i - %j * 2 + symbol(%n)] : memref<8xf32>
    affine.store %x, %m[%i - %j * 2 + symbol(%n)] : memref<8xf32>
  // CHECK-NEXT: } {note}
  } {note}
  // CHECK-NEXT: affine.parallel () = () to () {
  // CHECK-NEXT: }
  affine.parallel () = () to () {
  }
  // CHECK-NEXT: %s:2 = affine.parallel (%i{{.*}}) = (0) to (8) reduce ("addf", "maxnumf") -> (f32, f32) {
  %s:2 = affine.parallel (%i) = (0) to (8) reduce ("addf", "maxnumf") -> (f32, f32) {
    %x = affine.load %m[%i] : memref<8xf32>
    affine.yield %x, %x : f32, f32
  }
  return
}
