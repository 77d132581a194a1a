// RUN: mesh-opt %s --cse | filecheck %s

// Attributes that are kept as text are equal only if their texts are.

// CHECK: %0 = arith.addi %a, %b {config = #iree_gpu.lowering_config<{workgroup = [1]}>} : i32
// CHECK-NEXT: %1 = arith.addi %a, %b {config = #iree_gpu.lowering_config<{workgroup = [2]}>} : i32
// CHECK-NEXT: func.return %0, %1, %0 : i32, i32, i32
func.func @f(%a: i32, %b: i32) -> (i32, i32, i32) {
  %0 = arith.addi %a, %b {config = #iree_gpu.lowering_config<{workgroup = [1]}>} : i32
  %1 = arith.addi %a, %b {config = #iree_gpu.lowering_config<{workgroup = [2]}>} : i32
  %2 = arith.addi %a, %b {config = #iree_gpu.lowering_config<{workgroup = [1]}>} : i32
  return %0, %1, %2 : i32, i32, i32
}
