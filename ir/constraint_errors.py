"""Describe violated type and attribute constraints of an op in MLIR's wording.

xDSL's own messages name its Python classes: "f32 should be of base attribute index".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast, get_args

from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, SignednessAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AllOf,
    AnyOf,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OpDef,
    OperandDef,
    OptionalDef,
    OptPropertyDef,
    ParamAttrConstraint,
    RangeConstraint,
    ResultDef,
    VariadicDef,
    VerificationContext,
)
from xdsl.utils.exceptions import VerifyException

AnyConstraint = AttrConstraint[Any] | RangeConstraint[Any]

_KINDS = {
    "tensor": "ranked tensor",
    "integer_type": "integer",
    "unranked_tensor": "unranked tensor",
    "unit": "unit attribute",
    "fun": "function type",
}
SIGNLESS = SignednessAttr(Signedness.SIGNLESS)
_FLOATS = frozenset[type[Attribute]](get_args(AnyFloat))
_FROM_VARIABLE = re.compile(r"attribute (.*) expected from variable '.*', but got .*", re.DOTALL)


class _NotDescribedError(Exception):
    """Raised for a constraint without a description here; xDSL's own message is used instead."""


def constraint_error(operation: IRDLOperation) -> str | None:
    """Return which operand, result or property of an op violates its definition, as a message.

    Returns `None` if none does, or if something else is wrong, such as the number of operands.
    """
    definition = operation.get_irdl_definition()
    try:
        return _refused_properties(operation, definition) or _refused_values(operation, definition)
    except _NotDescribedError:
        return None


def _refused_properties(operation: IRDLOperation, definition: OpDef) -> str | None:
    context = VerificationContext()
    for name, entry in definition.properties.items():
        found = operation.properties.get(name)
        if found is None:
            if not isinstance(entry, OptPropertyDef) and not name.endswith("SegmentSizes"):
                return f"requires attribute '{name}'"
            continue
        try:
            entry.constr.verify(found, context)
        except VerifyException as failure:
            expected = _expected(entry.constr, failure)
            return f"attribute '{name}' must be {expected}, but got '{found}'"
    return None


def _refused_values(operation: IRDLOperation, definition: OpDef) -> str | None:
    context = VerificationContext()
    for what, entries in (("operand", definition.operands), ("result", definition.results)):
        number = 0
        for name, entry in cast("list[tuple[str, OperandDef | ResultDef]]", entries):
            try:
                types = tuple(_types(operation, name))
            except (VerifyException, LookupError, ValueError):
                return None  # The number of operands or results does not match the definition.
            if (refused := _refused(entry, types, context)) is not None:
                place, expected = refused
                found = types[place] if place < len(types) else "none"
                return f"{what} #{number + place} must be {expected}, but got '{found}'"
            number += len(types)
    return None


def refused_while_reading(failure: VerifyException) -> str | None:
    """Return the message for a constraint that failed while an op was parsed; `None` if unknown.

    There is no op yet at that point, so the constraint and the types come from the frames of the
    traceback.
    """
    frame = failure.__traceback__
    while frame is not None:
        names = frame.tb_frame.f_locals
        constraint = names.get("self")
        if isinstance(constraint, AttrConstraint | RangeConstraint):
            found = names.get("attr", names.get("attrs"))
            types = cast("Sequence[Attribute]", (found,) if isinstance(found, Attribute) else found)
            given = ", ".join(f"'{each}'" for each in types or ())
            try:
                expected = _expected(cast("AnyConstraint", constraint), failure)
            except _NotDescribedError:
                return None
            return f"type must be {expected}, but got {given}"
        frame = frame.tb_next
    return None


def _types(operation: IRDLOperation, name: str) -> Iterator[Attribute]:
    values: SSAValue | Sequence[SSAValue] | None = getattr(operation, name)
    if isinstance(values, SSAValue):
        yield values.type
    else:
        yield from (value.type for value in values or ())


