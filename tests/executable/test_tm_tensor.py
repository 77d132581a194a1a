"""torch-mlir's operations beside linalg, against the loops that define them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from mesh_opt import api
from numpy.typing import NDArray

Array = NDArray[Any]


def tensor(shape: Sequence[int], kind: str) -> str:
    return f"tensor<{''.join(f'{each}x' for each in shape)}{kind}>"


def program(
    operation: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    arguments: str,
    body: str,
    split: str = "",
) -> str:
    """A function that is one operation: `split` is what the first operand is split along."""
    names = [f"%v{index}" for index in range(len(inputs) + len(outputs))]
    signature = ", ".join(f"{a}: {t}" for a, t in zip(names, (*inputs, *outputs), strict=True))
    grid = "shard.grid @g(shape = 2x2)" if split else ""
    shard = ""
    if split:
        shard = f"""%s = shard.sharding @g split_axes = {split} : !shard.sharding
          %v = shard.shard {names[0]} to %s : {(*inputs, *outputs)[0]}"""
        names[0] = "%v"

    def group(word: str, found: Sequence[str], types: Sequence[str]) -> str:
        return f"{word}({', '.join(found)} : {', '.join(types)})" if found else ""

    count = len(inputs)
    groups = group("ins", names[:count], inputs) + group(" outs", names[count:], outputs)
    results = ", ".join(f"%r#{index}" for index in range(len(outputs)))
    return f"""
      {grid}
      func.func @main({signature}) -> ({", ".join(outputs)}) {{
        {shard}
        %r:{len(outputs)} = tm_tensor.{operation} {groups} {{
        ^bb0({arguments}):
          {body}
        }} -> {", ".join(outputs)}
        func.return {results} : {", ".join(outputs)}
      }}"""


def run(text: str, arrays: Sequence[Array], backend: str = "interpreter") -> list[Array]:
    results = api.compile(text, "", backend=backend)["main"](*arrays)
    return [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]


# Scan --------------------------------------------------------------------------------------------


def scan_text(shape: Sequence[int], kind: str, place: int, how: str, inclusive: bool, **more: str):
    whole = tensor(shape, kind)
    kept = tensor([n for i, n in enumerate(shape) if i != place], kind)
    return program(
        f"scan dimension({place}) inclusive({str(inclusive).lower()})",
        [whole],
        [whole, kept],
        f"%a: {kind}, %b: {kind}",
        f"%c = {how} %a, %b : {kind}\n tm_tensor.yield %c : {kind}",
        **more,
    )


def scan_loops(x: Array, start: Array, place: int, inclusive: bool, f: Any) -> list[Array]:
    """The definition, element by element."""
    rows, out, last = np.moveaxis(x, place, 0), np.zeros_like(x), start.copy()
    found = np.moveaxis(out, place, 0)
    for index, row in enumerate(rows):
        if index:
            found[index] = last = f(found[index - 1], row if inclusive else rows[index - 1])
        else:
            found[0] = row if inclusive else start
    return [out, last]


SCANS: dict[str, tuple[tuple[int, ...], str, int, str, bool, Callable[..., Any]]] = {
    "sum": ((3, 7), "f32", 1, "arith.addf", True, np.add),
    "sum_in_blocks": ((131, 2), "f64", 0, "arith.addf", True, np.add),
    "exclusive": ((3, 7), "i32", 1, "arith.addi", False, np.add),
    "exclusive_in_blocks": ((2, 67, 3), "f64", 1, "arith.addf", False, np.add),
    "largest": ((5,), "i32", 0, "arith.maxsi", True, np.maximum),
    "largest_negative": ((70,), "i32", 0, "arith.maxsi", True, np.maximum),
    "one": ((1, 3), "f32", 0, "arith.addf", True, np.add),
    "one_exclusive": ((1, 3), "f32", 0, "arith.addf", False, np.add),
    "none": ((0, 3), "f32", 0, "arith.addf", True, np.add),
    "no_rows": ((3, 0), "f32", 1, "arith.addf", False, np.add),
    "no_group": ((2, 70), "f64", 1, "arith.subf", True, np.subtract),
    "no_group_exclusive": ((2, 5), "f64", 1, "arith.subf", False, np.subtract),
}


@pytest.mark.parametrize("name", SCANS)
def test_scan(name: str) -> None:
    shape, kind, place, how, inclusive, f = SCANS[name]
    random = np.random.default_rng(0)
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[kind]
    x = (random.standard_normal(shape) * 9 - 30 * ("negative" in name)).astype(dtype)
    start = (random.standard_normal(np.delete(shape, place)) * 9).astype(dtype)
    found = run(scan_text(shape, kind, place, how, inclusive), [x, np.zeros_like(x), start])
    for one, other in zip(found, scan_loops(x, start, place, inclusive, f), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_sum_of_negative_zeros() -> None:
    x = np.full((3,), -0.0, np.float32)
    text = scan_text((3,), "f32", 0, "arith.addf", True)
    found, _ = run(text, [x, x, np.zeros((), np.float32)])
    assert np.signbit(found).all()


def test_an_open_size() -> None:
    text = scan_text((3, 7), "f32", 1, "arith.addf", True).replace("3x7", "3x?")
    program = api.compile(text, "", backend="interpreter")["main"]
    for count in (0, 1, 5):
        x = np.random.default_rng(count).standard_normal((3, count), dtype=np.float32)
        start = np.ones((3,), np.float32)
        for one, other in zip(
            program(x, x, start), scan_loops(x, start, 1, True, np.add), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-5)


# Sort and topk -----------------------------------------------------------------------------------


def sort_text(shape: Sequence[int], kind: str, place: int, how: str, **more: str) -> str:
    return program(
        f"sort dimension({place})",
        [],
        [tensor(shape, kind), tensor(shape, "i64")],
        f"%a: {kind}, %b: {kind}, %c: i64, %d: i64",
        f"{how}\n tm_tensor.yield %e : i1",
        **more,
    )


_NAN, _INF = np.nan, np.inf


@pytest.mark.parametrize("count", [1, 7, 131])
@pytest.mark.parametrize("order", ["ole", "oge", "olt", "swapped", "by_two"])
def test_sort(order: str, count: int) -> None:
    """Equal elements stay in order, and NaN is the largest number, as in PyTorch."""
    how = {
        "swapped": "%e = arith.cmpf oge, %b, %a : f32",
        # Two comparisons, of which one alone takes equal elements for ordered.
        "by_two": "%x = arith.cmpf ole, %a, %b : f32\n %y = arith.cmpi sle, %c, %c : i64\n"
        " %e = arith.andi %x, %y : i1",
    }.get(order, f"%e = arith.cmpf {order}, %a, %b : f32")
    x = np.random.default_rng(0).integers(-3, 4, (count, 2)).astype(np.float32)
    if order != "by_two" and count > 1:
        x[[1, 4], 0], x[2, 1], x[3, 1] = _NAN, _INF, -_INF
    places = np.broadcast_to(np.arange(count)[:, None], x.shape).astype(np.int64)
    keys = np.where(np.isnan(x), np.float32(1e38), np.clip(x, -1e37, 1e37))
    expected = np.argsort(-keys if order == "oge" else keys, axis=0, kind="stable")
    values, indices = run(sort_text((count, 2), "f32", 0, how), [x, places])
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, 0))


def topk_loops(x: Array, v: Array, o: Array, better: Any) -> list[Array]:
    """The definition along the last dimension: each element goes through the best so far."""
    v, o = v.copy(), o.copy()
    for row in np.ndindex(*x.shape[:-1]):
        for place, element in enumerate(x[row]):
            number, index = element, place
            for k in range(v.shape[-1]):
                kept, at = v[(*row, k)], o[(*row, k)]
                is_better = better(number, kept)
                is_first = is_better == better(kept, number) and index < at
                if is_better:
                    v[(*row, k)], number = number, kept
                if is_better or is_first:
                    o[(*row, k)], index = index, at
    return [v, o]


def topk_text(shape: Sequence[int], k: int, **more: str) -> str:
    best = [*shape[:-1], k]
    return program(
        f"topk dimension({len(shape) - 1})",
        [tensor(shape, "i32")],
        [tensor(best, "i32"), tensor(best, "i32")],
        "%a: i32, %b: i32",
        "%e = arith.cmpi slt, %a, %b : i32\n tm_tensor.yield %e : i1",
        **more,
    )


@pytest.mark.parametrize("count, k", [(7, 3), (1, 1), (2, 5), (131, 4)])
def test_topk(count: int, k: int) -> None:
    """What outs hold takes part, and of equal elements the one of the least index is first."""
    x = np.random.default_rng(0).integers(-3, 4, (2, count)).astype(np.int32)
    v = np.full((2, k), 2, np.int32)
    o = np.full((2, k), (1 << 31) - 1, np.int32)
    found = run(topk_text((2, count), k), [x, v, o])
    for one, other in zip(found, topk_loops(x, v, o, lambda a, b: a < b), strict=True):
        np.testing.assert_array_equal(one, other)


# Scatter -----------------------------------------------------------------------------------------


def scatter_text(
    update: Sequence[int], depth: int, target: Sequence[int], dimensions: str, how: str, **more: str
) -> str:
    return program(
        f"scatter {{dimension_map = array<i64: {dimensions}>}} unique_indices(false)",
        [tensor(update, "i32"), tensor((update[0], depth), "i64")],
        [tensor(target, "i32")],
        "%new: i32, %old: i32",
        how,
        **more,
    )


def scatter_loops(u: Array, i: Array, x: Array, dimensions: Sequence[int], f: Any) -> Array:
    """The definition; updates beside the tensor are left out."""
    out, offset = x.copy(), x.ndim - (u.ndim - 1)
    for place in np.ndindex(*u.shape):
        at = [*[0] * offset, *place[1:]]
        for number, dimension in enumerate(dimensions):
            at[dimension] += int(i[place[0], number])
        if all(0 <= each < size for each, size in zip(at, x.shape, strict=True)):
            out[tuple(at)] = f(u[place], out[tuple(at)])
    return out


@pytest.mark.parametrize(
    "update, target, dimensions",
    [
        ((4, 7), (5, 7), (0,)),
        ((4,), (5, 3), (1, 0)),
        ((4, 1, 2), (5, 3), (0, 1)),
        ((1, 3), (1, 3), (0,)),
        ((0, 3), (2, 3), (0,)),
        ((3, 5, 2), (5, 7), (1,)),
    ],
)
def test_scatter(
    update: tuple[int, ...], target: tuple[int, ...], dimensions: tuple[int, ...]
) -> None:
    random = np.random.default_rng(0)
    u = random.integers(0, 99, update).astype(np.int32)
    i = random.integers(-1, 6, (update[0], len(dimensions)))
    x = random.integers(0, 99, target).astype(np.int32)
    for how, f in (
        ("tm_tensor.yield %new : i32", lambda new, old: new),
        ("%c = arith.subi %old, %new : i32\n tm_tensor.yield %c : i32", lambda new, old: old - new),
    ):
        text = scatter_text(update, len(dimensions), target, str(dimensions).strip("(,)"), how)
        (found,) = run(text, [u, i, x])
        np.testing.assert_array_equal(found, scatter_loops(u, i, x, dimensions, f))


# On devices --------------------------------------------------------------------------------------

_ROWS = "[[0, 1]]"

SPLIT = {
    "scan": (
        scan_text((8, 70), "f32", 1, "arith.addf", True, split=_ROWS),
        ["8x70xf32", "8x70xf32", "8xf32"],
    ),
    "sort": (
        sort_text((8, 12), "f32", 1, "%e = arith.cmpf ole, %a, %b : f32", split=_ROWS),
        ["8x12xf32", "8x12xi64"],
    ),
    "topk": (topk_text((8, 12), 3, split=_ROWS), ["8x12xi32", "8x3xi32", "8x3xi32"]),
}


@pytest.mark.parametrize("name", SPLIT)
def test_split_rows_stay_where_they_are(name: str) -> None:
    """Four devices work on their rows alone, in native code as in the interpreter."""
    text, types = SPLIT[name]
    main = api.compile(text, "spmd", backend="native")["main"]
    assert "shard.all_" not in str(main.program.module)
    random, arrays = np.random.default_rng(0), list[Array]()
    for each in types:
        *shape, kind = each.split("x")
        dtype = {"f32": np.float32, "i32": np.int32, "i64": np.int64}[kind]
        numbers = random.standard_normal([int(size) for size in shape])
        arrays.append((numbers * 9).astype(dtype))
    for one, other in zip(main.run(arrays), main.reference(arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-4)


def test_a_split_table_is_scattered_into_where_it_is() -> None:
    """Each device applies the updates of its rows of the table."""
    text = scatter_text(
        (6, 8), 1, (12, 8), "0", "%c = arith.addi %old, %new : i32\n tm_tensor.yield %c : i32"
    ).replace("func.func @main(", "shard.grid @g(shape = 2x2)\nfunc.func @main(")
    shard = """%s = shard.sharding @g split_axes = [[0], [1]] : !shard.sharding
      %t = shard.shard %v2 to %s : tensor<12x8xi32>
      %r:1 = """
    text = text.replace("%r:1 = ", shard).replace("outs(%v2 :", "outs(%t :")
    main = api.compile(text, "spmd", backend="interpreter")["main"]
    assert "shard.all" not in str(main.program.module)
    random = np.random.default_rng(0)
    u = random.integers(0, 99, (6, 8)).astype(np.int32)
    i = random.integers(0, 12, (6, 1))
    x = random.integers(0, 99, (12, 8)).astype(np.int32)
    expected = scatter_loops(u, i, x, (0,), lambda new, old: new + old)
    np.testing.assert_array_equal(main(u, i, x), expected)
