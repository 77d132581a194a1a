// RUN: not mesh-opt %s --inline-calls 2>&1 | filecheck %s

// Twenty functions that call another twice would become a million operations.

func.func @f0(%x: f32) -> f32 {
  %0 = call @f1(%x) : (f32) -> f32
  %1 = call @f1(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f1(%x: f32) -> f32 {
  %0 = call @f2(%x) : (f32) -> f32
  %1 = call @f2(%0) : (f32) -> f32
  return %1 : f32
}
// CHECK: inline_calls_too_many.mlir:[[# @LINE + 1]]:1: error: 'func.func' op would have 1572860 operations after inlining, expected at most 1048576
func.func @f2(%x: f32) -> f32 {
  %0 = call @f3(%x) : (f32) -> f32
  %1 = call @f3(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f3(%x: f32) -> f32 {
  %0 = call @f4(%x) : (f32) -> f32
  %1 = call @f4(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f4(%x: f32) -> f32 {
  %0 = call @f5(%x) : (f32) -> f32
  %1 = call @f5(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f5(%x: f32) -> f32 {
  %0 = call @f6(%x) : (f32) -> f32
  %1 = call @f6(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f6(%x: f32) -> f32 {
  %0 = call @f7(%x) : (f32) -> f32
  %1 = call @f7(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f7(%x: f32) -> f32 {
  %0 = call @f8(%x) : (f32) -> f32
  %1 = call @f8(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f8(%x: f32) -> f32 {
  %0 = call @f9(%x) : (f32) -> f32
  %1 = call @f9(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f9(%x: f32) -> f32 {
  %0 = call @f10(%x) : (f32) -> f32
  %1 = call @f10(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f10(%x: f32) -> f32 {
  %0 = call @f11(%x) : (f32) -> f32
  %1 = call @f11(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f11(%x: f32) -> f32 {
  %0 = call @f12(%x) : (f32) -> f32
  %1 = call @f12(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f12(%x: f32) -> f32 {
  %0 = call @f13(%x) : (f32) -> f32
  %1 = call @f13(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f13(%x: f32) -> f32 {
  %0 = call @f14(%x) : (f32) -> f32
  %1 = call @f14(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f14(%x: f32) -> f32 {
  %0 = call @f15(%x) : (f32) -> f32
  %1 = call @f15(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f15(%x: f32) -> f32 {
  %0 = call @f16(%x) : (f32) -> f32
  %1 = call @f16(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f16(%x: f32) -> f32 {
  %0 = call @f17(%x) : (f32) -> f32
  %1 = call @f17(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f17(%x: f32) -> f32 {
  %0 = call @f18(%x) : (f32) -> f32
  %1 = call @f18(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f18(%x: f32) -> f32 {
  %0 = call @f19(%x) : (f32) -> f32
  %1 = call @f19(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f19(%x: f32) -> f32 {
  %0 = call @f20(%x) : (f32) -> f32
  %1 = call @f20(%0) : (f32) -> f32
  return %1 : f32
}
func.func @f20(%x: f32) -> f32 {
  return %x : f32
}
