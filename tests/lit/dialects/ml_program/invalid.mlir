// RUN: mesh-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{immutable global must have an initial value}}
ml_program.global private @c : tensor<i32>

// -----

func.func @f() {
  // expected-error @+1 {{undefined global: w}}
  %0 = ml_program.global_load @w : tensor<i32>
  return
}

// -----

ml_program.global private @c(dense<1> : tensor<i32>) : tensor<i32>
func.func @f() {
  // expected-error @+1 {{cannot load from global typed 'tensor<i32>' as 'tensor<i64>'}}
  %0 = ml_program.global_load_const @c : tensor<i64>
  return
}

// -----

ml_program.global private mutable @c(dense<1> : tensor<i32>) : tensor<i32>
func.func @f() {
  // expected-error @+1 {{cannot load as const from mutable global @c}}
  %0 = ml_program.global_load_const @c : tensor<i32>
  return
}

// -----

ml_program.global private @c(dense<1> : tensor<i32>) : tensor<i32>
func.func @f(%x: tensor<i32>) {
  // expected-error @+1 {{cannot store to an immutable global @c}}
  ml_program.global_store @c = %x : tensor<i32>
  return
}

// -----

ml_program.global private mutable @c(dense<1> : tensor<i32>) : tensor<i32>
func.func @f(%x: tensor<i64>) {
  // expected-error @+1 {{cannot store to a global typed 'tensor<i32>' from 'tensor<i64>'}}
  ml_program.global_store @c = %x : tensor<i64>
  return
}
