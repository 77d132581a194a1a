"""The output of `--list-passes`, `--help-pass`, `--list-pipelines` and `--help-dialect`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import cache
from inspect import cleandoc
from itertools import pairwise
from textwrap import fill
from typing import Any, cast, get_type_hints

from xdsl.context import Context
from xdsl.ir import Dialect, Operation, TypeAttribute
from xdsl.irdl import BaseAttr, EqAttrConstraint, IRDLOperation, OpDef, OptionalDef, VariadicDef
from xdsl.passes import ModulePass
from xdsl.traits import HasCanonicalizationPatternsTrait

from ...ir.usage_error import UsageError, did_you_mean
from ...passes.manager.named_pipeline import NamedPipeline
from ...passes.manager.pass_options import PassTable, option_text, type_name, unknown_pass_message
from ...passes.registry import ALIASES, OWN_PASSES

WIDTH = 100
"""The width of help texts in characters."""


def paragraphs(described: type[object]) -> list[str]:
    """Return the paragraphs of a class's docstring."""
    text = cleandoc(described.__doc__ or "")
    # Generated docstrings do not count: the name alone, or the signature that `dataclass` sets.
    own = f"`{getattr(described, 'name', '')}`."
    if text == own or text.startswith(f"{described.__name__}("):
        return []
    return text.split("\n\n") if text else []


def summary(described: type[object]) -> str:
    """Return the first sentence of a docstring."""
    first = " ".join(next(iter(paragraphs(described)), "").split())
    sentence, stop, _ = first.partition(". ")
    return sentence + stop.rstrip()


def details(described: type[object]) -> list[str]:
    """Return the paragraphs of a docstring without its first sentence."""
    found = paragraphs(described)
    if not found:
        return []
    rest = " ".join(found[0].split())[len(summary(described)) :].strip()
    return [*([fill(rest, WIDTH)] if rest else []), *found[1:]]


def table_row(name: str, text: str) -> str:
    """Return one row of a table of names and descriptions."""
    return f"  {name:<40} {text}".rstrip()


@dataclass(frozen=True, slots=True)
class _Option:
    name: str
    type: str
    default: str | None
    """The default in pipeline syntax; `None` if a value is required."""
    help: str


def list_passes(table: PassTable) -> str:
    """Return one line per pass of this package, and the names of the passes of xDSL and others."""
    lines = ["Passes of mesh-opt (--help-pass NAME describes one):", ""]
    for name, factory in OWN_PASSES.items():
        if name not in ALIASES:
            lines.append(_row(name, factory()))
    others = [name for name in sorted(table) if name not in OWN_PASSES]
    lines += ["", "Passes of xDSL and of other packages:", "", *(f"  {name}" for name in others)]
    return "\n".join(lines) + "\n"


def list_pipelines() -> str:
    """Return the named pipelines, each with the passes that it runs by default."""
    parts = ["Pipelines with a name; each is a pass, too.\n"]
    for name, factory in OWN_PASSES.items():
        pass_type = factory()
        if issubclass(pass_type, NamedPipeline):
            parts.append(f"\n{name}: {summary(pass_type)}\n{_stages(pass_type())}")
    return "".join(parts)


def help_pass(name: str, table: PassTable) -> str:
    """Return the documentation of a pass. Raises UsageError if there is none of that name."""
    factory = table.get(name)
    if factory is None:
        raise UsageError(unknown_pass_message(name, table))
    pass_type = factory()
    lines = [f"{pass_type.name}: {summary(pass_type) or 'a pass without description'}"]
    if names := _other_names(pass_type.name):
        lines.append(f"\nOther names: {', '.join(names)}")
    lines += [f"\n{each}" for each in details(pass_type)]
    if options := _options(pass_type, _option_helps(pass_type)):
        lines.append("\nOptions:")
        lines += [line for option in options for line in _option_lines(option)]
    if issubclass(pass_type, NamedPipeline):
        lines.append(f"\nRuns:\n{_stages(pass_type()).rstrip()}")
    return "\n".join(lines) + "\n"


def _row(name: str, pass_type: type[ModulePass]) -> str:
    """Return one line: the name, the summary, the options with their defaults, the aliases."""
    more: list[str] = []
    if options := _options(pass_type, {}):
        more.append("{" + " ".join(_written_option(option) for option in options) + "}")
    if names := _other_names(name):
        more.append(f"(also {', '.join(names)})")
    return table_row(name, " ".join((summary(pass_type), *more)))


def _written_option(option: _Option) -> str:
    return option.name if option.default is None else f"{option.name}={option.default}"


def _other_names(name: str) -> list[str]:
    return [alias for alias, meant in ALIASES.items() if meant == name]


def _stages(pipeline: NamedPipeline) -> str:
    rows = (table_row(stage.name, summary(type(stage))) for stage in pipeline.passes())
    return "".join(f"{row}\n" for row in rows)


def _options(pass_type: type[ModulePass], helps: Mapping[str, str]) -> list[_Option]:
    types = get_type_hints(pass_type)
    return [
        _Option(
            field.name.replace("_", "-"),
            type_name(types[field.name]),
            _default(field),
            helps.get(field.name, ""),
        )
        for field in dataclasses.fields(pass_type)
        if field.init and field.name != "name"
    ]


def _default(field: dataclasses.Field[Any]) -> str | None:
    value = field.default
    if value is MISSING:
        if field.default_factory is MISSING:
            return None
        value = field.default_factory()
    if isinstance(value, tuple):
        return ",".join(map(option_text, cast("tuple[object, ...]", value))) or "[]"
    return "none" if value is None else option_text(value)


def _option_helps(pass_type: type[ModulePass]) -> dict[str, str]:
    """Return the docstrings below the fields of a pass, which exist only in its source."""
    helps: dict[str, str] = {}
    for owner in reversed(pass_type.__mro__):
        if "__annotations__" in vars(owner):
            helps |= _own_helps(owner)
    return helps


@cache
def _own_helps(owner: type) -> dict[str, str]:
    """Return the docstrings below the fields that a class declares, if it has a source."""
    try:
        source = textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError):
        return {}
    (definition,) = ast.parse(source).body
    return dict(_helps_in(definition.body)) if isinstance(definition, ast.ClassDef) else {}


def _helps_in(body: list[ast.stmt]) -> Iterable[tuple[str, str]]:
    for statement, below in pairwise(body):
        match statement, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, inspect.cleandoc(text)
            case _:
                pass


def _option_lines(option: _Option) -> list[str]:
    default = "" if option.default is None else f", by default {option.default}"
    text = textwrap.wrap(option.help, WIDTH - 6)
    return [f"  {option.name}: {option.type}{default}", *(" " * 6 + line for line in text)]


# Dialects and operations --------------------------------------------------------------------------


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
