"""scf, cf, func and affine: loops, branches, calls, recursion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mesh_opt.interpreter import calls


def test_for_while_and_if(execute: Any) -> None:
    text = """
    func.func @f(%n: index, %x: i32) -> (i32, i32, i32) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %sum = scf.for %i = %c0 to %n step %c2 iter_args(%s = %zero) -> (i32) {
        %v = arith.index_cast %i : index to i32
        %t = arith.addi %s, %v : i32
        scf.yield %t : i32
      }
      %count:2 = scf.while (%v = %x, %k = %zero) : (i32, i32) -> (i32, i32) {
        %more = arith.cmpi sgt, %v, %one : i32
        scf.condition(%more) %v, %k : i32, i32
      } do {
      ^bb0(%v: i32, %k: i32):
        %two = arith.constant 2 : i32
        %h = arith.divsi %v, %two : i32
        %l = arith.addi %k, %one : i32
        scf.yield %h, %l : i32, i32
      }
      %big = arith.cmpi sgt, %sum, %x : i32
      %which = scf.if %big -> (i32) {
        scf.yield %sum : i32
      } else {
        scf.yield %x : i32
      }
      return %sum, %count#1, %which : i32, i32, i32
    }"""
    total, halvings, larger = execute(text, np.int64(7), np.int32(40))
    assert (total, halvings, larger) == (0 + 2 + 4 + 6, 5, 40)


def test_a_step_that_is_not_positive(execute_error: Any) -> None:
    text = """
    func.func @f(%n: index) {
      %c0 = arith.constant 0 : index
      scf.for %i = %c0 to %n step %c0 {
      }
      return
    }"""
    assert "step 0" in execute_error(text, np.int64(3)).message


def test_parallel_switch_and_execute_region(execute: Any) -> None:
    text = """
    func.func @f(%n: index) -> (i32, i32, i32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %sum = "scf.parallel"(%c0, %c0, %n, %n, %c1, %c1, %zero)
          <{operandSegmentSizes = array<i32: 2, 2, 2, 1>}> ({
      ^bb0(%i: index, %j: index):
        %k = arith.muli %i, %j : index
        %v = arith.index_cast %k : index to i32
        scf.reduce(%v : i32) {
        ^bb0(%a: i32, %b: i32):
          %t = arith.addi %a, %b : i32
          scf.reduce.return %t : i32
        }
      }) : (index, index, index, index, index, index, i32) -> i32
      %s = scf.index_switch %n -> i32
      case 3 {
        %v = arith.constant 30 : i32
        scf.yield %v : i32
      }
      default {
        scf.yield %zero : i32
      }
      %e = scf.execute_region -> (i32) {
        %v = arith.constant 5 : i32
        scf.yield %v : i32
      }
      return %sum, %s, %e : i32, i32, i32
    }"""
    assert [int(each) for each in execute(text, np.int64(3))] == [9, 30, 5]
    assert [int(each) for each in execute(text, np.int64(2))] == [1, 0, 5]


def test_forall_inserts_in_parallel(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<4x3xf32>, %n: index) -> tensor<4x3xf32> {
      %0 = "scf.forall"(%n, %x) <{operandSegmentSizes = array<i32: 0, 1, 0, 1>,
          staticLowerBound = array<i64: 0>, staticUpperBound = array<i64: -9223372036854775808>,
          staticStep = array<i64: 2>}> ({
      ^bb0(%i: index, %o: tensor<4x3xf32>):
        %row = tensor.extract_slice %o[%i, 0] [1, 3] [1, 1] : tensor<4x3xf32> to tensor<1x3xf32>
        %y = arith.negf %row : tensor<1x3xf32>
        "scf.forall.in_parallel"() ({
          "tensor.parallel_insert_slice"(%y, %o, %i) <{
              operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>,
              static_offsets = array<i64: -9223372036854775808, 0>, static_sizes = array<i64: 1, 3>,
              static_strides = array<i64: 1, 1>}>
              : (tensor<1x3xf32>, tensor<4x3xf32>, index) -> ()
        }) : () -> ()
      }) : (index, tensor<4x3xf32>) -> tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }"""
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    expected = x.copy()
    expected[::2] *= -1
    np.testing.assert_array_equal(execute(text, x, np.int64(4))[0], expected)


def test_blocks_and_branches(execute: Any) -> None:
    text = """
    func.func @f(%n: i32) -> i32 {
      %one = arith.constant 1 : i32
      cf.br ^head(%one, %n : i32, i32)
    ^head(%product: i32, %k: i32):
      %more = arith.cmpi sgt, %k, %one : i32
      cf.cond_br %more, ^body, ^end(%product : i32)
    ^body:
      %p = arith.muli %product, %k : i32
      %l = arith.subi %k, %one : i32
      cf.br ^head(%p, %l : i32, i32)
    ^end(%result: i32):
      return %result : i32
    }"""
    assert execute(text, np.int32(5))[0] == 120