def _refused(
    entry: OperandDef | ResultDef, types: Sequence[Attribute], context: VerificationContext
) -> tuple[int, str] | None:
    """Return the index of the first violating type and a description of the expected type."""
    try:
        entry.constr.verify(types, context)
    except VerifyException as failure:
        places = range(len(types))
        wrong = (place for place in places if not _allowed(entry.constr, types[place]))
        many = isinstance(entry, VariadicDef) and not isinstance(entry, OptionalDef)
        expected = _expected(entry.constr, failure)
        return next(wrong, 0), f"variadic of {expected}" if many else expected
    return None


def _allowed(constraint: RangeConstraint[Any], found: Attribute) -> bool:
    try:
        constraint.verify((found,), VerificationContext())
    except VerifyException:
        return False
    return True


def _expected(constraint: AnyConstraint, failure: VerifyException) -> str:
    fixed = _FROM_VARIABLE.fullmatch(str(failure))
    if fixed is not None:
        return f"{fixed[1]} like the types before it"
    expected = description(constraint)
    if _ANY in expected:
        raise _NotDescribedError
    return expected


def description(constraint: AnyConstraint) -> str:
    """Return a description of what a constraint accepts: `index`, `vector of integer`, ..."""
    # Unwrap variables, custom messages and ranges of one constraint.
    inner = getattr(constraint, "constr", getattr(constraint, "constraint", None))
    if isinstance(inner, AttrConstraint | RangeConstraint):
        return description(cast("AnyConstraint", inner))
    match constraint:
        case EqAttrConstraint():
            return str(constraint.attr)
        case BaseAttr():
            return _kind(constraint.attr)
        case ParamAttrConstraint():
            return _with_parameters(constraint)
        case AnyOf():
            return _alternatives(cast("Sequence[AnyConstraint]", constraint.attr_constrs))
        case AllOf():
            names = (description(each) for each in constraint.attr_constrs)
            return " and ".join(dict.fromkeys(name for name in names if name != _ANY)) or _ANY
        case _:
            types: tuple[Attribute, ...] = getattr(constraint, "types", ())  # Those of `OneOf`.
            return " or ".join(map(str, types)) or _ANY


_ANY = "of another kind"


def _alternatives(constraints: Sequence[AnyConstraint]) -> str:
    """Describe a union: `integer or index, or vector or ranked tensor of these`."""
    classes = {each.attr for each in constraints if isinstance(each, BaseAttr)}
    if classes >= _FLOATS:
        rest = (x for x in constraints if not (isinstance(x, BaseAttr) and x.attr in _FLOATS))
        names = ["floating-point", *map(description, rest)]
    else:
        names = [*dict.fromkeys(map(description, constraints))]
    elements = " or ".join(name for name in names if " of " not in name)
    of_these = [name.removesuffix(of) for name in names if name.endswith(of := f" of {elements}")]
    if len(of_these) > 1:
        return f"{elements}, or {' or '.join(of_these)} of these"
    return " or ".join(names)


def _kind(cls: type[Attribute]) -> str:
    name = getattr(cls, "name", None)
    if not isinstance(name, str):
        return " ".join(re.findall(r"[A-Z]+[a-z0-9]*", cls.__name__)).lower()
    return _KINDS.get(name, name)


def _with_parameters(constraint: ParamAttrConstraint[Any]) -> str:
    """Return `i32` or `vector of integer`; unconstrained parameters are left out."""
    base = cast("type[Attribute]", constraint.base_attr)
    fixed = [each.attr for each in constraint.param_constrs if isinstance(each, EqAttrConstraint)]
    if base is IntegerType and len(fixed) == len(constraint.param_constrs):
        return str(IntegerType.new(fixed))
    if base is IntegerType and SIGNLESS in fixed:
        return "signless integer"
    names = [description(each) for each in constraint.param_constrs]
    elements = [name for name in names if name != _ANY]
    return f"{_kind(base)} of {elements[0]}" if len(elements) == 1 else _kind(base)
