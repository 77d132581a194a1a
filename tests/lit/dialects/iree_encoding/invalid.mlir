// RUN: mesh-opt %s --split-input-file --verify-diagnostics

#e = #iree_encoding.testing<>
func.func @f(%t: tensor<4xf32, #e>) {
  // expected-error @+1 {{source of set_encoding op cannot have a tensor encoding}}
  %0 = iree_encoding.set_encoding %t : tensor<4xf32, #e> -> tensor<4xf32, #e>
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{result of set_encoding op expected to have a valid tensor encoding}}
  %0 = iree_encoding.set_encoding %t : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

#e = #iree_encoding.testing<>
func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{cannot change the rank of the tensor}}
  %0 = iree_encoding.set_encoding %t : tensor<4xf32> -> tensor<4x1xf32, #e>
  return
}

// -----

#e = #iree_encoding.testing<>
func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{expected to preserve the logical shape of the tensor}}
  %0 = iree_encoding.set_encoding %t : tensor<4xf32> -> tensor<5xf32, #e>
  return
}

// -----

#e = #iree_encoding.testing<>
func.func @f(%t: tensor<4xf32, #e>) {
  // expected-error @+1 {{result of unset_encoding op cannot have a tensor encoding}}
  %0 = iree_encoding.unset_encoding %t : tensor<4xf32, #e> -> tensor<4xf32, #e>
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{source of unset_encoding op expected to have a valid tensor encoding}}
  %0 = iree_encoding.unset_encoding %t : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [?, 33, ?]>
func.func @f(%t: tensor<4x8xf32>, %n: index) {
  // expected-error @+1 {{encoding expects 2 dynamic encoding dimension(s), but 1 provided}}
  %0 = iree_encoding.set_encoding %t encoding_dims{%n} : tensor<4x8xf32> -> tensor<4x8xf32, #e>
  return
}

// -----

// expected-error @+1 {{`operandIndex` exceeds the size of `user_indexing_maps`}}
func.func private @f(tensor<4x8xf32, #iree_encoding.encoding<operand_index = 3 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]>>)

// -----

// expected-error @+1 {{found a non-composable attribute in `user_indexing_maps` at index: 1}}
func.func private @f(tensor<4x8xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, [affine_map<(m, n, k) -> (k, n)>, affine_map<(k) -> (k)>], affine_map<(m, n, k) -> (m, n)>]>>)

// -----

// expected-error @+1 {{found `iteration_sizes` without any corresponding `user_indexing_maps`}}
func.func private @f(tensor<4x8xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], iteration_sizes = [1, 2, 3]>>)

// -----

// expected-error @+1 {{found an encoding with 2 iteration sizes, but expected 3 based on the user indexing maps}}
func.func private @f(tensor<4x8xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [1, 2]>>)

// -----

// expected-error @+1 {{struct is missing required parameter: element_types}}
func.func private @f(tensor<4x8xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul>>)

// -----

// expected-error @+1 {{duplicate or unknown struct parameter name: opperand_index}}
func.func private @f(tensor<4x8xf32, #iree_encoding.encoding<opperand_index = 0 : index, op_type = matmul, element_types = [f32]>>)

// -----

// expected-error @+1 {{expected one of matmul, scaled_matmul, conv, found 'matmull'}}
func.func private @f(tensor<4x8xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmull, element_types = [f32]>>)

// -----

// expected-error @+1 {{expected non-empty layouts}}
func.func private @f(tensor<4x8xf32, #iree_encoding.layout<[]>>)

// -----

// expected-error @+1 {{expected all the layout attributes to implement SerializableAttr}}
func.func private @f(tensor<4x8xf32, #iree_encoding.layout<["x"]>>)

// -----

// expected-error @+1 {{expected all padding values need to be non-negative or dynamic}}
func.func private @f(tensor<4x8xf32, #iree_encoding.padding<[0, -3]>>)

// -----

// expected-error @+1 {{bit-width of the element type is 8 but packed_storage}}
func.func private @f(tensor<4xi8, #iree_encoding.packed_storage>)

// -----

// expected-error @+1 {{bit-width of the element type is 3 but packed_storage}}
func.func private @f(tensor<4xi3, #iree_encoding.layout<[#iree_encoding.packed_storage]>>)

// -----

// expected-error @+1 {{expected all the layout attributes to implement SerializableAttr}}
func.func private @f(tensor<4xi8, #iree_encoding.layout<[#iree_encoding.identity_resolver]>>)

// -----

// expected-error @+1 {{expected all the layout attributes to implement SerializableAttr}}
func.func private @f(tensor<4xi8, #iree_encoding.layout<[#iree_gpu.gpu_padding_resolver<>]>>)

// -----

// expected-error @+1 {{`operandIndex` exceeds the size of `user_indexing_maps`}}
func.func private @f(tensor<4xf32, #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = []>>)

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{result of set_encoding op expected to have a valid tensor encoding}}
  %0 = iree_encoding.set_encoding %t : tensor<4xf32> -> tensor<4xf32, #iree_encoding.unknown>
  return
}

// -----

func.func @f(%t: tensor<4x?xf32, #iree_encoding.testing<>>) {
  // expected-error @+1 {{set has 1 dynamic dimensions but only 0 dimension values are attached}}
  %0 = iree_encoding.unset_encoding %t : tensor<4x?xf32, #iree_encoding.testing<>> -> tensor<4x?xf32>
  return
}
