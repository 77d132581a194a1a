// Several results of a switch are listed without parentheses, as mlir-opt writes them.
// RUN: mesh-opt %s | filecheck %s
// RUN: mesh-opt %s | mesh-opt | filecheck %s
func.func @f(%n: index, %a: i32, %b: f32) -> (i32, f32) {
  %0:2 = scf.index_switch %n -> i32, f32
  case 2 { scf.yield %a, %b : i32, f32 }
  default { scf.yield %a, %b : i32, f32 }
  return %0#0, %0#1 : i32, f32
}
// CHECK: scf.index_switch %n -> i32, f32
// CHECK-NEXT: case 2 {