def test_switch(execute: Any) -> None:
    text = """
    func.func @f(%n: i32) -> i32 {
      %a = arith.constant 10 : i32
      %b = arith.constant 20 : i32
      cf.switch %n : i32, [
        default: ^end(%n : i32),
        1: ^end(%a : i32),
        7: ^end(%b : i32)
      ]
    ^end(%result: i32):
      return %result : i32
    }"""
    assert [int(execute(text, np.int32(n))[0]) for n in (1, 7, 3)] == [10, 20, 3]


def test_assertions(execute_error: Any) -> None:
    text = """
    func.func @f(%c: i1) {
      cf.assert %c, "sizes differ"
      return
    }"""
    assert "sizes differ" in execute_error(text, np.bool_(False)).message


_RECURSION = """
func.func @f(%n: i64) -> i64 {
  %r = func.call @down(%n) : (i64) -> i64
  return %r : i64
}
func.func private @down(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %done = arith.cmpi eq, %n, %zero : i64
  %r = scf.if %done -> (i64) {
    scf.yield %zero : i64
  } else {
    %m = arith.subi %n, %one : i64
    %s = func.call @down(%m) : (i64) -> i64
    %t = arith.addi %s, %one : i64
    scf.yield %t : i64
  }
  return %r : i64
}"""


def test_deep_recursion_does_not_use_python_stack(execute: Any) -> None:
    assert execute(_RECURSION, np.int64(3000))[0] == 3000


def test_endless_recursion_is_an_error(execute_error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAXIMAL_DEPTH", 50)
    assert "recurse without end" in execute_error(_RECURSION, np.int64(-1)).message


def test_calls_of_declarations_and_of_nothing(execute_error: Any) -> None:
    text = """
    func.func private @g()
    func.func @f() {
      func.call @g() : () -> ()
      return
    }"""
    assert "only declared" in execute_error(text).message


def test_unknown_operations(execute_error: Any) -> None:
    text = """
    func.func @f() {
      "strange.thing"() : () -> ()
      return
    }"""
    error = execute_error(text)
    assert "the interpreter does not support" in error.message
    assert error.operation.location is not None


def test_affine(execute: Any) -> None:
    text = """
    func.func @f(%i: index, %j: index)
        -> (index, index, index, index, index, index, index) {
      %0 = affine.apply affine_map<(a)[b] -> (a * 3 + b floordiv 2 - 1)>(%i)[%j]
      %1 = affine.min affine_map<(a, b) -> (a, b)>(%i, %j)
      %2 = "affine.max"(%i, %j) <{map = affine_map<(a, b) -> (a, b mod 4)>}>
          : (index, index) -> index
      %3:2 = "affine.delinearize_index"(%i) <{static_basis = array<i64: 4, 5>}>
          : (index) -> (index, index)
      %4 = "affine.linearize_index"(%3#0, %3#1) <{static_basis = array<i64: 4, 5>,
          operandSegmentSizes = array<i32: 2, 0>}> : (index, index) -> index
      %5 = affine.apply affine_map<(a)[b, c] -> (b * (a + 1) + b * c)>(%i)[%i, %j]
      return %0, %1, %2, %3#0, %3#1, %4, %5
        : index, index, index, index, index, index, index
    }"""
    results = [int(each) for each in execute(text, np.int64(13), np.int64(7))]
    assert results == [13 * 3 + 3 - 1, 7, 13, 2, 3, 13, 13 * 14 + 13 * 7]


def test_affine_bounds_at_all_points_of_a_nest(execute: Any) -> None:
    text = """
    func.func @f() -> tensor<5x3xindex> {
      %e = tensor.empty() : tensor<5x3xindex>
      %c4 = arith.constant 4 : index
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]} outs(%e : tensor<5x3xindex>) {
      ^bb0(%o: index):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %0 = affine.min affine_map<(d0)[s0] -> (d0 + 2, s0)>(%i)[%c4]
        %1 = affine.max affine_map<(d0, d1) -> (d0 - 1, 0, d1)>(%j, %0)
        linalg.yield %1 : index
      } -> tensor<5x3xindex>
      return %r : tensor<5x3xindex>
    }"""
    rows, columns = np.mgrid[:5, :3]
    (result,) = execute(text)
    np.testing.assert_array_equal(result, np.maximum(columns - 1, np.minimum(rows + 2, 4)))


def test_affine_loops(execute: Any) -> None:
    text = """
    func.func @f(%n: index) -> i32 {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %r = affine.for %i = 0 to %n step 2 iter_args(%s = %zero) -> (i32) {
        %t = arith.addi %s, %one : i32
        affine.yield %t : i32
      }
      return %r : i32
    }"""
    assert execute(text, np.int64(7))[0] == 4


def test_affine_condition(execute: Any, execute_error: Any) -> None:
    text = """
    func.func @f(%i: index, %s: index) -> index {
      %r = "affine.if"(%i, %s) <{condition = affine_set<(a)[b] : (a mod b == 0, a - 1 >= 0)>}> ({
        affine.yield %i : index
      }, {
        affine.yield %s : index
      }) : (index, index) -> index
      return %r : index
    }"""
    assert [execute(text, np.int64(i), np.int64(4))[0] for i in (8, 9, 0)] == [8, 4, 4]
    error = execute_error(text, np.int64(8), np.int64(0))
    assert "divides by a number that is not positive" in str(error)
