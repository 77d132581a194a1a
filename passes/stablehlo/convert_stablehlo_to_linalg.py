"""`convert-stablehlo-to-linalg`: convert StableHLO programs to linalg, tensor, scf, arith and math.

Every function gets a new body. Integers become signless except in the signatures of public
functions, tokens become `tensor<i1>`, and each op by its rule (`lowering/lowering.py`).
"""

from __future__ import annotations

from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...ir.diagnostics import OperationError
from ...ir.regions import walk

DIALECTS = frozenset({"stablehlo", "chlo", "check", "interpreter"})
CONVERTED = frozenset({"check.agree", "check.holds", "check.probe", "check.probed"})
"""Ops of these dialects that the conversion itself emits."""

_RULES = (
    *("elementwise.arithmetic", "elementwise.conversions", "elementwise.hyperbolic_functions"),
    *("elementwise.special_functions", "elementwise.random_bits"),
    *("elementwise.implicit_broadcasts", "elementwise.quantised"),
    *("data_movement.shapes", "data_movement.gather", "data_movement.scatter"),
    *("reduction.reductions", "reduction.select_and_scatter"),
    *("products.dot_products", "products.convolution", "products.ragged_products"),
    *("products.fourier", "sorting.sorting"),
    *("lowering.control_flow", "calls.custom_calls", "calls.dynamic_calls", "calls.kept_ops"),
    *("calls.test_expectations", "reduction.batch_norm"),
    *("distribution.parallel_programs", "distribution.collectives"),
)
"""The modules that fill the tables of rules."""


class ConvertStablehloToLinalgPass(ModulePass):
    """Convert StableHLO, CHLO and `check` to linalg, tensor, scf, arith and math."""

    name = "convert-stablehlo-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if is_stablehlo(op):
            convert_stablehlo_to_linalg(op)


def is_stablehlo(module: ModuleOp) -> bool:
    """Return whether a module has ops of StableHLO, CHLO or `check`, or tuples, to be converted."""
    return any(is_to_convert(each) or _has_tuples(each) for each in walk(module))


def _has_tuples(operation: Operation) -> bool:
    """Return whether a function takes or returns tuples."""
    if not isinstance(operation, FuncOp):
        return False
    type_ = operation.function_type
    return any(isinstance(each, TupleType) for each in (*type_.inputs, *type_.outputs))


def is_to_convert(operation: Operation) -> bool:
    """Return whether an op belongs to the dialects that are converted, or is Shardy's constant."""
    name = operation.name
    if name.partition(".")[0] in DIALECTS:
        return name not in CONVERTED
    return name == "sdy.constant"


def convert_stablehlo_to_linalg(module: ModuleOp) -> None:
    """Convert a module in place. Raises OperationError for an op that cannot be converted."""
    # Imported here because programs without StableHLO do not need these modules.
    from xdsl.transforms.common_subexpression_elimination import cse
    from xdsl.transforms.dead_code_elimination import region_dce

    from ..imports.mhlo_shardings import import_mhlo_shardings
    from ..inline_calls import inline_small_calls
    from ..sharding.annotations.access import read_constraints
    from .distribution.parallel_programs import functions_of_processes
    from .lowering.folding import drop_factors_of_one
    from .lowering.foreign_attributes import replace_foreign_attributes
    from .lowering.lowering import convert_functions
    from .lowering.tuples import expand_tuples

    expand_tuples(module)
    inline_small_calls(module)
    replace_foreign_attributes(module)
    # The conversion drops custom calls with shardings, so these are imported first.
    import_mhlo_shardings(module)
    read_constraints(module)
    drop_factors_of_one(module)
    # JAX computes common subexpressions of two gradients twice.
    cse(module)
    # Propagation would split what the program does for results without uses.
    region_dce(module.body)
    for name in _RULES:
        import_module(f".{name}", __package__)
    for operation in module.body.block.ops:
        if is_to_convert(operation):
            raise OperationError(operation, "is outside of a function")
    convert_functions(module, functions_of_processes(module))
