"""Write elements of `tosa` operations: elementwise with broadcasting, and rearrangements.

Dimensions of size 1 are broadcast where the types say so. Operations that depend on unknown
numbers, such as a computed permutation, have no kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.tosa.attributes import ShapeType
from ...dialects.tosa.operation_kinds import constant_numbers
from ...ir.attribute_access import flag, integer, integers, text
from ...runtime.abi.elements import Element
from ..scalar_ops.scalars import write_constant
from .ast_builder import AstBuilder, Term
from .concatenations import in_range, write_concatenation
from .static_values import shape_of, tensor_element
from .writer import Indices, KernelWriter, LinearIndices

ElementwiseRule = Callable[[KernelWriter, Operation, Element, list[Term]], Term]
MovementRule = Callable[[KernelWriter, Operation, int, Indices], Term]


# Elementwise ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Same:
    """The primitives for floats and for integers."""

    float_name: str | None
    integer_name: str | None = None

    def __call__(
        self, writer: KernelWriter, op: Operation, element: Element, values: list[Term]
    ) -> Term:
        name = self.float_name if element.is_float else self.integer_name
        return writer.code.call(f"{name}_{element.name}", *values[:2])


def _comparison(float_name: str, integer_name: str) -> ElementwiseRule:
    def rule(writer: KernelWriter, op: Operation, element: Element, values: list[Term]) -> Term:
        element = writer.element_of(op.operands[0])
        name = float_name if element.is_float else integer_name
        return writer.code.call(f"{name}_{element.name}", *values)

    return rule


def _reciprocal(writer: KernelWriter, op: Operation, element: Element, values: list[Term]) -> Term:
    one = writer.code.float_constant(1.0, element.register)
    return writer.code.call(f"divf_{element.name}", one, values[0])


def _negate(writer: KernelWriter, op: Operation, element: Element, values: list[Term]) -> Term:
    code = writer.code
    if element.is_float:
        return code.call(f"negf_{element.name}", values[0])
    value, source, target = (code.call(f"converti_{element.name}_i64", each) for each in values)
    result = code.call("subi_i64", target, code.call("subi_i64", value, source))
    if element.width < 32:
        top = 1 << (element.width - 1)
        result = code.call("minsi_i64", code.call("maxsi_i64", result, -top), top - 1)
    return code.call(f"converti_i64_{element.name}", result)


def _select(writer: KernelWriter, op: Operation, element: Element, values: list[Term]) -> Term:
    return writer.code.call(f"select_{element.name}", *values)


def _clamp(writer: KernelWriter, op: Operation, element: Element, values: list[Term]) -> Term:
    code = writer.code
    bounds = [op.get_attr_or_prop(f"{side}_val") for side in ("min", "max")]
    low, high = (write_constant(code, bound, op) for bound in bounds if bound is not None)
    if not element.is_float:
        smallest = code.call(f"maxsi_{element.name}", values[0], low)
        return code.call(f"minsi_{element.name}", smallest, high)
    ignores = "IGNORE" in text(op, "nan_mode").upper()
    largest = "maxnumf" if ignores else "maximumf"
    return code.call(
        f"minimumf_{element.name}", code.call(f"{largest}_{element.name}", values[0], low), high
    )


def _cast(writer: KernelWriter, op: Operation, element: Element, values: list[Term]) -> Term:
    code, source = writer.code, writer.element_of(op.operands[0])
    if source == element:
        return values[0]
    if element.width == 1:
        return _is_nonzero(code, source, values[0])
    if source.is_float and element.is_float:
        return code.call(f"convertf_{source.name}_{element.name}", values[0])
    if source.is_float:
        whole = code.call(f"roundeven_{source.name}", values[0])
        return code.call(f"fptosi_{source.name}_{element.name}", whole)
    # Booleans are converted as 0 and 1, not as 0 and -1.
    is_unsigned = source.width == 1 or source.is_unsigned
    if element.is_float:
        name = "uitofp" if is_unsigned else "sitofp"
    else:
        name = "convertui" if is_unsigned else "converti"
    return code.call(f"{name}_{source.name}_{element.name}", values[0])


def _is_nonzero(code: AstBuilder, source: Element, value: Term) -> Term:
    name = "cmpfune" if source.is_float else "cmpine"
    return code.call(f"{name}_{source.name}", value, code.number(0, source))


ELEMENTWISE: dict[str, ElementwiseRule] = {
    **{
        f"tosa.{name}": _Same(name)
        for name in (
            *("ceil", "cos", "erf", "exp", "floor", "log", "rsqrt", "sigmoid", "sin", "tanh"),
        )
    },
    "tosa.abs": _Same("absf", "absi"),
    "tosa.add": _Same("addf", "addi"),
    "tosa.arithmetic_right_shift": _Same(None, "shrsi"),
    "tosa.bitwise_and": _Same(None, "andi"),
    "tosa.bitwise_not": _Same(None, "noti"),
    "tosa.bitwise_or": _Same(None, "ori"),
    "tosa.bitwise_xor": _Same(None, "xori"),
    "tosa.cast": _cast,
    "tosa.clamp": _clamp,
    "tosa.clz": _Same(None, "ctlz"),
    "tosa.equal": _comparison("cmpfoeq", "cmpieq"),
    "tosa.greater": _comparison("cmpfogt", "cmpisgt"),
    "tosa.greater_equal": _comparison("cmpfoge", "cmpisge"),
    "tosa.logical_and": _Same(None, "andi"),
    "tosa.logical_left_shift": _Same(None, "shli"),
    "tosa.logical_not": _Same(None, "noti"),
    "tosa.logical_or": _Same(None, "ori"),
    "tosa.logical_right_shift": _Same(None, "shrui"),
    "tosa.logical_xor": _Same(None, "xori"),
    "tosa.maximum": _Same("maximumf", "maxsi"),
    "tosa.minimum": _Same("minimumf", "minsi"),
    "tosa.mul": _Same("mulf", "muli"),
    "tosa.negate": _negate,
    "tosa.pow": _Same("powf"),
    "tosa.reciprocal": _reciprocal,
    "tosa.select": _select,
    "tosa.sub": _Same("subf", "subi"),
}
"""The rule of each operation, called with the result's element type and the operands' elements."""

_PRIMITIVES = {name: rule for name, rule in ELEMENTWISE.items() if isinstance(rule, _Same)}
_FLOAT_ONLY = frozenset(
    {"tosa.reciprocal", *(name for name, rule in _PRIMITIVES.items() if rule.integer_name is None)}
)
_INTEGER_ONLY = frozenset(name for name, rule in _PRIMITIVES.items() if rule.float_name is None)


def may_broadcast(op: Operation, operand: SSAValue) -> bool:
    """Return whether an operation may read an operand at other indices than the result's.

    Dynamic sizes may be 1 at run time, if there is another operand.
    """
    shape = shape_of(operand)
    is_alone = sum(is_read(op, each) for each in op.operands) == 1
    return not is_alone and (shape != shape_of(op.results[0]) or min(shape, default=0) < 0)


def broadcast_indices(
    writer: KernelWriter, op: Operation, operand: SSAValue, indices: Indices
) -> Indices:
    """Return the indices at which an operand is read for an element of the result."""
    if not may_broadcast(op, operand):
        return indices
    code, shape = writer.code, writer.shape(operand)
    found: list[Term] = []
    for size, index in zip(shape, indices[len(indices) - len(shape) :], strict=True):
        is_one = code.compare("eq", size, 1)
        if isinstance(is_one, int):
            found.append(0 if is_one else index)
        else:
            found.append(code.call("select_i64", is_one, 0, index))
    return tuple(found)


def write_elementwise(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    """Return the element of an elementwise operation."""
    values: list[Term] = []
    for operand in op.operands:
        if not is_read(op, operand):
            continue
        own = shape_of(operand)
        if isinstance(indices, LinearIndices):
            single = all(size == 1 for size in own)
            at = (0,) * len(own) if single else LinearIndices.at(indices.position, len(own))
        elif op.name == "tosa.negate" and operand is not op.operands[0]:
            at = (0,) * len(own)
        else:
            at = broadcast_indices(writer, op, operand, indices)
        values.append(writer.element(operand, at))
    return ELEMENTWISE[op.name](writer, op, writer.element_of(op.results[0]), values)


# Rearrangements -------------------------------------------------------------------------------


def _numbers(op: Operation, position: int) -> tuple[int, ...]:
    return constant_numbers(op.operands[position]) or ()


def _transpose(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    source: list[Term] = [0] * len(indices)
    for dimension, origin in enumerate(integers(op, "perms")):
        source[origin] = indices[dimension]
    return writer.element(op.operands[0], tuple(source))


def _slice(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    starts = _numbers(op, 1)
    at = tuple(writer.code.add(index, start) for index, start in zip(indices, starts, strict=True))
    return writer.element(op.operands[0], at)


def _reverse(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    axis = integer(op, "axis")
    code = writer.code
    last = code.subtract(writer.shape(op.operands[0])[axis], 1)
    at = (*indices[:axis], code.subtract(last, indices[axis]), *indices[axis + 1 :])
    return writer.element(op.operands[0], at)


def _tile(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    shape = writer.shape(op.operands[0])
    at = tuple(writer.code.modulo(index, size) for index, size in zip(indices, shape, strict=True))
    return writer.element(op.operands[0], at)


def _concat(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    return write_concatenation(writer, op.operands, integer(op, "axis"), indices)


def _pad(writer: KernelWriter, op: Operation, number: int, indices: Indices) -> Term:
    code = writer.code
    widths = _numbers(op, 1)
    condition: Term = 1
    at: list[Term] = []
    for dimension, (index, size) in enumerate(
        zip(indices, writer.shape(op.operands[0]), strict=True)
    ):
        low, high = widths[2 * dimension : 2 * dimension + 2]
        at.append(code.subtract(index, low))
        if low or high:
            condition = code.both(condition, in_range(writer, at[-1], size))

    def filler() -> Term:
        value = op.operands[2]
        return writer.element(value, (0,) * len(shape_of(value)))

    return code.choose(condition, lambda: writer.element(op.operands[0], tuple(at)), filler)


MOVEMENTS: dict[str, MovementRule] = {
    "tosa.concat": _concat,
    "tosa.pad": _pad,
    "tosa.reverse": _reverse,
    "tosa.slice": _slice,
    "tosa.tile": _tile,
    "tosa.transpose": _transpose,
}
"""Operations that only select where an element comes from."""


def is_pointwise_tosa(op: Operation) -> bool:
    """Return whether kernels compute an operation element by element."""
    name = op.name
    result = shape_of(op.results[0])
    if name in MOVEMENTS:
        lists = (operand for operand in op.operands if isinstance(operand.type, ShapeType))
        known = all(constant_numbers(each) is not None for each in lists)
        return known and all(size >= 0 for size in result)
    if name not in ELEMENTWISE:
        return False
    if name == "tosa.mul" and not _is_unshifted(op):
        return False
    if name == "tosa.arithmetic_right_shift" and flag(op, "round"):
        return False
    if name in ("tosa.maximum", "tosa.minimum") and "IGNORE" in text(op, "nan_mode").upper():
        return False
    is_float = isinstance(tensor_element(op.operands[-1]), AnyFloat)
    return not ((name in _FLOAT_ONLY and not is_float) or (name in _INTEGER_ONLY and is_float))


def _is_unshifted(op: Operation) -> bool:
    numbers = constant_numbers(op.operands[2])
    is_float = isinstance(tensor_element(op.operands[0]), AnyFloat)
    return is_float or (numbers is not None and not any(numbers))


def is_read(op: Operation, operand: SSAValue) -> bool:
    """Return whether kernels read an operand's elements, and not only static numbers."""
    is_shift = op.name == "tosa.mul" and operand is op.operands[2]
    return isinstance(operand.type, TensorType) and not is_shift
