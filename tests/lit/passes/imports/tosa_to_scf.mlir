// RUN: mesh-opt %s --tosa-to-scf | filecheck %s

// A branch reads its inputs directly.
// CHECK-LABEL: func.func @branch
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %0 = tensor.extract %c[%c0] : tensor<1xi1>
// CHECK-NEXT: %1 = scf.if %0 -> (tensor<4xf32>) {
// CHECK-NEXT: %2 = tosa.add %x, %y
// CHECK-NEXT: scf.yield %2 : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %y : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return %1
func.func @branch(%c: tensor<1xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tosa.cond_if %c (%a = %x, %b = %y) : tensor<1xi1> (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = tosa.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    tosa.yield %1 : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    tosa.yield %b : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// A loop of open sizes, with a branch in it.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT: scf.while (%j = %i, %y = %x) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>) {
// CHECK-NEXT: %g = tosa.greater %i, %j
// CHECK-NEXT: %1 = tensor.extract %g[] : tensor<i1>
// CHECK-NEXT: scf.condition(%1) %j, %y : tensor<i32>, tensor<?xf32>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%j_1: tensor<i32>, %y_1: tensor<?xf32>):
// CHECK-NEXT: %k = tosa.add %j_1, %j_1
// CHECK-NEXT: %2 = tensor.extract %g2[] : tensor<i1>
// CHECK-NEXT: %z = scf.if %2 -> (tensor<?xf32>) {
// CHECK-NEXT: scf.yield %y_1 : tensor<?xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %x : tensor<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %k, %z : tensor<i32>, tensor<?xf32>
func.func @loop(%g2: tensor<i1>, %i: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0:2 = tosa.while_loop (%j = %i, %y = %x) : (tensor<i32>, tensor<?xf32>) -> (tensor<i32>, tensor<?xf32>) {
    %g = tosa.greater %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tosa.yield %g : tensor<i1>
  } do {
  ^bb0(%j: tensor<i32>, %y: tensor<?xf32>):
    %k = tosa.add %j, %j : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %z = tosa.cond_if %g2 (%a = %y) : tensor<i1> (tensor<?xf32>) -> tensor<?xf32> {
    ^bb0(%a: tensor<?xf32>):
      tosa.yield %a : tensor<?xf32>
    } else {
    ^bb0(%a: tensor<?xf32>):
      tosa.yield %x : tensor<?xf32>
    }
    tosa.yield %k, %z : tensor<i32>, tensor<?xf32>
  }
  return %0#1 : tensor<?xf32>
}
