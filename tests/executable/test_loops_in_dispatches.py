"""Loops that compute numbers beside small or updated tensors: one dispatch, as interpreted."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check, function
from mesh_opt import api

VECTOR, TABLE = "tensor<5xf32>", "tensor<9x40xf32>"

BODIES = {
    "branches": (
        "f32, i32, tensor<5xf32>",
        "%s = %a0, %k = %a1, %v = %a2",
        """%e = tensor.extract %a2[%four] : tensor<5xf32>
    %p = arith.cmpf olt, %s, %e : f32
    %s1, %v1 = scf.if %p -> (f32, tensor<5xf32>) {
      %c = arith.constant dense<[0.5, -1.0, 2.0, 0.25, 3.0]> : tensor<5xf32>
      %o = tensor.empty() : tensor<5xf32>
      %m = linalg.mul ins(%v, %c : tensor<5xf32>, tensor<5xf32>) outs(%o : tensor<5xf32>) -> tensor<5xf32>
      %h = tensor.extract %m[%zero] : tensor<5xf32>
      scf.yield %h, %m : f32, tensor<5xf32>
    } else {
      %h = arith.subf %s, %e : f32
      scf.yield %h, %a2 : f32, tensor<5xf32>
    }
    %k1 = arith.muli %k, %a1 : i32""",
        "%s1, %k1, %v1",
    ),
    "switch in a nested loop": (
        "index, tensor<5xf32>",
        "%k = %zero, %v = %a2",
        """%j = arith.addi %k, %i : index
    %w = scf.for %n = %zero to %i step %one iter_args(%u = %v) -> (tensor<5xf32>) {
      %x = scf.index_switch %n -> tensor<5xf32>
      case 1 {
        %r = tensor.extract_slice %u[1] [4] [1] : tensor<5xf32> to tensor<4xf32>
        %f = tensor.extract_slice %u[0] [1] [1] : tensor<5xf32> to tensor<1xf32>
        %t = tensor.concat dim(0) %r, %f : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
        scf.yield %t : tensor<5xf32>
      }
      default {
        %m = arith.remui %n, %four : index
        %t = tensor.insert %a0 into %u[%m] : tensor<5xf32>
        scf.yield %t : tensor<5xf32>
      }
      scf.yield %x : tensor<5xf32>
    }""",
        "%j, %w",
    ),
    "rows of a table": (
        "f32, tensor<9x40xf32>, tensor<5xf32>",
        "%s = %a0, %t = %made, %v = %a2",
        """%at = arith.remui %i, %four : index
    %e = tensor.extract %v[%at] : tensor<5xf32>
    %row = tensor.extract_slice %t[%at, 0] [1, 40] [1, 1] : tensor<9x40xf32> to tensor<40xf32>
    %o = tensor.empty() : tensor<40xf32>
    %f = linalg.fill ins(%e : f32) outs(%o : tensor<40xf32>) -> tensor<40xf32>
    %g = linalg.add ins(%row, %f : tensor<40xf32>, tensor<40xf32>) outs(%o : tensor<40xf32>) -> tensor<40xf32>
    %t1 = tensor.insert_slice %g into %t[%at, 0] [1, 40] [1, 1] : tensor<40xf32> into tensor<9x40xf32>
    %q = tensor.extract %row[%four] : tensor<40xf32>
    %s1 = arith.addf %s, %q : f32
    %v1 = tensor.insert %s1 into %v[%at] : tensor<5xf32>""",
        "%s1, %t1, %v1",
    ),
    "a table from outside": (
        "i32, tensor<9x40xf32>",
        "%k = %a1, %t = %a3",
        """%p = arith.cmpi slt, %k, %a1 : i32
    %t1 = scf.if %p -> (tensor<9x40xf32>) {
      scf.yield %t : tensor<9x40xf32>
    } else {
      %e = tensor.extract %t[%i, %four] : tensor<9x40xf32>
      %u = tensor.insert %e into %t[%four, %i] : tensor<9x40xf32>
      scf.yield %u : tensor<9x40xf32>
    }
    %e = tensor.extract %t1[%four, %i] : tensor<9x40xf32>
    %n = arith.fptosi %e : f32 to i32
    %k1 = arith.addi %k, %n : i32""",
        "%k1, %t1",
    ),
    "a reduction": (
        "f32, tensor<9x40xf32>",
        "%s = %a0, %t = %a3",
        """%o = tensor.empty() : tensor<40xf32>
    %low = arith.constant -5.0 : f32
    %f = linalg.fill ins(%low : f32) outs(%o : tensor<40xf32>) -> tensor<40xf32>
    %m = linalg.reduce { arith.maximumf } ins(%t : tensor<9x40xf32>) outs(%f : tensor<40xf32>) dimensions = [0]
    %w = tensor.empty() : tensor<9x40xf32>
    %b = linalg.broadcast ins(%m : tensor<40xf32>) outs(%w : tensor<9x40xf32>) dimensions = [0]
    %t1 = linalg.sub ins(%b, %t : tensor<9x40xf32>, tensor<9x40xf32>) outs(%w : tensor<9x40xf32>) -> tensor<9x40xf32>
    %g = tensor.empty() : tensor<f32>
    %h = linalg.fill ins(%s : f32) outs(%g : tensor<f32>) -> tensor<f32>
    %n = linalg.reduce { arith.minimumf } ins(%m : tensor<40xf32>) outs(%h : tensor<f32>) dimensions = [0]
    %s1 = tensor.extract %n[] : tensor<f32>""",
        "%s1, %t1",
    ),
    "a product": (
        "tensor<5xf32>, tensor<9x40xf32>, i32",
        "%v = %a2, %t = %made, %k = %a1",
        """%o = tensor.empty() : tensor<5x5xf32>
    %f = linalg.fill ins(%z : f32) outs(%o : tensor<5x5xf32>) -> tensor<5x5xf32>
    %x = tensor.expand_shape %v [[0, 1]] output_shape [5, 1] : tensor<5xf32> into tensor<5x1xf32>
    %y = tensor.expand_shape %v [[0, 1]] output_shape [1, 5] : tensor<5xf32> into tensor<1x5xf32>
    %p = linalg.matmul ins(%x, %y : tensor<5x1xf32>, tensor<1x5xf32>) outs(%f : tensor<5x5xf32>) -> tensor<5x5xf32>
    %e = tensor.empty() : tensor<5xf32>
    %low = arith.constant 2.0 : f32
    %c = linalg.fill ins(%low : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
    %v1 = linalg.reduce { arith.minimumf } ins(%p : tensor<5x5xf32>) outs(%c : tensor<5xf32>) dimensions = [1]
    %t1 = tensor.insert_slice %v1 into %t[%i, 3] [1, 5] [1, 1] : tensor<5xf32> into tensor<9x40xf32>
    %k1 = arith.addi %k, %a1 : i32""",
        "%v1, %t1, %k1",
    ),
    "numbers that read": (
        "f32, i1",
        "%s = %a0, %b = %yes",
        """%e = tensor.extract %a3[%i, %four] : tensor<9x40xf32>
    %m = arith.maximumf %s, %e : f32
    %s1 = arith.select %b, %m, %s : f32
    %b1 = arith.xori %b, %yes : i1""",
        "%s1, %b1",
    ),
}  # fmt: skip
"""Types of what a loop carries, its initial values, its body, and what follows."""


def program(name: str, kind: str) -> str:
    """Return a program with a loop that runs `%a4` times and at most 9 times."""
    types, initial, body, following = BODIES[name]
    results = ", ".join(f"%r{number}" for number in range(types.count(",") + 1))
    names = [each.split(" = ")[0] for each in initial.split(", ")]
    if kind == "for":
        loop = f"""{results} = scf.for %i = %zero to %high step %one iter_args({initial}) -> ({types}) {{
    {body}
    scf.yield {following} : {types}
  }}"""
    else:
        arguments = ", ".join(
            f"{name}: {each}" for name, each in zip(names, types.split(", "), strict=True)
        )
        loop = f"""%count, {results} = scf.while (%i = %zero, {initial}) : (index, {types}) -> (index, {types}) {{
    %proceed = arith.cmpi slt, %i, %high : index
    scf.condition(%proceed) %i, {", ".join(names)} : index, {types}
  }} do {{
  ^bb0(%i: index, {arguments}):
    {body}
    %next = arith.addi %i, %one : index
    scf.yield %next, {following} : index, {types}
  }}"""
    return function(
        ["f32", "i32", VECTOR, TABLE, "index"],
        types,
        f"""  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %nine = arith.constant 9 : index
  %yes = arith.constant true
  %z = arith.constant 0.0 : f32
  %empty = tensor.empty() : {TABLE}
  %made = linalg.fill ins(%z : f32) outs(%empty : {TABLE}) -> {TABLE}
  %high = arith.minsi %a4, %nine : index
  {loop}
  return {results} : {types}""",
    )


@pytest.mark.parametrize("kind", ["for", "while"])
@pytest.mark.parametrize("name", BODIES)
def test_one_dispatch(name: str, kind: str) -> None:
    text = program(name, kind)
    compiled = api.compile(text, "compile")
    [dispatch] = [each for each in compiled.module.walk() if each.name == "stream.async.dispatch"]
    assert getattr(dispatch.parent_op(), "name", None) == "util.func"
    reference = api.compile(text)["main"]
    rng = np.random.default_rng(3)
    for turns in (0, 1, 9):
        vector, table = (rng.standard_normal(each).astype(np.float32) for each in (5, (9, 40)))
        table[2, 4] = vector[turns % 5] = (np.nan, -0.0)[turns % 2]
        given = [np.float32(0.5), np.int32(3), vector, table, np.int64(turns)]
        expected = reference.reference(given)
        for backend in ("native", "native", "interpreter"):
            for got, want in zip(compiled["main"].run(given, backend), expected, strict=True):
                np.testing.assert_array_equal(got, want)


def test_branches_of_small_tensors_are_one_kernel() -> None:
    """Elements that a branch returns are variables; the case comes from a table outside."""
    text = function(
        ["tensor<9xi32>", VECTOR],
        f"{VECTOR}, f32",
        f"""  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %nine = arith.constant 9 : index
  %z = arith.constant 0.0 : f32
  %r, %s = scf.for %i = %zero to %nine step %one iter_args(%v = %a1, %u = %z) -> ({VECTOR}, f32) {{
    %k = tensor.extract %a0[%i] : tensor<9xi32>
    %w = arith.index_cast %k : i32 to index
    %x, %y = scf.index_switch %w -> {VECTOR}, f32
    case 1 {{
      %n = arith.negf %v : {VECTOR}
      %p = arith.cmpf olt, %u, %z : f32
      %m = scf.if %p -> ({VECTOR}) {{
        scf.yield %a1 : {VECTOR}
      }} else {{
        scf.yield %n : {VECTOR}
      }}
      %e = tensor.extract %m[%one] : {VECTOR}
      scf.yield %m, %e : {VECTOR}, f32
    }}
    case -1 {{
      %b = tensor.extract_slice %v[1] [4] [1] : {VECTOR} to tensor<4xf32>
      %c = tensor.extract_slice %v[0] [1] [1] : {VECTOR} to tensor<1xf32>
      %t = tensor.concat dim(0) %b, %c : (tensor<4xf32>, tensor<1xf32>) -> {VECTOR}
      scf.yield %t, %u : {VECTOR}, f32
    }}
    default {{
      %t = arith.addf %v, %a1 : {VECTOR}
      scf.yield %t, %z : {VECTOR}, f32
    }}
    scf.yield %x, %y : {VECTOR}, f32
  }}
  return %r, %s : {VECTOR}, f32""",
    )
    vector = np.array([0.5, np.nan, -0.0, -3.0, np.inf], np.float32)
    cases = [[0, 1, -1, 2, 1, 1, -1, 0, 1], [1] * 9, [-1, 1, 1, -1, 0, -1, 1, 1, -1]]
    check(text, *([np.array(each, np.int32), vector] for each in cases))
    assert str(api.compile(text).host_code).count("  run ") == 1


OPEN = "tensor<?x3xf32>"


@pytest.mark.parametrize("loop", ["for", "while"])
@pytest.mark.parametrize(
    "body",
    [
        "%s = tensor.insert %a3 into %t[%i, %one] : tensor<?x3xf32>",
        """%s = scf.if %a2 -> (tensor<?x3xf32>) {
      scf.yield %t : tensor<?x3xf32>
    } else {
      %n = tensor.insert %a3 into %t[%i, %one] : tensor<?x3xf32>
      scf.yield %n : tensor<?x3xf32>
    }""",
        "%s = scf.if %a2 -> (tensor<?x3xf32>) {\n scf.yield %t : tensor<?x3xf32>\n } else {\n"
        " scf.yield %t : tensor<?x3xf32>\n }",
    ],
    ids=["element", "branch", "nothing"],
)
def test_updates_of_a_tensor_of_open_size(body: str, loop: str) -> None:
    """The updated tensor has the sizes of the one that the loop begins with."""
    if loop == "for":
        loops = f"""  %q = scf.for %i = %zero to %a1 step %one iter_args(%t = %a0) -> ({OPEN}) {{
    {body}
    scf.yield %s : {OPEN}
  }}"""
    else:
        loops = f"""  %end, %q = scf.while (%i = %zero, %t = %a0) : (index, {OPEN}) -> (index, {OPEN}) {{
    %more = arith.cmpi slt, %i, %a1 : index
    scf.condition(%more) %i, %t : index, {OPEN}
  }} do {{
  ^bb0(%i: index, %t: {OPEN}):
    {body}
    %next = arith.addi %i, %one : index
    scf.yield %next, %s : index, {OPEN}
  }}"""
    constants = "  %zero = arith.constant 0 : index\n  %one = arith.constant 1 : index\n"
    types = [OPEN, "index", "i1", "f32"]
    text = function(types, OPEN, f"{constants}{loops}\n  return %q : {OPEN}")
    compiled = api.compile(text, "compile")["main"]
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for turns in (0, 3):
        given = [x, np.int64(turns), np.bool_(turns == 0), np.float32(7)]
        (expected,) = api.compile(text)["main"].reference(given)
        for backend in ("native", "interpreter"):
            np.testing.assert_array_equal(compiled.run(given, backend)[0], expected)
