// RUN: mesh-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --form-dispatches

#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul, element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iteration_sizes = [4, 6, 5]>

func.func @encoded(%a: tensor<4x5xf32, #e>) -> tensor<20xf32> {
  // expected-error @+1 {{decode it first}}
  %r = tensor.collapse_shape %a [[0, 1]] : tensor<4x5xf32, #e> into tensor<20xf32>
  return %r : tensor<20xf32>
}

// -----

func.func @sizes(%a: tensor<4xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{whose sizes are unknown before it has run}}
  %r = "test.where"(%a) : (tensor<4xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

func.func @inside(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x4xf32>>, %n: index) -> tensor<4xf32> {
  // expected-error @+1 {{which a dispatch cannot pass: kernels take tensors and numbers}}
  %r = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0, 0], sizes = [1, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x4xf32>>{%n} -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @nested(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is a dispatch and contains another one}}
  %r = flow.dispatch.region -> (tensor<4xf32>) {
    %s = flow.dispatch.region -> (tensor<4xf32>) {
      flow.return %a : tensor<4xf32>
    }
    flow.return %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
