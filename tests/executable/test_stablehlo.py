"""What StableHLO programs compute, in both backends: each checks itself."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt import api
from self_checks import run

PROGRAMS = {
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
    "reductions": """
func.func @main() {
  %one = stablehlo.constant dense<1.0> : tensor<1000xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%one init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000xbf16>, tensor<bf16>) -> tensor<bf16>
  check.expect_eq_const %0, dense<1000.0> : tensor<bf16>
  %1 = stablehlo.dot_general %one, %one, contracting_dims = [0] x [0] : (tensor<1000xbf16>, tensor<1000xbf16>) -> tensor<bf16>
  check.expect_eq_const %1, dense<1000.0> : tensor<bf16>
  %h = stablehlo.constant dense<1.5> : tensor<3xf32>
  %h1 = stablehlo.dot_general %h, %h, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<i32>
  check.expect_eq_const %h1, dense<6> : tensor<i32>
  %h2 = "stablehlo.einsum"(%h, %h) <{einsum_config = "i,i->"}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<i32>
  check.expect_eq_const %h2, dense<6> : tensor<i32>
  %m = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %u1 = stablehlo.unary_einsum %m, config = "ab->ba" : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %u1, dense<[[1.0, 3.0], [2.0, 4.0]]> : tensor<2x2xf32>
  %u2 = "stablehlo.unary_einsum"(%m) {einsum_config = "aa->"} : (tensor<2x2xf32>) -> tensor<f32>
  check.expect_eq_const %u2, dense<5.0> : tensor<f32>
  %u3 = "stablehlo.cross-replica-sum"(%m) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %u3, %m : tensor<2x2xf32>
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
  %e13 = "stablehlo.select_and_scatter"(%z, %z, %z) <{window_dimensions = array<i64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %e13, dense<2.0> : tensor<f32>
  %two = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %e12 = stablehlo.dynamic_pad %e, %z, %two, %two, %two : (tensor<0x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x3xf32>
  check.expect_eq_const %e12, dense<1.0> : tensor<4x3xf32>
  %none = util.optimization_barrier %e : tensor<0x3xf32>
  %open = tensor.cast %none : tensor<0x3xf32> to tensor<?x3xf32>
  %e15 = stablehlo.dynamic_pad %open, %z, %two, %two, %two : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x3xf32>
  check.expect_eq_const %e15, dense<1.0> : tensor<4x3xf32>
  %p = stablehlo.partition_id : tensor<ui32>
  check.expect_eq_const %p, dense<0> : tensor<ui32>
  return
}""",
    # Edges that remove more than there is, and windows wider than their dimension.
    "windows_of_nothing": """
func.func @main() {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.constant dense<> : tensor<0x2xf32>
  %0 = "stablehlo.reduce_window"(%e, %z) <{window_dimensions = array<i64: 2, 1>, padding = dense<[[-1, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<0x2xf32>, tensor<f32>) -> tensor<0x2xf32>
  check.expect_eq_const %0, dense<> : tensor<0x2xf32>
  %a = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %k = stablehlo.constant dense<1.0> : tensor<1x1x1xf32>
  %1 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[-4, -1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<1x1x1xf32>) -> tensor<1x0x1xf32>
  check.expect_eq_const %1, dense<> : tensor<1x0x1xf32>
  %n = stablehlo.constant dense<3> : tensor<1xi32>
  %d = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %2 = "stablehlo.reduce_window"(%d, %z) <{window_dimensions = array<i64: 5>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %3 = "stablehlo.reduce_window"(%d, %z) <{window_dimensions = array<i64: 1>, padding = dense<[[-4, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %4 = stablehlo.get_dimension_size %2, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %5 = stablehlo.get_dimension_size %3, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %6 = stablehlo.add %4, %5 : tensor<i32>
  check.expect_eq_const %6, dense<0> : tensor<i32>
  return
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
    # Tokens, tuples in tuples, and a loop that stores a constant of one element.
    "tokens_and_tuples": """
func.func @main() {
  %t = stablehlo.create_token : !stablehlo.token
  %c = stablehlo.constant dense<1> : tensor<i64>
  %w:2 = stablehlo.while(%a = %c, %b = %t) : tensor<i64>, !stablehlo.token
   cond {
    %n = stablehlo.constant dense<5> : tensor<i64>
    %l = stablehlo.compare LT, %a, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %n = stablehlo.add %a, %c : tensor<i64>
    %z = stablehlo.after_all %b : !stablehlo.token
    stablehlo.return %n, %z : tensor<i64>, !stablehlo.token
  }
  %p = stablehlo.tuple %w#0, %c : tuple<tensor<i64>, tensor<i64>>
  %q = stablehlo.tuple %c, %p : tuple<tensor<i64>, tuple<tensor<i64>, tensor<i64>>>
  %r = stablehlo.get_tuple_element %q[1] : (tuple<tensor<i64>, tuple<tensor<i64>, tensor<i64>>>) -> tuple<tensor<i64>, tensor<i64>>
  %s = stablehlo.get_tuple_element %r[0] : (tuple<tensor<i64>, tensor<i64>>) -> tensor<i64>
  check.expect_eq_const %s, dense<5> : tensor<i64>
  return
}""",
    "loops_of_unknown_sizes": """
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %u = tensor.cast %a : tensor<2xf32> to tensor<?xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.while"(%u, %i) ({
  ^bb0(%x: tensor<?xf32>, %k: tensor<i32>):
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<2xf32>, %k: tensor<i32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %y = stablehlo.add %x, %x : tensor<2xf32>
    %j = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %y, %j : tensor<2xf32>, tensor<i32>
  }) : (tensor<?xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<i32>)
  check.expect_eq_const %r#0, dense<[8.0, 16.0]> : tensor<2xf32>
  return
}""",
    "tuples_in_signatures": """
func.func @main() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.constant dense<3> : tensor<i32>
  %t = stablehlo.tuple %0, %1 : tuple<tensor<2xf32>, tensor<i32>>
  %o = stablehlo.optimization_barrier %t : tuple<tensor<2xf32>, tensor<i32>>
  %r = "stablehlo.while"(%o) ({
  ^bb0(%s: tuple<tensor<2xf32>, tensor<i32>>):
    %i = stablehlo.get_tuple_element %s[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
    %n = stablehlo.constant dense<6> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%s: tuple<tensor<2xf32>, tensor<i32>>):
    %q = func.call @step(%s) : (tuple<tensor<2xf32>, tensor<i32>>) -> tuple<tensor<2xf32>, tensor<i32>>
    stablehlo.return %q : tuple<tensor<2xf32>, tensor<i32>>
  }) : (tuple<tensor<2xf32>, tensor<i32>>) -> tuple<tensor<2xf32>, tensor<i32>>
  %x = stablehlo.get_tuple_element %r[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  check.expect_eq_const %x, dense<[8.0, 16.0]> : tensor<2xf32>
  return
}
func.func private @step(%s: tuple<tensor<2xf32>, tensor<i32>>) -> tuple<tensor<2xf32>, tensor<i32>> {
  %x = stablehlo.get_tuple_element %s[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  %i = stablehlo.get_tuple_element %s[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %y = stablehlo.add %x, %x : tensor<2xf32>
  %q = stablehlo.tuple %y, %j : tuple<tensor<2xf32>, tensor<i32>>
  return %q : tuple<tensor<2xf32>, tensor<i32>>
}""",
    "processes": """
func.func @fed() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func @sends(%t: !stablehlo.token) -> !stablehlo.token {
  %0:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %1 = "stablehlo.send"(%0#0, %0#1) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
  return %1 : !stablehlo.token
}
func.func @receives(%t: !stablehlo.token) -> tensor<2xi64> {
  %0:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %1 = stablehlo.add %0#0, %0#0 : tensor<2xi64>
  %2 = "stablehlo.outfeed"(%1, %0#1) {outfeed_config = ""} : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
  return %1 : tensor<2xi64>
}
func.func @gathers(%a: tensor<1xi64>) -> tensor<2xi64> {
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<1xi64>):
    %1 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<1xi64>) -> tensor<2xi64>
    stablehlo.return %1 : tensor<2xi64>
  }) : (tensor<1xi64>) -> !stablehlo.future<tensor<2xi64>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xi64>>) -> tensor<2xi64>
  return %2 : tensor<2xi64>
}
func.func @main() {
  %t = stablehlo.create_token : !stablehlo.token
  %0:2 = "interpreter.run_parallel"(%t, %t) {infeed = [@fed], programs = [[@receives], [@sends]]} : (!stablehlo.token, !stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  check.expect_eq_const %0#0, dense<[2, 4]> : tensor<2xi64>
  %a = stablehlo.constant dense<[1]> : tensor<1xi64>
  %b = stablehlo.constant dense<[2]> : tensor<1xi64>
  %1:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@gathers], [@gathers]]} : (tensor<1xi64>, tensor<1xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %1#0, dense<[2, 1]> : tensor<2xi64>
  return
}""",
    # What a probe was given is compared later, for each of its runs.
    "probes": """
func.func @main() {
  %i = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %three = stablehlo.constant dense<3> : tensor<i64>
  %r = stablehlo.while(%a = %i) : tensor<i64>
   cond {
    %l = stablehlo.compare LT, %a, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %n = stablehlo.add %a, %one : tensor<i64>
    %p = interpreter.probe %n, probe_id = "runs" : tensor<i64>
    stablehlo.return %p : tensor<i64>
  }
  check.expect_serialized_eq %one, probe_id = "runs" : tensor<i64>
  check.expect_serialized_eq %three, probe_id = "runs", iter = 2 : tensor<i64>
  %u = stablehlo.constant dense<255> : tensor<ui8>
  %q = interpreter.probe %u, probe_id = "unsigned" : tensor<ui8>
  check.expect_serialized_eq %q, probe_id = "unsigned", iter = 0 : tensor<ui8>
  stablehlo.custom_call @check.expect_serialized_eq(%q) {has_side_effect = true, probe_id = "unsigned", iteration = 0 : ui32} : (tensor<ui8>) -> ()
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
    # A factorisation of three columns has two reflectors: this one swaps the first two numbers.
    "reflectors_of_wide_matrices": """
func.func @main() {
  %a = stablehlo.constant dense<[[9.0, 9.0, 9.0], [-1.0, 9.0, 9.0]]> : tensor<2x3xf32>
  %t = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %c = stablehlo.constant dense<[[3.0], [5.0]]> : tensor<2x1xf32>
  %0 = stablehlo.custom_call @lapack_sormqr_ffi(%a, %t, %c) {mhlo.backend_config = {left = true, transpose = false}} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  check.expect_almost_eq_const %0, dense<[[5.0], [3.0]]> : tensor<2x1xf32>
  return
}""",
    # A system of one row has no elements beside the diagonal.
    "tridiagonal_systems_of_one_row": """
func.func @main() {
  %d = stablehlo.constant dense<4.0> : tensor<1xf32>
  %b = stablehlo.constant dense<[[8.0, 2.0]]> : tensor<1x2xf32>
  %0:5 = stablehlo.custom_call @lapack_sgtsv_ffi(%d, %d, %d, %b) : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1x2xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1x2xf32>, tensor<i32>)
  check.expect_almost_eq_const %0#3, dense<[[2.0, 0.5]]> : tensor<1x2xf32>
  check.expect_eq_const %0#4, dense<0> : tensor<i32>
  return
}""",
}


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_check_themselves(name: str, backend: str) -> None:
    assert run(PROGRAMS[name], f"--backend={backend}") == (0, "")


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_probes_that_did_not_run_are_errors(backend: str) -> None:
    text = PROGRAMS["probes"].replace("iter = 2", "iter = 3")
    code, errors = run(text, f"--backend={backend}")
    assert code == 1 and 'expects run 3 of the probe "runs", which has run 3 times' in errors


def test_values_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = """
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf32>
  %b = interpreter.print %a : tensor<2xf32>
  check.expect_eq %a, %b : tensor<2xf32>
  return
}"""
    assert run(text, "--backend=interpreter") == (0, "")
    assert "tensor<2xf32> [1.0, 2.5]" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["indexing", "reductions", "control_flow"])
def test_compiled_programs_check_themselves(name: str) -> None:
    assert run(PROGRAMS[name], "--pass-pipeline=compile", "--backend=interpreter") == (0, "")


FAILING = """
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf32>
  %b = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%a, %b) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_a_failed_check_says_where_and_how_far(backend: str) -> None:
    code, errors = run(FAILING, f"--backend={backend}")
    assert code == 1
    assert "finds 2.5 at [1], expected 2.0: 1 of 2 elements differ, this one by 0.5" in errors


ASSERTION = """
func.func @main(%a: tensor<?xi32>) {
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %d = stablehlo.subtract %n, %three : tensor<i32>
  %ok = stablehlo.compare GE, %n, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%ok, %d, %n) {error_message = "b - 3 is {0}, b is {1}, not {2}", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
  return
}
"""


@pytest.mark.parametrize("options", [("interpreter",), ("native",), ("native", "compile")])
def test_a_failed_shape_assertion_shows_the_values(options: tuple[str, ...]) -> None:
    backend, *pipeline = options
    flags = [f"--backend={backend}", *(f"--pass-pipeline={each}" for each in pipeline)]
    assert run(ASSERTION, *flags, "--input=3xi32=0") == (0, "")
    code, errors = run(ASSERTION, *flags, "--input=2xi32=0")
    assert code == 1
    assert "does not hold: b - 3 is -1, b is 2, not {2}" in errors


@pytest.mark.parametrize("pipeline", ["", "compile"])
@pytest.mark.parametrize("element", ["ui4", "ui8"])
def test_globals_of_unsigned_integers(element: str, pipeline: str) -> None:
    """They keep the sign that the values of converted operations do not have."""
    kind = f"tensor<3x{element}>"
    text = f"""util.global private mutable @g = dense<[1, 8, 15]> : {kind}
    func.func @main(%a: {kind}) -> {kind} {{
      %0 = util.global.load @g : {kind}
      %1 = stablehlo.maximum %a, %0 : {kind}
      util.global.store %1, @g : {kind}
      %2 = util.global.load @g : {kind}
      return %2 : {kind}
    }}"""
    for backend in ("interpreter", "native"):
        main = api.compile(text, pipeline, backend=backend)["main"]
        (found,) = main.run([np.array([9, 7, 14], np.uint8)])
        np.testing.assert_array_equal(found, [9, 8, 15])
