"""The output of `--list-passes`, `--help-pass` and `--list-pipelines`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass
from functools import cache
from itertools import pairwise
from typing import Any, cast, get_type_hints

from xdsl.passes import ModulePass

from ...ir.usage_error import UsageError
from ...passes.manager.named_pipeline import NamedPipeline
from ...passes.manager.pass_options import PassTable, option_text, type_name, unknown_pass_message
from ...passes.registry import ALIASES, OWN_PASSES
from .docstrings import WIDTH, details, summary, table_row


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
