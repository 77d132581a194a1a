"""Write scalar operations of `arith`, `math` and `complex` in kernels as calls of primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, FloatAttr, IntegerAttr, f64
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.arith.flags import rounding_mode, rounds_to_nearest_even
from ....ir.diagnostics import OperationError
from ....runtime.abi.elements import C64, C128, Element, element_of, integer_element
from ....runtime.abi.values import element_type
from ..code.ast_builder import AstBuilder, Term

Handler = Callable[[AstBuilder, Operation, Sequence[Term]], tuple[Term, ...]]

REDUCTION_FORMS = {"addf": "sumf", "mulf": "productf"}
"""The form of a primitive that combines the terms of a reduction."""

_SAME_ELEMENT: dict[str, str] = {
    **{
        f"arith.{name}": name
        for name in (
            *("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "andi", "ori", "xori"),
            *("floordivsi", "ceildivsi", "ceildivui", "shli", "shrsi", "shrui"),
            *("maxsi", "maxui", "minsi", "minui"),
            *("addf", "subf", "mulf", "divf", "remf", "negf"),
            *("maximumf", "minimumf", "maxnumf", "minnumf"),
        )
    },
    **{
        f"math.{name}": name
        for name in (
            *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf", "erfc"),
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh", "atan2", "powf", "sqrt", "rsqrt", "absf", "ceil"),
            *("floor", "round", "roundeven", "trunc", "copysign", "fma", "clampf"),
            *("absi", "ctlz", "cttz", "ctpop"),
        )
    },
    **{
        f"complex.{name}": f"{name}c"
        for name in (
            *("add", "sub", "mul", "div", "neg", "conj", "exp", "expm1", "log", "log1p"),
            *("sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "pow"),
        )
    },
    "complex.create": "create",
}
"""Operations on one element type, which the primitive's name contains."""

_OF_OPERAND = {
    **{f"math.{name}": name for name in ("isnan", "isfinite", "isinf")},
    "complex.re": "re",
    "complex.im": "im",
    **{f"complex.{name}": f"{name}c" for name in ("abs", "angle", "eq", "neq")},
}
"""Operations whose primitive's name contains the element type of the operands."""

_CONVERSIONS: dict[str, str] = {
    "arith.extf": "convertf",
    "arith.truncf": "convertf",
    "arith.sitofp": "sitofp",
    "arith.uitofp": "uitofp",
    "arith.fptosi": "fptosi",
    "arith.fptoui": "fptoui",
    "arith.extsi": "converti",
    "arith.trunci": "converti",
    "arith.extui": "convertui",
    "arith.index_cast": "converti",
    "arith.index_castui": "convertui",
    "arith.bitcast": "bitcast",
}


def write_constant(code: AstBuilder, attribute: Attribute, operation: Operation) -> Term:
    """Return a variable that holds a constant of the program.

    Raises OperationError for an attribute that kernels do not support.
    """
    if isinstance(attribute, FloatAttr):
        element = element_of(attribute.get_type(), operation)
        return code.float_constant(float(attribute.value.data), element.register)
    if isinstance(attribute, IntegerAttr):
        element = element_of(attribute.get_type(), operation)
        return write_integer(code, attribute.value.data, element)
    if isinstance(attribute, ArrayAttr):
        # The array holds the parts of a complex number.
        numbers = cast("tuple[FloatAttr[AnyFloat], ...]", cast(Any, attribute).data)
        parts = [write_constant(code, each, operation) for each in numbers]
        element = C128 if numbers[0].type == f64 else C64
        return code.call(f"create_{element.name}", *parts)
    raise OperationError(operation, f"is a constant that kernels do not support: {attribute}")


def write_integer(code: AstBuilder, value: int, element: Element) -> Term:
    """Return a variable that holds an integer, wrapped to the element's width."""
    if element.width == 1:
        return code.integer_constant(value & 1, "i1")
    wrapped = value & ((1 << element.width) - 1)
    if not element.is_unsigned and wrapped >> (element.width - 1):
        wrapped -= 1 << element.width
    return code.integer_constant(wrapped, element.name)


