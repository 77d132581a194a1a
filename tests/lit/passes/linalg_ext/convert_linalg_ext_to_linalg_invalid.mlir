// RUN: mesh-opt %s --convert-linalg-ext-to-linalg --split-input-file --verify-diagnostics

func.func @buffers(%x: memref<7xf32>) {
  // expected-error @+1 {{has operand #0 of memref type, but only tensors are supported: give the program before its bufferization}}
  tm_tensor.sort dimension(0) outs(%x : memref<7xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  }
  func.return
}

// -----

func.func @body(%x: tensor<7xf32>, %t: tensor<7xf32>, %a: tensor<f32>) -> tensor<7xf32> {
  // expected-error @+1 {{uses a tensor of type tensor<7xf32> in its body}}
  %0:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<7xf32>) outs(%x, %a : tensor<7xf32>, tensor<f32>) {
  ^bb0(%new: f32, %old: f32):
    %c0 = arith.constant 0 : index
    %1 = tensor.dim %t, %c0 : tensor<7xf32>
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.sitofp %2 : i32 to f32
    tm_tensor.yield %3 : f32
  } -> tensor<7xf32>, tensor<f32>
  func.return %0#0 : tensor<7xf32>
}

// -----

func.func @maps(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x5xf32>, %e: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %scale = arith.constant 0.5 : f32
  // expected-error @+1 {{has indexing maps whose results are not dimensions}}
  %0 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(m, n, k, s) -> (m, k)>, affine_map<(m, n, k, s) -> (s, k)>, affine_map<(m, n, k, s) -> (s, n)>, affine_map<(m, n, k, s) -> ()>, affine_map<(m, n, k, s) -> (m, n + 0 * m + 1)>]}> ins(%q, %k, %v, %scale : tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x5xf32>, f32) outs(%e : tensor<4x5xf32>) {
  ^bb0(%weight: f32):
    iree_linalg_ext.yield %weight : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

func.func @index(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x5xf32>, %e: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %scale = arith.constant 0.5 : f32
  %0 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(m, n, k, s) -> (m, k)>, affine_map<(m, n, k, s) -> (s, k)>, affine_map<(m, n, k, s) -> (s, n)>, affine_map<(m, n, k, s) -> ()>, affine_map<(m, n, k, s) -> (m, n)>]}> ins(%q, %k, %v, %scale : tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x5xf32>, f32) outs(%e : tensor<4x5xf32>) {
  ^bb0(%weight: f32):
    // expected-error @+1 {{asks for dimension 2 of weights of rank 2}}
    %at = iree_linalg_ext.index 2 : index
    iree_linalg_ext.yield %weight : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

func.func @mask(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x5xf32>, %m: tensor<4x5xf32>, %e: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %scale = arith.constant 0.5 : f32
  // expected-error @+1 {{has indexing maps that are not those of two products}}
  %0 = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(m, k, s, n) -> (m, k)>, affine_map<(m, k, s, n) -> (s, k)>,
      affine_map<(m, k, s, n) -> (s, n)>, affine_map<(m, k, s, n) -> ()>,
      affine_map<(m, k, s, n) -> (m, n)>, affine_map<(m, k, s, n) -> (m, n)>]>
      ins(%q, %k, %v, %scale, %m : tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x5xf32>, f32, tensor<4x5xf32>)
      outs(%e : tensor<4x5xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

func.func @rows(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x5xf32>, %o: tensor<4x5xf32>, %x: tensor<6xf32>, %y: tensor<4xf32>) -> tensor<4x5xf32> {
  %scale = arith.constant 0.5 : f32
  // expected-error @+1 {{has a maximum or sum of weights along wrong dimensions}}
  %0:3 = iree_linalg_ext.online_attention <indexing_maps = [
      affine_map<(m, k, s, n) -> (m, k)>, affine_map<(m, k, s, n) -> (s, k)>,
      affine_map<(m, k, s, n) -> (s, n)>, affine_map<(m, k, s, n) -> ()>,
      affine_map<(m, k, s, n) -> (m, n)>, affine_map<(m, k, s, n) -> (s)>, affine_map<(m, k, s, n) -> (m)>]>
      ins(%q, %k, %v, %scale : tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x5xf32>, f32)
      outs(%o, %x, %y : tensor<4x5xf32>, tensor<6xf32>, tensor<4xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x5xf32>, tensor<6xf32>, tensor<4xf32>
  return %0#0 : tensor<4x5xf32>
}
