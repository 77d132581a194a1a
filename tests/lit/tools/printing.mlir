// RUN: mesh-opt %s --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: mesh-opt %s --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s --check-prefix=LOCAL
// RUN: mesh-opt %s --mlir-print-debuginfo | mesh-opt | filecheck %s --check-prefix=NOLOC
// RUN: mesh-opt %s --mlir-elide-elementsattrs-if-larger=3 | filecheck %s --check-prefix=ELIDE
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s --check-prefix=NOLOC
// RUN: mesh-opt %s --verify-roundtrip -o %t
// RUN: filecheck %s --check-prefix=NOLOC --input-file=%t
// RUN: mesh-opt - < %s | filecheck %s --check-prefix=NOLOC

// LOC: arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32> loc(#loc2)
// LOC: func.return loc(#loc5)
// LOC: #loc2 = loc("{{.*}}printing.mlir":23:8)
// LOC: #loc5 = loc("written.py":1:2)
// LOCAL: arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32> loc("{{.*}}printing.mlir":23:8)
// LOCAL: func.return loc("written.py":1:2)
// NOLOC-NOT: loc(
// NOLOC: arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
// NOLOC-NOT: loc(
// ELIDE: arith.constant dense_resource<__elided__> : tensor<4xi32>
// ELIDE: arith.constant dense<[1, 2, 3]> : tensor<3xi32>
// ELIDE: arith.constant dense<1> : tensor<100xi32>
func.func @f() {
  %0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %1 = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %2 = arith.constant dense<1> : tensor<100xi32>
  return loc("written.py":1:2)
}
