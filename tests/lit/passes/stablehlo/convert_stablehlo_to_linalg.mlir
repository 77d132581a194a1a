// RUN: mesh-opt %s --convert-stablehlo-to-linalg | filecheck %s
// RUN: mesh-opt %s --spmd | filecheck %s --check-prefix=SPMD

// SPMD-NOT: stablehlo

// Signatures of public functions keep the sign of integers, all else loses it.

// CHECK-LABEL: func.func @signs(%a: tensor<4xui32>, %b: tensor<4xui32>) -> tensor<4xui32>
// CHECK: [[A:%[a-z0-9_]+]] = tensor.bitcast %a : tensor<4xui32> to tensor<4xi32>
// CHECK: func.call @private([[A]]) : (tensor<4xi32>) -> tensor<4xi32>
// CHECK: arith.maxui
// CHECK: tensor.bitcast {{.*}} : tensor<4xi32> to tensor<4xui32>
func.func @signs(%a: tensor<4xui32>, %b: tensor<4xui32>) -> tensor<4xui32> {
  %0 = func.call @private(%a) : (tensor<4xui32>) -> tensor<4xui32>
  %1 = stablehlo.maximum %0, %b : tensor<4xui32>
  return %1 : tensor<4xui32>
}
// CHECK-LABEL: func.func private @private(%a: tensor<4xi32> {a.note}) -> tensor<4xi32>
func.func private @private(%a: tensor<4xui32> {a.note}) -> tensor<4xui32> {
  return %a : tensor<4xui32>
}

// Small functions are computed where they are called, in each other, too, and as they were written
// before. What is named otherwise stays, and what calls itself.

// CHECK-LABEL: func.func @small
// CHECK-COUNT-2: arith.maximumf
// CHECK: func.call @named
// CHECK: func.call @endless
// CHECK-NOT: func.call
func.func @small(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @twice(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @named(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.composite "a.b" %2 {decomposition = @named} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = func.call @endless(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = stablehlo.add %0, %4 : tensor<4xf32>
  return %5 : tensor<4xf32>
}
func.func private @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
// CHECK-NOT: @relu
func.func private @relu(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.maximum %a, %c : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: func.func private @named
func.func private @named(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
// CHECK: func.func private @endless
func.func private @endless(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @endless(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A division by zero has a result.

// CHECK-LABEL: @divide
// CHECK: arith.select
// CHECK: arith.divsi
func.func @divide(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.divide %a, %b : tensor<i32>
  return %0 : tensor<i32>
}

// Products of bf16 are summed in f32.

// CHECK-LABEL: @dot
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<2x3xf32>)
// CHECK: arith.mulf {{.*}} : f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf
func.func @dot(%a: tensor<2x4xbf16>, %b: tensor<4x3xbf16>) -> tensor<2x3xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x4xbf16>, tensor<4x3xbf16>) -> tensor<2x3xbf16>
  return %0 : tensor<2x3xbf16>
}

// A gather reads its operand where indices say, so that it partitions as a table does.

// CHECK-LABEL: @rows
// CHECK: linalg.generic
// CHECK: [[START:%[a-z0-9_]+]] = tensor.extract %i
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: [[E:%[a-z0-9_]+]] = tensor.extract %t
// CHECK-NEXT: linalg.yield [[E]]
func.func @rows(%t: tensor<10x6xf32>, %i: tensor<3x1xi32>) -> tensor<3x6xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<10x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}

// CHECK-LABEL: @count
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: scf.yield
func.func @count(%n: tensor<i32>) -> tensor<i32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.while(%i = %one) : tensor<i32>
   cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %s = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }
  return %0 : tensor<i32>
}

// The data of a resource stays where it is.

// CHECK-LABEL: @resource
// CHECK: arith.constant dense_resource<scale> : tensor<2xf32>
func.func @resource() -> tensor<2xf32> {
  %0 = stablehlo.constant dense_resource<scale> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

{-#
  dialect_resources: { builtin: { scale: "0x040000000000803F00000040" } }
#-}

// What is multiplied by 1 is computed once: the sums are of the same values.

// CHECK-LABEL: func.func @factor_of_one(%a: tensor<4xf32>)
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
// CHECK-NOT: arith.mulf
// CHECK: func.return
func.func @factor_of_one(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.multiply %0, %a : tensor<4xf32>
  %2 = stablehlo.exponential %1 : tensor<4xf32>
  %3 = stablehlo.exponential %a : tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// A broadcast that only adds dimensions of one element moves nothing.
// CHECK-LABEL: @unit_dimensions
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1, 2]] output_shape [1, 4, 1] : tensor<4xf32> into tensor<1x4x1xf32>
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @unit_dimensions(%a: tensor<4xf32>) -> tensor<1x4x1xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<4xf32>) -> tensor<1x4x1xf32>
  return %0 : tensor<1x4x1xf32>
}

