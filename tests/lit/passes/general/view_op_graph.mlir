// RUN: mesh-opt %s --allow-unregistered-dialect --view-op-graph 2>&1 >%t | filecheck %s
// RUN: mesh-opt %s --allow-unregistered-dialect --view-op-graph='print-attrs=false print-result-types=false print-data-flow-edges=false print-control-flow-edges' 2>&1 >%t | filecheck %s --check-prefix=FLOW

// CHECK:      digraph G {
// CHECK:      label = "func.func\lfunction_type: (i32) -> i32\lsym_name: \"f\"\l";
// CHECK:      [[A:v[0-9]+]] [label = "%a: i32", shape = ellipse];
// CHECK:      [[B:v[0-9]+]] [label = "arith.addi\l{{.*}}%b: i32\l", shape = box
// CHECK:      [[C:v[0-9]+]] [label = "test.op\ltext: \"a\\22b\"\l%c: i32\l"
// CHECK:      [[A]] -> [[B]];
// CHECK-NEXT: [[A]] -> [[B]];
// CHECK-NEXT: [[B]] -> [[C]];
// FLOW:       [[B:v[0-9]+]] [label = "arith.addi\l%b\l", shape = box
// FLOW:       [[C:v[0-9]+]] [label = "test.op\l%c\l"
// FLOW:       [[B]] -> [[C]] [style = dashed];
// FLOW-NOT:   -> v{{[0-9]+}};
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %c = "test.op"(%b) {text = "a\"b"} : (i32) -> i32
  return %c : i32
}
