"""Programs written for one device inside of a program for all: collectives against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mesh_opt.api import ExecutionError, Program, compile

MESH = '<@mesh, [{"x"}, {"y"}]>'
BODY = """
  %add = "stablehlo.all_reduce"(%b) <{{{channel}
      replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}}> ({{
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }}) : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %round = "stablehlo.collective_permute"(%b) <{{{channel}
      source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]> : tensor<4x2xi64>}}>
      : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %some = "stablehlo.collective_permute"(%b) <{{{channel}
      source_target_pairs = dense<[[3, 0], [0, 1]]> : tensor<2x2xi64>}}>
      : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %turn = "stablehlo.all_to_all"(%b) <{{{channel}
      concat_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>,
      split_count = 2 : i64, split_dimension = 1 : i64}}>
      : (tensor<2x2xi32>) -> tensor<4x1xi32>
  %turned = stablehlo.reshape %turn : (tensor<4x1xi32>) -> tensor<2x2xi32>
  %root = "stablehlo.collective_broadcast"(%b) <{{{channel}
      replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}>
      : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %id = stablehlo.partition_id : tensor<ui32>
  %number = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
  %numbers = stablehlo.broadcast_in_dim %number, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
  sdy.return {results} : {types}
"""
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
RESULTS = ["%add", "%round", "%some", "%turned", "%root", "%numbers"]


def _program(backend: str, pipeline: str = "spmd") -> Program:
    whole = ", ".join(["tensor<4x4xi32>"] * len(RESULTS))
    body = BODY.format(
        channel=CHANNEL,
        results=", ".join(RESULTS),
        types=", ".join(["tensor<2x2xi32>"] * len(RESULTS)),
    )
    names = ", ".join(f"%r#{index}" for index in range(len(RESULTS)))
    text = f"""
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xi32>) -> ({whole}) {{
  %r:{len(RESULTS)} = sdy.manual_computation(%a) in_shardings=[{MESH}]
      out_shardings=[{", ".join([MESH] * len(RESULTS))}] manual_axes={{"x", "y"}}
      (%b: tensor<2x2xi32>) {{
  {body}
  }} : (tensor<4x4xi32>) -> ({whole})
  return {names} : {whole}
}}
"""
    return compile(text, pipeline, backend=backend)


def _expected(a: Any) -> list[Any]:
    """The parts of the four devices, in the order of their numbers, and what each makes of them."""
    parts = [a[r : r + 2, c : c + 2] for r in (0, 2) for c in (0, 2)]
    zeros = np.zeros_like(parts[0])
    turned = [
        np.concatenate([parts[p - p % 2 + q][:, p % 2 : p % 2 + 1] for q in range(2)]).reshape(2, 2)
        for p in range(4)
    ]
    made = [
        [parts[p % 2] + parts[2 + p % 2] for p in range(4)],
        [parts[p ^ 1] for p in range(4)],
        [parts[3], parts[0], zeros, zeros],
        turned,
        [parts[0]] * 4,
        [np.full((2, 2), p) for p in range(4)],
    ]
    return [np.block([[each[0], each[1]], [each[2], each[3]]]) for each in made]


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_collectives(backend: str) -> None:
    a = np.arange(16, dtype=np.int32).reshape(4, 4) ** 2
    function = _program(backend)["main"]
    for name, actual, expected in zip(RESULTS, function(a), _expected(a), strict=True):
        assert actual.tolist() == expected.tolist(), name
    # The program before all passes has a meaning, too, on the devices of its mesh.
    assert all(difference.agrees for difference in function.check(a))


def test_without_passes() -> None:
    a = np.arange(16, dtype=np.int32).reshape(4, 4)
    for actual, expected in zip(_program("interpreter", "")["main"](a), _expected(a), strict=True):
        assert actual.tolist() == expected.tolist()


def test_permutations_send_to_one_device() -> None:
    """Those that are no rotation as well."""
    names = [operation.name for operation in _program("interpreter").module.walk()]
    assert names.count("shard.send") == names.count("shard.recv") == 1


COMPLEX_SUM = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4x3xcomplex<f32>>) -> tensor<1x3xcomplex<f32>> {
  %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%b: tensor<1x3xcomplex<f32>>) {
    %s = "stablehlo.all_reduce"(%b) <{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<complex<f32>>, %q: tensor<complex<f32>>):
      %t = stablehlo.add %p, %q : tensor<complex<f32>>
      stablehlo.return %t : tensor<complex<f32>>
    }) : (tensor<1x3xcomplex<f32>>) -> tensor<1x3xcomplex<f32>>
    sdy.return %s : tensor<1x3xcomplex<f32>>
  } : (tensor<4x3xcomplex<f32>>) -> tensor<1x3xcomplex<f32>>
  return %r : tensor<1x3xcomplex<f32>>
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "numba"])
def test_sums_of_complex_numbers(backend: str) -> None:
    a = (np.arange(12).reshape(4, 3) * (1 + 2j)).astype(np.complex64)
    function = compile(COMPLEX_SUM, "spmd", backend=backend)["main"]
    assert function(a).tolist() == a.sum(0, keepdims=True).tolist()


UNSIGNED = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4x4xui8>) -> (tensor<1x4xui8>, tensor<1x4xui8>) {
  %r:2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{}, {}]>, <@mesh, [{}, {"x"}]>] manual_axes={"x"}
      (%b: tensor<1x4xui8>) {
    %s = "stablehlo.all_reduce"(%b) <{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<ui8>, %q: tensor<ui8>):
      %t = stablehlo.maximum %p, %q : tensor<ui8>
      stablehlo.return %t : tensor<ui8>
    }) : (tensor<1x4xui8>) -> tensor<1x4xui8>
    %u = "stablehlo.reduce_scatter"(%b) <{
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
        scatter_dimension = 1 : i64, use_global_device_ids}> ({
    ^bb0(%p: tensor<ui8>, %q: tensor<ui8>):
      %t = stablehlo.minimum %p, %q : tensor<ui8>
      stablehlo.return %t : tensor<ui8>
    }) : (tensor<1x4xui8>) -> tensor<1x1xui8>
    sdy.return %s, %u : tensor<1x4xui8>, tensor<1x1xui8>
  } : (tensor<4x4xui8>) -> (tensor<1x4xui8>, tensor<1x4xui8>)
  return %r#0, %r#1 : tensor<1x4xui8>, tensor<1x4xui8>
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_extremes_of_unsigned_numbers(backend: str) -> None:
    """Numbers above 127 are not negative."""
    a = (np.arange(16, dtype=np.uint8) * 37).reshape(4, 4)
    largest, smallest = compile(UNSIGNED, "spmd", backend=backend)["main"](a)
    assert largest.tolist() == [a.max(0).tolist()]
    assert smallest.tolist() == [a.min(0).tolist()]


ONE_DEVICE = """
module attributes {mhlo.num_partitions = 1 : i32} {
  func.func @main(%a: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
    %r = "stablehlo.collective_permute"(%a) <{
        source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    %z = "stablehlo.collective_permute"(%a) <{
        source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    return %r, %z : tensor<2xi32>, tensor<2xi32>
  }
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_permutations_of_one_device(backend: str) -> None:
    """JAX writes no mesh in a program for one device."""
    a = np.array([3, 4], np.int32)
    same, none = compile(ONE_DEVICE, "spmd", backend=backend)["main"](a)
    assert (same.tolist(), none.tolist()) == ([3, 4], [0, 0])


EXTENT_ONE = """
sdy.mesh @mesh = <["x"=1, "y"=4]>
func.func @main(%a: tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>) {
  %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64,
      replica_groups = dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>}>
      : (tensor<4x4xi32>) -> tensor<4x4xi32>
  %s = "stablehlo.all_reduce"(%a) <{
      replica_groups = dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %t = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) : (tensor<4x4xi32>) -> tensor<4x4xi32>
  %b = "stablehlo.collective_broadcast"(%a) <{
      replica_groups = dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>}>
      : (tensor<4x4xi32>) -> tensor<4x4xi32>
  %r = "stablehlo.collective_permute"(%a) <{
      source_target_pairs = dense<[[0, 0], [1, 1], [2, 2], [3, 3]]> : tensor<4x2xi64>}>
      : (tensor<4x4xi32>) -> tensor<4x4xi32>
  %z = "stablehlo.collective_permute"(%a) <{
      source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<4x4xi32>) -> tensor<4x4xi32>
  return %g, %s, %b, %r, %z : tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>,
      tensor<4x4xi32>, tensor<4x4xi32>
}
"""


ANNOTATED_BODY = """
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
    %s = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %t = stablehlo.add %p, %q : tensor<i32>
      %u = stablehlo.custom_call @Sharding(%t) {mhlo.sharding = "{replicated}"}
          : (tensor<i32>) -> tensor<i32>
      stablehlo.return %u : tensor<i32>
    }) : (tensor<4xi32>) -> tensor<4xi32>
    return %s : tensor<4xi32>
  }
}
"""


def test_annotated_body() -> None:
    """GSPMD's annotations of sums are read as Shardy's are."""
    a = np.arange(4, dtype=np.int32)
    function = compile(ANNOTATED_BODY, "spmd", backend="interpreter")["main"]
    assert function(a).tolist() == (2 * a).tolist()


def test_axes_of_extent_one() -> None:
    """JAX writes collectives along them outside of manual computations."""
    a = np.arange(16, dtype=np.int32).reshape(4, 4)
    *same, none = compile(EXTENT_ONE, "spmd", backend="interpreter")["main"](a)
    assert all(each.tolist() == a.tolist() for each in same)
    assert not none.any()


SCALARS = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %r:3 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>]
      out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"}
      (%b: tensor<1xi32>) {
    %c = stablehlo.reshape %b : (tensor<1xi32>) -> tensor<i32>
    %d = "stablehlo.collective_permute"(%c) <{
        source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}>
        : (tensor<i32>) -> tensor<i32>
    %e = "stablehlo.collective_permute"(%c) <{
        source_target_pairs = dense<[[0, 3], [3, 1]]> : tensor<2x2xi64>}>
        : (tensor<i32>) -> tensor<i32>
    %f = "stablehlo.collective_broadcast"(%c) <{
        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}>
        : (tensor<i32>) -> tensor<i32>
    %g = stablehlo.reshape %d : (tensor<i32>) -> tensor<1xi32>
    %h = stablehlo.reshape %e : (tensor<i32>) -> tensor<1xi32>
    %i = stablehlo.reshape %f : (tensor<i32>) -> tensor<1xi32>
    sdy.return %g, %h, %i : tensor<1xi32>, tensor<1xi32>, tensor<1xi32>
  } : (tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
  return %r#0, %r#1, %r#2 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_scalars(backend: str) -> None:
    turned, some, root = compile(SCALARS, "spmd", backend=backend)["main"](np.int32([1, 2, 3, 4]))
    assert turned.tolist() == [4, 1, 2, 3]
    assert some.tolist() == [0, 4, 0, 1]
    assert root.tolist() == [1, 1, 1, 1]


UNEVEN_GROUPS = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4x2xi32>)
    -> (tensor<4xi32>, tensor<16x2xi32>, tensor<4x1xi32>, tensor<8x1xi32>) {
  %r:4 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>,
          <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<1x2xi32>) {
    %c = stablehlo.slice %b [0:1, 1:2] : (tensor<1x2xi32>) -> tensor<1x1xi32>
    %d = stablehlo.reshape %c : (tensor<1x1xi32>) -> tensor<i32>
    %e = "stablehlo.all_reduce"(%d) <{
        replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %t = stablehlo.add %p, %q : tensor<i32>
      stablehlo.return %t : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %f = stablehlo.reshape %e : (tensor<i32>) -> tensor<1xi32>
    %g = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64,
        replica_groups = dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>}>
        : (tensor<1x2xi32>) -> tensor<4x2xi32>
    %h = "stablehlo.reduce_scatter"(%b) <{scatter_dimension = 1 : i64,
        replica_groups = dense<[[2, 1], [0, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %t = stablehlo.add %p, %q : tensor<i32>
      stablehlo.return %t : tensor<i32>
    }) : (tensor<1x2xi32>) -> tensor<1x1xi32>
    %i = "stablehlo.all_to_all"(%b) <{split_dimension = 1 : i64, concat_dimension = 0 : i64,
        split_count = 2 : i64, replica_groups = dense<[[0, 3], [2, 1]]> : tensor<2x2xi64>}>
        : (tensor<1x2xi32>) -> tensor<2x1xi32>
    sdy.return %f, %g, %h, %i : tensor<1xi32>, tensor<4x2xi32>, tensor<1x1xi32>, tensor<2x1xi32>
  } : (tensor<4x2xi32>)
      -> (tensor<4xi32>, tensor<16x2xi32>, tensor<4x1xi32>, tensor<8x1xi32>)
  return %r#0, %r#1, %r#2, %r#3
      : tensor<4xi32>, tensor<16x2xi32>, tensor<4x1xi32>, tensor<8x1xi32>
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_groups_that_are_not_along_axes(backend: str) -> None:
    a = np.arange(8, dtype=np.int32).reshape(4, 2) ** 2
    function = compile(UNEVEN_GROUPS, "spmd", backend=backend)["main"]
    total, gathered, scattered, exchanged = function(a)
    partners = [3, 2, 1, 0]
    assert total.tolist() == (a + a[partners])[:, 1].tolist()
    assert gathered.tolist() == np.tile(a[[3, 1, 0, 2]], (4, 1)).tolist()
    columns = [0, 1, 0, 1]  # The position of each device in its group.
    sums = a + a[partners]
    assert scattered.ravel().tolist() == [sums[device, columns[device]] for device in range(4)]
    groups = [(0, 3), (2, 1), (2, 1), (0, 3)]
    expected = [[a[i, columns[d]] for i in group] for d, group in enumerate(groups)]
    assert exchanged.reshape(4, 2).tolist() == expected


KEPT = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8xcomplex<f32>>, %m: tensor<2x3x3xf32>)
    -> (tensor<4x8xcomplex<f32>>, tensor<2x3x3xf32>) {{
  %r:2 = sdy.manual_computation(%a, %m)
      in_shardings=[<@mesh, [{{"x"{open}}}, {{{free}}}]>, <@mesh, [{{"x"}}, {{}}, {{}}]>]
      out_shardings=[<@mesh, [{{"x"{open}}}, {{{free}}}]>, <@mesh, [{{"x"}}, {{}}, {{}}]>]
      manual_axes={{{manual}}} (%b: tensor<2x8xcomplex<f32>>, %n: tensor<1x3x3xf32>) {{
    %f = stablehlo.fft %b, type = FFT, length = [8]
        : (tensor<2x8xcomplex<f32>>) -> tensor<2x8xcomplex<f32>>
    %c = stablehlo.cholesky %n, lower = true : tensor<1x3x3xf32>
    sdy.return %f, %c : tensor<2x8xcomplex<f32>>, tensor<1x3x3xf32>
  }} : (tensor<4x8xcomplex<f32>>, tensor<2x3x3xf32>)
      -> (tensor<4x8xcomplex<f32>>, tensor<2x3x3xf32>)
  return %r#0, %r#1 : tensor<4x8xcomplex<f32>>, tensor<2x3x3xf32>
}}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("manual", ['"x", "y"', '"x"'])
def test_operations_without_conversion(manual: str, backend: str) -> None:
    free = "" if "y" in manual else "?"
    text = KEPT.format(manual=manual, free=free, open=free and ", ?")
    a = np.random.default_rng(0).standard_normal((4, 8)).astype(np.complex64)
    m = np.float32([[4, 1, 0], [1, 5, 2], [0, 2, 6]])
    transformed, factor = compile(text, "spmd", backend=backend)["main"](a, np.stack([m, 2 * m]))
    np.testing.assert_allclose(transformed, np.fft.fft(a), rtol=1e-4, atol=1e-4)
    expected = np.linalg.cholesky(np.stack([m, 2 * m]))
    np.testing.assert_allclose(factor, expected, rtol=1e-5, atol=1e-5)


NESTED = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>]
      out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%b: tensor<2x4xi32>) {
    %s = sdy.manual_computation(%b) in_shardings=[<@mesh, [{?}, {"y", ?}]>]
        out_shardings=[<@mesh, [{?}, {"y", ?}]>] manual_axes={"y"} (%c: tensor<2x2xi32>) {
      %t = "stablehlo.collective_permute"(%c) <{
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]> : tensor<4x2xi64>}>
          : (tensor<2x2xi32>) -> tensor<2x2xi32>
      sdy.return %t : tensor<2x2xi32>
    } : (tensor<2x4xi32>) -> tensor<2x4xi32>
    %id = stablehlo.partition_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %row = stablehlo.divide %id, %two : tensor<ui32>
    %number = stablehlo.convert %row : (tensor<ui32>) -> tensor<i32>
    %numbers = stablehlo.broadcast_in_dim %number, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %u = stablehlo.add %s, %numbers : tensor<2x4xi32>
    sdy.return %u : tensor<2x4xi32>
  } : (tensor<4x4xi32>) -> tensor<4x4xi32>
  return %r : tensor<4x4xi32>
}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_nested(backend: str) -> None:
    a = np.arange(16, dtype=np.int32).reshape(4, 4)
    function = compile(NESTED, "spmd", backend=backend)["main"]
    expected = a[:, [2, 3, 0, 1]] + np.array([[0], [0], [1], [1]])
    assert function(a).tolist() == expected.tolist()
    assert all(difference.agrees for difference in function.check(a))


