"""Loops that update slices of tensors in order: one kernel, as the interpreter runs them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from backend_checks import check, function
from breadth import sampled
from mesh_opt import api
from mesh_opt.codegen.kernels.sequential import element_loops
from mesh_opt.passes.stablehlo.data_movement import scatter
from mesh_opt.runtime.abi.values import dtype_of

TABLE, ROWS = "tensor<7x5xf32>", "tensor<40x5xf32>"


def loop(body: str, initial: str = "%a1", extra: str = "") -> str:
    """A loop that updates rows of a table; `body` computes `%n` from `%row`, row `%at`."""
    return function(
        ["tensor<40xi32>", TABLE, ROWS],
        f"{TABLE}, {TABLE}",
        f"""  %low = arith.constant 0 : index
  %high = arith.constant 40 : index
  %step = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %last = arith.constant 6 : index
  %v = arith.constant -0.0 : f32
  %filled = linalg.fill ins(%v : f32) outs(%a1 : {TABLE}) -> {TABLE}
  {extra}
  %0 = scf.for %i = %low to %high step %step iter_args(%t = {initial}) -> ({TABLE}) {{
    %j = tensor.extract %a0[%i] : tensor<40xi32>
    %k = arith.index_cast %j : i32 to index
    %m = arith.minsi %k, %last : index
    %at = arith.maxsi %m, %zero : index
    %row = tensor.extract_slice %t[%at, 0] [1, 5] [1, 1] : {TABLE} to tensor<5xf32>
    %x = tensor.extract_slice %a2[%i, 0] [1, 5] [1, 1] : {ROWS} to tensor<5xf32>
    {body}
    scf.yield %n : {TABLE}
  }}
  return %0, %a1 : {TABLE}, {TABLE}""",
    )


SET = f"%n = tensor.insert_slice %s into %t[%at, 0] [1, 5] [1, 1] : tensor<5xf32> into {TABLE}"
ADD = f"%s = arith.addf %row, %x : tensor<5xf32>\n    {SET}"
GENERIC = f"""%e = tensor.empty() : tensor<5xf32>
    %first = tensor.extract %row[%zero] : tensor<5xf32>
    %s = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}} ins(%row : tensor<5xf32>) outs(%e : tensor<5xf32>) {{
    ^bb0(%old: f32, %o: f32):
      %c = linalg.index 0 : index
      %u = tensor.extract %a2[%i, %c] : {ROWS}
      %p = arith.mulf %old, %u : f32
      %d = arith.subf %p, %first : f32
      linalg.yield %d : f32
    }} -> tensor<5xf32>
    {SET}"""  # noqa: E501


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the loops over slices that became kernels."""
    names: list[str] = []
    write = element_loops.write_slices

    def record(writer, updates):
        names.extend(new.owner.name for _, new in updates)
        return write(writer, updates)

    monkeypatch.setattr(element_loops, "write_slices", record)
    return names


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    table, rows = (rng.standard_normal(shape).astype(np.float32) for shape in ((7, 5), (40, 5)))
    rows[[3, 9, 20], [0, 2, 4]] = [np.nan, np.inf, -0.0]
    table[2] = 1e-42
    return [rng.integers(-2, 9, 40).astype(np.int32), table, rows]


@pytest.mark.parametrize("initial", ["%a1", "%filled"])
@pytest.mark.parametrize(
    "body", [ADD, GENERIC, f"{ADD}\n    %z = tensor.extract %t[%zero, %zero] : {TABLE}"]
)
def test_kernel(body: str, initial: str, written: list[str]) -> None:
    """Updates of one row come in order; the initial values are still there afterwards."""
    check(loop(body, initial), inputs())
    assert written


