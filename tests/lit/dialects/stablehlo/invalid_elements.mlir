// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @elements_of_functions(%a: tensor<2xi32>) {
  // expected-error @+1 {{expected operand 0 to have elements that are floats or complex numbers or quantised numbers}}
  %0 = "stablehlo.exponential"(%a) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @indices_added(%a: tensor<2xindex>) {
  // expected-error @+1 {{expected operand 0 to have elements that are i1 or integers}}
  %0 = "stablehlo.add"(%a, %a) : (tensor<2xindex>, tensor<2xindex>) -> tensor<2xindex>
  return
}

// -----

func.func @spectrum(%a: tensor<8xf32>) {
  // expected-error @+1 {{expected complex numbers of f32, got ui32}}
  %0 = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}> : (tensor<8xf32>) -> tensor<5xui32>
  return
}

// -----

func.func @padded(%a: tensor<2xf32>, %z: tensor<bf16>) {
  // expected-error @+1 {{requires the same element type, got f32 and bf16}}
  %0 = "stablehlo.pad"(%a, %z) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<2xf32>, tensor<bf16>) -> tensor<3xf32>
  return
}

// -----

func.func @selected_elements(%p: tensor<2xi1>, %a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @+1 {{requires the same element type, got f32 and f64}}
  %0 = "stablehlo.select"(%p, %a, %b) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @elements_of_selection(%p: tensor<2xi1>, %a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same element type, got f32 and f64}}
  %0 = "stablehlo.select"(%p, %a, %a) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @sorted_elements(%a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same element type, got f32 and i64}}
  %0 = "stablehlo.sort"(%a) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<2xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @mapped(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected the body to return tensor<i32>, got tensor<f32>}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%p: tensor<f32>):
    stablehlo.return %p : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @promoted(%a: tensor<2xi1>, %z: tensor<f32>) {
  // expected-error @+1 {{expected argument 1 of the body to have elements that i1 can be promoted to, got f32}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %p : tensor<f32>
  }) : (tensor<2xi1>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @inputs_of_one_shape(%a: tensor<2xf32>, %b: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error @+1 {{expected inputs of one shape, got 2 and 4}}
  %0:2 = "stablehlo.reduce"(%a, %b, %z, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<f32>, %s: tensor<f32>):
    stablehlo.return %p, %q : tensor<f32>, tensor<f32>
  }) : (tensor<2xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @negative_slice(%a: tensor<4xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{slice size -1 does not fit a dimension of size 4}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: -1>}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @collapsed_slice(%a: tensor<4xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{expected collapsed and batching slice sizes of at most 1}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2>}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @gathered_elements(%a: tensor<4xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{requires the same element type, got f32 and ui64}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xui64>
  return
}

// -----

func.func @counted(%a: tensor<4xf32>, %s: tensor<1xi32>) {
  // expected-error @+1 {{number of output elements (3)}}
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<1xi32>) -> tensor<3xf32>
  return
}

// -----

func.func @size_of_dimension(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of tensor<i32>, got tensor<i64>}}
  %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<4xf32>) -> tensor<i64>
  return
}

// -----

func.func @unknown_sizes() {
  // expected-error @+1 {{expected known sizes, got tensor<?xi32>}}
  %0 = stablehlo.iota dim = 0 : tensor<?xi32>
  return
}

// -----

func.func @unknown_bits(%a: tensor<2xui64>) {
  // expected-error @+1 {{expected bits of known sizes, got tensor<?xui64>}}
  %0, %1 = stablehlo.rng_bit_generator %a, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<?xui64>)
  return
}

// -----

func.func @unknown_received(%t: !stablehlo.token) {
  // expected-error @+1 {{expected results of known sizes, got tensor<?xf32>}}
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>}> : (!stablehlo.token) -> (tensor<?xf32>, !stablehlo.token)
  return
}

// -----

func.func @groups_of_i64(%a: tensor<4xf32>) {
  // expected-error @+1 {{'replica_groups' must be dense of ranked tensor of i64}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @ragged_groups(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected 'replica_groups' of one size, got}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @split_groups(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected groups of split_count 4 devices, got 2}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_groups(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected 'replica_groups' to have different numbers of at least 0}}
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[2, 2]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @layouts(%a: tensor<4x2xf32>) {
  // expected-error @+1 {{expected a permutation of 2 dimensions}}
  stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 1]> : tensor<2xindex>], result_layouts = []} : (tensor<4x2xf32>) -> ()
  return
}

// -----

func.func @layouts_of_results(%a: tensor<4x2xf32>) {
  // expected-error @+1 {{expected layouts of operands and of results, or none}}
  stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x2xf32>) -> ()
  return
}

// -----

func.func @member(%a: tensor<2xf32>) {
  %0 = stablehlo.tuple %a : tuple<tensor<2xf32>>
  // expected-error @+1 {{expected a tuple with an element 1}}
  %1 = "stablehlo.get_tuple_element"(%0) <{index = 1 : i32}> : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return
}

// -----

func.func @largest(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected indices of i32, got tensor<2xi8>}}
  %0:2 = "chlo.top_k"(%a) <{k = 2 : i64}> : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi8>)
  return
}

// -----

func.func @probed(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected operand, result to have the same type}}
  %0 = "interpreter.probe"(%a) <{probe_id = "p"}> : (tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @order() {
  // expected-error @+1 {{struct is missing required parameter: handle}}
  "test.op"() {channel = #stablehlo.channel_handle<type = 1>} : () -> ()
  return
}

// -----

func.func @roles() {
  // expected-error @+1 {{expected b and f, and each spatial dimension once}}
  "test.op"() {numbers = #stablehlo.conv<[b, 0, 2, f]x[0, 1, i, o]->[b, 0, 1, f]>} : () -> ()
  return
}

// -----

func.func @accuracy(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'result_accuracy'}}
  %0 = stablehlo.tanh %a {result_accuracy = 3 : i32} : tensor<4xf32>
  return
}

// -----

func.func @effect(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'has_side_effect'}}
  stablehlo.custom_call @f(%a) {has_side_effect = "yes"} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @row(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'slice_sizes'}}
  %0 = "stablehlo.dynamic_slice"(%a) {slice_sizes = dense<[[1]]> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @untyped(%a: tensor<4xsi32>, %z: tensor<si32>) {
  // expected-error @+1 {{expected operand 0 to have elements that are}}
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xsi32>, tensor<si32>) -> tensor<si32>
  return
}

// -----

func.func @loop(%a: f32) {
  // expected-error @+1 {{expected operand 0 to be a tensor, got f32}}
  %0 = stablehlo.while(%x = %a) : f32
   cond {
    %p = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %x : f32
  }
  return
}

// -----

func.func @dynamic_convolution(%a: tensor<1x4x4x2xf32>, %k: tensor<1x1x3x2xf32>, %p: tensor<2x2xi32>) {
  // expected-error @+1 {{expected 3 input features}}
  %0 = "stablehlo.dynamic_conv"(%a, %k, %p) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<1x1x3x2xf32>, tensor<2x2xi32>) -> tensor<1x?x?x2xf32>
  return
}

// -----

func.func @indices(%a: tensor<4xf32>, %s: tensor<1xi64>, %l: tensor<1xi32>) {
  // expected-error @+1 {{expected indices of one type}}
  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %s : (tensor<4xf32>, tensor<1xi64>, tensor<1xi32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @words(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected comparison_direction to be a chlo.comparison_direction, got 1 : i32}}
  %0 = chlo.broadcast_compare %a, %a {comparison_direction = 1 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}
