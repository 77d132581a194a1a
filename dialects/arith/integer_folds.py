"""Canonicalization of integer arithmetic that xDSL leaves: constants, identities and casts."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import cast

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

_WRAPPING: dict[str, Callable[[int, int], int]] = {
    "arith.addi": add,
    "arith.muli": mul,
    "arith.subi": sub,
}
"""Operations that xDSL folds."""

_COMPARISONS: tuple[Callable[[int, int], bool], ...] = (eq, ne, lt, le, gt, ge)
"""`eq`, `ne`, then `lt`, `le`, `gt` and `ge`, signed; the unsigned ones follow in MLIR's enum."""

_EXTREME = {
    "arith.maxsi": (False, True),
    "arith.maxui": (False, False),
    "arith.minsi": (True, True),
    "arith.minui": (True, False),
}
"""Whether an operation returns the smaller operand, and whether operands have a sign."""

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

    Returns `None` if the result is undefined or the operation is unknown.
    """
    bits = [as_unsigned(operand, width) for operand in operands]
    numbers = [as_signed(operand, width) for operand in operands]
    if op.name == "arith.cmpi":
        predicate = integer(op, "predicate")
        if predicate >= len(_COMPARISONS):
            return _COMPARISONS[predicate - 4](*bits)
        return _COMPARISONS[predicate](*numbers)
    if op.name in _WRAPPING:
        return as_signed(_WRAPPING[op.name](numbers[0], numbers[1]), width)
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


@rewrites(*(f"arith.{name}" for name in _COMMUTATIVE), *_EXTREME, "arith.cmpi")
def constants_right(op: Operation, rewriter: PatternRewriter) -> None:
    """Exchange the operands of a commutative operation or a comparison if the left is constant."""
    left, right = op.operands
    if not _is_constant(left) or _is_constant(right):
        return
    op.operands = (right, left)
    if op.name == "arith.cmpi":
        predicate = _EXCHANGED[integer(op, "predicate")]
        op.properties["predicate"] = IntegerAttr(predicate, 64)
    rewriter.notify_op_modified(op)


@rewrites(*_EXTREME, "arith.remsi", "arith.remui", "arith.shli", "arith.shrsi", "arith.shrui")
def fold_integer_identities(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold `max(x, x)`, `max(x, largest)`, `x rem 1` and shifts by 0."""
    left, right = op.operands
    width = width_of(left.type)
    if width is None:
        return
    if op.name in _EXTREME:
        _fold_extreme(op, width, rewriter)
    elif op.name in ("arith.remsi", "arith.remui"):
        if constant_integer(right) == 1:
            _replace_by_constant(op, 0, rewriter)
    elif constant_integer(right) == 0:
        rewriter.replace(op, (), (left,))


def _fold_extreme(op: Operation, width: int, rewriter: PatternRewriter) -> None:
    smaller, has_sign = _EXTREME[op.name]
    lowest, highest = integer_range(width, is_signed=has_sign)
    read = as_signed if has_sign else as_unsigned
    left, right = op.operands
    if left is right:
        rewriter.replace(op, (), (left,))
        return
    for one, other in ((left, right), (right, left)):
        constant = constant_integer(one)
        if constant is None:
            continue
        number = read(constant, width)
        if number == (lowest if smaller else highest):
            rewriter.replace(op, (), (one,))
            return
        if number == (highest if smaller else lowest):
            rewriter.replace(op, (), (other,))
            return


_EXCHANGED = (0, 1, 4, 5, 2, 3, 8, 9, 6, 7)
"""The predicate of a comparison with exchanged operands, by the predicate of `arith.cmpi`."""


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
    source, _, result = widths
    if outer == "arith.trunci" and inner in (*_EXTENSIONS, "arith.trunci"):
        if source == result:
            return ""
        return outer if source > result else inner
    if outer in _EXTENSIONS and inner in (outer, "arith.extui"):
        return inner
    if inner in _EXTENSIONS and _INDEX_CASTS.get(outer) == inner:
        return outer
    lossless = source == result and source <= widths[1]
    return "" if outer == inner and outer in _INDEX_CASTS and lossless else None


def _replace_by_constant(op: Operation, value: int, rewriter: PatternRewriter) -> None:
    type_ = cast("IntegerType | IndexType", op.results[0].type)
    if isinstance(type_, IntegerType) and type_.bitwidth == 1:
        constant = IntegerAttr.from_bool(bool(value & 1))
    else:
        constant = IntegerAttr(as_signed(value, width_of(type_) or INDEX_BITS), type_)
    rewriter.replace(op, ConstantOp(constant))
