"""What StableHLO programs compute, in both backends: each checks itself."""

# ruff: noqa: E501

from __future__ import annotations

import io
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.interpreter import structured
from mesh_opt.tools.mesh_run import main

PROGRAMS = {
    # Division by 0 and by -1, shifts by the width, conversions that saturate, wrapping.
    "integers": """
func.func @main() {
  %a = stablehlo.constant dense<[7, -7, -128, 5]> : tensor<4xi8>
  %b = stablehlo.constant dense<[0, 2, -1, 9]> : tensor<4xi8>
  %0 = stablehlo.divide %a, %b : tensor<4xi8>
  check.expect_eq_const %0, dense<[-1, -3, -128, 0]> : tensor<4xi8>
  %1 = stablehlo.remainder %a, %b : tensor<4xi8>
  check.expect_eq_const %1, dense<[7, -1, 0, 5]> : tensor<4xi8>
  %2 = stablehlo.shift_right_arithmetic %a, %b : tensor<4xi8>
  check.expect_eq_const %2, dense<[7, -2, -1, 0]> : tensor<4xi8>
  %3 = stablehlo.shift_left %a, %b : tensor<4xi8>
  check.expect_eq_const %3, dense<[7, -28, 0, 0]> : tensor<4xi8>
  %u = stablehlo.convert %a : (tensor<4xi8>) -> tensor<4xui8>
  %z = stablehlo.constant dense<[0, 100, 255, 1]> : tensor<4xui8>
  %4 = stablehlo.divide %u, %z : tensor<4xui8>
  check.expect_eq_const %4, dense<[255, 2, 0, 5]> : tensor<4xui8>
  %5 = stablehlo.compare LT, %u, %z, UNSIGNED : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  check.expect_eq_const %5, dense<[false, false, true, false]> : tensor<4xi1>
  %f = stablehlo.constant dense<[0x7FC00000, 300.0, -1.0e10, -2.7]> : tensor<4xf32>
  %6 = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xi8>
  check.expect_eq_const %6, dense<[0, 127, -128, -2]> : tensor<4xi8>
  %7 = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xui8>
  check.expect_eq_const %7, dense<[0, 255, 0, 0]> : tensor<4xui8>
  %8 = stablehlo.power %a, %b : tensor<4xi8>
  check.expect_eq_const %8, dense<[1, 49, 0, 101]> : tensor<4xi8>
  return
}""",
    # What is compared and chosen is known.
    "known_numbers": """
func.func @main() {
  %m = stablehlo.constant dense<-1> : tensor<i32>
  %n = stablehlo.constant dense<1> : tensor<i32>
  %u = stablehlo.constant dense<4294967295> : tensor<ui32>
  %v = stablehlo.constant dense<1> : tensor<ui32>
  %0 = stablehlo.compare LT, %m, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  check.expect_eq_const %0, dense<true> : tensor<i1>
  %1 = stablehlo.compare LT, %u, %v, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  check.expect_eq_const %1, dense<false> : tensor<i1>
  %2 = stablehlo.select %0, %m, %n : tensor<i1>, tensor<i32>
  check.expect_eq_const %2, dense<-1> : tensor<i32>
  %a = stablehlo.constant dense<[5, -7]> : tensor<2xi32>
  %b = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
  %3 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<2xi32>
  check.expect_eq_const %3, dense<[0, 2]> : tensor<2xi32>
  %4 = stablehlo.not %0 : tensor<i1>
  %5 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<2xi32>
  check.expect_eq_const %5, dense<[0, 2]> : tensor<2xi32>
  %6 = stablehlo.compare GE, %n, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %7 = stablehlo.convert %6 : (tensor<i1>) -> tensor<i32>
  check.expect_eq_const %7, dense<1> : tensor<i32>
  %8 = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xi32>
  %9 = stablehlo.remainder %8, %8 : tensor<2xi32>
  check.expect_eq_const %9, dense<0> : tensor<2xi32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %10 = stablehlo.select %t, %a, %b : tensor<i1>, tensor<2xi32>
  check.expect_eq_const %10, dense<[5, -7]> : tensor<2xi32>
  return
}""",
    "approximate_top_k": """
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
}
func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 5.0, -2.0, 5.0], [0.0, -1.0, 3.0, 2.0]]> : tensor<2x4xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x4xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %least, %none) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 1 : i64, top_k = 3 : i64}} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  check.expect_eq_const %0#0, dense<[[5.0, 5.0, 1.0], [3.0, 2.0, 0.0]]> : tensor<2x3xf32>
  check.expect_eq_const %0#1, dense<[[1, 3, 0], [2, 3, 0]]> : tensor<2x3xi32>
  return
}""",
    "floats": """
func.func @main() {
  %a = stablehlo.constant dense<[0x7FC00000, -0.0, 2.5, -3.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[1.0, 0.0, 1.5, 0x7F800000]> : tensor<4xf32>
  %0 = stablehlo.maximum %a, %b : tensor<4xf32>
  check.expect_eq_const %0, dense<[0x7FC00000, 0.0, 2.5, 0x7F800000]> : tensor<4xf32>
  %1 = stablehlo.compare NE, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %1, dense<[true, false, false, false]> : tensor<4xi1>
  %2 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %2, dense<[false, true, false, true]> : tensor<4xi1>
  %3 = stablehlo.round_nearest_even %a : tensor<4xf32>
  check.expect_eq_const %3, dense<[0x7FC00000, -0.0, 2.0, -3.0]> : tensor<4xf32>
  %4 = stablehlo.round_nearest_afz %a : tensor<4xf32>
  check.expect_eq_const %4, dense<[0x7FC00000, -0.0, 3.0, -3.0]> : tensor<4xf32>
  %5 = stablehlo.sign %a : tensor<4xf32>
  check.expect_eq_const %5, dense<[0x7FC00000, -0.0, 1.0, -1.0]> : tensor<4xf32>
  %6 = stablehlo.reduce_precision %b, format = e5m2 : tensor<4xf32>
  check.expect_eq_const %6, dense<[1.0, 0.0, 1.5, 0x7F800000]> : tensor<4xf32>
  %7 = stablehlo.clamp %a, %b, %a : tensor<4xf32>
  check.expect_eq_const %7, dense<[0x7FC00000, -0.0, 2.5, -3.0]> : tensor<4xf32>
  %8 = chlo.erf_inv %6 : tensor<4xf32> -> tensor<4xf32>
  %9 = stablehlo.slice %8 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  check.expect_eq_const %9, dense<[0x7F800000, 0.0]> : tensor<2xf32>
  return
}""",
    # Slices are moved into the tensor, updates beside it are left out.
    "indexing": """
func.func @main() {
  %a = stablehlo.iota dim = 0 : tensor<6xi32>
  %i = stablehlo.constant dense<[[4], [-3], [9]]> : tensor<3x1xi32>
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2>}> : (tensor<6xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[4, 5], [0, 1], [4, 5]]> : tensor<3x2xi32>
  %u = stablehlo.constant dense<[[10, 20], [30, 40], [50, 60]]> : tensor<3x2xi32>
  %j = stablehlo.constant dense<[[5], [-1], [5]]> : tensor<3x1xi32>
  %1 = "stablehlo.scatter"(%a, %j, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %s = stablehlo.add %old, %new : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6xi32>, tensor<3x1xi32>, tensor<3x2xi32>) -> tensor<6xi32>
  check.expect_eq_const %1, dense<[40, 1, 2, 3, 4, 65]> : tensor<6xi32>
  %k = stablehlo.constant dense<200> : tensor<ui8>
  %2 = stablehlo.dynamic_slice %a, %k, sizes = [4] : (tensor<6xi32>, tensor<ui8>) -> tensor<4xi32>
  check.expect_eq_const %2, dense<[2, 3, 4, 5]> : tensor<4xi32>
  %3 = stablehlo.dynamic_update_slice %a, %2, %k : (tensor<6xi32>, tensor<4xi32>, tensor<ui8>) -> tensor<6xi32>
  check.expect_eq_const %3, dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi32>
  %v = stablehlo.constant dense<9> : tensor<i32>
  %4 = stablehlo.pad %2, %v, low = [-1], high = [1], interior = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<7xi32>
  check.expect_eq_const %4, dense<[9, 3, 9, 4, 9, 5, 9]> : tensor<7xi32>
  return
}""",
    # A sort by one operand that carries the other along; NaN is the largest number of top_k.
    "sorting": """
func.func @main() {
  %a = stablehlo.constant dense<[3.0, 1.0, 3.0, 0x7FC00000, 2.0]> : tensor<5xf32>
  %i = stablehlo.iota dim = 0 : tensor<5xi32>
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
  check.expect_eq_const %0#1, dense<[1, 4, 0, 2, 3]> : tensor<5xi32>
  %v, %j = chlo.top_k(%a, k = 3) : tensor<5xf32> -> (tensor<3xf32>, tensor<3xi32>)
  check.expect_eq_const %j, dense<[3, 0, 2]> : tensor<3xi32>
  return
}""",
    "reductions": """
func.func @main() {
  %one = stablehlo.constant dense<1.0> : tensor<1000xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%one init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000xbf16>, tensor<bf16>) -> tensor<bf16>
  check.expect_eq_const %0, dense<1000.0> : tensor<bf16>
  %1 = stablehlo.dot_general %one, %one, contracting_dims = [0] x [0] : (tensor<1000xbf16>, tensor<1000xbf16>) -> tensor<bf16>
  check.expect_eq_const %1, dense<1000.0> : tensor<bf16>
  %a = stablehlo.constant dense<[[1.0, 5.0, 2.0, 3.0], [4.0, 0.0, 7.0, 7.0]]> : tensor<2x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  check.expect_eq_const %2, dense<[[1.0, 5.0, 3.0], [4.0, 7.0, 7.0]]> : tensor<2x3xf32>
  %src = stablehlo.constant dense<[[10.0, 20.0], [30.0, 40.0]]> : tensor<2x2xf32>
  %3 = "stablehlo.select_and_scatter"(%a, %src, %z) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x4xf32>
  check.expect_eq_const %3, dense<[[0.0, 10.0, 0.0, 20.0], [30.0, 0.0, 40.0, 0.0]]> : tensor<2x4xf32>
  return
}""",
    "control_flow": """
func.func @main() {
  %n = stablehlo.constant dense<5> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %one, %f = %one) : tensor<i32>, tensor<i32>
   cond {
    %c = stablehlo.compare LE, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %p = stablehlo.multiply %i, %f : tensor<i32>
    %s = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %s, %p : tensor<i32>, tensor<i32>
  }
  check.expect_eq_const %0#1, dense<120> : tensor<i32>
  %out = stablehlo.constant dense<-3> : tensor<i32>
  %1 = "stablehlo.case"(%out) ({
    stablehlo.return %n : tensor<i32>
  }, {
    stablehlo.return %one : tensor<i32>
  }, {
    stablehlo.return %0#1 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %1, dense<120> : tensor<i32>
  return
}""",
    "convolution": """
func.func @main() {
  %a = stablehlo.iota dim = 1 : tensor<1x4x2xf32>
  %k = stablehlo.constant dense<[[[1.0, 2.0]], [[1.0, 0.0]]]> : tensor<2x1x2xf32>
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x4x2xf32>, tensor<2x1x2xf32>) -> tensor<1x3x2xf32>
  check.expect_eq_const %0, dense<[[[1.0, 0.0], [2.0, 0.0], [4.0, 2.0]]]> : tensor<1x3x2xf32>
  return
}""",
    # Open sizes: the shape is a number of the run.
    "dynamic": """
func.func @main() {
  %n = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %a = stablehlo.dynamic_iota %n, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>
  %s = stablehlo.get_dimension_size %a, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
  check.expect_eq_const %s, dense<3> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x?xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %0, dense<6.0> : tensor<f32>
  %m = stablehlo.constant dense<[6]> : tensor<1xi32>
  %1 = stablehlo.dynamic_reshape %a, %m : (tensor<?x?xf32>, tensor<1xi32>) -> tensor<6xf32>
  check.expect_eq_const %1, dense<[0.0, 1.0, 2.0, 0.0, 1.0, 2.0]> : tensor<6xf32>
  return
}""",
    "quantised": """
func.func @main() {
  %a = stablehlo.constant dense<[0.25, 0.5]> : tensor<2xf32>
  %q = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.025:-1>>
  %s = stablehlo.add %q, %q : (tensor<2x!quant.uniform<i8:f32, 0.025:-1>>, tensor<2x!quant.uniform<i8:f32, 0.025:-1>>) -> tensor<2x!quant.uniform<i8:f32, 0.15:-1>>
  %0 = stablehlo.uniform_dequantize %s : (tensor<2x!quant.uniform<i8:f32, 0.15:-1>>) -> tensor<2xf32>
  check.expect_almost_eq_const %0, dense<[0.45, 1.05]> : tensor<2xf32>
  return
}""",
    # Integers of a few bits, floats of eight.
    "narrow": """
func.func @main() {
  %a = stablehlo.constant dense<[1, -2, 7, -8]> : tensor<4xi4>
  %s = stablehlo.add %a, %a : tensor<4xi4>
  check.expect_eq_const %s, dense<[2, -4, -2, 0]> : tensor<4xi4>
  %u = stablehlo.constant dense<[1, 3, 2, 0]> : tensor<4xui2>
  %t = stablehlo.add %u, %u : tensor<4xui2>
  check.expect_eq_const %t, dense<[2, 2, 0, 0]> : tensor<4xui2>
  %w = stablehlo.convert %u : (tensor<4xui2>) -> tensor<4xi32>
  check.expect_eq_const %w, dense<[1, 3, 2, 0]> : tensor<4xi32>
  %f = stablehlo.constant dense<[1.0, 464.0, 500.0, -0.0]> : tensor<4xf32>
  %g = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %h = stablehlo.convert %g : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %h, dense<[1.0, 448.0, 0x7FC00000, -0.0]> : tensor<4xf32>
  %i = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %j = stablehlo.add %i, %i : tensor<4xf8E5M2>
  %k = stablehlo.convert %j : (tensor<4xf8E5M2>) -> tensor<4xf32>
  check.expect_eq_const %k, dense<[2.0, 896.0, 1024.0, 0.0]> : tensor<4xf32>
  %b = stablehlo.bitcast_convert %a : (tensor<4xi4>) -> tensor<4xi4>
  %c8 = stablehlo.constant dense<[4, 3]> : tensor<2xi8>
  %c4 = stablehlo.bitcast_convert %c8 : (tensor<2xi8>) -> tensor<2x2xi4>
  check.expect_eq_const %c4, dense<[[4, 0], [3, 0]]> : tensor<2x2xi4>
  return
}""",
    "empty": """
func.func @main() {
  %e = stablehlo.constant dense<> : tensor<0x3xf32>
  %e2 = stablehlo.add %e, %e : tensor<0x3xf32>
  %z = stablehlo.constant dense<1.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %z) applies stablehlo.multiply across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %e3, dense<1.0> : tensor<3xf32>
  %e4 = stablehlo.concatenate %e, %e, dim = 1 : (tensor<0x3xf32>, tensor<0x3xf32>) -> tensor<0x6xf32>
  %e5 = stablehlo.reshape %e4 : (tensor<0x6xf32>) -> tensor<6x0xf32>
  %e6 = stablehlo.transpose %e5, dims = [1, 0] : (tensor<6x0xf32>) -> tensor<0x6xf32>
  %e7 = stablehlo.pad %e6, %z, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<0x6xf32>, tensor<f32>) -> tensor<2x6xf32>
  check.expect_eq_const %e7, dense<1.0> : tensor<2x6xf32>
  %e8 = stablehlo.dot_general %e5, %e6, contracting_dims = [1] x [0] : (tensor<6x0xf32>, tensor<0x6xf32>) -> tensor<6x6xf32>
  check.expect_eq_const %e8, dense<0.0> : tensor<6x6xf32>
  %o = stablehlo.constant dense<1.0> : tensor<2x6xf32>
  %e9 = stablehlo.pad %o, %z, low = [0, -4], high = [0, -2], interior = [0, 0] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x0xf32>
  %e10 = stablehlo.dot_general %e9, %e9, contracting_dims = [1] x [1] : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %e10, dense<0.0> : tensor<2x2xf32>
  %e11 = "stablehlo.select_and_scatter"(%o, %e9, %z) <{window_dimensions = array<i64: 1, 9>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x6xf32>, tensor<2x0xf32>, tensor<f32>) -> tensor<2x6xf32>
  check.expect_eq_const %e11, dense<1.0> : tensor<2x6xf32>
  %two = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %e12 = stablehlo.dynamic_pad %e, %z, %two, %two, %two : (tensor<0x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x3xf32>
  check.expect_eq_const %e12, dense<1.0> : tensor<4x3xf32>
  %p = stablehlo.partition_id : tensor<ui32>
  check.expect_eq_const %p, dense<0> : tensor<ui32>
  return
}""",
    # Several processes, written out beside each other.
    "collectives": """
module @cross_replica_variadic {
  func.func @all_reduce(%operand0 : tensor<4xi64>, %operand1 : tensor<5xi64>) -> (tensor<4xi64>, tensor<5xi64>) {
    %result:2 = "stablehlo.all_reduce"(%operand0, %operand1) ({
      ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>):
        %0 = stablehlo.add %arg0, %arg1 : tensor<i64>
        stablehlo.return %0 : tensor<i64>
    }) {
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>
    } : (tensor<4xi64>, tensor<5xi64>) -> (tensor<4xi64>, tensor<5xi64>)
    return %result#0, %result#1 : tensor<4xi64>, tensor<5xi64>
  }
  func.func @mesh(%operand : tensor<1xi64>) -> tensor<1xi64> {
    %result = "stablehlo.all_reduce"(%operand) ({
      ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>):
        %0 = stablehlo.add %arg0, %arg1 : tensor<i64>
        stablehlo.return %0 : tensor<i64>
    }) {
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>,
      channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>
    } : (tensor<1xi64>) -> tensor<1xi64>
    return %result : tensor<1xi64>
  }
  func.func @all_to_all(%operand : tensor<2x4xi64>) -> (tensor<4x2xi64>, tensor<ui32>) {
    %result = "stablehlo.all_to_all"(%operand) {
      split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64,
      replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>
    } : (tensor<2x4xi64>) -> tensor<4x2xi64>
    %r = stablehlo.replica_id : tensor<ui32>
    return %result, %r : tensor<4x2xi64>, tensor<ui32>
  }
  func.func @permute(%operand : tensor<2xi64>) -> tensor<2xi64> {
    %result = "stablehlo.collective_permute"(%operand) {
      source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>
    } : (tensor<2xi64>) -> tensor<2xi64>
    return %result : tensor<2xi64>
  }
  func.func @main() {
    %process0_oper0 = stablehlo.constant dense<[1,  2,  3,  4]> : tensor<4xi64>
    %process0_oper1 = stablehlo.constant dense<[5,  6,  7,  8,  9]> : tensor<5xi64>
    %process1_oper0 = stablehlo.constant dense<[11, 12, 13, 14]> : tensor<4xi64>
    %process1_oper1 = stablehlo.constant dense<[15, 16, 17, 18, 19]> : tensor<5xi64>
    %results:4 = "interpreter.run_parallel"(%process0_oper0, %process0_oper1, %process1_oper0, %process1_oper1) {
      programs=[[@all_reduce], [@all_reduce]]
    } : (tensor<4xi64>, tensor<5xi64>, tensor<4xi64>, tensor<5xi64>) -> (tensor<4xi64>, tensor<5xi64>, tensor<4xi64>, tensor<5xi64>)
    check.expect_eq_const %results#0, dense<[12, 14, 16, 18]> : tensor<4xi64> // process0_result0
    check.expect_eq_const %results#3, dense<[20, 22, 24, 26, 28]> : tensor<5xi64> // process1_result1
    %p0 = stablehlo.constant dense<[10]> : tensor<1xi64>
    %p1 = stablehlo.constant dense<[20]> : tensor<1xi64>
    %m:8 = "interpreter.run_parallel"(%p0, %p1, %p0, %p1, %p0, %p1, %p0, %p1) {
      programs=[[@mesh], [@mesh], [@mesh], [@mesh], [@mesh], [@mesh], [@mesh], [@mesh]]
    } : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
    check.expect_eq_const %m#0, dense<[20]> : tensor<1xi64>
    check.expect_eq_const %m#1, dense<[40]> : tensor<1xi64>
    %inputs0 = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi64>
    %inputs1 = stablehlo.constant dense<[[9, 10, 11, 12], [13, 14, 15, 16]]> : tensor<2x4xi64>
    %a:4 = "interpreter.run_parallel"(%inputs0, %inputs1) {
      programs=[[@all_to_all], [@all_to_all]]
    } : (tensor<2x4xi64>, tensor<2x4xi64>) -> (tensor<4x2xi64>, tensor<ui32>, tensor<4x2xi64>, tensor<ui32>)
    check.expect_eq_const %a#0, dense<[[11, 12], [15, 16], [3, 4], [7, 8]]> : tensor<4x2xi64>
    check.expect_eq_const %a#3, dense<1> : tensor<ui32>
    %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %y = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
    %c:3 = "interpreter.run_parallel"(%x, %y, %x) {
      programs=[[@permute, @permute, @permute]]
    } : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %c#0, dense<0> : tensor<2xi64>
    check.expect_eq_const %c#2, dense<[3, 4]> : tensor<2xi64>
    func.return
  }
}""",
    "implicit_broadcasts": """
func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %0 = chlo.broadcast_add %a, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[11.0, 22.0], [13.0, 24.0]]> : tensor<2x2xf32>
  %1 = "chlo.broadcast_compare"(%a, %b) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xi1>
  check.expect_eq_const %1, dense<true> : tensor<2x2xi1>
  %2 = "chlo.constant_like"(%a) <{value = 3.0 : f32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %2, dense<3.0> : tensor<2x2xf32>
  %o:3 = "stablehlo.batch_norm_training"(%a, %b, %b) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %o#1, dense<[2.0, 3.0]> : tensor<2xf32>
  check.expect_eq_const %o#2, dense<[1.0, 1.0]> : tensor<2xf32>
  check.expect_eq_const %o#0, dense<[[0.0, 0.0], [20.0, 40.0]]> : tensor<2x2xf32>
  %mean = stablehlo.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %v = stablehlo.constant dense<3.0> : tensor<2xf32>
  %g = stablehlo.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %d:3 = "stablehlo.batch_norm_grad"(%a, %b, %mean, %v, %g) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %d#0, dense<[[2.5, -3.75], [-2.5, 3.75]]> : tensor<2x2xf32>
  check.expect_eq_const %d#1, dense<[0.0, 0.5]> : tensor<2xf32>
  check.expect_eq_const %d#2, dense<1.0> : tensor<2xf32>
  return
}""",
    # The bits of XLA.
    "random_bits": """
func.func @main() {
  %k = stablehlo.constant dense<[8589934593, 17179869187]> : tensor<2xui64>
  %s, %o = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
  check.expect_eq_const %o, dense<[1576285164, 2249660814, 740599976]> : tensor<3xui32>
  %t, %p = stablehlo.rng_bit_generator %k, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
  check.expect_eq_const %p, dense<[512747620, 1298009047, 1267190206]> : tensor<3xui32>
  check.expect_eq_const %t, dense<[8589934593, 17179869188]> : tensor<2xui64>
  return
}""",
    # What native code leaves to the interpreter.
    "decompositions": """
func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
  check.expect_close %l, %l : tensor<2x2xf32>, tensor<2x2xf32>
  check.expect_almost_eq_const %l, dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %x = "stablehlo.triangular_solve"(%l, %a) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %x, dense<[[2.0, 1.0], [0.0, 2.0]]> : tensor<2x2xf32>
  %c = stablehlo.constant dense<[(1.0, 0.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  %f = stablehlo.fft %c, type = FFT, length = [2] : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %f, dense<[(1.0, 1.0), (1.0, -1.0)]> : tensor<2xcomplex<f32>>
  %m = stablehlo.constant dense<[[3.0, 0.0], [0.0, 0.0], [0.0, 2.0]]> : tensor<3x2xf32>
  %s:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%m) {mhlo.backend_config = {mode = 78 : ui8}} : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<i32>)
  check.expect_almost_eq_const %s#1, dense<[3.0, 2.0]> : tensor<2xf32>
  %v:5 = stablehlo.custom_call @lapack_sgeev_ffi(%a) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 78 : ui8}} : (tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>, tensor<i32>)
  check.expect_almost_eq_const %v#1, dense<0.0> : tensor<2xf32>
  return
}""",
}


