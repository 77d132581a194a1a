// RUN: mesh-opt %s --verify-roundtrip | mesh-opt | filecheck %s

// CHECK: %{{.*}}:2 = iree_codegen.query_tile_sizes tensor<?x8xf32, #{{.*}}> -> index, index
#e = #iree_encoding.testing<>
func.func @ask() -> (index, index) {
  %0:2 = iree_codegen.query_tile_sizes tensor<?x8xf32, #e> -> index, index
  return %0#0, %0#1 : index, index
}