@pytest.mark.parametrize(
    "body",
    [
        # A row is written after it was read, and the table then read again.
        f"%w = tensor.insert_slice %x into %t[%at, 0] [1, 5] [1, 1] : tensor<5xf32> into {TABLE}\n"
        f"    %n = tensor.insert_slice %row into %w[%zero, 0] [1, 5] [1, 1]"
        f" : tensor<5xf32> into {TABLE}",
        # Another row is read than is written.
        f"%s = tensor.extract_slice %t[%zero, 0] [1, 5] [1, 1] : {TABLE} to tensor<5xf32>\n"
        f"    {SET}",
        # Elements are read at other places than they are written.
        GENERIC.replace("[%i, %c] : " + ROWS, "[%at, %c] : " + TABLE).replace("%a2", "%t"),
        GENERIC.replace("[%i, %c] : " + ROWS, "[%zero] : tensor<5xf32>").replace("%a2", "%row"),
        GENERIC.replace("affine_map<(d0) -> (d0)>, ", "affine_map<(d0) -> (4 - d0)>, "),
        # A slice has strides, or might leave the table.
        f"%s = arith.addf %row, %x : tensor<5xf32>\n"
        f"    %q = tensor.extract_slice %s[0] [2] [2] : tensor<5xf32> to tensor<2xf32>\n"
        f"    %n = tensor.insert_slice %q into %t[%at, 0] [1, 2] [1, 2]"
        f" : tensor<2xf32> into {TABLE}",
        f"%n = tensor.insert_slice %x into %t[%at, 0] [1, 5] [2, 1] : tensor<5xf32> into {TABLE}",
    ],
)
def test_no_kernel(body: str, written: list[str]) -> None:
    check(loop(body), inputs())
    assert not written


def test_unproven_slice(written: list[str]) -> None:
    """An offset that is data is looked at by the host, which says what is wrong with it."""
    text = loop(ADD).replace("%t[%at, 0]", "%t[%k, 0]")
    given = inputs()
    given[0] = np.minimum(np.maximum(given[0], 0), 6)
    check(text, given)
    given[0][4] = 7
    with pytest.raises(Exception, match="dimension 0"):
        check(text, given)
    assert not written


def test_slices_of_two_tensors(written: list[str]) -> None:
    """All elements of a place are computed before any of them is written."""
    both = f"{TABLE}, {TABLE}"
    body = f"""
    %other = tensor.extract_slice %r[%at, 0] [1, 5] [1, 1] : {TABLE} to tensor<5xf32>
    %s = arith.addf %other, %x : tensor<5xf32>
    {SET}
    %d = arith.subf %row, %other : tensor<5xf32>
    %g = tensor.insert_slice %d into %r[%at, 0] [1, 5] [1, 1] : tensor<5xf32> into {TABLE}"""
    text = loop(body).replace(
        f"iter_args(%t = %a1) -> ({TABLE})", f"iter_args(%t = %a1, %r = %filled) -> ({both})"
    )
    text = text.replace(f"scf.yield %n : {TABLE}", f"scf.yield %n, %g : {both}")
    text = text.replace("%0 = scf.for", "%0, %1 = scf.for").replace("%0, %a1 :", "%0, %1 :")
    check(text, inputs())
    assert written


def test_slices_of_other_places(written: list[str]) -> None:
    """A tensor is read at another place than it is written: the turns stay apart."""
    both = f"{TABLE}, {TABLE}"
    body = f"""
    {ADD}
    %g = tensor.insert_slice %row into %r[%zero, 0] [1, 5] [1, 1] : tensor<5xf32> into {TABLE}
    %h = tensor.extract_slice %r[%at, 0] [1, 5] [1, 1] : {TABLE} to tensor<5xf32>"""
    text = loop(body).replace(
        f"iter_args(%t = %a1) -> ({TABLE})", f"iter_args(%t = %a1, %r = %filled) -> ({both})"
    )
    text = text.replace(f"scf.yield %n : {TABLE}", f"scf.yield %n, %g : {both}")
    text = text.replace("%0 = scf.for", "%0, %1 = scf.for").replace("%0, %a1 :", "%0, %1 :")
    check(text, inputs())
    assert not written


SCANS = [
    # The row before is written, then the next one is carried.
    f"%n = arith.maximumf %c, %x : tensor<5xf32>\n"
    f"    %t = tensor.insert_slice %c into %all[%i, 0] [1, 5] [1, 1] : tensor<5xf32> into {ROWS}",
    # A scalar of the row is added to all elements.
    f"""%h = tensor.extract %a0[%i, %zero] : {ROWS}
    %s = tensor.from_elements %h : tensor<f32>
    %e = tensor.empty() : tensor<5xf32>
    %n = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}} ins(%c, %s : tensor<5xf32>, tensor<f32>) outs(%e : tensor<5xf32>) {{
    ^bb0(%p: f32, %q: f32, %o: f32):
      %d = arith.subf %q, %p : f32
      linalg.yield %d : f32
    }} -> tensor<5xf32>
    %t = tensor.insert_slice %n into %all[%i, 0] [1, 5] [1, 1] : tensor<5xf32> into {ROWS}""",  # noqa: E501
]


