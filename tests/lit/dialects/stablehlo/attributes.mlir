// RUN: mesh-opt %s | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// A comma may follow the last dimension numbers, and the axes of a mesh have a short form.

// CHECK: test.dot = #stablehlo.dot<lhs_batching_dimensions = [0]>
// CHECK-SAME: test.gather = #stablehlo.gather<offset_dims = [1], index_vector_dim = 1>
// CHECK-SAME: test.groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = []>
// CHECK-SAME: test.mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>
// CHECK-SAME: test.scatter = #stablehlo.scatter<>
// CHECK-SAME: test.stored = !quant.uniform<u8:f32, 0.5:3>
module attributes {
  test.dot = #stablehlo.dot<lhs_batching_dimensions = [0], >,
  test.gather = #stablehlo.gather<index_vector_dim = 1, offset_dims = [1], >,
  test.groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = []>,
  test.mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>, #stablehlo.mesh_axis<size = 4, name = "y">]>,
  test.scatter = #stablehlo.scatter<>,
  test.stored = !quant.uniform<ui8:f32, 0.5:3>
} {}
