"""Every collective of the shard dialect, on all devices, against its definition.

The definitions are written here over device coordinates, without groups: what a device
receives is looked up element by element or device by device.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.sharding.local_shape import default_offsets

Array = np.ndarray[Any, Any]
GRIDS = [
    ((4,), (0,)),
    ((2, 3), (0,)),
    ((2, 3), (1,)),
    ((2, 3), (1, 0)),
    ((2, 2, 2), (2, 0)),
    ((2,), ()),
]


def _coordinates(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(np.ndindex(*shape))


def _group(shape: tuple[int, ...], axes: tuple[int, ...], device: int) -> list[int]:
    """The devices that differ from one along `axes` only, ordered by these coordinates."""
    all_of_them = _coordinates(shape)
    here = all_of_them[device]
    members = [
        other
        for other, there in enumerate(all_of_them)
        if all(there[a] == here[a] for a in range(len(shape)) if a not in axes)
    ]
    return sorted(members, key=lambda other: [all_of_them[other][a] for a in axes])


def _cut(array: Array, axis: int, parts: int) -> list[Array]:
    limits = default_offsets(array.shape[axis], parts)
    return [np.take(array, range(limits[i], limits[i + 1]), axis=axis) for i in range(parts)]


def _grid(shape: tuple[int, ...]) -> str:
    return f"shard.grid @g(shape = {'x'.join(map(str, shape))})"


def _program(shape: tuple[int, ...], line: str, source: str, target: str) -> str:
    return f"""
    {_grid(shape)}
    func.func @f(%x: {source}) -> {target} {{
      %r = {line}
      return %r : {target}
    }}"""


def _inputs(shape: tuple[int, ...], local: tuple[int, ...], dtype: Any = np.float32) -> list[Any]:
    generator = np.random.default_rng(7)
    count = int(np.prod(shape))
    return [generator.integers(-9, 10, local).astype(dtype) for _ in range(count)]


def _compare(results: Any, expected: list[Array]) -> None:
    assert len(results) == len(expected)
    for (result,), wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(("shape", "axes"), GRIDS)
def test_all_gather(execute_spmd: Any, shape: Any, axes: Any) -> None:
    text = _program(
        shape,
        f"shard.all_gather %x on @g grid_axes = {list(axes)} gather_axis = 1"
        " : tensor<2x?xf32> -> tensor<2x?xf32>",
        "tensor<2x?xf32>",
        "tensor<2x?xf32>",
    )
    inputs = _inputs(shape, (2, 3))
    # Shards need not be of one size.
    inputs[0] = inputs[0][:, :1]
    expected = [
        np.concatenate([inputs[m] for m in _group(shape, axes, device)], axis=1)
        for device in range(len(inputs))
    ]
    _compare(execute_spmd(text, shape, [[x] for x in inputs]), expected)


_REDUCTIONS: dict[str, Any] = {
    "sum": lambda values: sum(values[1:], values[0]),
    "product": lambda values: np.prod(values, axis=0, dtype=values[0].dtype),
    "max": lambda values: np.max(values, axis=0),
    "min": lambda values: np.min(values, axis=0),
    "average": lambda values: np.sum(values, axis=0) / len(values),
    "bitwise_and": np.bitwise_and.reduce,
    "bitwise_or": np.bitwise_or.reduce,
    "bitwise_xor": np.bitwise_xor.reduce,
}


@pytest.mark.parametrize(("shape", "axes"), GRIDS)
@pytest.mark.parametrize("kind", _REDUCTIONS)
def test_all_reduce(execute_spmd: Any, shape: Any, axes: Any, kind: str) -> None:
    element, dtype = ("i32", np.int32) if kind.startswith("bitwise") else ("f32", np.float32)
    tensor = f"tensor<2x3x{element}>"
    line = f"shard.all_reduce %x on @g grid_axes = {list(axes)} reduction = {kind}"
    text = _program(shape, f"{line} : {tensor} -> {tensor}", tensor, tensor)
    inputs = _inputs(shape, (2, 3), dtype)
    expected = [
        _REDUCTIONS[kind]([inputs[m] for m in _group(shape, axes, device)]).astype(dtype)
        for device in range(len(inputs))
    ]
    results = execute_spmd(text, shape, [[x] for x in inputs])
    for (result,), wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_all_reduce_converts_first(execute_spmd: Any) -> None:
    text = _program(
        (2,),
        "shard.all_reduce %x on @g grid_axes = [0] : tensor<1xi8> -> tensor<1xi32>",
        "tensor<1xi8>",
        "tensor<1xi32>",
    )
    inputs = [[np.int8([100])], [np.int8([100])]]
    assert execute_spmd(text, (2,), inputs)[0][0].tolist() == [200]


@pytest.mark.parametrize(("element", "expected"), [("i8", -1), ("ui8", 255), ("i1", True)])
def test_signs_and_wrapping(execute_spmd: Any, element: str, expected: Any) -> None:
    dtype = {"i8": np.int8, "ui8": np.uint8, "i1": np.bool_}[element]
    tensor = f"tensor<1x{element}>"
    line = f"shard.all_reduce %x on @g grid_axes = [0] reduction = max : {tensor} -> {tensor}"
    text = _program((2,), line, tensor, tensor)
    if element == "i1":
        # As a signed number, true is -1: the larger is false.
        values, expected = [True, False], False
    else:
        values = [255, 254] if element == "ui8" else [-1, -2]
    inputs = [[np.array([value], dtype)] for value in values]
    assert execute_spmd(text, (2,), inputs)[0][0].tolist() == [expected]
    if element == "i8":
        total = _program((2,), line.replace("max", "sum"), tensor, tensor)
        wide = [[np.array([100], dtype)]] * 2
        assert execute_spmd(total, (2,), wide)[0][0].tolist() == [-56]


def test_reductions_without_a_meaning(execute_spmd: Any) -> None:
    for kind, element in (("generic", "f32"), ("bitwise_and", "f32")):
        tensor = f"tensor<1x{element}>"
        line = f"shard.all_reduce %x on @g grid_axes = [0] reduction = {kind}"
        text = _program((2,), f"{line} : {tensor} -> {tensor}", tensor, tensor)
        with pytest.raises(OperationError, match=f"reduction '{kind}'"):
            execute_spmd(text, (2,), [[np.zeros(1, np.float32)]] * 2)


@pytest.mark.parametrize(("shape", "axes"), GRIDS)
@pytest.mark.parametrize("extent", [6, 7])
def test_all_slice_and_reduce_scatter(
    execute_spmd: Any, shape: Any, axes: Any, extent: int
) -> None:
    source, target = f"tensor<2x{extent}xf32>", "tensor<2x?xf32>"
    inputs = _inputs(shape, (2, extent))
    sliced, scattered = [], []
    for device in range(len(inputs)):
        group = _group(shape, axes, device)
        place = group.index(device)
        sliced.append(_cut(inputs[device], 1, len(group))[place])
        total = np.sum([inputs[m] for m in group], axis=0, dtype=np.float32)
        scattered.append(_cut(total, 1, len(group))[place])
    axes_text = f"on @g grid_axes = {list(axes)}"
    text = _program(
        shape,
        f"shard.all_slice %x {axes_text} slice_axis = 1 : {source} -> {target}",
        source,
        target,
    )
    _compare(execute_spmd(text, shape, [[x] for x in inputs]), sliced)
    text = _program(
        shape,
        f"shard.reduce_scatter %x {axes_text} scatter_axis = 1 : {source} -> {target}",
        source,
        target,
    )
    _compare(execute_spmd(text, shape, [[x] for x in inputs]), scattered)


@pytest.mark.parametrize(("shape", "axes"), GRIDS)
@pytest.mark.parametrize("extents", [(6, 4), (5, 3)])
@pytest.mark.parametrize("concat", [0, 1])
def test_all_to_all(
    execute_spmd: Any, shape: Any, axes: Any, extents: tuple[int, int], concat: int
) -> None:
    source = f"tensor<{extents[0]}x{extents[1]}xf32>"
    line = (
        f"shard.all_to_all %x on @g grid_axes = {list(axes)} split_axis = 0 concat_axis = {concat}"
    )
    text = _program(shape, f"{line} : {source} -> tensor<?x?xf32>", source, "tensor<?x?xf32>")
    inputs = _inputs(shape, extents)
    expected = []
    for device in range(len(inputs)):
        group = _group(shape, axes, device)
        mine = group.index(device)
        received = [_cut(inputs[m], 0, len(group))[mine] for m in group]
        expected.append(np.concatenate(received, axis=concat))
    _compare(execute_spmd(text, shape, [[x] for x in inputs]), expected)


@pytest.mark.parametrize(("shape", "axes", "root"), [((4,), (0,), (2,)), ((2, 3), (1, 0), (2, 1))])
def test_collectives_with_a_root(
    execute_spmd: Any, shape: Any, axes: Any, root: tuple[int, ...]
) -> None:
    inputs = _inputs(shape, (2, 6))
    coordinates = _coordinates(shape)
    common = f"on @g grid_axes = {list(axes)}"
    where = f"root = {list(root)}"
    tensor, open_tensor = "tensor<2x6xf32>", "tensor<?x6xf32>"
    lines = {
        "broadcast": (f"shard.broadcast %x {common} {where} : ({tensor}) -> {tensor}", tensor),
        "gather": (
            f"shard.gather %x {common} gather_axis = 0 {where} : ({tensor}) -> {open_tensor}",
            open_tensor,
        ),
        "reduce": (f"shard.reduce %x {common} {where} : ({tensor}) -> {tensor}", tensor),
        "scatter": (
            f"shard.scatter %x {common} scatter_axis = 0 {where} : ({tensor}) -> {open_tensor}",
            open_tensor,
        ),
    }
    for name, (line, target) in lines.items():
        results = execute_spmd(_program(shape, line, tensor, target), shape, [[x] for x in inputs])
        for device in range(len(inputs)):
            group = _group(shape, axes, device)
            chief = next(m for m in group if [coordinates[m][a] for a in axes] == list(root))
            (result,) = results[device]
            if name == "broadcast":
                np.testing.assert_array_equal(result, inputs[chief])
            elif name == "scatter":
                part = _cut(inputs[chief], 0, len(group))[group.index(device)]
                np.testing.assert_array_equal(result, part)
            elif device != chief:
                assert np.isnan(result).all()
            elif name == "gather":
                joined = np.concatenate([inputs[m] for m in group])
                np.testing.assert_array_equal(result, joined)
            else:
                np.testing.assert_array_equal(result, np.sum([inputs[m] for m in group], axis=0))


@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize(("shape", "axes", "axis"), [((3,), (0,), 0), ((2, 3), (1, 0), 1)])
def test_shift(
    execute_spmd: Any, shape: Any, axes: Any, axis: int, offset: int, rotate: bool
) -> None:
    tensor = "tensor<2xf32>"
    line = f"shard.shift %x on @g grid_axes = {list(axes)} shift_axis = {axis} offset = {offset}"
    line += " rotate" if rotate else ""
    text = _program(shape, f"{line} : {tensor} -> {tensor}", tensor, tensor)
    inputs = _inputs(shape, (2,))
    results = execute_spmd(text, shape, [[x] for x in inputs])
    coordinates = _coordinates(shape)
    for device, (result,) in enumerate(results):
        source = list(coordinates[device])
        source[axis] -= offset
        if rotate:
            source[axis] %= shape[axis]
        if 0 <= source[axis] < shape[axis]:
            np.testing.assert_array_equal(result, inputs[coordinates.index(tuple(source))])
        else:
            assert np.isnan(result).all()


def test_update_halo_fills_borders_and_corners(execute_spmd: Any) -> None:
    shape, halos = (2, 3), (1, 2, 2, 1)
    whole = np.arange(8 * 12, dtype=np.float32).reshape(8, 12)
    text = f"""
    {_grid(shape)}
    func.func @f(%x: tensor<7x7xf32>) -> tensor<7x7xf32> {{
      %r = shard.update_halo %x on @g split_axes = [[0], [1]] halo_sizes = {list(halos)}
          : tensor<7x7xf32>
      return %r : tensor<7x7xf32>
    }}"""
    padded = np.pad(whole, (halos[:2], halos[2:]), constant_values=-1)
    inputs, expected = [], []
    for i, j in product(range(2), range(3)):
        local = np.full((7, 7), -1, np.float32)
        local[1:5, 2:6] = whole[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
        inputs.append(local)
        expected.append(padded[4 * i : 4 * i + 7, 4 * j : 4 * j + 7])
    _compare(execute_spmd(text, shape, [[x] for x in inputs]), expected)


def test_a_halo_wider_than_the_neighbour(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %r = shard.update_halo %x on @g split_axes = [[0]] halo_sizes = [3, 0] : tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    with pytest.raises(OperationError, match="halo of 3 is wider than the 1 elements"):
        execute_spmd(text, (2,), [[np.zeros(4, np.float32)]] * 2)


def test_process_indices(execute_spmd: Any) -> None:
    shape = (2, 3)
    results = ", ".join(["index"] * 9)
    text = f"""
    {_grid(shape)}
    func.func @f() -> ({results}) {{
      %s:2 = shard.grid_shape @g axes = [1, 0] : index, index
      %p:2 = shard.process_multi_index on @g : index, index
      %q = shard.process_multi_index on @g axes = [1] : index
      %l = shard.process_linear_index on @g : index
      %n:2 = shard.neighbors_linear_indices on @g[%p#0, %p#1] split_axes = [1] : index, index
      %m:2 = shard.neighbors_linear_indices on @g[%p#0, %p#1] split_axes = [1, 0] : index, index
      %sum = arith.addi %m#0, %m#1 : index
      return %s#0, %s#1, %p#0, %p#1, %q, %l, %n#0, %n#1, %sum : {results}
    }}"""
    for device, values in enumerate(execute_spmd(text, shape, [[]] * 6)):
        i, j = _coordinates(shape)[device]
        down = device - 1 if j > 0 else -1
        up = device + 1 if j < 2 else -1
        # Along [1, 0] the order is j * 2 + i.
        place = j * 2 + i
        order = sorted(
            range(6), key=lambda d: (_coordinates(shape)[d][1], _coordinates(shape)[d][0])
        )
        before = order[place - 1] if place > 0 else -1
        after = order[place + 1] if place < 5 else -1
        assert [int(v) for v in values] == [3, 2, i, j, j, device, down, up, before + after]


def test_shard_shape(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 2x3)
    func.func @f(%n: index, %h: i64) -> (index, index, index, index, index, index) {
      %p:2 = shard.process_multi_index on @g : index, index
      %s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
      %a:2 = shard.shard_shape dims = [7, %n] sharding = %s device = [%p#0, %p#1] : index, index
      %t = shard.sharding @g split_axes = [[], [1]] halo_sizes = [1, %h] : !shard.sharding
      %b:2 = shard.shard_shape dims = [7, %n] sharding = %t device = [%p#0, %p#1] : index, index
      %u = shard.sharding @g split_axes = [[0], [1]] halo_sizes = [1, %h, 0, 1] : !shard.sharding
      %c:2 = shard.shard_shape dims = [7, %n] sharding = %u device = [%p#0, %p#1] : index, index
      return %a#0, %a#1, %b#0, %b#1, %c#0, %c#1 : index, index, index, index, index, index
    }"""
    inputs = [[np.int64(8), np.int64(2)]] * 6
    for device, values in enumerate(execute_spmd(text, (2, 3), inputs)):
        i, j = divmod(device, 3)
        rows, columns = [3, 4][i], [2, 3, 3][j]
        assert [int(v) for v in values] == [rows, columns, 7, columns + 3, rows + 3, columns + 1]
    offsets = """
    shard.grid @g(shape = 3)
    func.func @f() -> (index, index) {
      %p = shard.process_multi_index on @g : index
      %s = shard.sharding @g split_axes = [[], [0]] sharded_dims_offsets = [0, 1, 5, 8]
          : !shard.sharding
      %a:2 = shard.shard_shape dims = [7, 8] sharding = %s device = [%p] : index, index
      return %a#0, %a#1 : index, index
    }"""
    sizes = [[int(v) for v in values] for values in execute_spmd(offsets, (3,), [[]] * 3)]
    assert sizes == [[7, 1], [7, 4], [7, 3]]


def test_open_extents_are_those_of_the_run(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = ?x2)
    func.func @f(%x: tensor<1xf32>) -> (index, tensor<1xf32>) {
      %s:2 = shard.grid_shape @g : index, index
      %r = shard.all_reduce %x on @g grid_axes = [0] : tensor<1xf32> -> tensor<1xf32>
      return %s#0, %r : index, tensor<1xf32>
    }"""
    results = execute_spmd(text, (3, 2), [[np.ones(1, np.float32)]] * 6)
    assert all((int(extent), float(total[0])) == (3, 3.0) for extent, total in results)
    with pytest.raises(OperationError, match="does not match the running grid"):
        execute_spmd(text, (2, 3), [[np.ones(1, np.float32)]] * 6)


def test_the_sharding_of_an_annotated_value(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @f(%x: tensor<7xf32>) -> index {
      %p = shard.process_multi_index on @g : index
      %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
      %y = shard.shard %x to %s : tensor<7xf32>
      %t = shard.get_sharding %y : tensor<7xf32> -> !shard.sharding
      %n = shard.shard_shape dims = [7] sharding = %t device = [%p] : index
      return %n : index
    }"""
    results = execute_spmd(text, (2,), [[np.zeros(7, np.float32)]] * 2)
    assert [int(n) for (n,) in results] == [3, 4]
