"""A table of all scalar operations: signature and LLVM IR by name, used by `primitives`.

A signature maps the element types in a primitive's name to the types of its arguments and result.
An emitter is `(builder, values, *elements) -> value`. Integers are passed extended in their
containers, computed in their true width, and returned sign-extended, so that `i4` and `i12` wrap as
in MLIR. Narrow floats are computed in `f32` and rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ...runtime.abi.elements import Element
from . import llvm_complex as complexes
from . import llvm_complex_functions as complex_functions
from . import llvm_double_functions as doubles
from . import llvm_floats as floats
from . import llvm_functions as functions
from . import llvm_integers as integers
from . import llvm_powers as powers
from . import llvm_trigonometry as trigonometry
from .llvm_doubles import of_doubles, remainder
from .llvm_values import Builder, Compute, Emit, Value, constant

Types = tuple[list[Element | str], Element | str]
"""The types of the arguments, and the type of the result."""

Signature = Callable[..., Types]


def _unary(element: Element) -> Types:
    return [element], element


def _binary(element: Element) -> Types:
    return [element, element], element


def _ternary(element: Element) -> Types:
    return [element, element, element], element


def _comparison(element: Element) -> Types:
    return [element, element], "bool"


def _test(element: Element) -> Types:
    return [element], "bool"


def _selection(element: Element) -> Types:
    return ["bool", element, element], element


def _conversion(source: Element, target: Element) -> Types:
    return [source], target


def _float_and_integer(element: Element, integer: Element) -> Types:
    return [element, integer], element


def _from_parts(element: Element) -> Types:
    return [element.part, element.part], element


def _to_part(element: Element) -> Types:
    return [element], element.part


_DOUBLES: dict[str, Compute] = {
    "exp": doubles.exp,
    "expm1": doubles.expm1,
    "log": doubles.log,
    "log1p": functions.log1p_of(doubles.log),
    "tanh": doubles.tanh,
    "sinh": doubles.sinh,
    "cosh": doubles.cosh,
    "atan2": doubles.atan2,
    **trigonometry.arc_functions(doubles.atan2),
}
"""Functions of `f64`; others call the C library."""


def _elementary(name: str, single: Compute) -> Emit:
    """Return an emitter of a function that computes `single` of `f32`."""
    double = _DOUBLES.get(name) or floats.libm_function(name)
    return floats.rounded(functions.by_precision(double, single))


def _in_doubles(name: str, own: Compute) -> Emit:
    """Return an emitter of a function that computes `own` in doubles for `f32`."""
    return _elementary(name, of_doubles(own))


def _select(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    """Emit the second operand if the first is true, else the third."""
    if element.is_complex:
        return complexes.choose(builder, *values)
    return builder.select(*values)


_PAIRS = ("addc", "subc", "mulc", "divc", "powc")

OPERATIONS: dict[str, tuple[Signature, Emit]] = {
    "as": (_unary, integers.identity),
    "select": (_selection, _select),
    # Integers
    "addi": (_binary, integers.method("add")),
    "subi": (_binary, integers.method("sub")),
    "muli": (_binary, integers.method("mul")),
    "andi": (_binary, integers.method("and_")),
    "ori": (_binary, integers.method("or_")),
    "xori": (_binary, integers.method("xor")),
    "negi": (_unary, integers.method("neg")),
    "divui": (_binary, integers.integer(integers.unsigned_quotient)),
    "remui": (_binary, integers.integer(integers.unsigned_remainder)),
    "divsi": (_binary, integers.integer(integers.quotient)),
    "remsi": (_binary, integers.integer(integers.remainder)),
    "floordivsi": (_binary, integers.integer(integers.floor_division)),
    "ceildivsi": (_binary, integers.integer(integers.ceiling_division)),
    "ceildivui": (_binary, integers.integer(integers.unsigned_ceiling_division)),
    "floormodsi": (_binary, integers.integer(integers.floor_remainder)),
    "shli": (_binary, integers.shift("shl")),
    "shrsi": (_binary, integers.shift("ashr")),
    "shrui": (_binary, integers.shift("lshr")),
    "maxsi": (_binary, integers.llvm_integer("llvm.smax")),
    "maxui": (_binary, integers.llvm_integer("llvm.umax")),
    "minsi": (_binary, integers.llvm_integer("llvm.smin")),
    "minui": (_binary, integers.llvm_integer("llvm.umin")),
    "absi": (_unary, integers.llvm_integer("llvm.abs", constant(ir.IntType(1), 0))),
    "ctlz": (_unary, integers.llvm_integer("llvm.ctlz", constant(ir.IntType(1), 0))),
    "cttz": (_unary, integers.llvm_integer("llvm.cttz", constant(ir.IntType(1), 0))),
    "ctpop": (_unary, integers.llvm_integer("llvm.ctpop")),
    "mulsihigh": (_binary, integers.high_half(True)),
    "muluihigh": (_binary, integers.high_half(False)),
    **{
        f"cmpi{name}": (_comparison, integers.integer_comparison(predicate, signed))
        for name, predicate, signed in (
            ("eq", "==", True),
            ("ne", "!=", True),
            ("slt", "<", True),
            ("sle", "<=", True),
            ("sgt", ">", True),
            ("sge", ">=", True),
            ("ult", "<", False),
            ("ule", "<=", False),
            ("ugt", ">", False),
            ("uge", ">=", False),
        )
    },
    # Floats
    "addf": (_binary, floats.float_method("fadd")),
    "subf": (_binary, floats.float_method("fsub")),
    "mulf": (_binary, floats.float_method("fmul")),
    "divf": (_binary, floats.float_method("fdiv")),
    "negf": (_unary, floats.sign_operation(floats.negative)),
    # In a reduction, terms may be combined in any order, and a product may be contracted into its
    # sum.
    "sumf": (_binary, floats.float_method("fadd", ("reassoc", "contract"))),
    "productf": (_binary, floats.float_method("fmul", ("reassoc",))),
    "termf": (_binary, floats.float_method("fmul", ("contract",))),
    "maximumf": (_binary, floats.llvm_choice("maximum")),
    "minimumf": (_binary, floats.llvm_choice("minimum")),
    # LLVM 22 makes wrong vectors of reductions by `maxnum` and `minnum`, or aborts, because a NaN
    # ends the vector loop. These are associative for every NaN.
    "maxnumf": (_binary, floats.llvm_choice("maximumnum")),
    "minnumf": (_binary, floats.llvm_choice("minimumnum")),
    "remf": (_binary, floats.rounded(remainder)),
    "sqrt": (_unary, floats.llvm_float("sqrt")),
    "absf": (_unary, floats.sign_operation(floats.absolute)),
    "ceil": (_unary, floats.llvm_float("ceil")),
    "floor": (_unary, floats.llvm_float("floor")),
    "round": (_unary, floats.llvm_float("round")),
    "roundeven": (_unary, floats.llvm_float("roundeven")),
    "trunc": (_unary, floats.llvm_float("trunc")),
    "copysign": (_binary, floats.sign_operation(floats.copy_sign)),
    "fma": (_ternary, floats.llvm_float("fma")),
    "clampf": (_ternary, floats.rounded(floats.clamp)),
    "rsqrt": (_unary, floats.rounded(floats.reciprocal_root)),
    **{
        name: (_unary, _elementary(name, own))
        for name, own in (
            ("exp", functions.exp),
            ("expm1", functions.expm1),
            ("log", functions.log),
            ("log1p", functions.log1p_of(functions.log)),
            ("tanh", functions.tanh),
            ("erf", functions.erf),
        )
    },
    "erfc": (_unary, floats.libm_float("erfc")),
    **{
        name: (_unary, _in_doubles(name, own))
        for name, own in (
            ("exp2", powers.exp2),
            ("log2", powers.log2),
            ("log10", powers.log10),
            ("cbrt", powers.cbrt),
            ("sin", trigonometry.sin),
            ("cos", trigonometry.cos),
            ("tan", trigonometry.tan),
            *trigonometry.arc_functions(trigonometry.atan2).items(),
            ("sinh", powers.sinh),
            ("cosh", powers.cosh),
            ("asinh", powers.asinh),
            ("acosh", powers.acosh),
            ("atanh", powers.atanh),
        )
    },
    "atan2": (_binary, _in_doubles("atan2", trigonometry.atan2)),
    "powf": (_binary, _in_doubles("pow", powers.powf)),
    "fpowi": (_float_and_integer, powers.fpowi),
    **{
        f"cmpf{prefix}{name}": (_comparison, floats.float_comparison(predicate, prefix == "o"))
        for prefix in ("o", "u")
        for name, predicate in (
            ("eq", "=="),
            ("gt", ">"),
            ("ge", ">="),
            ("lt", "<"),
            ("le", "<="),
            ("ne", "!="),
        )
    },
    "cmpford": (_comparison, floats.float_comparison("ord", True)),
    "cmpfuno": (_comparison, floats.float_comparison("uno", False)),
    "isnan": (_test, floats.is_nan),
    "isfinite": (_test, floats.is_finite),
    "isinf": (_test, floats.is_infinite),
    # Complex numbers
    **{
        name: (_binary if name in _PAIRS else _unary, emit)
        for name, emit in complex_functions.FUNCTIONS.items()
    },
    "create": (_from_parts, complexes.create),
    "re": (_to_part, complexes.real),
    "im": (_to_part, complexes.imaginary),
    "absc": (_to_part, complexes.absolute),
    "anglec": (_to_part, complexes.angle),
    "eqc": (_comparison, complexes.equal),
    "neqc": (_comparison, complexes.unequal),
    # Conversions
    "convertf": (_conversion, floats.float_to_float),
    "sitofp": (_conversion, floats.integer_to_float(True)),
    "uitofp": (_conversion, floats.integer_to_float(False)),
    "fptosi": (_conversion, floats.float_to_integer(True)),
    "fptoui": (_conversion, floats.float_to_integer(False)),
    "converti": (_conversion, floats.integer_to_integer(True)),
    "convertui": (_conversion, floats.integer_to_integer(False)),
    "bitcast": (_conversion, floats.bitcast),
}
"""The signature and the emitter of every scalar operation."""
