// RUN: mesh-opt %s --verify-diagnostics

// expected-error @+2 {{has 1 results, but tensor<?x8xf32> has 2 dimensions}}
func.func @ask() -> index {
  %0 = iree_codegen.query_tile_sizes tensor<?x8xf32> -> index
  return %0 : index
}
