"""The tosa dialect in whole programs: several results, regions, shapes that are computed."""

from __future__ import annotations

from typing import Any

import numpy as np


def _random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_data_movement(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<2x3xf32>)
        -> (tensor<3x2xf32>, tensor<6x1xf32>, tensor<4x3xf32>, tensor<2x3xf32>, tensor<4x6xf32>,
            tensor<1x2xf32>, tensor<4x4xf32>) {
      %0 = tosa.transpose %x {perms = array<i32: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %s = tosa.const_shape {values = dense<[6, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
      %1 = tosa.reshape %x, %s : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<6x1xf32>
      %2 = tosa.concat %x, %x {axis = 0 : i32}
          : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
      %3 = tosa.reverse %x {axis = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %m = tosa.const_shape {values = dense<2> : tensor<2xindex>} : () -> !tosa.shape<2>
      %4 = tosa.tile %x, %m : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<4x6xf32>
      %t = tosa.const_shape {values = dense<1> : tensor<2xindex>} : () -> !tosa.shape<2>
      %n = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
      %5 = tosa.slice %x, %t, %n : (tensor<2x3xf32>, !tosa.shape<2>, !tosa.shape<2>)
          -> tensor<1x2xf32>
      %p = tosa.const_shape {values = dense<[1, 1, 0, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
      %v = "tosa.const"() {values = dense<7.0> : tensor<1xf32>} : () -> tensor<1xf32>
      %6 = tosa.pad %x, %p, %v : (tensor<2x3xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<4x4xf32>
      return %0, %1, %2, %3, %4, %5, %6 : tensor<3x2xf32>, tensor<6x1xf32>, tensor<4x3xf32>,
          tensor<2x3xf32>, tensor<4x6xf32>, tensor<1x2xf32>, tensor<4x4xf32>
    }"""
    x = _random(2, 3)
    expected = [
        x.T,
        x.reshape(6, 1),
        np.concatenate([x, x]),
        x[:, ::-1],
        np.tile(x, (2, 2)),
        x[1:2, 1:3],
        np.pad(x, ((1, 1), (0, 1)), constant_values=7),
    ]
    for result, wanted in zip(execute(text, x), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


APPLY_SCALE = """
func.func @f(%v: tensor<?xi32>, %m: i32, %s: i8) -> tensor<?xi32> {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}} ins(%v : tensor<?xi32>) outs(%v : tensor<?xi32>) {{
  ^bb0(%x: i32, %old: i32):
    %y = tosa.apply_scale %x, %m, %s {{rounding_mode = {}}} : (i32, i32, i8) -> i32
    linalg.yield %y : i32
  }} -> tensor<?xi32>
  return %r : tensor<?xi32>
}}"""


def test_apply_scale(execute: Any, execute_error: Any) -> None:
    single, double = (APPLY_SCALE.format(f"{mode}_ROUND") for mode in ("SINGLE", "DOUBLE"))
    x = np.int32([0, 1, 3, -3, -5, 1000])
    # A half is rounded up.
    scaled = [0, 1, 2, -1, -2, 500]
    (result,) = execute(single, x, np.int32(1 << 30), np.int8(31))
    assert result.tolist() == scaled
    (result,) = execute(double, x, np.int32(1 << 30), np.int8(31))
    assert result.tolist() == scaled
    # A quarter: beyond 31 bits, a half is rounded away from zero.
    y = np.int32([2, -2, 6, -6])
    (result,) = execute(single, y, np.int32(1 << 30), np.int8(32))
    assert result.tolist() == [1, 0, 2, -1]
    (result,) = execute(double, y, np.int32(1 << 30), np.int8(32))
    assert result.tolist() == [1, -1, 2, -2]
    error = execute_error(single, x, np.int32(1), np.int8(1))
    assert error.message == "shifts by less than 2 or by more than 62 bits"
    error = execute_error(single, x, np.int32(-1), np.int8(31))
    assert error.message == "has a negative multiplier"
    error = execute_error(single, x, np.int32(1), np.int8(10))
    assert "does not fit" in error.message


def test_control_flow(execute: Any) -> None:
    text = """
    func.func @f(%c: tensor<i1>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>) {
      %0 = "tosa.cond_if"(%c, %x) ({
      ^bb0(%a: tensor<2xf32>):
        %t = "tosa.exp"(%a) : (tensor<2xf32>) -> tensor<2xf32>
        "tosa.yield"(%t) : (tensor<2xf32>) -> ()
      }, {
      ^bb0(%a: tensor<2xf32>):
        "tosa.yield"(%a) : (tensor<2xf32>) -> ()
      }) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
      %n = arith.constant dense<0> : tensor<i32>
      %1 = "tosa.while_loop"(%n) ({
      ^bb0(%a: tensor<i32>):
        %five = arith.constant dense<5> : tensor<i32>
        %more = "tosa.greater"(%five, %a) : (tensor<i32>, tensor<i32>) -> tensor<i1>
        "tosa.yield"(%more) : (tensor<i1>) -> ()
      }, {
      ^bb0(%a: tensor<i32>):
        %two = arith.constant dense<2> : tensor<i32>
        %b = "tosa.add"(%a, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        "tosa.yield"(%b) : (tensor<i32>) -> ()
      }) : (tensor<i32>) -> tensor<i32>
      return %0, %1 : tensor<2xf32>, tensor<i32>
    }"""
    x = np.float32([0, 1])
    assert execute(text, np.bool_(False), x)[0].tolist() == [0, 1]
    powers, count = execute(text, np.bool_(True), x)
    np.testing.assert_allclose(powers, np.exp(x), rtol=1e-6)
    assert count == 6


def test_fourier_transforms(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<1x4x8xf32>)
        -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
      %z = arith.constant dense<0.0> : tensor<1x4x8xf32>
      %0, %1 = "tosa.rfft2d"(%x) : (tensor<1x4x8xf32>) -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>)
      %2, %3 = "tosa.fft2d"(%x, %z) <{inverse = true}>
          : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>)
      return %0, %1, %2, %3 : tensor<1x4x5xf32>, tensor<1x4x5xf32>, tensor<1x4x8xf32>,
          tensor<1x4x8xf32>
    }"""
    x = _random(1, 4, 8)
    real, imaginary, back, rest = execute(text, x)
    np.testing.assert_allclose(real + 1j * imaginary, np.fft.rfft2(x), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(back + 1j * rest, np.fft.ifft2(x) * 32, rtol=1e-4, atol=1e-4)


def test_shape_arithmetic(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<?x3xf32>) -> tensor<?x?xf32> {
      %n = "tosa.dim"(%x) <{axis = 0 : i32}> : (tensor<?x3xf32>) -> !tosa.shape<1>
      %two = "tosa.const_shape"() <{values = dense<2> : tensor<1xindex>}> : () -> !tosa.shape<1>
      %three = "tosa.const_shape"() <{values = dense<3> : tensor<1xindex>}> : () -> !tosa.shape<1>
      %a = "tosa.mul_shape"(%n, %three) : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
      %b = "tosa.div_floor_shape"(%a, %two) : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
      %s = "tosa.concat_shape"(%two, %b) : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<2>
      %r = "tosa.reshape"(%x, %s) : (tensor<?x3xf32>, !tosa.shape<2>) -> tensor<?x?xf32>
      return %r : tensor<?x?xf32>
    }"""
    x = _random(4, 3)
    np.testing.assert_array_equal(execute(text, x)[0], x.reshape(2, 6))
