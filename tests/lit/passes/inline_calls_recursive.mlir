// RUN: mesh-opt %s --split-input-file --inline-calls | filecheck %s

// What calls itself stays a function; callers outside see one that calls a private copy.
// CHECK-LABEL: func.func @again
// CHECK-NEXT:    func.call @again_0
// CHECK:       func.func private @again_0
// CHECK-NEXT:    func.call @again_0
// CHECK:       func.func @caller
// CHECK-NEXT:    func.call @again_0
func.func @again(%x: f32) -> f32 {
  %0 = call @again(%x) : (f32) -> f32
  return %0 : f32
}
func.func @caller(%x: f32) -> f32 {
  %0 = call @again(%x) : (f32) -> f32
  return %0 : f32
}

// -----

// A function of several blocks is a region where it is called.
// CHECK-LABEL: func.func @outer
// CHECK-NEXT:    scf.execute_region
// CHECK:         cf.cond_br
// CHECK:         scf.yield
// CHECK-NOT:   @inner
func.func private @inner(%c: i1, %x: f32) -> f32 {
  cf.cond_br %c, ^a(%x : f32), ^b
^a(%y: f32):
  return %y : f32
^b:
  %z = arith.addf %x, %x : f32
  return %z : f32
}
func.func @outer(%c: i1, %x: f32) -> f32 {
  %0 = call @inner(%c, %x) : (i1, f32) -> f32
  return %0 : f32
}
