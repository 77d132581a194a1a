// RUN: mesh-opt %s --split-input-file --set-encoding | filecheck %s --check-prefix=PLAIN
// RUN: mesh-opt %s --split-input-file '--pass-pipeline=builtin.module(set-encoding{encode-convolutions=true})' | filecheck %s

// Convolutions are encoded on request.

// PLAIN-NOT: set_encoding
// CHECK-LABEL: func.func @strided
// CHECK: iree_encoding.set_encoding %a
// CHECK: iree_encoding.set_encoding %b
// CHECK: linalg.fill
// CHECK: linalg.conv_2d_nhwc_hwcf
// CHECK: iree_encoding.unset_encoding
func.func @strided(%a: tensor<1x9x9x4xf32>, %b: tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%a, %b : tensor<1x9x9x4xf32>, tensor<3x3x4x8xf32>) outs(%f : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %r : tensor<1x4x4x8xf32>
}

// -----

// Not where no layout is known: a group for each channel.

// CHECK-LABEL: func.func @depthwise
// CHECK-NOT: set_encoding
func.func @depthwise(%a: tensor<1x7x6x5xf32>, %b: tensor<3x2x5xf32>, %c: tensor<1x5x5x5xf32>) -> tensor<1x5x5x5xf32> {
  %r = linalg.depthwise_conv_2d_nhwc_hwc ins(%a, %b : tensor<1x7x6x5xf32>, tensor<3x2x5xf32>) outs(%c : tensor<1x5x5x5xf32>) -> tensor<1x5x5x5xf32>
  return %r : tensor<1x5x5x5xf32>
}
