// RUN: mesh-opt %s --split-input-file --verify-diagnostics --inline-calls | filecheck %s

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

// -----

// expected-note @+1 {{the function is defined here}}
func.func @again(%x: f32) -> f32 {
  // expected-error @+1 {{calls a function that calls itself: @again -> @again}}
  %0 = call @again(%x) : (f32) -> f32
  return %0 : f32
}
