// RUN: mesh-opt %s | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s
// RUN: mesh-opt %s --verify-roundtrip | cat

// What functions and modules carry is kept.
// CHECK: builtin.module @jit_f attributes {mhlo.num_partitions = 1 : i32}
module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  // CHECK: func.func public @main(%a: tensor<4xf32> {mhlo.layout_mode = "default"}, %q: tensor<2x!quant.uniform<i8<-127:127>:f32:0, {0.1, 0.2:3}>>, %b: tensor<?xf32, #stablehlo.bounds<3>>, %t: !stablehlo.token, %r: tensor<2x!quant.uniform<i8<0:127>:f32, 0.5>>, %im: tensor<1x2x4xf32>, %ke: tensor<3x2x5xf32>)
  func.func public @main(%a: tensor<4xf32> {mhlo.layout_mode = "default"}, %q: tensor<2x!quant.uniform<i8<-127:127>:f32:0, {0.1, 0.2:3}>>, %b: tensor<?xf32, #stablehlo.bounds<3>>, %t: !stablehlo.token, %r: tensor<2x!quant.uniform<i8<0:127>:f32, 0.5>>, %im: tensor<1x2x4xf32>, %ke: tensor<3x2x5xf32>) {
    // CHECK: %c = stablehlo.constant dense<[(0x7FC00000,0.000000e+00), (1.000000e+00,2.000000e+00)]> : tensor<2xcomplex<f32>>
    %c = stablehlo.constant dense<[(0x7FC00000,0.000000e+00), (1.0,2.0)]> : tensor<2xcomplex<f32>>
    // CHECK: stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    %0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    // CHECK: [[P:%[a-z0-9_]+]] = stablehlo.compare LT, %a, {{.*}}, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %p = stablehlo.compare  LT, %a, %0,  TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    // CHECK: stablehlo.select [[P]], %a, {{.*}} : tensor<4xi1>, tensor<4xf32>
    %s = stablehlo.select %p, %a, %0 : tensor<4xi1>, tensor<4xf32>
    // CHECK: stablehlo.slice %a [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
    %1 = stablehlo.slice %a [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
    // CHECK: stablehlo.concatenate {{.*}}, {{.*}}, dim = 0 : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
    %2 = stablehlo.concatenate %1, %a, dim = 0 : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
    // CHECK: stablehlo.convolution({{.*}}) dim_numbers = [b, f, 0]x[0, i, o]->[b, 0, f]
    %conv = "stablehlo.convolution"(%im, %ke) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 2, output_spatial_dimensions = [1]>, feature_group_count = 1 : i64}> : (tensor<1x2x4xf32>, tensor<3x2x5xf32>) -> tensor<1x2x5xf32>
    // CHECK: stablehlo.complex %a, %a : tensor<4xcomplex<f32>>
    %3 = stablehlo.complex %a, %a : tensor<4xcomplex<f32>>
    // CHECK: stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32
    %4 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    // CHECK: stablehlo.reduce(%a init: {{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %5 = stablehlo.reduce(%a init: %4) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    // CHECK: stablehlo.reduce(%a init: {{.*}}), (%a init: {{.*}}) across dimensions = [0]
    // CHECK-NEXT: reducer({{.*}}: tensor<f32>, {{.*}}: tensor<f32>) ({{.*}}: tensor<f32>, {{.*}}: tensor<f32>)
    %6:2 = stablehlo.reduce(%a init: %4), (%a init: %5) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
     reducer(%x: tensor<f32>, %y: tensor<f32>) (%z: tensor<f32>, %w: tensor<f32>)  {
      stablehlo.return %x, %z : tensor<f32>, tensor<f32>
    }
    // CHECK: stablehlo.while({{.*}} = {{.*}}) : tensor<f32>
    // CHECK-NEXT: cond {
    // CHECK: } do {
    %7 = stablehlo.while(%i = %4) : tensor<f32>
     cond {
      %l = stablehlo.compare LT, %i, %4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    } do {
      stablehlo.return %i : tensor<f32>
    }
    // CHECK: stablehlo.custom_call @"no-identifier"(%a) {has_side_effect = true} : (tensor<4xf32>) -> ()
    stablehlo.custom_call @"no-identifier"(%a) {has_side_effect = true} : (tensor<4xf32>) -> ()
    // CHECK: "stablehlo.gather"(%a, {{.*}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
    %n = stablehlo.iota dim = 0 : tensor<2x1xi32>
    %8 = "stablehlo.gather"(%a, %n) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = dense<1> : tensor<1xi64>} : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    // CHECK: stablehlo.dot %a, %a, precision = [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    %no_words = stablehlo.dot %a, %a, precision = [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    // CHECK: stablehlo.reduce_precision %a, format = e5m10 : tensor<4xf32>
    %9 = stablehlo.reduce_precision %a, format = e5m10 : tensor<4xf32>
    // CHECK: chlo.constant dense<1.000000e+00> : tensor<2xf32>
    %one = chlo.constant dense<1.0> : tensor<2xf32>
    // CHECK: chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %v, %j = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    // CHECK: check.expect_almost_eq_const %a, dense<1.000000e+00> : tensor<4xf32>, tolerance = 1.000000e-01
    check.expect_almost_eq_const %a, dense<1.0> : tensor<4xf32>, tolerance = 0.1
    // CHECK: check.expect_serialized_eq %a, probe_id = "p", iter = 2 : tensor<4xf32>
    check.expect_serialized_eq %a, probe_id = "p", iter = 2 : tensor<4xf32>
    // CHECK: stablehlo.composite "my.same" %a {decomposition = @same} : (tensor<4xf32>) -> tensor<4xf32>
    %same = "stablehlo.composite"(%a) <{name = "my.same", decomposition = @same}> : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: stablehlo.after_all %t : !stablehlo.token
    %10 = stablehlo.after_all %t : !stablehlo.token
    // Bounds have one spelling, and a slice without indices has two, as printed and as StableHLO reads it.
    // CHECK: stablehlo.add %b, %b : tensor<?xf32, #stablehlo.bounds<3>>
    %11 = stablehlo.add %b, %b : tensor<?xf32, #stablehlo.type_extensions<bounds = [3]>>
    // CHECK-COUNT-2: stablehlo.dynamic_slice {{.*}}, , sizes = [] : (tensor<f32>) -> tensor<f32>
    %12 = stablehlo.dynamic_slice %4, , sizes = [] : (tensor<f32>) -> tensor<f32>
    %13 = stablehlo.dynamic_slice %12, sizes = [] : (tensor<f32>) -> tensor<f32>
    // CHECK: stablehlo.abs {{.*}} : (tensor<f32>) -> tensor<f32, #stablehlo.bounds<>>
    %14 = stablehlo.abs %12 : (tensor<f32>) -> tensor<f32, #stablehlo.bounds<>>
    // CHECK: stablehlo.get_tuple_element {{.*}}[1] : (tuple<tensor<4xf32>, tensor<f32>>) -> tensor<f32>
    %tuple = stablehlo.tuple %a, %4 : tuple<tensor<4xf32>, tensor<f32>>
    %member = "stablehlo.get_tuple_element"(%tuple) <{index = 1 : i32}> : (tuple<tensor<4xf32>, tensor<f32>>) -> tensor<f32>
    // CHECK: stablehlo.optimization_barrier {note = 1 : i32} %a, %b : tensor<4xf32>
    // CHECK: stablehlo.optimization_barrier {note = 1 : i32}()
    %kept:2 = stablehlo.optimization_barrier {note = 1 : i32} %a, %b : tensor<4xf32>, tensor<?xf32, #stablehlo.bounds<3>>
    stablehlo.optimization_barrier {note = 1 : i32}()
    // CHECK: stablehlo.composite "test.regions" %a ({
    // CHECK-NEXT: ^bb0({{.*}}: tensor<f32>):
    // CHECK: }, {
    // CHECK-NEXT: }) {decomposition = @same} : (tensor<4xf32>) -> tensor<4xf32>
    %15 = stablehlo.composite "test.regions" %a ({
    ^bb0(%u: tensor<f32>):
      stablehlo.return %u : tensor<f32>
    }, {
    }) {decomposition = @same} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func private @same(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}
