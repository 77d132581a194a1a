"""Canonicalization that xDSL leaves: constants, identities and casts of integers, operand order."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import NamedTuple, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.attribute_access import constant_integer, integer
from ...ir.canonicalization import Patterns
from ...tiling.element_types import INDEX_BITS, as_signed, as_unsigned, integer_range

rewrites = Patterns()


def _divide(left: int, right: int, width: int) -> int | None:
    """Return the quotient rounded towards zero; `None` if it is undefined."""
    if right == 0 or (right == -1 and left == integer_range(width, is_signed=True)[0]):
        return None
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int, width: int) -> int | None:
    if right == -1:
        return 0
    quotient = _divide(left, right, width)
    return None if quotient is None else left - quotient * right


def _rounded_down(left: int, right: int, width: int) -> int | None:
    return None if _divide(left, right, width) is None else left // right


def _rounded_up(left: int, right: int, width: int) -> int | None:
    return None if _divide(left, right, width) is None else -(-left // right)


_SIGNED: dict[str, Callable[[int, int, int], int | None]] = {
    "arith.ceildivsi": _rounded_up,
    "arith.divsi": _divide,
    "arith.floordivsi": _rounded_down,
    "arith.maxsi": lambda left, right, _: max(left, right),
    "arith.minsi": lambda left, right, _: min(left, right),
    "arith.remsi": _remainder,
    "arith.shrsi": lambda left, right, width: left >> right if 0 <= right < width else None,
}
"""What operations on signed integers of some width compute; `None` where it is undefined."""

_UNSIGNED: dict[str, Callable[[int, int, int], int | None]] = {
    "arith.ceildivui": lambda left, right, _: -(-left // right) if right else None,
    "arith.divui": lambda left, right, _: left // right if right else None,
    "arith.maxui": lambda left, right, _: max(left, right),
    "arith.minui": lambda left, right, _: min(left, right),
    "arith.remui": lambda left, right, _: left % right if right else None,
    "arith.shli": lambda left, right, width: left << right if right < width else None,
    "arith.shrui": lambda left, right, width: left >> right if right < width else None,
}

_FOLDED_BY_XDSL: dict[str, Callable[[int, int], int]] = {
    "arith.addi": add,
    "arith.muli": mul,
    "arith.subi": sub,
}
"""Operations that `evaluate` computes for its callers; no pattern is needed for them."""

_Comparison = Callable[[int, int], bool]


class _Predicate(NamedTuple):
    """A predicate of `arith.cmpi`."""

    compare: _Comparison
    is_signed: bool


_PREDICATES = (
    _Predicate(eq, is_signed=True),
    _Predicate(ne, is_signed=True),
    _Predicate(lt, is_signed=True),
    _Predicate(le, is_signed=True),
    _Predicate(gt, is_signed=True),
    _Predicate(ge, is_signed=True),
    _Predicate(lt, is_signed=False),
    _Predicate(le, is_signed=False),
    _Predicate(gt, is_signed=False),
    _Predicate(ge, is_signed=False),
)
"""The predicates in the order of MLIR's enum."""

_EXCHANGED: dict[_Comparison, _Comparison] = {eq: eq, ne: ne, lt: gt, le: ge, gt: lt, ge: le}
"""The comparison that holds for exchanged operands."""

_MINIMA = ("arith.minsi", "arith.minui")
_EXTREMA = (*_MINIMA, "arith.maxsi", "arith.maxui")

_EXTENSIONS = ("arith.extsi", "arith.extui")
_INDEX_CASTS = {"arith.index_cast": "arith.extsi", "arith.index_castui": "arith.extui"}
"""The casts between integers and indices, and the extension that such a cast contains."""

_CASTS = (*_EXTENSIONS, *_INDEX_CASTS, "arith.trunci")
_COMMUTATIVE = ("addf", "addi", "andi", "mulf", "muli", "ori", "xori")


def width_of(type_: Attribute) -> int | None:
    """Return the number of bits of a scalar integer or index; `None` for other types."""
    if isinstance(type_, IndexType):
        return INDEX_BITS
    return type_.bitwidth if isinstance(type_, IntegerType) else None


def evaluate(op: Operation, operands: list[int], width: int) -> int | None:
    """Return what an operation computes of constants whose type has `width` bits.

    The result has the form in which attributes hold integers: with a sign, so that a true `i1` is
    -1. It is `None` if the result is undefined or the operation is unknown.
    """
    value = _exact_value(op, operands, width)
    changes_type = op.name == "arith.cmpi" or op.name in _CASTS
    result_width = width_of(op.results[0].type) if changes_type else width
    return None if value is None or result_width is None else as_signed(value, result_width)


