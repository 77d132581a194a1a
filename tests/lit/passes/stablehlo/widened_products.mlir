// A product widens its operands itself: conversions that widen both are left out.
// RUN: mesh-opt %s -p 'convert-stablehlo-to-linalg,canonicalize' | filecheck %s

// CHECK-LABEL: @floats
// CHECK:       linalg.generic {{.+}} ins(%a, %b : tensor<4x8xbf16>, tensor<8x2xbf16>) outs(%{{.+}} : tensor<4x2xf32>)
// CHECK-NEXT:  ^bb{{[0-9]+}}([[A:%.+]]: bf16, [[B:%.+]]: bf16, [[T:%.+]]: f32):
// CHECK-NEXT:    [[X:%.+]] = arith.extf [[A]] {{.*}}: bf16 to f32
// CHECK-NEXT:    [[Y:%.+]] = arith.extf [[B]] {{.*}}: bf16 to f32
// CHECK-NEXT:    [[P:%.+]] = arith.mulf [[X]], [[Y]] {{.*}}: f32
// CHECK-NEXT:    arith.addf [[T]], [[P]] {{.*}}: f32
func.func @floats(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>) -> tensor<4x2xf32> {
  %0 = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %1 = stablehlo.convert %b : (tensor<8x2xbf16>) -> tensor<8x2xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// CHECK-LABEL: @integers
// CHECK:       linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<4x8xi8>, tensor<8x2xi8>) outs(%{{.+}} : tensor<4x2xi32>)
// CHECK:         arith.extui {{.+}} : i8 to i32
func.func @integers(%a: tensor<4x8xui8>, %b: tensor<8x2xui8>) -> tensor<4x2xi32> {
  %0 = stablehlo.convert %a : (tensor<4x8xui8>) -> tensor<4x8xi32>
  %1 = stablehlo.convert %b : (tensor<8x2xui8>) -> tensor<8x2xi32>
  %2 = stablehlo.dot %0, %1 : (tensor<4x8xi32>, tensor<8x2xi32>) -> tensor<4x2xi32>
  return %2 : tensor<4x2xi32>
}

// One operand is not widened, and the conversion of another pair rounds.

// CHECK-LABEL: @kept
// CHECK:       linalg.generic {{.+}} ins(%{{.+}}, %b : tensor<4x8xf32>, tensor<8x2xf32>)
// CHECK:       linalg.generic {{.+}} ins(%{{.+}}, %{{.+}} : tensor<4x8xf32>, tensor<8x2xf32>)
func.func @kept(%a: tensor<4x8xbf16>, %b: tensor<8x2xf32>, %c: tensor<4x8xi8>, %d: tensor<8x2xi8>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %1 = stablehlo.dot %0, %b : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %2 = stablehlo.convert %c : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %3 = stablehlo.convert %d : (tensor<8x2xi8>) -> tensor<8x2xf32>
  %4 = stablehlo.dot %2, %3 : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %1, %4 : tensor<4x2xf32>, tensor<4x2xf32>
}
