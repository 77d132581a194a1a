// RUN: mesh-opt %s --verify-roundtrip | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Whole tensors and their elements.

// CHECK: func.func @f(%n: index, %v: f32, %t: tensor<?x4xf32>, %u: tensor<2x4xf32>) {
// CHECK: %0 = flow.tensor.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: %1 = flow.tensor.splat %v : tensor<?x4xf32>{%n}
// CHECK: %2 = flow.tensor.empty : tensor<?x4xf32>{%n}
// CHECK: %3 = flow.tensor.alloca : tensor<?x4xf32>{%n}
// CHECK: %4 = flow.tensor.clone %t : tensor<?x4xf32>{%n}
// CHECK: %5 = flow.tensor.slice %t[%n, %n for %n, %n] : tensor<?x4xf32>{%n} -> tensor<?x4xf32>{%n}
// CHECK: %6 = flow.tensor.update %u, %t[%n, %n] : tensor<2x4xf32> -> %t as tensor<?x4xf32>{%n}
// CHECK: %7 = flow.tensor.load %t[%n, %n] : tensor<?x4xf32>{%n}
// CHECK: %8 = flow.tensor.store %7, %t[%n, %n] : tensor<?x4xf32>{%n}
// CHECK: %9 = flow.tensor.bitcast %t : tensor<?x4xf32>{%n} -> tensor<?x4xi32>{%n}
// CHECK: %10 = flow.tensor.tie_shape %t : tensor<?x4xf32>{%n}

func.func @f(%n: index, %v: f32, %t: tensor<?x4xf32>, %u: tensor<2x4xf32>) {
  %0 = flow.tensor.constant dense<1.0> : tensor<4xf32>
  %1 = flow.tensor.splat %v : tensor<?x4xf32>{%n}
  %2 = flow.tensor.empty : tensor<?x4xf32>{%n}
  %3 = flow.tensor.alloca : tensor<?x4xf32>{%n}
  %4 = flow.tensor.clone %t : tensor<?x4xf32>{%n}
  %5 = flow.tensor.slice %t[%n, %n for %n, %n] : tensor<?x4xf32>{%n} -> tensor<?x4xf32>{%n}
  %6 = flow.tensor.update %u, %t[%n, %n] : tensor<2x4xf32> -> %t as tensor<?x4xf32>{%n}
  %7 = flow.tensor.load %t[%n, %n] : tensor<?x4xf32>{%n}
  %8 = flow.tensor.store %7, %t[%n, %n] : tensor<?x4xf32>{%n}
  %9 = flow.tensor.bitcast %t : tensor<?x4xf32>{%n} -> tensor<?x4xi32>{%n}
  %10 = flow.tensor.tie_shape %t : tensor<?x4xf32>{%n}
  func.return
}
