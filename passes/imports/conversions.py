"""Select the conversions that programs in dialects of other frameworks need.

The semantics of such a program is defined by its conversion. Programs are therefore converted
before they are run, compared or priced.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...ir.regions import walk
from ..dispatch.widen_accumulators import has_narrow_result, widen_accumulators
from ..linalg_ext.convert_linalg_ext_to_linalg import ConvertLinalgExtToLinalgPass, is_linalg_ext
from ..loops.linalg_detensorize import linalg_detensorize
from ..loops.scf_uplift_while_to_for import scf_uplift_while_to_for
from ..stablehlo.convert_stablehlo_to_linalg import ConvertStablehloToLinalgPass, is_stablehlo
from ..tosa.convert_tosa_to_linalg import ConvertTosaToLinalgPass, is_tosa
from .expand_unfoldable_constants import expand_unfoldable_constants, is_unfoldable
from .variables_to_util import is_variable, variables_to_util


def conversions_of(module: ModuleOp) -> list[ModulePass]:
    """Return the conversion passes that a module needs, in order."""
    found: list[ModulePass] = []
    operations = tuple(walk(module))
    if any(map(is_unfoldable, operations)):
        found.append(expand_unfoldable_constants())
    if is_stablehlo(module):
        found.append(ConvertStablehloToLinalgPass())
    if any(map(is_linalg_ext, operations)):
        found.append(ConvertLinalgExtToLinalgPass())
    if any(map(is_variable, operations)):
        found.append(variables_to_util())
    return found


def lowerings_of_loops() -> list[ModulePass]:
    """Return the passes that let the loops of a converted program count in numbers.

    `spmd` ends with them. They are for a converted program that goes through no other pass.
    """
    return [linalg_detensorize(), scf_uplift_while_to_for()]


def lowerings_for_kernels(module: ModuleOp) -> list[ModulePass]:
    """Return the passes that a program needs before it is compiled.

    Kernels compute linalg, to which the TOSA that passes have left is converted, and accumulate in
    the types of the results.
    """
    operations = tuple(walk(module))
    found: list[ModulePass] = []
    if any(map(is_tosa, operations)):
        found.append(ConvertTosaToLinalgPass())
    if found or any(map(has_narrow_result, operations)):
        found.append(widen_accumulators())
    return found


def for_kernels(module: ModuleOp) -> ModuleOp:
    """Return a program to compile, a copy if it needs a conversion."""
    for each in lowerings_for_kernels(module):
        module = module.clone()
        each.apply(Context(), module)
    return module


def convert_imported(module: ModuleOp) -> None:
    """Run the conversions that a module needs.

    Raises OperationError for ops without a conversion.
    """
    for each in conversions_of(module):
        each.apply(Context(), module)
