"""StableHLO programs on several devices, in both backends."""

# ruff: noqa: E501

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from mesh_opt import api
from self_checks import run

COLLECTIVES = """
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
  func.func @broadcast(%operand : tensor<1xi64>) -> tensor<1xi64> {
    %result = "stablehlo.collective_broadcast"(%operand) {
      replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>
    } : (tensor<1xi64>) -> tensor<1xi64>
    return %result : tensor<1xi64>
  }
  func.func public @sender(%operand : tensor<2xi64>) -> tensor<2xi64> {
    %result = "stablehlo.collective_permute"(%operand) {
      source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>
    } : (tensor<2xi64>) -> tensor<2xi64>
    return %result : tensor<2xi64>
  }
  func.func public @receiver(%operand : tensor<2xi64>) -> tensor<2xi64> {
    %result = "stablehlo.collective_permute"(%operand) {
      source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>
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
    %d:2 = "interpreter.run_parallel"(%x, %y) {
      programs=[[@sender], [@receiver]]
    } : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %d#0, dense<0> : tensor<2xi64>
    check.expect_eq %d#1, %x : tensor<2xi64>
    %e:3 = "interpreter.run_parallel"(%p0, %p0, %p1) {
      programs=[[@broadcast], [@broadcast], [@broadcast]]
    } : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
    check.expect_eq_const %e#0, dense<0> : tensor<1xi64>
    check.expect_eq_const %e#1, dense<20> : tensor<1xi64>
    func.return
  }
}"""
"""Several processes, written out beside each other."""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_collectives_check_themselves(backend: str) -> None:
    assert run(COLLECTIVES, f"--backend={backend}") == (0, "")


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
    for backend in ("interpreter", "native"):
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


SPLIT = {
    # Matrices of a batch, transforms, and a call of LAPACK as JAX writes it.
    "batches": (
        """
  %0 = stablehlo.cholesky %a, lower = true : tensor<4x3x3xf32>
  %1 = "stablehlo.triangular_solve"(%0, %a) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<4x3x3xf32>, tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
  %2 = stablehlo.fft %1, type = RFFT, length = [3] : (tensor<4x3x3xf32>) -> tensor<4x3x2xcomplex<f32>>
  %3 = stablehlo.real %2 : (tensor<4x3x2xcomplex<f32>>) -> tensor<4x3x2xf32>
  %4:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<4x3x3xf32>) -> (tensor<4x3x3xf32>, tensor<4x3xf32>, tensor<4xi32>)
  %5 = stablehlo.reshape %4#1 : (tensor<4x3xf32>) -> tensor<4x3x1xf32>
  %r = stablehlo.concatenate %3, %5, dim = 2 : (tensor<4x3x2xf32>, tensor<4x3x1xf32>) -> tensor<4x3x3xf32>""",
        [],
    ),
    # The gradient of a maximum in windows of one image, and of numbers that are taken along rows.
    "windows_of_a_batch": (
        """
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.slice %a [0:4, 0:2, 0:3] : (tensor<4x3x3xf32>) -> tensor<4x2x3xf32>
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 1, 2, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x3x3xf32>, tensor<4x2x3xf32>, tensor<f32>) -> tensor<4x3x3xf32>
  %i = stablehlo.constant dense<[[[0], [2]], [[1], [1]], [[3], [0]], [[-1], [2]]]> : tensor<4x2x1xi32>
  %r = "stablehlo.scatter"(%0, %i, %s) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x3x3xf32>, tensor<4x2x1xi32>, tensor<4x2x3xf32>) -> tensor<4x3x3xf32>""",
        [],
    ),
    # Each device adds its own updates; a maximum that nobody reads is not reduced.
    "sums_of_segments": (
        """
  %z = stablehlo.constant dense<0.0> : tensor<2x3x3xf32>
  %i = stablehlo.constant dense<[[1], [0], [1], [7]]> : tensor<4x1xi32>
  %0 = "stablehlo.scatter"(%z, %i, %a) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<2x3x3xf32>, tensor<4x1xi32>, tensor<4x3x3xf32>) -> tensor<2x3x3xf32>
  %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%a init: %l) applies stablehlo.maximum across dimensions = [0, 1, 2] : (tensor<4x3x3xf32>, tensor<f32>) -> tensor<f32>
  %n = stablehlo.negate %m : tensor<f32>
  %r = stablehlo.concatenate %0, %0, dim = 0 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<4x3x3xf32>""",
        ["shard.all_reduce"],
    ),
    # A window of one place reads what the device has.
    "window_of_one": (
        """
  %w = stablehlo.iota dim = 1 : tensor<1x3x3xf32>
  %r = stablehlo.convolution(%a, %w) dim_numbers = [0, b, f]x[0, i, o]->[0, b, f], window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x3x3xf32>, tensor<1x3x3xf32>) -> tensor<4x3x3xf32>""",
        [],
    ),
    # Updates that are all the same lie everywhere, the indices of each device do not move.
    "counts_of_segments": (
        """
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<4xi32>
  %p = stablehlo.slice %a [0:4, 0:1, 0:1] : (tensor<4x3x3xf32>) -> tensor<4x1x1xf32>
  %i = stablehlo.convert %p : (tensor<4x1x1xf32>) -> tensor<4x1x1xi32>
  %j = stablehlo.reshape %i : (tensor<4x1x1xi32>) -> tensor<4x1xi32>
  %0 = "stablehlo.scatter"(%z, %j, %o) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %c = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<2xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<2xi32>
  %f = stablehlo.convert %0 : (tensor<2xi32>) -> tensor<2xf32>
  %b = stablehlo.concatenate %f, %f, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %r = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<4xf32>) -> tensor<4x3x3xf32>""",
        ["shard.all_reduce"],
    ),
}
"""Bodies of functions from `%a` to `%r`, both split along the first dimension, and the collectives
that they need."""


