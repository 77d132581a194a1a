"""The conversions that programs in dialects of other frameworks need before they mean anything.

What such a program means is what its conversion computes: programs are converted before they are
run, compared with, or priced.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...ir.regions import walk
from ..stablehlo.convert_stablehlo_to_linalg import ConvertStablehloToLinalgPass, is_stablehlo
from ..tm_tensor.convert_tm_tensor_to_linalg import ConvertTmTensorToLinalgPass, is_tm_tensor


def conversions_of(module: ModuleOp) -> list[ModulePass]:
    """The conversions that a module needs, in order."""
    found: list[ModulePass] = []
    if is_stablehlo(module):
        found.append(ConvertStablehloToLinalgPass())
    if any(map(is_tm_tensor, walk(module))):
        found.append(ConvertTmTensorToLinalgPass())
    return found


def convert_imported(module: ModuleOp) -> None:
    """Run the conversions that a module needs. Raises OperationError for what has none."""
    for each in conversions_of(module):
        each.apply(Context(), module)
