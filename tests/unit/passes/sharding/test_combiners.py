"""Which bodies are combinations by one operation, and by which."""

from __future__ import annotations

import math

import pytest
from mesh_opt.ir.combiners import Combiner
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.sharding.rules.combiners import combiner_of
from mesh_opt.sharding.sharding import ReductionKind
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import IntegerType, f32


def combiner(body: str, element: str = "f32", result: str = "%s") -> Combiner | None:
    """The combiner of a body from `%a`, the element, and `%b`, the accumulator."""
    text = f"""
func.func @f(%x: tensor<4x{element}>, %y: tensor<{element}>) {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]}} ins(%x : tensor<4x{element}>) outs(%y : tensor<{element}>) {{
  ^bb0(%a: {element}, %b: {element}):
    {body}
    linalg.yield {result} : {element}
  }} -> tensor<{element}>
  return
}}"""
    module = parse_module(new_context(), Source(text, "test"))
    module.verify()
    (generic,) = [op for op in module.walk() if op.name == "linalg.generic"]
    return combiner_of(generic, 0)


@pytest.mark.parametrize(
    ("body", "element", "operation", "kind"),
    [
        ("%s = arith.addf %a, %b : f32", "f32", "addf", ReductionKind.SUM),
        ("%s = arith.subf %b, %a : f32", "f32", "addf", ReductionKind.SUM),
        ("%s = arith.mulf %b, %a : f32", "f32", "mulf", ReductionKind.PRODUCT),
        ("%s = arith.maximumf %b, %a : f32", "f32", "maximumf", ReductionKind.MAX),
        ("%s = arith.maxnumf %b, %a : f32", "f32", "maxnumf", ReductionKind.GENERIC),
        ("%s = arith.minsi %b, %a : i32", "i32", "minsi", ReductionKind.MIN),
        ("%s = arith.minui %b, %a : i32", "i32", "minui", ReductionKind.MIN),
        ("%s = arith.addi %b, %a : i1", "i1", "addi", ReductionKind.BITWISE_XOR),
        ("%s = arith.andi %b, %a : i32", "i32", "andi", ReductionKind.BITWISE_AND),
        ("%s = arith.ori %b, %a : i32", "i32", "ori", ReductionKind.BITWISE_OR),
        ("%s = arith.xori %b, %a : i32", "i32", "xori", ReductionKind.BITWISE_XOR),
    ],
)
def test_one_operation(body: str, element: str, operation: str, kind: ReductionKind) -> None:
    found = combiner(body, element)
    assert found is not None
    assert (found.operation, found.kind) == (f"arith.{operation}", kind)


@pytest.mark.parametrize(
    ("predicate", "operands", "expected"),
    [
        ("ogt", "%a, %b", "maxnumf"),
        ("olt", "%a, %b", "minnumf"),
        ("ogt", "%b, %a", "minnumf"),
        ("ole", "%b, %a", "maxnumf"),
    ],
)
def test_compare_and_select(predicate: str, operands: str, expected: str) -> None:
    body = f"%c = arith.cmpf {predicate}, {operands} : f32\n    %s = arith.select %c, %a, %b : f32"
    found = combiner(body)
    assert found is not None
    assert found.operation == f"arith.{expected}"


@pytest.mark.parametrize(
    "body",
    [
        "%q = arith.mulf %b, %a : f32\n    %s = arith.addf %q, %a : f32",  # c * x + x
        "%s = arith.subf %a, %b : f32",  # alternates
        "%q = arith.addf %b, %b : f32\n    %s = arith.addf %q, %a : f32",  # doubles
        "%q = arith.subf %b, %b : f32\n    %s = arith.addf %q, %a : f32",  # forgets
        "%s = arith.divf %b, %a : f32",
        "%c = arith.cmpf ogt, %a, %a : f32\n    %s = arith.select %c, %a, %b : f32",
        "%c = arith.cmpf ule, %b, %a : f32\n    %s = arith.select %c, %a, %b : f32",  # takes NaNs
        "%c = arith.cmpf ogt, %b, %a : f32\n    %s = arith.select %c, %b, %a : f32",
        "%q = arith.addf %b, %a : f32\n    %s = arith.maximumf %q, %a : f32",
    ],
)
def test_not_a_combiner(body: str) -> None:
    assert combiner(body) is None


def test_chains_and_width_changes() -> None:
    chain = "%q = arith.addf %b, %a : f32\n    %s = arith.addf %q, %a : f32"
    wide = (
        "%p = arith.extf %b : bf16 to f32\n    %q = arith.extf %a : bf16 to f32\n"
        "    %t = arith.addf %p, %q : f32\n    %s = arith.truncf %t : f32 to bf16"
    )
    for found in (combiner(chain), combiner(wide, "bf16")):
        assert found is not None
        assert found.kind is ReductionKind.SUM


def test_integers_through_other_widths() -> None:
    def through(inner: str, outer: str, wide: str, operation: str) -> Combiner | None:
        return combiner(
            f"%p = arith.{inner} %b : i8 to {wide}\n    %q = arith.{inner} %a : i8 to {wide}\n"
            f"    %t = arith.{operation} %p, %q : {wide}\n"
            f"    %s = arith.{outer} %t : {wide} to i8",
            "i8",
        )

    assert through("extsi", "trunci", "i32", "addi") is not None
    # The highest of unsigned numbers is not the highest of the same bits with a sign,
    assert through("extui", "trunci", "i32", "maxsi") is None
    # and a sum that drops bits on the way is not the sum of such sums.
    assert through("trunci", "extsi", "i4", "addi") is None


def test_reductions_that_ignore_nans() -> None:
    text = """
func.func @f(%x: tensor<2x4xf32>) {
  %0 = tosa.reduce_max %x {axis = 1 : i32, nan_mode = IGNORE} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  return
}"""
    module = parse_module(new_context(), Source(text, "test"))
    (reduction,) = [op for op in module.walk() if op.name == "tosa.reduce_max"]
    found = combiner_of(reduction, 0)
    assert found is not None
    assert found.operation == "arith.maxnumf"


def test_neutral_elements() -> None:
    i8 = IntegerType(8)

    def neutral(body: str, element: str = "i8") -> float:
        found = combiner(body, element)
        assert found is not None
        return found.neutral(i8 if element == "i8" else f32)

    assert neutral("%s = arith.maxsi %b, %a : i8") == -128
    assert neutral("%s = arith.minsi %b, %a : i8") == 127
    assert neutral("%s = arith.maxui %b, %a : i8") == 0
    assert neutral("%s = arith.minui %b, %a : i8") == 255
    assert neutral("%s = arith.andi %b, %a : i8") == -1
    assert neutral("%s = arith.maximumf %b, %a : f32", "f32") == -math.inf
    assert math.isnan(neutral("%s = arith.maxnumf %b, %a : f32", "f32"))
