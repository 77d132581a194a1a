// RUN: mesh-opt %s | mesh-opt | filecheck %s
// RUN: mesh-opt %s --mlir-print-op-generic | mesh-opt | filecheck %s

// Operations in MLIR's notation, with modes as bare words.

// CHECK-LABEL: func.func @operations
// CHECK-NEXT: %0 = tosa.tanh %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %1 = tosa.add %x, %x {foo = 3 : i32} : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %2 = tosa.mul %x, %x, %sh : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<1xi8>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %3 = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x1x6xf32>
// CHECK-NEXT: %4 = tosa.reduce_max %x {axis = 1 : i32, nan_mode = IGNORE} : (tensor<2x4x6xf32>) -> tensor<2x1x6xf32>
// CHECK-NEXT: %5 = tosa.clamp %x {max_val = 6.000000e+00 : f32, min_val = 0.000000e+00 : f32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %6 = tosa.clamp %x {max_val = 6.000000e+00 : f32, min_val = 0.000000e+00 : f32, nan_mode = IGNORE} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %7 = tosa.maximum %x, %x {nan_mode = IGNORE} : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %c = tosa.const_shape {values = dense<[8, 6]> : tensor<2xindex>} : () -> !tosa.shape<2>
// CHECK-NEXT: %8 = tosa.reshape %x, %c : (tensor<2x4x6xf32>, !tosa.shape<2>) -> tensor<8x6xf32>
// CHECK-NEXT: %9 = tosa.transpose %x {perms = array<i32: 0, 2, 1>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
// CHECK-NEXT: %10 = tosa.concat %x, %x {axis = 1 : i32} : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x8x6xf32>
// CHECK-NEXT: %p = tosa.const_shape {values = dense<[0, 0, 1, 1, 0, 0]> : tensor<6xindex>} : () -> !tosa.shape<6>
// CHECK-NEXT: %11 = tosa.pad %x, %p, %z : (tensor<2x4x6xf32>, !tosa.shape<6>, tensor<1xf32>) -> tensor<2x6x6xf32>
// CHECK-NEXT: %st = tosa.const_shape {values = dense<[0, 1, 0]> : tensor<3xindex>} : () -> !tosa.shape<3>
// CHECK-NEXT: %sz = tosa.const_shape {values = dense<[2, 2, 6]> : tensor<3xindex>} : () -> !tosa.shape<3>
// CHECK-NEXT: %12 = tosa.slice %x, %st, %sz : (tensor<2x4x6xf32>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<2x2x6xf32>
// CHECK-NEXT: %13 = tosa.cast %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xi32>
// CHECK-NEXT: %14 = tosa.gather %x, %idx : (tensor<2x4x6xf32>, tensor<2x5xi32>) -> tensor<2x5x6xf32>
// CHECK-NEXT: %15 = tosa.conv2d %im, %k, %bias, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x5xf32>
// CHECK-NEXT: %16 = tosa.depthwise_conv2d %im, %dk, %dbias, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<3x3x3x2xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x6xf32>
// CHECK-NEXT: %17 = tosa.max_pool2d %im {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
// CHECK-NEXT: %18 = tosa.avg_pool2d %im, %z, %z {acc_type = f32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x3xf32>
// CHECK-NEXT: %19 = tosa.select %b, %x, %x : (tensor<2x4x6xi1>, tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %st1 = tosa.const_shape {values = dense<[1, 2, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
// CHECK-NEXT: %20 = tosa.tile %x, %st1 : (tensor<2x4x6xf32>, !tosa.shape<3>) -> tensor<2x8x6xf32>
// CHECK-NEXT: %21 = tosa.reverse %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %22 = tosa.identity %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %23 = tosa.arithmetic_right_shift %i, %i {round = true} : (tensor<2x4x6xi32>, tensor<2x4x6xi32>) -> tensor<2x4x6xi32>
// CHECK-NEXT: %24 = tosa.argmax %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x6xi32>
// CHECK-NEXT: %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
// CHECK-NEXT: %s = "tosa.const"() <{values = dense<30> : tensor<1xi8>}> : () -> tensor<1xi8>
// CHECK-NEXT: %zi = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
// CHECK-NEXT: %25 = tosa.rescale %i, %m, %s, %zi, %tz {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<2x4x6xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<2x4x6xi8>
// CHECK-NEXT: %26 = tosa.equal %x, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xi1>
// CHECK-NEXT: %27 = tosa.erf %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %28 = tosa.negate %x, %z, %z : (tensor<2x4x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %29 = tosa.matmul %x, %9, %z, %z {acc = 1 : i32} : (tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x4xf32>
// CHECK-NEXT: {{(func\.)?}}return
// CHECK-NEXT: }
func.func @operations(%x: tensor<2x4x6xf32>, %i: tensor<2x4x6xi32>, %b: tensor<2x4x6xi1>, %z: tensor<1xf32>, %sh: tensor<1xi8>, %im: tensor<1x8x8x3xf32>, %k: tensor<5x3x3x3xf32>, %bias: tensor<5xf32>, %dk: tensor<3x3x3x2xf32>, %dbias: tensor<6xf32>, %idx: tensor<2x5xi32>, %q: tensor<2x4x6xi8>, %tz: tensor<1xi8>) {
  %0 = tosa.tanh %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %1 = tosa.add %x, %x {foo = 3 : i32} : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = tosa.mul %x, %x, %sh : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<1xi8>) -> tensor<2x4x6xf32>
  %3 = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x1x6xf32>
  %4 = tosa.reduce_max %x {axis = 1 : i32, nan_mode = IGNORE} : (tensor<2x4x6xf32>) -> tensor<2x1x6xf32>
  %5 = tosa.clamp %x {min_val = 0.0 : f32, max_val = 6.0 : f32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %6 = tosa.clamp %x {min_val = 0.0 : f32, max_val = 6.0 : f32, nan_mode = IGNORE} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %7 = tosa.maximum %x, %x {nan_mode = IGNORE} : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %c = tosa.const_shape {values = dense<[8, 6]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %8 = tosa.reshape %x, %c : (tensor<2x4x6xf32>, !tosa.shape<2>) -> tensor<8x6xf32>
  %9 = tosa.transpose %x {perms = array<i32: 0, 2, 1>} : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  %10 = tosa.concat %x, %x {axis = 1 : i32} : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x8x6xf32>
  %p = tosa.const_shape {values = dense<[0, 0, 1, 1, 0, 0]> : tensor<6xindex>} : () -> !tosa.shape<6>
  %11 = tosa.pad %x, %p, %z : (tensor<2x4x6xf32>, !tosa.shape<6>, tensor<1xf32>) -> tensor<2x6x6xf32>
  %st = tosa.const_shape {values = dense<[0, 1, 0]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %sz = tosa.const_shape {values = dense<[2, 2, 6]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %12 = tosa.slice %x, %st, %sz : (tensor<2x4x6xf32>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<2x2x6xf32>
  %13 = tosa.cast %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xi32>
  %14 = tosa.gather %x, %idx : (tensor<2x4x6xf32>, tensor<2x5xi32>) -> tensor<2x5x6xf32>
  %15 = tosa.conv2d %im, %k, %bias, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x5xf32>
  %16 = tosa.depthwise_conv2d %im, %dk, %dbias, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<3x3x3x2xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x6xf32>
  %17 = tosa.max_pool2d %im {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  %18 = tosa.avg_pool2d %im, %z, %z {acc_type = f32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x8x8x3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x3xf32>
  %19 = tosa.select %b, %x, %x : (tensor<2x4x6xi1>, tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %st1 = tosa.const_shape {values = dense<[1, 2, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %20 = tosa.tile %x, %st1 : (tensor<2x4x6xf32>, !tosa.shape<3>) -> tensor<2x8x6xf32>
  %21 = tosa.reverse %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %22 = tosa.identity %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %23 = tosa.arithmetic_right_shift %i, %i {round = true} : (tensor<2x4x6xi32>, tensor<2x4x6xi32>) -> tensor<2x4x6xi32>
  %24 = tosa.argmax %x {axis = 1 : i32} : (tensor<2x4x6xf32>) -> tensor<2x6xi32>
  %m = "tosa.const"() <{values = dense<[1073741824]> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<[30]> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zi = "tosa.const"() <{values = dense<[0]> : tensor<1xi32>}> : () -> tensor<1xi32>
  %25 = tosa.rescale %i, %m, %s, %zi, %tz {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<2x4x6xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<2x4x6xi8>
  %26 = tosa.equal %x, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xi1>
  %27 = tosa.erf %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %28 = tosa.negate %x, %z, %z : (tensor<2x4x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x6xf32>
  %29 = tosa.matmul %x, %9, %z, %z {acc = 1 : i32} : (tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x4xf32>
  return
}
