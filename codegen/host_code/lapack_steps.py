"""Lower operations that LAPACK computes: to kernels that call it, if sizes are known."""

from __future__ import annotations

from xdsl.ir import Operation

from ...interpreter.lapack_calls import static_call
from ..kernels.kernel_text import Bound
from ..kernels.lapack_kernels import write_lapack_call
from .function_lowering import FunctionLowering
from .kernel_dispatch import Memory, dispatch
from .rules import lowers


@lowers("stablehlo.cholesky", "stablehlo.custom_call", "stablehlo.triangular_solve")
def _lapack(lowering: FunctionLowering, op: Operation) -> None:
    call = static_call(op)
    if call is None:
        lowers["python"](lowering, op)
        return
    lowering.infer_shapes(op)
    bound: dict[Bound, Memory] = {}
    for result in op.results:
        bound[result] = lowering.new_tensor(op, lowering.shape(result), result)
    dispatch(lowering, lowering.program.text(op, lambda: write_lapack_call(op, call)), bound, op)
    for result in op.results:
        lowering.bind(result, bound[result])
