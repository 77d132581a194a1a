"""Contractions with scales, zero points and conversions inside mean the same at every stage."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tiled_programs import HERE, check

SIZES = {"m": 17, "n": 33, "k": 20, "b": 3, "g": 4, "i": 5, "": 0}


@dataclass(frozen=True)
class Case:
    """A sum over all letters that the result has not: operands by their letters and types."""

    operands: tuple[tuple[str, str], ...]
    body: str
    """Lines from `%x0, %x1, ...` and the sum `%o` to `%s`."""
    products: int
    """Kernels on packed tiles in the end."""
    result: str = "mn"
    element: str = "f32"


CASES = {
    "scale_of_columns": Case(
        (("mk", "f32"), ("kn", "f32"), ("n", "f32")),
        """%p = arith.mulf %x0, %x1 : f32
        %q = arith.mulf %p, %x2 : f32
        %s = arith.addf %o, %q : f32""",
        1,
    ),
    "scale_of_rows_first": Case(
        (("m", "f32"), ("mk", "f32"), ("nk", "f32")),
        """%p = arith.mulf %x0, %x1 : f32
        %q = arith.mulf %x2, %p : f32
        %s = arith.addf %q, %o : f32""",
        1,
    ),
    "scale_of_the_sum": Case(
        (("mk", "f32"), ("kn", "f32"), ("k", "f32")),
        """%p = arith.mulf %x0, %x2 : f32
        %q = arith.mulf %p, %x1 : f32
        %s = arith.addf %o, %q : f32""",
        1,
    ),
    "two_scales_of_blocks": Case(
        (("mgi", "i8"), ("gin", "i8"), ("mg", "f32"), ("gn", "f32")),
        """%a = arith.sitofp %x0 : i8 to f32
        %b = arith.sitofp %x1 : i8 to f32
        %c = arith.mulf %a, %x2 : f32
        %d = arith.mulf %b, %x3 : f32
        %q = arith.mulf %c, %d : f32
        %s = arith.addf %o, %q : f32""",
        1,
    ),
    "zero_point_and_scale_of_weights": Case(
        (("bmk", "bf16"), ("nk", "i8"), ("n", "i8"), ("n", "f32")),
        """%a = arith.extf %x0 : bf16 to f32
        %b = arith.extsi %x1 : i8 to i32
        %c = arith.extsi %x2 : i8 to i32
        %d = arith.subi %b, %c : i32
        %e = arith.sitofp %d : i32 to f32
        %f = arith.mulf %e, %x3 : f32
        %q = arith.mulf %a, %f : f32
        %s = arith.addf %o, %q : f32""",
        1,
        "bmn",
    ),
    "constant_scale": Case(
        (("mk", "f32"), ("kn", "f32")),
        """%c = arith.constant 2.0 : f32
        %p = arith.mulf %x0, %x1 : f32
        %q = arith.mulf %p, %c : f32
        %s = arith.addf %o, %q : f32""",
        1,
    ),
    "square_of_a_factor": Case(
        (("mk", "f32"), ("kn", "f32")),
        """%p = arith.mulf %x0, %x0 : f32
        %q = arith.mulf %p, %x1 : f32
        %s = arith.addf %o, %q : f32""",
        1,
    ),
    "scale_of_the_result": Case(
        (("mk", "f32"), ("kn", "f32"), ("mn", "f32")),
        """%p = arith.mulf %x0, %x1 : f32
        %q = arith.mulf %p, %x2 : f32
        %s = arith.addf %o, %q : f32""",
        0,
    ),
    "sum_read_twice": Case(
        (("mk", "f32"), ("kn", "f32"), ("n", "f32")),
        """%p = arith.mulf %x0, %x1 : f32
        %q = arith.mulf %p, %o : f32
        %s = arith.addf %o, %q : f32""",
        0,
    ),
    "difference_of_factors": Case(
        (("mk", "f32"), ("kn", "f32")),
        """%p = arith.subf %x0, %x1 : f32
        %q = arith.mulf %p, %p : f32
        %s = arith.addf %o, %q : f32""",
        0,
    ),
    "scaled_integers": Case(
        (("mk", "i8"), ("kn", "i8"), ("n", "i32")),
        """%a = arith.extsi %x0 : i8 to i32
        %b = arith.extsi %x1 : i8 to i32
        %p = arith.muli %a, %b : i32
        %q = arith.muli %p, %x2 : i32
        %s = arith.addi %o, %q : i32""",
        0,
        element="i32",
    ),
    "scaled_halves": Case(
        (("mk", "f16"), ("kn", "f16"), ("n", "f16")),
        """%p = arith.mulf %x0, %x1 : f16
        %q = arith.mulf %p, %x2 : f16
        %s = arith.addf %o, %q : f16""",
        0,
        element="f16",
    ),
}


def program(case: Case, rows: int | str = 17) -> str:
    sizes: dict[str, int | str] = {**SIZES, "m": rows}
    loops = sorted({letter for letters, _ in case.operands for letter in letters} | {*case.result})
    maps = ", ".join(
        f"affine_map<({', '.join(loops)}) -> ({', '.join(letters)})>"
        for letters in (*(letters for letters, _ in case.operands), case.result)
    )
    kinds = ", ".join('"parallel"' if one in case.result else '"reduction"' for one in loops)

    def typed(letters: str, element: str) -> str:
        return f"tensor<{''.join(f'{sizes[one]}x' for one in letters)}{element}>"

    types = [typed(letters, element) for letters, element in case.operands]
    result = typed(case.result, case.element)
    arguments = ", ".join(f"%t{i}: {type_} {HERE}" for i, type_ in enumerate(types))
    names = ", ".join(f"%t{i}" for i in range(len(types)))
    elements = ", ".join(f"%x{i}: {element}" for i, (_, element) in enumerate(case.operands))
    return f"""func.func @main({arguments}, %y: {result} {HERE}) -> ({result} {HERE}) {{
      %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
        ins({names} : {", ".join(types)}) outs(%y : {result}) {{
      ^bb0({elements}, %o: {case.element}):
        {case.body}
        linalg.yield %s : {case.element}
      }} -> {result}
      return %r : {result}
    }}"""


@pytest.mark.parametrize("name", CASES)
def test_scaled(name: str) -> None:
    check(program(CASES[name]), CASES[name].products)


def test_dynamic_rows() -> None:
    check(program(CASES["scale_of_rows_first"], "?"), 1)


def test_a_row_does_not_pay_for_scaled_weights() -> None:
    check(program(CASES["scale_of_columns"], 1), 0)