@pytest.mark.parametrize("body", SCANS)
def test_scan(body: str, written: list[str]) -> None:
    """A row is carried, and each iteration writes a row of a table."""
    text = function(
        [ROWS],
        f"tensor<5xf32>, {ROWS}",
        f"""  %zero = arith.constant 0 : index
  %high = arith.constant 40 : index
  %step = arith.constant 1 : index
  %first = arith.constant dense<0.5> : tensor<5xf32>
  %empty = tensor.empty() : {ROWS}
  %0, %1 = scf.for %i = %zero to %high step %step iter_args(%c = %first, %all = %empty)
      -> (tensor<5xf32>, {ROWS}) {{
    %x = tensor.extract_slice %a0[%i, 0] [1, 5] [1, 1] : {ROWS} to tensor<5xf32>
    {body}
    scf.yield %n, %t : tensor<5xf32>, {ROWS}
  }}
  return %0, %1 : tensor<5xf32>, {ROWS}""",
    )
    check(text, inputs()[2:])
    assert written
    in_one_dispatch(text, inputs()[2:])


def in_one_dispatch(text: str, given: list[np.ndarray]) -> None:
    """A device runs the loop in one dispatch, with the same results."""
    program = api.compile(text, "compile")
    assert sum(each.name == "stream.async.dispatch" for each in program.module.walk()) == 1
    expected = api.compile(text)["main"].reference(given)
    for backend in ("native", "interpreter"):
        for got, want in zip(program["main"].run(given, backend), expected, strict=True):
            np.testing.assert_array_equal(got, want)


SMALL = "tensor<5xf32>"


@pytest.mark.parametrize(
    ("new_a", "new_b", "read"),
    [("%s", "%m", "d0"), ("%m", "%s", "d0"), ("%s", "%m", "4 - d0"), ("%m", "%m", "d0")],
)
def test_small_tensors_in_a_dispatch(new_a: str, new_b: str, read: str) -> None:
    """Tensors that each iteration computes as a whole, also from each other's old elements."""
    maps = f"[affine_map<(d0) -> ({read})>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]"
    text = function(
        [SMALL, SMALL],
        f"{SMALL}, {SMALL}",
        f"""  %low = arith.constant 0 : index
  %high = arith.constant 7 : index
  %step = arith.constant 1 : index
  %0, %1 = scf.for %i = %low to %high step %step iter_args(%a = %a0, %b = %a1)
      -> ({SMALL}, {SMALL}) {{
    %e = tensor.empty() : {SMALL}
    %s = linalg.generic {{indexing_maps = {maps}, iterator_types = ["parallel"]}}
        ins(%a, %b : {SMALL}, {SMALL}) outs(%e : {SMALL}) {{
    ^bb0(%p: f32, %q: f32, %o: f32):
      %d = arith.subf %q, %p : f32
      linalg.yield %d : f32
    }} -> {SMALL}
    %m = linalg.mul ins(%s, %a : {SMALL}, {SMALL}) outs(%b : {SMALL}) -> {SMALL}
    scf.yield {new_a}, {new_b} : {SMALL}, {SMALL}
  }}
  return %0, %1 : {SMALL}, {SMALL}""",
    )
    in_one_dispatch(text, list(inputs()[2][:2]))


def test_slice_that_is_read_after_the_update() -> None:
    """The slice is copied, so that the update does not copy the whole tensor in each turn."""
    text = function(
        [TABLE, "f32"],
        f"{TABLE}, tensor<f32>",
        f"""  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %seven = arith.constant 7 : index
  %empty = tensor.empty() : {TABLE}
  %twice = linalg.add ins(%a0, %a0 : {TABLE}, {TABLE}) outs(%empty : {TABLE}) -> {TABLE}
  %start = tensor.from_elements %a1 : tensor<f32>
  %r, %s = scf.for %i = %zero to %seven step %one iter_args(%t = %twice, %u = %start)
      -> ({TABLE}, tensor<f32>) {{
    %row = tensor.extract_slice %t[%i, 0] [1, 5] [1, 1] : {TABLE} to tensor<1x5xf32>
    %line = tensor.collapse_shape %row [[0, 1]] : tensor<1x5xf32> into tensor<5xf32>
    %x = math.exp %row : tensor<1x5xf32>
    %v = tensor.insert_slice %x into %t[%i, 0] [1, 5] [1, 1] : tensor<1x5xf32> into {TABLE}
    %w = linalg.reduce {{ arith.addf }} ins(%line : tensor<5xf32>) outs(%u : tensor<f32>)
        dimensions = [0]
    scf.yield %v, %w : {TABLE}, tensor<f32>
  }}
  return %r, %s : {TABLE}, tensor<f32>""",
    )
    check(text)
    compiled = api.compile(text)
    assert "retain" not in str(compiled.host_code)