// On one device, one index vector updates one element, in place in a loop.
// CHECK-LABEL: func.func @set_element
// CHECK-NOT:     linalg.generic
// CHECK:         %[[OLD:.*]] = tensor.extract %x[%[[AT:.*]]] : tensor<100xf32>
// CHECK:         %[[NEW:.*]] = arith.select %{{.*}}, %{{.*}}, %[[OLD]] : f32
// CHECK-NEXT:    tensor.insert %[[NEW]] into %x[%[[AT]]] : tensor<100xf32>
func.func @set_element(%x: tensor<100xf32>, %at: tensor<1xi32>, %value: tensor<f32>) -> tensor<100xf32> {
  %0 = "stablehlo.scatter"(%x, %at, %value) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<100xf32>, tensor<1xi32>, tensor<f32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}

// On one device, many index vectors update their rows one after another.
// CHECK-LABEL: func.func @largest_of_segments
// CHECK:         scf.for
// CHECK:         tensor.extract_slice %{{.*}} [1, 16] [1, 1] : tensor<64x16xf32> to tensor<1x16xf32>
// CHECK:         tensor.insert_slice
func.func @largest_of_segments(%x: tensor<64x16xf32>, %at: tensor<200x1xi32>, %rows: tensor<200x16xf32>) -> tensor<64x16xf32> {
  %0 = "stablehlo.scatter"(%x, %at, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.maximum %old, %new : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<64x16xf32>, tensor<200x1xi32>, tensor<200x16xf32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// The members of tuples stand for themselves in signatures, calls, branches and loops.

// CHECK-LABEL: func.func @tuples(
// CHECK-SAME: %{{.*}}: tensor<2xf32> {a.note}, %{{.*}}: tensor<i32>, %{{.*}}: tensor<3xf32>, %p: tensor<i1>) -> (tensor<2xf32>, tensor<3xf32>)
// CHECK: scf.if {{.*}} -> (tensor<3xf32>, tensor<i32>)
// CHECK: return {{.*}} : tensor<2xf32>, tensor<3xf32>
func.func @tuples(%t: tuple<tensor<2xf32>, tuple<tensor<i32>, tensor<3xf32>>> {a.note}, %p: tensor<i1>) -> tuple<tensor<2xf32>, tensor<3xf32>> {
  %v = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf32>, tuple<tensor<i32>, tensor<3xf32>>>) -> tensor<2xf32>
  %u = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tuple<tensor<i32>, tensor<3xf32>>>) -> tuple<tensor<i32>, tensor<3xf32>>
  %w = "stablehlo.if"(%p) ({
    %i = stablehlo.get_tuple_element %u[0] : (tuple<tensor<i32>, tensor<3xf32>>) -> tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<3xf32>
    %b = stablehlo.tuple %z, %i : tuple<tensor<3xf32>, tensor<i32>>
    stablehlo.return %b : tuple<tensor<3xf32>, tensor<i32>>
  }, {
    %i = stablehlo.constant dense<1> : tensor<i32>
    %z = stablehlo.get_tuple_element %u[1] : (tuple<tensor<i32>, tensor<3xf32>>) -> tensor<3xf32>
    %b = stablehlo.tuple %z, %i : tuple<tensor<3xf32>, tensor<i32>>
    stablehlo.return %b : tuple<tensor<3xf32>, tensor<i32>>
  }) : (tensor<i1>) -> tuple<tensor<3xf32>, tensor<i32>>
  %z = stablehlo.get_tuple_element %w[0] : (tuple<tensor<3xf32>, tensor<i32>>) -> tensor<3xf32>
  %i = stablehlo.get_tuple_element %w[1] : (tuple<tensor<3xf32>, tensor<i32>>) -> tensor<i32>
  %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
  %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %s = stablehlo.add %v, %g : tensor<2xf32>
  %r = stablehlo.tuple %s, %z : tuple<tensor<2xf32>, tensor<3xf32>>
  return %r : tuple<tensor<2xf32>, tensor<3xf32>>
}

// A dynamic slice by constants is a slice, which the partitioner can split; one of nothing reads no element.
// CHECK-LABEL: func.func @slice_by_constants
// CHECK: tensor.extract_slice %a[1, 2] [2, 4] [1, 2] : tensor<4x9xf32> to tensor<2x4xf32>
// CHECK: tensor.empty() : tensor<0x9xf32>
func.func @slice_by_constants(%a: tensor<4x9xf32>) -> (tensor<2x4xf32>, tensor<0x9xf32>) {
  %s = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %l = stablehlo.constant dense<[3, 9]> : tensor<2xi64>
  %t = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %t : (tensor<4x9xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x4xf32>
  %z = stablehlo.constant dense<0> : tensor<2xi64>
  %e = stablehlo.constant dense<[0, 9]> : tensor<2xi64>
  %o = stablehlo.constant dense<1> : tensor<2xi64>
  %1 = stablehlo.real_dynamic_slice %a, %z, %e, %o : (tensor<4x9xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<0x9xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<0x9xf32>
}
