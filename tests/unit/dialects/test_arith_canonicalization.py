"""Integer arithmetic on constants."""

from __future__ import annotations

import pytest
from mesh_opt.dialects.arith.canonicalization import evaluate
from xdsl.dialects.arith import CmpiOp, DivUIOp, ExtUIOp, MuliOp, ShLIOp, TruncIOp
from xdsl.dialects.builtin import IntegerType, i1, i8, i32
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation, SSAValue


def _value(width: int) -> SSAValue:
    return TestOp(result_types=[IntegerType(width)]).results[0]


@pytest.mark.parametrize(
    ("op", "operands", "expected"),
    [
        (MuliOp(_value(8), _value(8)), [100, 2], -56),
        (ShLIOp(_value(32), _value(32)), [3, 31], -(1 << 31)),
        (DivUIOp(_value(8), _value(8)), [-1, 1], -1),
        (DivUIOp(_value(8), _value(8)), [-1, 2], 127),
        (DivUIOp(_value(8), _value(8)), [1, 0], None),
        (TruncIOp(_value(32), i1), [2], 0),
        (TruncIOp(_value(32), i8), [128], -128),
        (ExtUIOp(_value(8), i32), [-1], 255),
        (CmpiOp(_value(8), _value(8), "ugt"), [-1, 1], -1),
        (CmpiOp(_value(8), _value(8), "sgt"), [-1, 1], 0),
    ],
    ids=lambda value: value.name if isinstance(value, Operation) else None,
)
def test_results_have_the_form_of_constants(
    op: Operation, operands: list[int], expected: int | None
) -> None:
    type_ = op.operand_types[0]
    assert isinstance(type_, IntegerType)
    assert evaluate(op, operands, type_.bitwidth) == expected
