// RUN: mesh-opt %s --convert-tosa-to-linalg | filecheck %s
// RUN: mesh-opt %s --data-tile | filecheck %s --check-prefix=TILED

// Dimensions of size 1 are read at 0.
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: func.func @broadcast
// CHECK: linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]], #[[ALL]]], {{.*}} ins(%a, %r :
// CHECK: arith.addf
func.func @broadcast(%a: tensor<3x7xf32>, %r: tensor<1x7xf32>) -> tensor<3x7xf32> {
  %0 = tosa.add %a, %r : (tensor<3x7xf32>, tensor<1x7xf32>) -> tensor<3x7xf32>
  return %0 : tensor<3x7xf32>
}

// A size that may be 1 at run time: the operand is broadcast if it is. The sum has a size of its own
// only where the sizes of operands are not the same.
// CHECK-LABEL: func.func @open
// CHECK-COUNT-2: scf.if
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @open(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = tosa.add %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = tosa.tanh %0 : (tensor<?xf32>) -> tensor<?xf32>
  %2 = tosa.sub %1, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}

// Zero points of 0 are not subtracted.
// CHECK-LABEL: func.func @products
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b :
// CHECK: arith.extsi
// CHECK-NOT: arith.subi
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "parallel"]} ins(%a :
// CHECK: arith.subi
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "parallel", "reduction"]} ins({{.*}}, %b :
// TILED: linalg.batch_mmt4d
func.func @products(%a: tensor<1x64x64xi8>, %b: tensor<1x64x64xi8>) -> (tensor<1x64x64xi32>, tensor<1x64x64xi32>) {
  %y = "tosa.const"() {values = dense<3> : tensor<1xi8>} : () -> tensor<1xi8>
  %z = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
  %0 = tosa.matmul %a, %b, %z, %z : (tensor<1x64x64xi8>, tensor<1x64x64xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x64x64xi32>
  %1 = tosa.matmul %a, %b, %y, %z : (tensor<1x64x64xi8>, tensor<1x64x64xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x64x64xi32>
  return %0, %1 : tensor<1x64x64xi32>, tensor<1x64x64xi32>
}

// Narrow floats are accumulated in f32. Padding is not counted.
// CHECK-LABEL: func.func @averages
// CHECK: tensor.pad %a low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<1x4x4x2xf32>)
// CHECK: arith.extf
// CHECK: linalg.generic
// CHECK: linalg.index 1
// CHECK: arith.divf
// CHECK: arith.truncf
func.func @averages(%a: tensor<1x4x4x2xf16>) -> tensor<1x4x4x2xf16> {
  %z = "tosa.const"() {values = dense<0.0> : tensor<1xf16>} : () -> tensor<1xf16>
  %0 = tosa.avg_pool2d %a, %z, %z {acc_type = f32, kernel = array<i64: 3, 3>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x4x4x2xf16>
  return %0 : tensor<1x4x4x2xf16>
}

// A maximum of no elements is an error: the first elements are read.
// CHECK-LABEL: func.func @maximum
// CHECK: tensor.extract_slice %a[0, 0] [1, 3] [1, 1]
// CHECK: linalg.generic
// CHECK: arith.maxnumf
func.func @maximum(%a: tensor<?x3xf32>) -> tensor<1x3xf32> {
  %0 = tosa.reduce_max %a {axis = 0 : i32, nan_mode = IGNORE} : (tensor<?x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
