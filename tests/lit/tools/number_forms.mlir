// RUN: mesh-opt %s --verify-roundtrip | filecheck %s

// Numbers are printed as by mlir-opt: arrays omit the types i64 and f64, bits of floats are in capital letters.

// CHECK: func.func private @f() attributes {a = [1, 2], b = [1 : i32, 2.000000e+00, 2.000000e+00 : f32], c = {x = [1], y = 1 : i64}, d = {{\[\[}}1], 3 : index, true], e = [0x7FF0000000000000 : f64], f = dense<0xFF800000> : tensor<3xf32>, g = 0xFC00 : f16}
func.func private @f() attributes {
  a = [1, 2 : i64], b = [1 : i32, 2.0, 2.0 : f32], c = {x = [1], y = 1}, d = [[1], 3 : index, true],
  e = [0x7FF0000000000000 : f64], f = dense<0xFF800000> : tensor<3xf32>, g = 0xFC00 : f16}

// CHECK-LABEL: func.func @maps(
// CHECK: affine.apply #map(%i)
// CHECK: affine.apply #map1()[%i]
// CHECK: affine.min #map2(%i)[%j]
func.func @maps(%i: index, %j: index) {
  %0 = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
  %1 = affine.apply affine_map<()[s0] -> (s0 ceildiv 2)>()[%i]
  %2 = affine.min affine_map<(d0)[s0] -> (d0 + s0, 3)>(%i)[%j]
  return
}
