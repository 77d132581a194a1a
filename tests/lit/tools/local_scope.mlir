// RUN: mesh-opt %s --mlir-print-local-scope --mlir-disable-threading | filecheck %s
// RUN: mesh-opt %s --mlir-print-local-scope --mlir-print-op-generic | mesh-opt --mlir-print-local-scope | filecheck %s

// CHECK-NOT: #map
// CHECK: func.func @f(%i: index)
// CHECK-NEXT: affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
// CHECK-NOT: #map

#map = affine_map<(d0) -> (d0 + 1)>
func.func @f(%i: index) {
  %0 = affine.apply #map(%i)
  return
}
