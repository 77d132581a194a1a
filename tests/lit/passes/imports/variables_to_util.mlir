// RUN: mesh-opt %s --variables-to-util | filecheck %s

// CHECK: util.global private mutable @state = dense<7.000000e+00> : tensor<4x2xf32>
tosa.variable @state = dense<7.0> : tensor<4x2xf32>
// CHECK-NEXT: util.global private mutable @open : tensor<4x?xf32>
tosa.variable @open : tensor<4x?xf32>

func.func @f(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // CHECK: util.global.store %x, @state : tensor<4x2xf32>
  tosa.variable_write @state, %x : tensor<4x2xf32>
  // CHECK-NEXT: %v = util.global.load @state : tensor<4x2xf32>
  %v = tosa.variable_read @state : tensor<4x2xf32>
  return %v : tensor<4x2xf32>
}

// CHECK: util.global private mutable @seed = dense<0> : tensor<i64>
ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>
// CHECK-NEXT: util.global public @table : tensor<?xi32> = dense<4> : tensor<4xi32>
ml_program.global public @table(dense<4> : tensor<4xi32>) : tensor<?xi32>

// CHECK-LABEL: func.func @g
func.func @g() -> tensor<?xi32> {
  // CHECK-NEXT: %0 = util.global.load @seed : tensor<i64>
  %0 = ml_program.global_load @seed : tensor<i64>
  // CHECK-NEXT: util.global.store %0, @seed : tensor<i64>
  ml_program.global_store @seed = %0 : tensor<i64>
  // CHECK-NEXT: %1 = util.global.load @table : tensor<?xi32>
  %1 = ml_program.global_load_const @table : tensor<?xi32>
  return %1 : tensor<?xi32>
}

// CHECK: util.global private mutable @state.1
util.global private mutable @state.1 = dense<2> : tensor<2xi32>

// Accesses by addresses of which the global is known; others stay.
// CHECK-LABEL: func.func @addresses
func.func @addresses(%x: tensor<2xi32>, %other: !util.ptr<tensor<2xi32>>) -> (tensor<2xi32>, tensor<2xi32>) {
  // CHECK-NOT: util.global.address
  %p = util.global.address @state.1 : !util.ptr<tensor<2xi32>>
  // CHECK: %0 = util.global.load @state.1 : tensor<2xi32>
  %0 = util.global.load.indirect %p : !util.ptr<tensor<2xi32>> -> tensor<2xi32>
  // CHECK-NEXT: util.global.store %x, @state.1 : tensor<2xi32>
  util.global.store.indirect %x, %p : tensor<2xi32> -> !util.ptr<tensor<2xi32>>
  // CHECK-NEXT: util.global.load.indirect %other
  %1 = util.global.load.indirect %other : !util.ptr<tensor<2xi32>> -> tensor<2xi32>
  return %0, %1 : tensor<2xi32>, tensor<2xi32>
}
