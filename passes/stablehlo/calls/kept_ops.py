"""Keep ops that have no conversion: Cholesky, triangular solves and LAPACK calls.

Small factorizations and triangular solves have kernels
(`codegen/kernels/linear_algebra/factorizations.py`). Others of known sizes have kernels that call
LAPACK (`codegen/kernels/linear_algebra/lapack.py`). The interpreter executes the rest, for native
code as well, which emits a remark.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....ir.locations import rebuilt
from ..lowering.element_types import converted
from ..lowering.lowering import Lowering, Tensors, call_rule, tensor_rule

LAPACK = (
    *("potrf", "getrf", "geqrf", "geqp3", "orgqr", "ungqr", "ormqr", "unmqr", "syevd", "heevd"),
    *("geev", "gesdd", "gesvd", "trsm", "gtsv", "gehrd", "sytrd", "hetrd", "gees"),
)
"""The LAPACK functions that the interpreter implements, without the letter of their type."""


@tensor_rule("stablehlo.cholesky", "stablehlo.triangular_solve")
@call_rule(*(f"lapack_{letter}{name}_ffi" for name in LAPACK for letter in "sdcz"))
def keep(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    kept = rebuilt(op, operands, [converted(each) for each in op.result_types])
    return lowering.emit.add_op(kept).results
