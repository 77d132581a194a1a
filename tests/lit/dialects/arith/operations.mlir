// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Conversions, comparisons and selections of scalars, tensors and vectors.

// CHECK-LABEL: func.func @conversions
// CHECK-NEXT: %0 = arith.extsi %t8 : tensor<4xi8> to tensor<4xi32>
// CHECK-NEXT: %1 = arith.extui %v : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: %2 = arith.trunci %ti overflow<nsw> : tensor<4xi32> to tensor<4xi8>
// CHECK-NEXT: %3 = arith.sitofp %ti : tensor<4xi32> to tensor<4xf32>
// CHECK-NEXT: %4 = arith.fptoui %tf : tensor<4xf32> to tensor<4xi8>
// CHECK-NEXT: %5 = arith.extf %th : tensor<4xf16> to tensor<4xf32>
// CHECK-NEXT: %6 = arith.truncf %f : f32 to bf16
// CHECK-NEXT: %7 = arith.index_cast %ti : tensor<4xi32> to tensor<4xindex>
// CHECK-NEXT: %8 = arith.index_castui %n : index to i64
// CHECK-NEXT: %9 = arith.bitcast %tf : tensor<4xf32> to tensor<4xi32>
// CHECK-NEXT: %10 = arith.scaling_extf %e, %s : f8E4M3FN, f8E8M0FNU to f32
// CHECK-NEXT: %11 = arith.scaling_truncf %f, %s : f32, f8E8M0FNU to f8E4M3FN
// CHECK-NEXT: %12 = arith.remf %f, %f : f32
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @conversions(%f: f32, %i: i32, %n: index, %tf: tensor<4xf32>, %ti: tensor<4xi32>, %t8: tensor<4xi8>, %th: tensor<4xf16>, %v: vector<4xi8>, %e: f8E4M3FN, %s: f8E8M0FNU) {
  %0 = arith.extsi %t8 : tensor<4xi8> to tensor<4xi32>
  %1 = arith.extui %v : vector<4xi8> to vector<4xi32>
  %2 = arith.trunci %ti overflow<nsw> : tensor<4xi32> to tensor<4xi8>
  %3 = arith.sitofp %ti : tensor<4xi32> to tensor<4xf32>
  %4 = arith.fptoui %tf : tensor<4xf32> to tensor<4xi8>
  %5 = arith.extf %th : tensor<4xf16> to tensor<4xf32>
  %6 = arith.truncf %f : f32 to bf16
  %7 = arith.index_cast %ti : tensor<4xi32> to tensor<4xindex>
  %8 = arith.index_castui %n : index to i64
  %9 = arith.bitcast %tf : tensor<4xf32> to tensor<4xi32>
  %10 = arith.scaling_extf %e, %s : f8E4M3FN, f8E8M0FNU to f32
  %11 = arith.scaling_truncf %f, %s : f32, f8E8M0FNU to f8E4M3FN
  %12 = arith.remf %f, %f : f32
  return
}

// CHECK-LABEL: func.func @choices
// CHECK-NEXT: %0 = arith.cmpi slt, %i, %i : i32
// CHECK-NEXT: %1 = arith.cmpi ult, %ti, %ti : tensor<4xi32>
// CHECK-NEXT: %2 = arith.cmpf olt, %f, %f : f32
// CHECK-NEXT: %3 = arith.cmpf une, %tf, %tf fastmath<fast> : tensor<4xf32>
// CHECK-NEXT: %4 = arith.select %b, %f, %f : f32
// CHECK-NEXT: %5 = arith.select %b, %tf, %tf : tensor<4xf32>
// CHECK-NEXT: %6 = arith.select %tb, %tf, %tf : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @choices(%f: f32, %i: i32, %b: i1, %tf: tensor<4xf32>, %ti: tensor<4xi32>, %tb: tensor<4xi1>) {
  %0 = arith.cmpi slt, %i, %i : i32
  %1 = arith.cmpi ult, %ti, %ti : tensor<4xi32>
  %2 = arith.cmpf olt, %f, %f : f32
  %3 = arith.cmpf une, %tf, %tf fastmath<fast> : tensor<4xf32>
  %4 = arith.select %b, %f, %f : f32
  %5 = arith.select %b, %tf, %tf : tensor<4xf32>
  %6 = arith.select %tb, %tf, %tf : tensor<4xi1>, tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @functions
// CHECK-NEXT: %0 = math.clampf %f to [%f, %f] : f32
// CHECK-NEXT: %1 = math.erfc %t : tensor<4xf32>
// CHECK-NEXT: %2 = math.isfinite %f : f32
// CHECK-NEXT: %3 = math.isinf %t : tensor<4xf32>
// CHECK-NEXT: %4 = math.isnan %f {fastmath = #arith.fastmath<ninf>} : f32
// CHECK-NEXT: %5 = math.isnormal %f : f32
// CHECK-NEXT: %6, %7 = math.sincos %t : tensor<4xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @functions(%f: f32, %t: tensor<4xf32>) {
  %0 = math.clampf %f to [%f, %f] : f32
  %1 = math.erfc %t : tensor<4xf32>
  %2 = math.isfinite %f : f32
  %3 = math.isinf %t : tensor<4xf32>
  %4 = math.isnan %f {fastmath = #arith.fastmath<ninf>} : f32
  %5 = math.isnormal %f : f32
  %6, %7 = math.sincos %t : tensor<4xf32>
  return
}