# Scatter --------------------------------------------------------------------------------------


def scattered(
    table: np.ndarray, places: np.ndarray, updates: np.ndarray, windows: int, kept: list[int]
) -> np.ndarray:
    """What a scatter computes: `new - old`, element by element, in order.

    The last `windows` dimensions of the updates are windows, in dimensions `kept` of the table.
    Index vectors are the last dimension of `places`; they are for all dimensions of the table.
    """
    result = table.copy()
    batch = updates.shape[: updates.ndim - windows]
    for at in product(*map(range, batch)):
        for within in product(*map(range, updates.shape[len(batch) :])):
            place = [int(each) for each in places[at]]
            for dimension, index in zip(kept, within, strict=True):
                place[dimension] += index
            if all(0 <= each < size for each, size in zip(place, table.shape, strict=True)):
                result[tuple(place)] = updates[(*at, *within)] - result[tuple(place)]
    return result


def _type(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def _scatter(
    table: tuple[int, ...],
    batch: tuple[int, ...],
    window: tuple[int, ...],
    kept: list[int],
    element: str,
) -> str:
    rank = len(table)
    dropped = [each for each in range(rank) if each not in kept]
    given = _type(table, element), _type((*batch, rank), "i32"), _type((*batch, *window), element)
    own = list(range(len(batch), len(batch) + len(window)))
    return f"""
func.func @main(%a0: {given[0]}, %a1: {given[1]}, %a2: {given[2]}) -> {given[0]} {{
  %0 = "stablehlo.scatter"(%a0, %a1, %a2) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {own}, inserted_window_dims = {dropped}, scatter_dims_to_operand_dims = {list(range(rank))}, index_vector_dim = {len(batch)}>}}> ({{
  ^bb0(%old: tensor<{element}>, %new: tensor<{element}>):
    %s = stablehlo.subtract %new, %old : tensor<{element}>
    stablehlo.return %s : tensor<{element}>
  }}) : ({given[0]}, {given[1]}, {given[2]}) -> {given[0]}
  return %0 : {given[0]}
}}"""  # noqa: E501


SCATTERS = [
    ((7, 5), (13,), (5,), [1]),
    ((7, 5), (13,), (3,), [1]),
    ((7, 5), (3, 4), (3, 2), [0, 1]),
    ((7, 5), (13,), (7,), [0]),
    ((7, 5), (13,), (1, 1), [0, 1]),
    ((3, 17, 2), (11,), (2, 2), [1, 2]),
    ((3, 17, 2), (1, 11), (3, 17, 2), [0, 1, 2]),
    ((31, 67), (23,), (67,), [1]),
    ((31,), (37,), (13,), [0]),
    ((1, 1), (3,), (1,), [1]),
    ((2, 3), (0,), (3,), [1]),
    ((2, 0), (3,), (0,), [1]),
    ((5, 4), (), (4,), [1]),
]
"""Shapes of tables, of batches, of windows, and which dimensions windows have."""


ELEMENTS = ("f32", "f64", "bf16", "i8", "i32", "complex<f32>", "f16")


@pytest.mark.parametrize(("most", "pipeline"), [(0, "spmd"), (1 << 20, "spmd"), (0, "compile")])
@pytest.mark.parametrize(("case", "element"), sampled([*product(SCATTERS, ELEMENTS)], 9))
def test_scatter(
    case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], list[int]],
    element: str,
    most: int,
    pipeline: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Elements of windows outside of the table are left out; the others come in order."""
    table, batch, window, kept = case
    monkeypatch.setattr(scatter, "MAX_SINGLE_ELEMENT_POINTS", most)
    monkeypatch.setattr(scatter, "MAX_LOOP_POINTS", most)
    monkeypatch.setattr(scatter, "MAX_ELEMENTS_ALONE", most)
    text = _scatter(table, batch, window, kept, element)
    main = api.compile(text, pipeline)["main"]
    rng = np.random.default_rng(6)
    values = [rng.integers(-40, 40, shape) for shape in (table, (*batch, *window))]
    places = rng.integers(-2, max((*table, 1)) + 2, (*batch, len(table))).astype(np.int32)
    if places.size:
        places.reshape(-1)[::5] = rng.choice(np.int32([2**31 - 1, -(2**31), 0]))
    first, second = (value.astype(dtype_of(main.argument_types[0])) for value in values)
    with np.errstate(over="ignore"):
        expected = scattered(first, places, second, len(window), kept)
    np.testing.assert_array_equal(main(first, places, second), expected)


@pytest.mark.parametrize("element", ["f32", "i1"])
def test_scatter_in_a_dispatch(
    element: str, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device runs the loop as one kernel, between others."""
    monkeypatch.setattr(scatter, "MAX_LOOP_POINTS", 0)
    monkeypatch.setattr(scatter, "MAX_ELEMENTS_ALONE", 0)
    kind = _type((7, 5), element)
    text = _scatter((7, 5), (13,), (5,), [1], element).replace(
        "stablehlo.subtract", "stablehlo.add"
    )
    text = text.replace('  %0 = "', f'  %d = stablehlo.multiply %a0, %a0 : {kind}\n  %0 = "')
    text = text.replace("(%a0, %a1, %a2) <{", "(%d, %a1, %a2) <{")
    text = text.replace(
        f"return %0 : {kind}",
        f"%r = stablehlo.add %0, %a0 : {kind}\n  return %r, %0, %d : {kind}, {kind}, {kind}",
    ).replace(f") -> {kind} {{", f") -> ({kind}, {kind}, {kind}) {{")
    main = api.compile(text, "compile")["main"]
    rng = np.random.default_rng(6)
    dtype = dtype_of(main.argument_types[0])
    first, second = (rng.integers(0, 2, shape).astype(dtype) for shape in ((7, 5), (13, 5)))
    places = np.stack([rng.integers(-2, 9, 13), np.zeros(13)], -1).astype(np.int32)
    expected = first * first
    for row, update in zip(places[:, 0], second, strict=True):
        if 0 <= row < 7:
            expected[row] += update
    results = main(first, places, second)
    for got, want in zip(results, (expected + first, expected, first * first), strict=True):
        np.testing.assert_array_equal(got, want)
    assert written


