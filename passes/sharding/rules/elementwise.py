"""Rules of `arith` and `math`: every operation on tensors is elementwise; constants are free."""

from __future__ import annotations

from xdsl.ir import Operation

from ....sharding.factors import FactorRule
from .builder import elementwise_rule
from .registry import rule

ARITH = """
    addf addi addui_extended andi bitcast ceildivsi ceildivui cmpf cmpi constant convertf divf
    divsi divui extf extsi extui floordivsi fptosi fptoui index_cast index_castui maximumf maxnumf
    maxsi maxui minimumf minnumf minsi minui mulf muli mulsi_extended mului_extended negf ori remf
    remsi remui scaling_extf scaling_truncf select shli shrsi shrui sitofp subf subi truncf trunci
    uitofp xori
""".split()
MATH = """
    absf absi acos acosh asin asinh atan atan2 atanh cbrt ceil clampf copysign cos cosh ctlz ctpop
    cttz erf erfc exp exp2 expm1 floor fma fpowi ipowi isfinite isinf isnan isnormal log log10
    log1p log2 powf round roundeven rsqrt sin sincos sinh sqrt tan tanh trunc
""".split()


@rule(*(f"arith.{name}" for name in ARITH), *(f"math.{name}" for name in MATH))
def elementwise(operation: Operation) -> FactorRule | None:
    """Each dimension of the result is one factor, shared with every operand."""
    return elementwise_rule(operation)
