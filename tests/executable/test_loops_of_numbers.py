"""Loops that carry numbers and whole tensors: one kernel, as the interpreter runs them."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from backend_checks import check, function
from breadth import sampled
from mesh_opt.codegen.kernels.sequential import loop_forms

HEAD = """  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %low = arith.constant {low} : index
  %high = arith.constant {high} : index
  %step = arith.constant {step} : index"""


def numbers(
    kinds: list[str], body: str, results: list[str], bounds: tuple[int, int, int] = (0, 9, 1)
) -> str:
    """A loop that carries the elements of its arguments, `%x0`, `%x1`, ..."""
    low, high, step = bounds
    reads = "\n".join(
        f"  %s{i} = tensor.extract %a{i}[] : tensor<{k}>" for i, k in enumerate(kinds)
    )
    carried = ", ".join(f"%x{i} = %s{i}" for i in range(len(kinds)))
    types = ", ".join(kinds)
    ends = "\n".join(
        f"  %t{i} = tensor.from_elements %r#{i} : tensor<{k}>" for i, k in enumerate(kinds)
    )
    tensors = [f"tensor<{each}>" for each in kinds]
    returned = ", ".join(f"%t{i}" for i in range(len(kinds)))
    return function(
        tensors,
        ", ".join(tensors),
        f"""{HEAD.format(low=low, high=high, step=step)}
{reads}
  %r:{len(kinds)} = scf.for %i = %low to %high step %step iter_args({carried}) -> ({types}) {{
    {body}
    scf.yield {", ".join(results)} : {types}
  }}
{ends}
  return {returned} : {", ".join(tensors)}""",
    )


INTEGER = """%y = arith.muli %x0, %k : {0}
    %z = arith.subi %y, %x0 : {0}"""


@pytest.mark.parametrize("kind", ["i1", "i8", "i16", "i32", "i64"])
def test_integers(kind: str, written: list[str]) -> None:
    """Integers wrap around and keep their sign."""
    constant = f"%k = arith.constant {-3 if kind != 'i1' else 'true'}"
    constant += f" : {kind}" if kind != "i1" else ""
    body = f"{constant}\n    {INTEGER.format(kind)}"
    dtype = bool if kind == "i1" else np.dtype(f"int{kind[1:]}")
    for start in (0, 1, 77):
        given = np.array(start).astype(dtype)
        check(numbers([kind], body, ["%z"]), [given])
    assert written


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("bounds", [(0, 9, 1), (-3, 8, 2), (4, 4, 1), (5, 2, 1)])
def test_floats(kind: str, bounds: tuple[int, int, int], written: list[str]) -> None:
    """A function and the index are part of each turn, of which there may be none."""
    body = f"""%j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to {kind}
    %y = math.tanh %x0 : {kind}
    %z = arith.addf %y, %f : {kind}"""
    check(numbers([kind], body, ["%z"], bounds))
    assert written


def test_exchanged(written: list[str]) -> None:
    """All values of a turn are computed before any is replaced."""
    body = "%s = arith.addi %x0, %x1 : i32\n    %c = arith.cmpi slt, %x1, %x0 : i32"
    body += "\n    %n = arith.select %c, %x0, %s : i32"
    check(numbers(["i32", "i32", "i1"], body, ["%x1", "%n", "%c"]))
    assert written


def test_branch_and_read(written: list[str]) -> None:
    """A branch, and elements of a tensor at the index."""
    body = """%e = tensor.extract %table[%i] : tensor<9xf32>
    %c = arith.cmpf olt, %x0, %e : f32
    %z = scf.if %c -> (f32) {
      %u = arith.addf %x0, %e : f32
      scf.yield %u : f32
    } else {
      %u = arith.subf %x0, %e : f32
      scf.yield %u : f32
    }"""
    text = numbers(["f32"], body, ["%z"])
    text = text.replace("%a0: tensor<f32>", "%a0: tensor<f32>, %table: tensor<9xf32>", 1)
    check(text)
    assert written


@pytest.mark.parametrize(
    "body",
    [
        # A division may fail, and so may a read.
        "%z = arith.divsi %x0, %x1 : i32",
        """%at = arith.index_cast %x0 : i32 to index
    %z = tensor.extract %table[%at] : tensor<9xi32>""",
    ],
)
def test_loops_with_checks(body: str, written: list[str]) -> None:
    text = numbers(["i32", "i32"], body, ["%x0", "%z"])
    text = text.replace("%a1: tensor<i32>", "%a1: tensor<i32>, %table: tensor<9xi32>", 1)
    given = [np.int32(3), np.int32(2), np.full(9, 4, np.int32)]
    check(text, [np.asarray(each) for each in given])
    assert written


def test_long_loop(written: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel cannot be interrupted, so one that takes long is run section by section."""
    many = loop_forms.MAX_STEPS
    text = numbers(["i64"], "%z = arith.addi %x0, %x0 : i64", ["%z"], (0, many, many // 4))
    check(text)
    monkeypatch.setattr(loop_forms, "MAX_STEPS", 16)
    monkeypatch.setattr(loop_forms, "SECTION_STEPS", 16)
    check(numbers(["i64"], "%z = arith.addi %x0, %x0 : i64", ["%z"], (3, 77, 2)))
    assert written


SAME = "affine_map<(i, j) -> (i, j)>"


def whole(kind: str, body: str, captured: str = "", rest: str = "") -> str:
    """A loop that replaces a tensor, carries a number, and perhaps other tensors."""
    return function(
        [f"tensor<{kind}>", "tensor<f32>", f"tensor<{kind}>"],
        f"tensor<{kind}>, tensor<f32>, tensor<{kind}>",
        f"""{HEAD.format(low=0, high=7, step=1)}
  %s = tensor.extract %a1[] : tensor<f32>{captured}
  %r:2 = scf.for %i = %low to %high step %step iter_args(%v = %a0, %x = %s)
      -> (tensor<{kind}>, f32) {{
    {body}
    scf.yield %w, %y : tensor<{kind}>, f32
  }}
  %t = tensor.from_elements %r#1 : tensor<f32>
  return %r#0, %t, %a0 : tensor<{kind}>, tensor<f32>, tensor<{kind}>""",
    )


def test_whole_tensor(written: list[str]) -> None:
    """Each element depends on the old one, a number and an element that was read before."""
    kind = "3x33xf32"
    body = f"""%e = tensor.extract %v[%c1, %c0] : tensor<{kind}>
    %y = arith.addf %x, %e : f32
    %b = tensor.empty() : tensor<{kind}>
    %p = linalg.generic {{
      indexing_maps = [{SAME}, {SAME}, {SAME}], iterator_types = ["parallel", "parallel"]
    }} ins(%v, %a2 : tensor<{kind}>, tensor<{kind}>) outs(%b : tensor<{kind}>) {{
    ^bb0(%k: f32, %l: f32, %o: f32):
      %m = arith.mulf %k, %x : f32
      %n = arith.addf %m, %l : f32
      linalg.yield %n : f32
    }} -> tensor<{kind}>
    %w = math.tanh %p : tensor<{kind}>"""
    check(whole(kind, body))
    assert written


SHIFTED = """%h = tensor.extract_slice %v[1] [{1}] [1] : tensor<{0}xf32> to tensor<{1}xf32>
    %g = tensor.extract_slice %v[0] [1] [1] : tensor<{0}xf32> to tensor<1xf32>
    %q = tensor.concat dim(0) %h, %g : (tensor<{1}xf32>, tensor<1xf32>) -> tensor<{0}xf32>
    %w = arith.addf %q, %a2 : tensor<{0}xf32>
    %e = tensor.extract %q[%c0] : tensor<{0}xf32>
    %y = arith.addf %x, %e : f32"""


@pytest.mark.parametrize("size", [2, 5, 16, 17])
def test_other_elements(size: int, written: list[str]) -> None:
    """A small tensor whose elements depend on others; a larger one has kernels of each turn."""
    check(whole(f"{size}xf32", SHIFTED.format(size, size - 1)))
    assert bool(written) == (size <= 16)


@pytest.mark.parametrize("size", [2, 3, 16, 17])
@pytest.mark.parametrize("turns", [1, 9])
def test_rows_of_tables(
    size: int, turns: int, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan: a small tensor whose elements depend on others, and rows of what each turn finds."""
    monkeypatch.setattr(loop_forms, "MAX_STEPS", 300)
    monkeypatch.setattr(loop_forms, "SECTION_STEPS", 400)
    row, tables = f"tensor<{size}xf32>", f"tensor<9x{size}xf32>, tensor<9xf32>"
    types = f"{row}, {tables}, f32"
    shifted = f"""%h = tensor.extract_slice %v[1] [{size - 1}] [1] : {row} to tensor<{size - 1}xf32>
    %g = tensor.extract_slice %v[0] [1] [1] : {row} to tensor<1xf32>
    %q = tensor.concat dim(0) %h, %g : (tensor<{size - 1}xf32>, tensor<1xf32>) -> {row}"""
    text = function(
        [row, f"tensor<9x{size}xf32>", "tensor<9xf32>"],
        types,
        f"""  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %turns = arith.constant {turns} : index
  %zero = arith.constant 0.0 : f32
  %0, %1, %2, %3 = scf.for %i = %c0 to %turns step %c1
      iter_args(%v = %a0, %rows = %a1, %firsts = %a2, %x = %zero) -> ({types}) {{
    {shifted}
    %w = arith.addf %q, %a0 : {row}
    %e = tensor.extract %w[%c0] : {row}
    %y = arith.subf %e, %x : f32
    %old = tensor.insert_slice %v into %rows[%i, 0] [1, {size}] [1, 1]
        : {row} into tensor<9x{size}xf32>
    %one = tensor.extract_slice %w[0] [1] [1] : {row} to tensor<1xf32>
    %new = tensor.insert_slice %one into %firsts[%i] [1] [1] : tensor<1xf32> into tensor<9xf32>
    scf.yield %w, %old, %new, %y : {types}
  }}
  return %0, %1, %2, %3 : {types}""",
    )
    check(text)
    assert bool(written) == (size <= 16)


@pytest.mark.parametrize("read", ["%rows[%c0, %c0]", "%old[%i, %c0]"])
def test_rows_that_are_read(read: str, written: list[str]) -> None:
    """A table that a turn also reads is in memory: each operation is a kernel of its own."""
    text = function(
        ["tensor<3xf32>", "tensor<9x3xf32>"],
        "tensor<3xf32>, tensor<9x3xf32>",
        f"""  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %turns = arith.constant 9 : index
  %0, %1 = scf.for %i = %c0 to %turns step %c1 iter_args(%v = %a0, %rows = %a1)
      -> (tensor<3xf32>, tensor<9x3xf32>) {{
    %h = tensor.extract_slice %v[1] [2] [1] : tensor<3xf32> to tensor<2xf32>
    %old = tensor.insert_slice %v into %rows[%i, 0] [1, 3] [1, 1]
        : tensor<3xf32> into tensor<9x3xf32>
    %e = tensor.extract {read} : tensor<9x3xf32>
    %g = tensor.from_elements %e : tensor<1xf32>
    %q = tensor.concat dim(0) %h, %g : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
    scf.yield %q, %old : tensor<3xf32>, tensor<9x3xf32>
  }}
  return %0, %1 : tensor<3xf32>, tensor<9x3xf32>""",
    )
    check(text)
    assert not written


def test_computed_index(written: list[str]) -> None:
    """An element at a computed index is chosen from all elements."""
    body = SHIFTED.format(5, 4).replace(
        "%e = tensor.extract %q[%c0]",
        "%c4 = arith.constant 4 : index\n    %at = arith.minsi %i, %c4 : index\n"
        "    %e = tensor.extract %v[%at]",
    )
    check(whole("5xf32", body))
    assert written


def test_exchanged_tensors(written: list[str]) -> None:
    """Carried tensors and constants take the place of others."""
    kind = "tensor<3xf32>"
    text = function(
        [kind, kind, "tensor<f32>", "tensor<f32>"],
        f"{kind}, {kind}, {kind}, tensor<f32>, tensor<f32>",
        f"""{HEAD.format(low=0, high=3, step=1)}
  %k = arith.constant dense<[1.5, -2.0, 0.25]> : {kind}
  %r:5 = scf.for %i = %low to %high step %step
      iter_args(%v = %a0, %w = %a1, %u = %k, %x = %a2, %y = %a3)
      -> ({kind}, {kind}, {kind}, tensor<f32>, tensor<f32>) {{
    %e = tensor.extract %x[] : tensor<f32>
    %s = tensor.splat %e : {kind}
    %n = arith.addf %v, %s : {kind}
    scf.yield %w, %n, %v, %y, %x : {kind}, {kind}, {kind}, tensor<f32>, tensor<f32>
  }}
  return %r#0, %r#1, %r#2, %r#3, %r#4
    : {kind}, {kind}, {kind}, tensor<f32>, tensor<f32>""",
    )
    check(text)
    check(text.replace("scf.yield %w", "scf.yield %k"))
    assert written


@pytest.mark.parametrize("size", [5, 50])
def test_branch_of_tensors(size: int, written: list[str]) -> None:
    """A branch that returns a new tensor is run by the host, unless the tensor is small."""
    body = f"""%c = arith.cmpi ugt, %i, %c1 : index
    %y = arith.addf %x, %x : f32
    %w = scf.if %c -> (tensor<{size}xf32>) {{
      %n = arith.addf %v, %a2 : tensor<{size}xf32>
      scf.yield %n : tensor<{size}xf32>
    }} else {{
      scf.yield %v : tensor<{size}xf32>
    }}"""
    check(whole(f"{size}xf32", body))
    assert bool(written) == (size == 5)


SEARCH = """func.func @main(%a0: tensor<SHAPE>, %a1: tensor<i32>) -> (tensor<SHAPE>, tensor<i32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %n = arith.constant 6 : i32
  %last = arith.constant LAST : index
  %begin = tensor.extract %a1[] : tensor<i32>
  %0:2 = scf.while (%v = %a0, %i = %begin) : (tensor<SHAPE>, i32) -> (tensor<SHAPE>, i32) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %v, %i : tensor<SHAPE>, i32
  } do {
  ^bb0(%v: tensor<SHAPE>, %i: i32):
    %z = arith.constant ZERO : ELEMENT
    %e = tensor.empty() : tensor<ELEMENT>
    %f = linalg.fill ins(%z : ELEMENT) outs(%e : tensor<ELEMENT>) -> tensor<ELEMENT>
    %r = linalg.reduce { arith.maximumf } ins(%v : tensor<SHAPE>) outs(%f : tensor<ELEMENT>)
        dimensions = DIMENSIONS
    %most = tensor.extract %r[] : tensor<ELEMENT>
    %j = arith.index_cast %i : i32 to index
    %k = arith.minsi %j, %last : index
    %at = arith.maxsi %k, %c0 : index
    %old = tensor.extract %v[PLACE] : tensor<SHAPE>
    %new = arith.subf %most, %old : ELEMENT
    %w = tensor.insert %new into %v[PLACE] : tensor<SHAPE>
    %b = linalg.broadcast ins(%r : tensor<ELEMENT>) outs(%v : tensor<SHAPE>)
        dimensions = DIMENSIONS
    %s = arith.addf %w, %b : tensor<SHAPE>
    %l = arith.addi %i, %c1 : i32
    scf.yield %s, %l : tensor<SHAPE>, i32
  }
  %c = tensor.from_elements %0#1 : tensor<i32>
  return %0#0, %c : tensor<SHAPE>, tensor<i32>
}"""


SHAPES = [(1,), (2,), (7,), (16,), (17,), (2, 3), (5, 1)]


@pytest.mark.parametrize(
    ("shape", "element"), sampled([*product(SHAPES, ["f32", "f64", "bf16"])], 4)
)
def test_an_open_loop_over_few_elements(
    shape: tuple[int, ...], element: str, written: list[str]
) -> None:
    """A `while` that reduces, reads and writes at computed indices is one kernel."""
    kind = "x".join([*map(str, shape), element])
    values = {
        "SHAPE": kind,
        "LAST": str(shape[0] - 1),
        "ZERO": {"f32": "0xFF800000", "f64": "0xFFF0000000000000", "bf16": "0xFF80"}[element],
        "DIMENSIONS": str([*range(len(shape))]),
        "PLACE": ", ".join(["%at", "%c0"][: len(shape)]),
        "ELEMENT": element,
    }
    text = SEARCH
    for name, value in values.items():
        text = text.replace(name, value)
    numbers = np.random.default_rng(3).standard_normal(shape)
    dtype = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}[element]
    for special in (1.0, -0.0, np.inf, np.nan):
        numbers.reshape(-1)[-1] = special
        for begin in (-2, 0, 6):
            check(text, [numbers.astype(dtype), np.asarray(np.int32(begin))])
    assert bool(written) == (np.prod(shape) <= 16)
