"""Recognise how partial results of a reduction combine: by which operation, and which collective.

A reduction's body computes `combine(accumulator, element)`. If `combine` is one associative
operation (or a chain of the same), partial results of several processes are combined by that
operation as well, and its neutral element initialises every accumulation but one.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects.linalg.joint_combiners import joint_combiner
from ....dialects.linalg.structured_view import StructuredView, element_type, structured_view
from ....dialects.tosa.operation_kinds import REDUCTIONS
from ....ir.attribute_access import attribute
from ....ir.combiners import COMBINERS, COMPLEX_SUM, Combiner, combining_operation
from ....ir.locations import made_by
from ....ir.regions import values_read
from ....ir.tensor_types import integer_width
from ....sharding.factors import FactorRule
from ....sharding.sharding import ReductionKind

_ON_BITS = {
    "arith.addi": ReductionKind.BITWISE_XOR,
    "arith.muli": ReductionKind.BITWISE_AND,
    "arith.andi": ReductionKind.BITWISE_AND,
    "arith.ori": ReductionKind.BITWISE_OR,
    "arith.xori": ReductionKind.BITWISE_XOR,
    "arith.maxui": ReductionKind.BITWISE_OR,
    "arith.minui": ReductionKind.BITWISE_AND,
    # As a signed number, a set bit is -1.
    "arith.maxsi": ReductionKind.BITWISE_AND,
    "arith.minsi": ReductionKind.BITWISE_OR,
}
"""Kinds of reductions of `i1`, whose arithmetic is modulo two."""

JOINT = Combiner("", ReductionKind.GENERIC, lambda _: 0)
"""Stands for the joint combination of several results: see `joint_combiners.py`."""

_INVERSES = {"arith.subf": "arith.addf", "arith.subi": "arith.addi", "complex.sub": COMPLEX_SUM}
"""`accumulator - x` adds `-x`: partial results combine by addition."""

_WIDTH_CHANGES = frozenset(
    {"arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci"}
)

_MODULAR = frozenset({"arith.addi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"})
"""Combiners whose lowest result bits depend only on the lowest bits of their operands."""

_FLOAT_SELECTS = {
    **dict.fromkeys((2, 3, 9, 10), "arith.maxnumf"),  # ogt oge ugt uge
    **dict.fromkeys((4, 5, 11, 12), "arith.minnumf"),  # olt ole ult ule
}
_INTEGER_SELECTS = {
    **dict.fromkeys((2, 3), "arith.minsi"),  # slt sle
    **dict.fromkeys((4, 5), "arith.maxsi"),  # sgt sge
    **dict.fromkeys((6, 7), "arith.minui"),  # ult ule
    **dict.fromkeys((8, 9), "arith.maxui"),  # ugt uge
}
"""The combiner that `select(cmp(a, b), a, b)` computes, by the comparison's predicate."""
_FIRST_UNORDERED = 8
"""Predicates of floats from this one on hold for NaNs."""


def _opposite(name: str) -> str:
    """Return the opposite combiner: `arith.minsi` for `arith.maxsi`, and so on."""
    return name.replace("max", "min") if "max" in name else name.replace("min", "max")


class _Step(NamedTuple):
    """One operation of a chain that combines an accumulator with elements."""

    combiner: str
    operands: Sequence[SSAValue]
    """The operands through which the chain may continue."""
    subtracted: Sequence[SSAValue] = ()
    """The operands through which it may not."""
    if_nan: SSAValue | None = None
    """The operand that is the result if one is a NaN; `None` if the operation defines its own."""


