"""The output of `--help-dialect`: documentation of dialects and operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.ir import Dialect, Operation, TypeAttribute
from xdsl.irdl import BaseAttr, EqAttrConstraint, IRDLOperation, OpDef, OptionalDef, VariadicDef
from xdsl.traits import HasCanonicalizationPatternsTrait

from ...ir.usage_error import UsageError, did_you_mean
from .docstrings import details, summary, table_row

_SEGMENTS = "SegmentSizes"
"""The suffix of properties that hold the lengths of operand or result segments."""


def help_dialect(name: str, context: Context) -> str:
    """Return the documentation of a dialect or an operation.

    Raises UsageError if there is none of that name.
    """
    prefix, dot, _ = name.partition(".")
    dialect = context.get_optional_dialect(prefix)
    if dialect is None:
        hint = did_you_mean(prefix, context.registered_dialect_names)
        raise UsageError(f"there is no dialect '{prefix}'{hint}")
    if not dot:
        return _dialect_text(dialect)
    operations = {each.name: each for each in dialect.operations}
    if name not in operations:
        raise UsageError(f"there is no operation '{name}'{did_you_mean(name, operations)}")
    return _operation_text(operations[name])


def _dialect_text(dialect: Dialect) -> str:
    attributes = sorted(dialect.attributes, key=lambda each: each.name)
    types = [each for each in attributes if issubclass(each, TypeAttribute)]
    others = [each for each in attributes if each not in types]
    operations = sorted(dialect.operations, key=lambda each: each.name)
    tables = (
        ("Operations", [(each.name, _line(each)) for each in operations]),
        ("Types", [(f"!{each.name}", summary(each)) for each in types]),
        ("Attributes", [(f"#{each.name}", summary(each)) for each in others]),
    )
    lines = [f"{dialect.name}: a dialect (--help-dialect={dialect.name}.OP describes an operation)"]
    for title, rows in tables:
        if rows:
            lines += ["", f"{title}:"]
            lines += [table_row(*row) for row in rows]
    return "\n".join(lines) + "\n"


def _operation_text(operation: type[Operation]) -> str:
    lines = [f"{operation.name}: {summary(operation)}".removesuffix(": ")]
    lines += [f"\n{each}" for each in details(operation)]
    for title, parts in _parts(operation):
        lines += [f"\n{title}:", *(f"  {part}" for part in parts)]
    return "\n".join(lines) + "\n"


def _line(operation: type[Operation]) -> str:
    """Return an operation's summary, or its operands and results if it has none."""
    if text := summary(operation):
        return text
    found = dict(_parts(operation))
    operands, results = (", ".join(found.get(key, ())) for key in ("Operands", "Results"))
    return f"({operands}) -> ({results})"


def _parts(operation: type[Operation]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the kinds of an operation's parts with the parts; `?` is optional, `*` variadic."""
    if not issubclass(operation, IRDLOperation):
        return
    definition: OpDef = operation.get_irdl_definition()
    both = {**definition.properties, **definition.attributes}
    traits = {
        type(each).__name__
        for each in definition.traits.traits
        if not isinstance(each, HasCanonicalizationPatternsTrait)
    }
    found = (
        ("Operands", _names(definition.operands)),
        ("Results", _names(definition.results)),
        (
            "Attributes",
            [
                f"{name}{_mark(each)}{_kind(each.constr)}"
                for name, each in both.items()
                if not name.endswith(_SEGMENTS)
            ],
        ),
        ("Regions", _names(definition.regions)),
        ("Successors", _names(definition.successors)),
        ("Traits", sorted(traits)),
    )
    for title, parts in found:
        if parts:
            yield title, parts


def _names(parts: Sequence[tuple[str, object]]) -> list[str]:
    # A trailing underscore only avoids a conflict with a name in xDSL.
    return [name.rstrip("_") + _mark(each) for name, each in parts]


def _mark(part: object) -> str:
    if isinstance(part, OptionalDef):
        return "?"
    return "*" if isinstance(part, VariadicDef) else ""


def _kind(constraint: object) -> str:
    """Return the type of an attribute if its constraint is simple; otherwise nothing."""
    match constraint:
        case EqAttrConstraint(attr=attribute):
            return f": {attribute}"
        case BaseAttr(attr=kind) if hasattr(kind, "name"):
            return f": {kind.name}"
        case _:
            return ""
