// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-debuginfo | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK: %0:2 = scf.index_switch %i -> f32, i32
// CHECK: scf.index_switch %i
// CHECK-NEXT: case 1 {
// CHECK: default {
// CHECK: scf.while () : () -> () {
// CHECK: } attributes {a.c}
// CHECK: scf.execute_region {
// CHECK-NEXT: scf.yield
// CHECK: scf.parallel (%j) = (%i) to (%i) step (%i) {
// CHECK-NEXT: }
// CHECK: scf.parallel ({{%.*}}) = (%i) to (%i) step (%i) init (%x, %x) -> (f32, f32) {
// CHECK-NEXT: scf.reduce(%x, %x : f32, f32) {
// CHECK: }, {
// CHECK: scf.for {{%.*}} = %i to %i step %i iter_args(%a = %x) -> (f32) {
func.func @f(%i: index, %x: f32, %c: i32, %p: i1) {
  %0:2 = scf.index_switch %i -> f32, i32 case 2 { scf.yield %x, %c : f32, i32 } default { scf.yield %x, %c : f32, i32 }
  scf.index_switch %i case 1 { } default { }
  scf.while : () -> () { scf.condition(%p) } do { scf.yield } attributes {a.c}
  scf.execute_region { scf.yield }
  scf.parallel (%j) = (%i) to (%i) step (%i) { }
  %1:2 = scf.parallel (%j) = (%i) to (%i) step (%i) init (%x, %x) -> (f32, f32) {
    scf.reduce(%x, %x : f32, f32) {
    ^bb0(%l: f32, %r: f32):
      scf.reduce.return %l : f32
    }, {
    ^bb0(%l: f32, %r: f32):
      scf.reduce.return %r : f32
    }
  }
  %2 = scf.for %j = %i to %i step %i iter_args(%a = %x) -> f32 { scf.yield %a : f32 }
  return
}