def run(text: str, *options: str) -> tuple[int, str]:
    errors = io.StringIO()
    code = main(["-", *options], io.StringIO(text), io.StringIO(), errors)
    return code, errors.getvalue()


@pytest.mark.parametrize("backend", ["interpreter", "numba"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_check_themselves(name: str, backend: str) -> None:
    assert run(PROGRAMS[name], f"--backend={backend}") == (0, "")


@pytest.mark.parametrize("name", ["indexing", "reductions", "control_flow"])
def test_compiled_programs_check_themselves(name: str) -> None:
    assert run(PROGRAMS[name], "--pass-pipeline=compile", "--backend=interpreter") == (0, "")


LONG_SORT = """
func.func @main() {
  %i = stablehlo.iota dim = 0 : tensor<300xi32>
  %n = stablehlo.constant dense<7> : tensor<300xi32>
  %a = stablehlo.remainder %i, %n : tensor<300xi32>
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare GT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<300xi32>, tensor<300xi32>) -> (tensor<300xi32>, tensor<300xi32>)
  %1 = stablehlo.slice %0#1 [0:3] : (tensor<300xi32>) -> tensor<3xi32>
  check.expect_eq_const %1, dense<[6, 13, 20]> : tensor<3xi32>
  %2 = stablehlo.slice %0#1 [298:300] : (tensor<300xi32>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[287, 294]> : tensor<2xi32>
  return
}
"""


def test_a_long_sort_is_stable() -> None:
    """Long dimensions are merged; `tests/peers` sorts them in native code."""
    assert run(LONG_SORT) == (0, "")


@pytest.mark.parametrize("count", [129, 131, 160])
def test_long_sorts(count: int) -> None:
    """Runs of every length that divides the dimension, or of 1; NaN and zeros of both signs."""
    floats, integers = f"tensor<2x{count}x3xf32>", f"tensor<2x{count}x3xi32>"
    text = f"""
func.func @main(%a: {floats}, %i: {integers}) -> ({floats}, {integers}) {{
  %0:2 = "stablehlo.sort"(%a, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare GT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }}) : ({floats}, {integers}) -> ({floats}, {integers})
  return %0#0, %0#1 : {floats}, {integers}
}}"""
    rng = np.random.default_rng(count)
    given = rng.choice(np.float32([np.nan, -np.nan, -0.0, 0.0, 1.5, np.inf, 1e-42]), (2, count, 3))
    given = np.float32(given)
    places = np.broadcast_to(np.arange(count, dtype=np.int32)[:, None], given.shape).copy()
    bits = given.view(np.int32)
    order = np.argsort(-(bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64), 1, kind="stable")
    main = api.compile(text)["main"]
    for backend in ("interpreter", "numba"):
        found = main.run([given, places], backend=backend)
        np.testing.assert_array_equal(found[1], order)
        np.testing.assert_array_equal(found[0].view(np.int32), np.take_along_axis(bits, order, 1))


FAILING = """
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf32>
  %b = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%a, %b) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "numba"])
def test_a_failed_check_says_where_and_how_far(backend: str) -> None:
    code, errors = run(FAILING, f"--backend={backend}")
    assert code == 1
    assert "finds 2.5 at [1], expected 2.0: 1 of 2 elements differ, this one by 0.5" in errors


@pytest.mark.parametrize(("element", "k"), [("i32", 64), ("ui32", 64), ("i64", 4)])
def test_the_largest_integers_of_many(element: str, k: int) -> None:
    """The extremes of the type among equal ones."""
    limits = np.iinfo({"i32": np.int32, "ui32": np.uint32, "i64": np.int64}[element])
    text = f"""
func.func @main(%a: tensor<3x129x{element}>) -> (tensor<3x{k}x{element}>, tensor<3x{k}xi32>) {{
  %v, %i = chlo.top_k(%a, k = {k}) : tensor<3x129x{element}> -> (tensor<3x{k}x{element}>, tensor<3x{k}xi32>)
  return %v, %i : tensor<3x{k}x{element}>, tensor<3x{k}xi32>
}}"""
    few = [limits.min, limits.max, limits.min + 1, limits.max - 1, limits.max // 2 + 1]
    given = np.random.default_rng(0).choice(np.array(few, limits.dtype), (3, 129))
    given[2] = limits.min
    order = [sorted(range(129), key=lambda place: -int(row[place]))[:k] for row in given]
    main = api.compile(text)["main"]
    for backend in ("interpreter", "numba"):
        values, places = main.run([given], backend=backend)
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(given, np.array(order), 1))


@pytest.mark.parametrize("split", ["[{}, {}]", '[{"x"}, {}]', '[{}, {"x"}]'])
def test_the_largest_of_many(split: str) -> None:
    """NaN first, then by size; of equal ones the first, also where the row is split."""
    text = f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x150xf32> {{sdy.sharding = #sdy.sharding<@mesh, {split}>}}) -> (tensor<4x5xf32>, tensor<4x5xi32>) {{
  %v, %i = chlo.top_k(%a, k = 5) : tensor<4x150xf32> -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return %v, %i : tensor<4x5xf32>, tensor<4x5xi32>
}}"""
    given = np.random.default_rng(0).standard_normal((4, 150)).astype(np.float32)
    given[0, 5] = np.nan
    given[1, :60] = given[1, 60]
    given[2, 7:9] = np.inf, -np.inf
    keys = np.where(np.isnan(given), np.inf, given.astype(np.float64))
    order = np.argsort(-keys, axis=1, kind="stable")[:, :5]
    main = api.compile(text, "spmd")["main"]
    for backend in ("interpreter", "numba"):
        values, places = main.run([given], backend=backend)
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(given, order, 1))


def test_unsigned_numbers_in_uneven_shards() -> None:
    """Their sign is cast away at the boundary, where the sizes of shards are open."""
    text = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<3xui8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<3xui8> {
  %r = stablehlo.add %a, %a : tensor<3xui8>
  return %r : tensor<3xui8>
}"""
    main = api.compile(text, "compile")["main"]
    values = np.array([1, 2, 200], np.uint8)
    for backend in ("interpreter", "numba"):
        np.testing.assert_array_equal(main.run([values], backend=backend)[0], 2 * values)


def test_narrow_floats_move_between_devices() -> None:
    """They have no kernels, but what is only moved is bytes."""
    text = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x2xf8E5M2> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x2xf8E5M2> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<2x2xf8E5M2> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %r = stablehlo.slice %a [1:3, 0:2] : (tensor<4x2xf8E5M2>) -> tensor<2x2xf8E5M2>
  return %a, %r : tensor<4x2xf8E5M2>, tensor<2x2xf8E5M2>
}"""
    values = np.arange(8).reshape(4, 2).astype(ml_dtypes.float8_e5m2)
    whole, part = api.compile(text, "spmd")["main"].run([values])
    assert whole.dtype == part.dtype == values.dtype
    np.testing.assert_array_equal(whole.astype(np.float32), values.astype(np.float32))
    np.testing.assert_array_equal(part.astype(np.float32), values[1:3].astype(np.float32))


def test_the_reference_finds_the_largest_in_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One element after the other would take it minutes for rows of some thousand elements."""
    run_on_points = structured._run_sequentially

    def on_whole_rows(*arguments: Any) -> None:
        distinct, extents = arguments[3:5]
        assert len(distinct) == len(extents)
        run_on_points(*arguments)

    monkeypatch.setattr(structured, "_run_sequentially", on_whole_rows)
    text = """
func.func @main(%a: tensor<2x300xi8>) -> (tensor<2x64xi8>, tensor<2x64xi32>) {
  %v, %i = chlo.top_k(%a, k = 64) : tensor<2x300xi8> -> (tensor<2x64xi8>, tensor<2x64xi32>)
  return %v, %i : tensor<2x64xi8>, tensor<2x64xi32>
}"""
    given = np.random.default_rng(0).integers(-128, 128, (2, 300)).astype(np.int8)
    given[0, :] = -128
    order = np.argsort(-given.astype(int), axis=1, kind="stable")[:, :64]
    _, places = api.compile(text)["main"].run([given], backend="interpreter")
    np.testing.assert_array_equal(places, order)