def write_scalar_operation(
    code: AstBuilder,
    operation: Operation,
    operands: Sequence[Term],
    reduction_form: str | None = None,
) -> tuple[Term, ...]:
    """Return variables for the results of a scalar (or elementwise) operation.

    `reduction_form` is the primitive to use in a reduction, whose terms may be reordered. Raises
    OperationError if kernels do not support the operation.
    """
    name = operation.name
    simple = _SAME_ELEMENT.get(name)
    if simple is not None:
        element = _result_element(operation)
        return (code.call(f"{reduction_form or simple}_{element.name}", *operands),)
    conversion = _CONVERSIONS.get(name)
    if conversion is not None:
        if not rounds_to_nearest_even(operation):
            raise OperationError(
                operation, f"has rounding mode {rounding_mode(operation)}, expected to_nearest_even"
            )
        source, target = _operand_element(operation), _result_element(operation)
        if source == target:
            return (operands[0],)
        return (code.call(f"{conversion}_{source.name}_{target.name}", *operands),)
    of_operand = _OF_OPERAND.get(name)
    if of_operand is not None:
        return (code.call(f"{of_operand}_{_operand_element(operation).name}", *operands),)
    special = _SPECIAL.get(name)
    if special is None:
        raise OperationError(operation, "is an operation that the native backend does not compile")
    return special(code, operation, operands)


def is_scalar_operation(name: str) -> bool:
    """Return whether an operation acts on elements one by one."""
    return name in _SAME_ELEMENT or name in _CONVERSIONS or name in _OF_OPERAND or name in _SPECIAL


def element_of_value(value: SSAValue, operation: Operation) -> Element:
    """Return how the elements of a tensor, or a scalar, are stored.

    Raises OperationError at `operation` if kernels do not support them.
    """
    return element_of(element_type(value.type), operation)


def _result_element(operation: Operation) -> Element:
    return element_of_value(operation.results[0], operation)


def _operand_element(operation: Operation, index: int = 0) -> Element:
    return element_of_value(operation.operands[index], operation)


def _predicate(operation: Operation, names: Sequence[str]) -> str:
    attribute = operation.get_attr_or_prop("predicate")
    if isinstance(attribute, IntegerAttr) and 0 <= attribute.value.data < len(names):
        return names[attribute.value.data]
    raise OperationError(operation, f"has an unknown predicate: {attribute}")


def _compare_integers(
    code: AstBuilder, operation: Operation, operands: Sequence[Term]
) -> tuple[Term, ...]:
    predicate = _predicate(operation, CMPI_COMPARISON_OPERATIONS)
    return (code.call(f"cmpi{predicate}_{_operand_element(operation).name}", *operands),)


def _compare_floats(
    code: AstBuilder, operation: Operation, operands: Sequence[Term]
) -> tuple[Term, ...]:
    predicate = _predicate(operation, CMPF_COMPARISON_OPERATIONS)
    if predicate in ("true", "false"):
        return (code.integer_constant(int(predicate == "true"), "i1"),)
    return (code.call(f"cmpf{predicate}_{_operand_element(operation).name}", *operands),)


def _select(code: AstBuilder, operation: Operation, operands: Sequence[Term]) -> tuple[Term, ...]:
    return (code.call(f"select_{_result_element(operation).name}", *operands),)


def _integer_power(
    code: AstBuilder, operation: Operation, operands: Sequence[Term]
) -> tuple[Term, ...]:
    base, exponent = _operand_element(operation), _operand_element(operation, 1)
    return (code.call(f"fpowi_{base.name}_{exponent.name}", *operands),)


def _extended_addition(
    code: AstBuilder, operation: Operation, operands: Sequence[Term]
) -> tuple[Term, ...]:
    name = _result_element(operation).name
    total = code.call(f"addi_{name}", *operands)
    return (total, code.call(f"cmpiult_{name}", total, operands[0]))


def _extended_product(signed: bool) -> Handler:
    def write(code: AstBuilder, operation: Operation, operands: Sequence[Term]) -> tuple[Term, ...]:
        name = _result_element(operation).name
        high = f"mul{'s' if signed else 'u'}ihigh_{name}"
        return (code.call(f"muli_{name}", *operands), code.call(high, *operands))

    return write


def _nothing(code: AstBuilder, operation: Operation, operands: Sequence[Term]) -> tuple[Term, ...]:
    """Emit nothing for an operation without results or effects."""
    return ()


_SPECIAL: dict[str, Handler] = {
    "arith.addui_extended": _extended_addition,
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compare_integers,
    "arith.mulsi_extended": _extended_product(True),
    "arith.mului_extended": _extended_product(False),
    "arith.select": _select,
    "llvm.intr.assume": _nothing,
    "math.fpowi": _integer_power,
}

INDEX = integer_element(64)
"""The element type of an index in a kernel."""
