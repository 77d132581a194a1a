"""`convert-stablehlo-to-linalg`: programs of StableHLO as linalg, tensor, scf, arith and math.

Every function is written anew: integers lose their sign but in the signatures of public functions,
tokens become truth values, and each operation becomes what its rule makes of it (`rules.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...ir.diagnostics import OperationError
from ...ir.regions import walk

DIALECTS = frozenset({"stablehlo", "chlo", "check", "interpreter"})
CONVERTED = frozenset({"check.agree"})
"""What the conversion makes of these dialects."""

_RULES = (
    *(
        "arithmetic",
        "conversions",
        "hyperbolic_functions",
        "special_functions",
        "shapes",
        "reductions",
        "products",
    ),
    *(
        "indexing",
        "scatter",
        "select_and_scatter",
        "sorting",
        "control_flow",
        "calls",
        "dynamic_calls",
        "random_bits",
    ),
    *("dynamic_calls", "random_bits", "decompositions", "implicit_broadcasts"),
    *("parallel_programs", "quantised", "collectives", "ragged_products"),
)
"""The files that fill the tables."""


@dataclass(frozen=True)
class ConvertStablehloToLinalgPass(ModulePass):
    """Convert StableHLO, CHLO and `check` to what the rest of the compiler works on."""

    name = "convert-stablehlo-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if is_stablehlo(op):
            convert_stablehlo_to_linalg(op)


def is_stablehlo(module: ModuleOp) -> bool:
    """Whether a module has operations of StableHLO, CHLO or `check`."""
    return any(is_to_convert(operation) for operation in walk(module))


def is_to_convert(operation: Operation) -> bool:
    """Whether an operation is of the dialects that are converted."""
    name = operation.name
    return name.partition(".")[0] in DIALECTS and name not in CONVERTED


def convert_stablehlo_to_linalg(module: ModuleOp) -> None:
    """Convert a module in place. Raises OperationError for what cannot be converted."""
    # Most programs have no StableHLO, and need none of this.
    from xdsl.transforms.common_subexpression_elimination import cse

    from ..imports.mhlo_shardings import import_mhlo_shardings
    from ..inline_calls import inline_small_calls
    from .folding import drop_factors_of_one
    from .foreign_attributes import own_foreign_attributes
    from .lowering import convert_functions

    inline_small_calls(module)
    own_foreign_attributes(module)
    # Custom calls that say where values lie are converted to nothing.
    import_mhlo_shardings(module)
    drop_factors_of_one(module)
    # JAX computes twice what two gradients have in common.
    cse(module)
    for name in _RULES:
        import_module(f".{name}", __package__)
    for operation in module.body.block.ops:
        if is_to_convert(operation):
            raise OperationError(operation, "stands outside of a function")
    convert_functions(module)