def _exact_value(op: Operation, operands: list[int], width: int) -> int | None:
    bits = [as_unsigned(operand, width) for operand in operands]
    numbers = [as_signed(operand, width) for operand in operands]
    if op.name == "arith.cmpi":
        predicate = _PREDICATES[integer(op, "predicate")]
        return predicate.compare(*(numbers if predicate.is_signed else bits))
    if op.name in _FOLDED_BY_XDSL:
        return _FOLDED_BY_XDSL[op.name](numbers[0], numbers[1])
    if op.name in _SIGNED:
        return _SIGNED[op.name](numbers[0], numbers[1], width)
    if op.name in _UNSIGNED:
        return _UNSIGNED[op.name](bits[0], bits[1], width)
    if op.name in ("arith.extsi", "arith.index_cast", "arith.trunci"):
        return numbers[0]
    return bits[0] if op.name in ("arith.extui", "arith.index_castui") else None


@rewrites(*_SIGNED, *_UNSIGNED, *_CASTS, "arith.cmpi")
def fold_integer_constants(op: Operation, rewriter: PatternRewriter) -> None:
    """Compute scalar integer operations whose operands are constants."""
    width = width_of(op.operand_types[0])
    constants = [constant_integer(operand) for operand in op.operands]
    known = [constant for constant in constants if constant is not None]
    if width is None or len(known) < len(constants):
        return
    value = evaluate(op, known, width)
    if value is not None:
        _replace_by_constant(op, value, rewriter)


@rewrites(*(f"arith.{name}" for name in _COMMUTATIVE), *_EXTREMA, "arith.cmpi")
def constants_right(op: Operation, rewriter: PatternRewriter) -> None:
    """Exchange the operands of a commutative operation or a comparison if the left is constant."""
    left, right = op.operands
    if not _is_constant(left) or _is_constant(right):
        return
    op.operands = (right, left)
    if op.name == "arith.cmpi":
        compare, is_signed = _PREDICATES[integer(op, "predicate")]
        exchanged = _PREDICATES.index(_Predicate(_EXCHANGED[compare], is_signed))
        op.properties["predicate"] = IntegerAttr(exchanged, 64)
    rewriter.notify_op_modified(op)


@rewrites(*_EXTREMA, "arith.remsi", "arith.remui", "arith.shli", "arith.shrsi", "arith.shrui")
def fold_integer_identities(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold `max(x, x)`, `max(x, largest)`, `x rem 1` and shifts by 0."""
    left, right = op.operands
    width = width_of(left.type)
    if width is None:
        return
    if op.name in _EXTREMA:
        _fold_extremum(op, width, rewriter)
    elif op.name in ("arith.remsi", "arith.remui"):
        if constant_integer(right) == 1:
            _replace_by_constant(op, 0, rewriter)
    elif constant_integer(right) == 0:
        rewriter.replace(op, (), (left,))


def _fold_extremum(op: Operation, width: int, rewriter: PatternRewriter) -> None:
    is_signed = op.name in _SIGNED
    lowest, highest = integer_range(width, is_signed=is_signed)
    absorbing, neutral = (lowest, highest) if op.name in _MINIMA else (highest, lowest)
    read = as_signed if is_signed else as_unsigned
    left, right = op.operands
    if left is right:
        rewriter.replace(op, (), (left,))
        return
    for one, other in ((left, right), (right, left)):
        constant = constant_integer(one)
        if constant is None:
            continue
        number = read(constant, width)
        if number == absorbing:
            rewriter.replace(op, (), (one,))
            return
        if number == neutral:
            rewriter.replace(op, (), (other,))
            return


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == "arith.constant"


@rewrites(*_CASTS)
def fold_integer_casts(op: Operation, rewriter: PatternRewriter) -> None:
    """Join a cast with the extension or cast that produces its operand."""
    inner = op.operands[0].owner
    if not isinstance(inner, Operation) or not inner.operands:
        return
    source = inner.operands[0]
    widths = (
        width_of(source.type),
        width_of(op.operands[0].type),
        width_of(op.results[0].type),
    )
    if None in widths:
        return
    name = _joined(op.name, inner.name, cast("tuple[int, int, int]", widths))
    if name == "":
        rewriter.replace(op, (), (source,))
    elif name is not None:
        kind = type(inner if name == inner.name else op)
        if kind.name == name:
            joined = kind.create(operands=[source], result_types=[op.results[0].type])
            rewriter.replace(op, joined)


def _joined(outer: str, inner: str, widths: tuple[int, int, int]) -> str | None:
    """Return the cast from the source to the result: its name, "" for none, `None` if unknown.

    `widths` are those of the source, of the value between, and of the result.
    """
    source, between, result = widths
    if outer == "arith.trunci" and inner in (*_EXTENSIONS, "arith.trunci"):
        if source == result:
            return ""
        return outer if source > result else inner
    if outer in _EXTENSIONS and inner in (outer, "arith.extui"):
        return inner
    if inner in _EXTENSIONS and _INDEX_CASTS.get(outer) == inner:
        return outer
    lossless = source == result and source <= between
    return "" if outer == inner and outer in _INDEX_CASTS and lossless else None


def _replace_by_constant(op: Operation, value: int, rewriter: PatternRewriter) -> None:
    type_ = cast("IntegerType | IndexType", op.results[0].type)
    rewriter.replace(op, ConstantOp(IntegerAttr(value, type_)))
