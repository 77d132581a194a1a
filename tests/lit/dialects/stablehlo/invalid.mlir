// RUN: mesh-opt %s --split-input-file --verify-diagnostics

func.func @shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{expected result 0 to have shape 3, got 2}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @elements(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @+1 {{requires the same element type, got f32 and i32}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @predicate(%p: tensor<3xi1>, %a: tensor<2xf32>) {
  // expected-error @+1 {{expected result 0 to have shape 3, got 2}}
  %0 = "stablehlo.select"(%p, %a, %a) : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @count(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{number of output elements (5) doesn't match expected number of elements (6)}}
  %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @order(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a permutation of 2 dimensions, got [0, 0]}}
  %0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @outside(%a: tensor<4xf32>) {
  // expected-error @+1 {{slice [1:5:1] does not lie in a dimension of size 4}}
  %0 = stablehlo.slice %a [1:5] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @contracted(%a: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{dimension 0 of lhs has size 4, dimension 0 of rhs 3}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @groups(%a: tensor<1x8x3xf32>, %k: tensor<3x2x4xf32>) {
  // expected-error @+1 {{expected 2 input features, kernel's 2 in 1 groups, got 3}}
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x3xf32>, tensor<3x2x4xf32>) -> tensor<1x6x4xf32>
  return
}

// -----

func.func @branches(%a: tensor<f32>, %p: tensor<i1>) {
  // expected-error @+1 {{expected branches to return values of the results' types}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<f32>
  }, {
    stablehlo.return %p : tensor<i1>
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @word(%a: tensor<f32>) {
  // expected-error @+1 {{expected one of EQ, NE, GE, GT, LE, LT}}
  %0 = stablehlo.compare LESS, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return
}

// -----

// expected-error @+1 {{expected a storage type such as i8 or u8, got f8}}
func.func @storage(%a: tensor<2x!quant.uniform<f8:f32, 0.1>>) {
  return
}

// -----

func.func @gathered(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{expected 1 offset_dims, one for each dimension that is not collapsed, got 0}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @scattered(%a: tensor<4xf32>, %i: tensor<2x2xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{index vectors of 2 numbers do not fit a map of 1 dimensions}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x2xi32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sorted(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected the dimension to be in [-1, 1), got 1}}
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %l = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @real_transform(%a: tensor<4x3xcomplex<f32>>) {
  // expected-error @+1 {{expected an operand of shape 5, 3, got 4, 3}}
  %0 = stablehlo.fft %a, type = IRFFT, length = [5, 4] : (tensor<4x3xcomplex<f32>>) -> tensor<5x4xf32>
  return
}

// -----

func.func @offsets(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{expected offset_dims to be sorted, got [1, 0]}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<1x3x2xf32>
  return
}

// -----

func.func @largest(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected k in [0, 4], got 8}}
  %0, %1 = chlo.top_k(%a, k = 8) : tensor<4xf32> -> (tensor<8xf32>, tensor<8xi32>)
  return
}

// -----

func.func @groups(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected 'replica_groups' to have each number below 4 once, got}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @bits(%a: tensor<2x4xf32>) {
  // expected-error @+1 {{elements of 64 bits and shape 2, 4 are not those of 32 bits and shape 2, 4}}
  %0 = stablehlo.bitcast_convert %a : (tensor<2x4xf32>) -> tensor<2x4xf64>
  return
}

// -----

func.func @parts(%a: tensor<2xf64>) {
  // expected-error @+1 {{expected both types to be complex or real}}
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf64>) -> tensor<2xcomplex<f32>>
  return
}

// -----

func.func @precisions(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{expected at most 2 precisions, got 3}}
  %0 = stablehlo.dot %a, %a, precision = [DEFAULT, HIGH, HIGH] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @algorithm(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{expected DEFAULT beside an algorithm, got HIGH}}
  %0 = "stablehlo.dot_general"(%a, %a) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @sent(%a: tensor<2xf32>, %t: !stablehlo.token) {
  // expected-error @+1 {{expected a channel of type 2 (DEVICE_TO_HOST), got 3}}
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @received(%t: !stablehlo.token) {
  // expected-error @+1 {{expected the last result to be a token}}
  %0 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>}> : (!stablehlo.token) -> tensor<2xf32>
  return
}

// -----

func.func @fed(%t: !stablehlo.token) {
  // expected-error @+1 {{expected 1 layouts, one for each tensor, got 2}}
  %0:2 = "stablehlo.infeed"(%t) <{layout = [[0], [0]]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}

// -----

func.func @drained(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected the last operand to be a token}}
  %0 = "stablehlo.outfeed"(%a) : (tensor<2xf32>) -> !stablehlo.token
  return
}

// -----

func.func @unnamed(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected a name such as 'dialect.operation', got 'relu'}}
  %0 = "stablehlo.composite"(%a) <{name = "relu", decomposition = @none}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @undefined(%a: tensor<2xf32>) {
  // expected-error @+1 {{@none is no function}}
  %0 = stablehlo.composite "my.relu" %a {decomposition = @none} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @broadcast(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{expected result 0 to have shape 2, 3, got 2, 4}}
  %0 = chlo.broadcast_add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @broadcast_bits(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{expected operand 0 to have elements that are i1 or integers, got tensor<2x3xf32>}}
  %0 = chlo.broadcast_and %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @barrier(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected results of the operands' types (tensor<2xf32>), got (tensor<3xf32>)}}
  %0 = "stablehlo.optimization_barrier"(%a) : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @after_a_tensor(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected result, inputs to have the same type, found !stablehlo.token and tensor<2xf32>}}
  %0 = "stablehlo.after_all"(%a) : (tensor<2xf32>) -> !stablehlo.token
  return
}

// -----

func.func @target_number(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'call_target_name' must be string, but got '3 : i32'}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = 3 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @other_constant(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected 'value' to be a dense constant of type tensor<2xf32>}}
  "check.expect_eq_const"(%a) {value = dense<[1, 2]> : tensor<2xi32>} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @processes() {
  // expected-error @+1 {{expected 'programs' to have a row for each replica, with a function for each partition, got []}}
  "interpreter.run_parallel"() {programs = []} : () -> ()
  return
}

// -----

func.func @ragged_processes() {
  // expected-error @+1 {{got [[@p], [@p, @p]]}}
  "interpreter.run_parallel"() {programs = [[@p], [@p, @p]]} : () -> ()
  return
}
func.func @p() {
  return
}

// -----

func.func @process_of_itself() {
  // expected-error @+1 {{runs @process_of_itself, which it is in}}
  "interpreter.run_parallel"() {programs = [[@process_of_itself]]} : () -> ()
  return
}

// -----

func.func @numbered_processes() {
  // expected-error @+1 {{expected names of functions, got 3 : i64}}
  "interpreter.run_parallel"() {programs = [[3]]} : () -> ()
  return
}

// -----

func.func @untyped_processes() {
  // expected-error @+1 {{expected the results of its programs, (tensor<ui32>), got (tensor<i32>)}}
  %0 = "interpreter.run_parallel"() {programs = [[@id]]} : () -> tensor<i32>
  return
}
func.func @id() -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}
