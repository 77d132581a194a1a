// RUN: mesh-opt %s --inline-calls | filecheck %s

// CHECK-NOT: @inner
// CHECK: func.func @main(%a: f32) -> f32
// CHECK:   %[[X:.*]] = arith.addf %a, %a
// CHECK:   %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK:   return %[[Y]]
func.func private @inner(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}
func.func @main(%a: f32) -> f32 {
  %0 = call @inner(%a) : (f32) -> f32
  %1 = call @inner(%0) : (f32) -> f32
  return %1 : f32
}