@pytest.mark.parametrize("name", SPLIT)
def test_each_device_computes_its_own_part(name: str) -> None:
    body, expected = SPLIT[name]
    whole = name.endswith("_of_segments")
    text = f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x3x3xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}, {{}}]>}})
    -> (tensor<4x3x3xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{{"" if whole else '"x"'}}}, {{}}, {{}}]>}}) {{
{body}
  return %r : tensor<4x3x3xf32>
}}"""
    program = api.compile(text, "spmd")
    names = [op.name for op in program.module.walk() if op.name.startswith("shard.all_")]
    # A device takes its part of a constant without the others.
    assert [name for name in names if name != "shard.all_slice"] == expected
    random = np.random.default_rng(0).standard_normal((4, 3, 3)).astype(np.float32)
    values = random @ random.swapaxes(1, 2) + 2 * np.eye(3, dtype=np.float32)
    (wanted,) = program["main"].reference([values])
    for backend in ("interpreter", "native"):
        (found,) = program["main"].run([values], backend=backend)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


COMPLEX_SUMS = """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<4x16xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<16x3xcomplex<f32>>) -> (tensor<4xcomplex<f32>>, tensor<4x3xcomplex<f32>>) {
  %one = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
  %0 = stablehlo.reduce(%a init: %one) applies stablehlo.add across dimensions = [1] : (tensor<4x16xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x16xcomplex<f32>>, tensor<16x3xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
  return %0, %1 : tensor<4xcomplex<f32>>, tensor<4x3xcomplex<f32>>
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "numba"])
def test_sums_of_complex_numbers_are_split(backend: str) -> None:
    """Partial sums are added; an initial value counts once."""
    program = api.compile(COMPLEX_SUMS, "spmd", backend=backend)
    names = [operation.name for operation in program.module.walk()]
    assert "shard.all_gather" not in names and "shard.all_reduce" in names
    a, b = (
        (np.arange(n).reshape(shape) % 7 * (1 - 0.5j) + 1j).astype(np.complex64)
        for n, shape in ((64, (4, 16)), (48, (16, 3)))
    )
    sums, products = program["main"](a, b)
    np.testing.assert_allclose(sums, a.sum(1) + (1 + 2j), rtol=1e-5)
    np.testing.assert_allclose(products, a @ b, rtol=1e-5)


def test_a_process_is_called_as_a_function_too() -> None:
    text = """
func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "interpreter.run_parallel"(%a) {programs = [[@twice]]} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = func.call @twice(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
func.func @twice(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    a = np.float32([1, 2])
    for found in api.compile(text)["main"].run([a]):
        np.testing.assert_array_equal(found, 2 * a)


def test_uneven_batches_have_sizes_before_they_are_computed() -> None:
    """Storage of factors and transforms is as large as the device's part of the batch."""
    body = SPLIT["batches"][0].replace("<4x", "<5x")
    text = f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<5x3x3xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}, {{}}]>}})
    -> tensor<5x3x3xf32> {{
{body}
  return %r : tensor<5x3x3xf32>
}}"""
    main = api.compile(text, "compile")["main"]
    random = np.random.default_rng(0).standard_normal((5, 3, 3)).astype(np.float32)
    values = random @ random.swapaxes(1, 2) + 2 * np.eye(3, dtype=np.float32)
    (wanted,) = main.reference([values])
    for backend in ("interpreter", "native"):
        (found,) = main.run([values], backend=backend)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


ZEROS = """
func.func @total(%x: tensor<4x6xELEMENT>, %start: tensor<ELEMENT>) -> tensor<4xELEMENT> {
  %0 = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [1] : (tensor<4x6xELEMENT>, tensor<ELEMENT>) -> tensor<4xELEMENT>
  return %0 : tensor<4xELEMENT>
}
func.func @rows(%x: tensor<4x6xELEMENT>, %i: tensor<3x1xi32>) -> tensor<3x6xELEMENT> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xELEMENT>, tensor<3x1xi32>) -> tensor<3x6xELEMENT>
  return %0 : tensor<3x6xELEMENT>
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("element", ["f32", "bf16", "complex<f32>"])
def test_negative_zeros_keep_their_sign(element: str, backend: str) -> None:
    kind = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "complex<f32>": np.complex64}[element]
    zeros = np.full((4, 6), -0.0).astype(kind)
    if element == "complex<f32>":
        zeros = np.negative(np.zeros((4, 6), kind))
    annotated = 'shard-annotate{grid=2 args="x:[[],[0]]" functions=total},'
    annotated += 'shard-annotate{grid=@grid args="x:[[0]]" functions=rows},spmd'
    program = api.compile(ZEROS.replace("ELEMENT", element), annotated, backend=backend)
    rows = program["rows"](zeros, np.array([[3], [0], [1]], np.int32))
    for found in (program["total"](zeros, zeros[0, 0]), rows):
        parts = found.view(np.float32) if element == "complex<f32>" else found
        assert np.signbit(parts).all() and not parts.any()