@pytest.mark.parametrize(
    "reader",
    [
        "%r = arith.addf %s, %a1 : tensor<9xf32>",
        """%z = arith.constant dense<0.0> : tensor<f32>
  %q = linalg.reduce { arith.addf } ins(%s : tensor<9xf32>) outs(%z : tensor<f32>) dimensions = [0]
  %r = linalg.broadcast ins(%q : tensor<f32>) outs(%a1 : tensor<9xf32>) dimensions = [0]""",
        """%e = tensor.empty() : tensor<9x9xf32>
  %b = linalg.broadcast ins(%s : tensor<9xf32>) outs(%e : tensor<9x9xf32>) dimensions = [0]
  %m = math.exp %b : tensor<9x9xf32>
  %r = linalg.reduce { arith.addf } ins(%m : tensor<9x9xf32>) outs(%a1 : tensor<9xf32>)
    dimensions = [1]""",
    ],
)
@pytest.mark.parametrize("place", [-3, 0, 4, 99])
def test_a_column_at_a_clamped_place(place: int, reader: str) -> None:
    """It is read where it lies, by what reads each element once, or copied before."""
    text = function(
        ["tensor<9x5xf32>", "tensor<9xf32>", "tensor<i32>"],
        "tensor<9xf32>",
        f"""  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = tensor.extract %a2[] : tensor<i32>
  %i = arith.index_cast %n : i32 to index
  %l = arith.maxsi %i, %c0 : index
  %at = arith.minsi %l, %c4 : index
  %s = tensor.extract_slice %a0[0, %at] [9, 1] [1, 1] : tensor<9x5xf32> to tensor<9xf32>
  {reader}
  return %r : tensor<9xf32>""",
    )
    numbers = np.random.default_rng(place + 3).standard_normal((9, 6)).astype(np.float32)
    check(text, [numbers[:, :5].copy(), numbers[:, 5].copy(), np.asarray(np.int32(place))])
