// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK: ml_program.global private mutable @state(dense<4> : tensor<i32>) : tensor<i32>
// GENERIC: "ml_program.global"() <{is_mutable, sym_name = "state", sym_visibility = "private", type = tensor<i32>, value = dense<4> : tensor<i32>}>
ml_program.global private mutable @state(dense<4> : tensor<i32>) : tensor<i32>
// CHECK-NEXT: ml_program.global public @table(dense<4> : tensor<4xi32>) : tensor<?xi32> {kept}
ml_program.global public @table(dense<4> : tensor<4xi32>) : tensor<?xi32> {kept}
// CHECK-NEXT: ml_program.global private mutable @open : tensor<?xi32>
ml_program.global private mutable @open : tensor<?xi32>

func.func @uses() {
  // CHECK: %0 = ml_program.global_load @state : tensor<i32>
  // GENERIC: "ml_program.global_load"() <{global = @state}> : () -> tensor<i32>
  %0 = ml_program.global_load @state : tensor<i32>
  // CHECK-NEXT: %1 = ml_program.global_load_const @table : tensor<?xi32>
  %1 = ml_program.global_load_const @table : tensor<?xi32>
  // CHECK-NEXT: ml_program.global_store @state = %0 : tensor<i32>
  ml_program.global_store @state = %0 : tensor<i32>
  return
}