def _step(value: SSAValue) -> _Step | None:
    """Return the step that makes a value; `None` if it is no combination."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return None
    if owner.name == "arith.select":
        return _select_step(owner)
    if (combiner := _INVERSES.get(owner.name)) is not None:
        return _Step(combiner, owner.operands[:1], owner.operands[1:])
    return _Step(owner.name, owner.operands) if owner.name in COMBINERS else None


def _select_step(select: Operation) -> _Step | None:
    """Match `select(a < b, a, b)` and its variants."""
    condition, chosen, other = select.operands
    compare = made_by(condition, "arith.cmpf", "arith.cmpi")
    predicate = None if compare is None else attribute(compare, "predicate")
    if compare is None or not isinstance(predicate, IntegerAttr):
        return None
    is_float, number = compare.name == "arith.cmpf", predicate.value.data
    name = (_FLOAT_SELECTS if is_float else _INTEGER_SELECTS).get(number)
    if name is None or set(compare.operands) != {chosen, other}:
        return None
    if compare.operands[0] is not chosen:
        name = _opposite(name)
    if_unordered = chosen if number >= _FIRST_UNORDERED else other
    return _Step(name, (chosen, other), if_nan=if_unordered if is_float else None)


def _through_width_changes(value: SSAValue, passed: list[Attribute]) -> SSAValue:
    """Return the value before changes of width; append the types passed to `passed`."""
    while isinstance(owner := value.owner, Operation) and owner.name in _WIDTH_CHANGES:
        passed.append(value.type)
        value = owner.operands[0]
    return value


def _same_at_width(combiner: str, accumulator: Attribute, passed: Sequence[Attribute]) -> bool:
    """Return whether a chain through other widths combines as it would in the accumulator's type.

    Sums, products and bitwise operations on integers are computed modulo the narrowest type on the
    way; minimum and maximum are not, since dropped bits affect the order. Floats differ only in
    rounding.
    """
    if isinstance(accumulator, AnyFloat) or all(other == accumulator for other in passed):
        return True
    narrowest = integer_width(accumulator)
    return combiner in _MODULAR and all(integer_width(other) >= narrowest for other in passed)


def _computed_from(argument: SSAValue, block: Block) -> set[SSAValue]:
    """Return an argument of a body, and all values that the body computes from it."""
    found = {argument}
    for operation in block.ops:
        if not found.isdisjoint(values_read(operation)):
            found.update(operation.results)
    return found


def _where_not_skipped(
    value: SSAValue, accumulator: SSAValue, dependents: Set[SSAValue]
) -> SSAValue | None:
    """Return `value` of `select(taken, value, accumulator)` or its inverse, else `None`.

    Skipped elements leave the accumulator unchanged. The condition must not depend on the
    accumulator.
    """
    if (select := made_by(value, "arith.select")) is None:
        return None
    taken, *branches = select.operands
    others = [each for each in branches if each is not accumulator]
    return others[0] if len(others) == 1 and taken not in dependents else None


def body_combiner(block: Block, accumulator: SSAValue, result: SSAValue) -> Combiner | None:
    """Return the combiner of a body that computes `result` from `accumulator` and elements.

    The body must be a chain of one combining operation from the yielded value to the accumulator,
    which has no other use. Returns `None` otherwise.
    """
    dependents = _computed_from(accumulator, block)
    passed: list[Attribute] = []
    value, found = _through_width_changes(result, passed), None
    while value is not accumulator:
        combined = _where_not_skipped(value, accumulator, dependents)
        if combined is not None:
            value = _through_width_changes(combined, passed)
            continue
        step = _step(value)
        if step is None or found not in (None, step.combiner):
            return None
        found = step.combiner
        continues = [each for each in step.operands if each in dependents]
        if len(continues) != 1 or not dependents.isdisjoint(step.subtracted):
            return None
        if step.if_nan not in (None, continues[0]):
            # A NaN replaces the accumulator, and any number replaces the NaN: the result depends on
            # what follows the last NaN.
            return None
        passed.append(value.type)
        value = _through_width_changes(continues[0], passed)
    if found is None or not _same_at_width(found, accumulator.type, passed):
        return None
    return COMBINERS[found]


_NAMED = {
    **{f"tosa.reduce_{name}": names for name, names in REDUCTIONS.items()},
    **dict.fromkeys(
        (
            "tosa.matmul",
            "tosa.conv2d",
            "tosa.conv3d",
            "tosa.depthwise_conv2d",
            "tosa.transpose_conv2d",
            "tosa.gather",
        ),
        REDUCTIONS["sum"],
    ),
    "tosa.max_pool2d": REDUCTIONS["max"],
}
"""The operations by which named reductions combine floats and integers."""

_WITHOUT_NANS = {"arith.maximumf": "arith.maxnumf", "arith.minimumf": "arith.minnumf"}


def with_declared_kinds(operation: Operation, rule: FactorRule) -> FactorRule:
    """Replace the reductions in a rule from another package by those that collectives compute.

    Generic kinds become `None`. So do kinds that differ from the kind of the first factor of the
    same result, since a maximum of sums is not a sum of maxima. Reductions of `i1` become bitwise
    ones.
    """
    first: dict[int, ReductionKind] = {}

    def kind_of(result: int, declared: ReductionKind | None) -> ReductionKind | None:
        if declared is None or first.setdefault(result, declared) is not declared:
            return None
        if declared is ReductionKind.GENERIC:
            return None
        if element_type(operation.results[result].type) == i1:
            return _ON_BITS.get(combining_operation(declared, "s") or "", declared)
        return declared

    return replace(
        rule,
        factors=tuple(
            replace(factor, reductions=tuple(map(kind_of, range(len(kinds)), kinds)))
            if (kinds := factor.reductions)
            else factor
            for factor in rule.factors
        ),
    )


def combiner_of(operation: Operation, result: int) -> Combiner | None:
    """Return the combiner of partial values of a result of a reduction.

    Returns `None` if the operation does not reduce, or if its body is not a combination by one
    associative operation (`c * x + x`): then it cannot be split along a reduction.
    """
    found = _combiner_of(operation, result)
    if found is None:
        return None
    if element_type(operation.results[result].type) == i1:
        return replace(found, kind=_ON_BITS.get(found.operation, found.kind))
    return found


def _combiner_of(operation: Operation, result: int) -> Combiner | None:
    names = _NAMED.get(operation.name)
    if names is not None:
        is_float = isinstance(element_type(operation.results[result].type), AnyFloat)
        name = names[0] if is_float else names[1]
        if "IGNORE" in str(attribute(operation, "nan_mode")):
            name = _WITHOUT_NANS.get(name, name)
        return COMBINERS.get(name)
    view = structured_view(operation)
    if view is None:
        return None
    each = [_own_combiner(view, index) for index in range(len(view.outputs))]
    if None in each and joint_combiner(view) is not None:
        return JOINT
    return each[result] if result < len(each) else None


def _own_combiner(view: StructuredView, result: int) -> Combiner | None:
    """Return the combiner of one result that does not depend on other results."""
    body = view.body
    terminator = body.last_op
    if terminator is None or len(terminator.operands) <= result:
        return None
    value = terminator.operands[result]
    accumulators = body.args[len(view.inputs) :]
    accumulator = accumulators[result]
    if isinstance(accumulator.type, IndexType):
        return None
    others = (each for each in accumulators if each is not accumulator)
    if any(value in _computed_from(each, body) for each in others):
        # As in Horner's scheme, `(p, q) -> (p * a, q + p * b)`: the terms of the sum have been
        # multiplied by another accumulator, which begins anew in each part.
        return None
    return body_combiner(body, accumulator, value)