@pytest.mark.parametrize(
    "operation", ['sharded_to_unreduced [{}, {"y"}]', 'replicated_to_unreduced {"y"}']
)
@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_reductions_that_are_left_pending(operation: str, backend: str) -> None:
    text = f"""
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {{
  %b = sdy.sharding_constraint %a <@mesh, [{{"x"}}, {{{'"y"' if "sharded" in operation else ""}}}]>
      : tensor<4x4xf32>
  %c = sdy.{operation} %b out_sharding=<@mesh, [{{"x"}}, {{}}], unreduced={{"y"}}> : tensor<4x4xf32>
  %d = sdy.all_reduce {{"y"}} %c out_sharding=<@mesh, [{{"x"}}, {{}}]> : tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}}
"""
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert compile(text, "spmd", backend=backend)["main"](a).tolist() == a.tolist()


OPEN = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<?x4xi32> {{sdy.sharding = #sdy.sharding<@mesh, [{{?}}, {free}]>}})
    -> tensor<?x4xi32> {{
  %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"{open}}}, {{{open}}}]>]
      out_shardings=[<@mesh, [{{"x"{open}}}, {{{open}}}]>] manual_axes={{{manual}}}
      (%b: tensor<?x4xi32>) {{
    %id = stablehlo.partition_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %row = stablehlo.divide %id, %two : tensor<ui32>
    %number = stablehlo.convert %row : (tensor<ui32>) -> tensor<i32>
    %size = stablehlo.get_dimension_size %b, dim = 0 : (tensor<?x4xi32>) -> tensor<i32>
    %one = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %four = stablehlo.constant dense<4> : tensor<1xi32>
    %shape = stablehlo.concatenate %one, %four, dim = 0
        : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %numbers = stablehlo.dynamic_broadcast_in_dim %number, %shape, dims = []
        : (tensor<i32>, tensor<2xi32>) -> tensor<?x4xi32>
    %c = stablehlo.add %b, %numbers : tensor<?x4xi32>
    sdy.return %c : tensor<?x4xi32>
  }} : (tensor<?x4xi32>) -> tensor<?x4xi32>
  return %r : tensor<?x4xi32>
}}
"""


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize(
    "names",
    [
        {"manual": '"x", "y"', "open": "", "free": "{?}"},
        {"manual": '"x"', "open": "?", "free": '{"y"}'},
    ],
    ids=["all", "free"],
)
def test_open_sizes(names: dict[str, str], backend: str) -> None:
    text = OPEN.format(**names).replace('"x"?', '"x", ?')
    function = compile(text, "spmd", backend=backend)["main"]
    a = np.arange(24, dtype=np.int32).reshape(6, 4)
    assert function(a).tolist() == (a + np.int32([0, 0, 0, 1, 1, 1])[:, None]).tolist()
    with pytest.raises(ExecutionError, match=r"exactly divisible|parts of unequal size"):
        function(a[:5])
