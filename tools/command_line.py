"""Define command lines as dataclasses: each field is an option, parsed as in LLVM's tools.

`--name=value`, `--name value` and the forms with a single dash are equivalent. Options are grouped:
a group is a dataclass, the first line of its docstring is the heading in `--help`, and a tool's
table inherits from its groups.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass
from inspect import get_annotations
from typing import Any, TypeVar

from ..ir.usage_error import UsageError, did_you_mean

_WIDTH = 100
_COLUMN = 34
_LONGEST_INTEGER = 20
_NO_OPTIONS = ("positional", "passes")


def _option(kind: str, help_text: str, default: Any, names: Sequence[str] = (), **more: Any) -> Any:
    metadata = {"kind": kind, "help": help_text, "names": tuple(names), **more}
    return dataclasses.field(default=default, metadata=metadata)


def flag(help_text: str, *names: str, default: bool | None = False) -> Any:
    """Define an option without a value; `names` are further names of it."""
    return _option("flag", help_text, default, names)


def text(help_text: str, *names: str, default: str | None = None, shown: str = "...") -> Any:
    """Define an option with a value; `shown` is the placeholder of the value in the help."""
    return _option("text", help_text, default, names, shown=shown)


def optional(help_text: str, bare: str, shown: str = "...") -> Any:
    """Define an option with an optional value, whose default is `bare`."""
    return _option("optional", help_text, None, bare=bare, shown=shown)


def choice(
    help_text: str, *choices: str, bare: str | None = None, names: Sequence[str] = ()
) -> Any:
    """Define an option with one of several words, by default the first.

    With `bare`, the value may be omitted and is then `bare`; the default of the field is `None`.
    `names` are further names.
    """
    first = None if bare else choices[0]
    return _option("choice", help_text, first, names, choices=choices, bare=bare)


def listed(help_text: str, shown: str = "a,b") -> Any:
    """Define an option with comma-separated words. Repeated options accumulate."""
    return _option("listed", help_text, (), shown=shown)


def repeated(help_text: str, *names: str, shown: str = "...") -> Any:
    """Define an option with a text. Repeated options accumulate."""
    return _option("repeated", help_text, (), names, shown=shown)


def integer(help_text: str, *names: str, default: int | None = None, shown: str = "N") -> Any:
    """Define an option with an integer."""
    return _option("integer", help_text, default, names, shown=shown)


def real(help_text: str, shown: str = "X") -> Any:
    """Define an option with a number."""
    return _option("real", help_text, None, shown=shown)


def positional(default: str) -> Any:
    """Define the positional argument."""
    return dataclasses.field(default=default, metadata={"kind": "positional"})


Table = TypeVar("Table", bound="Information")


@dataclass(frozen=True, kw_only=True)
class Information:
    """Information."""

    help: bool = flag("print this text", "h")
    help_list: bool = flag("print the options without groups, sorted")
    version: bool = flag("print the versions of mesh-opt and xDSL")
    shell_completion: str | None = optional(
        "print a completion script to source, for bash, zsh or fish", "bash", "SHELL"
    )


def _fields(table: type[Any]) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for field in dataclasses.fields(table):
        if field.metadata["kind"] not in _NO_OPTIONS:
            found.update(dict.fromkeys(names_of(field), field))
    return found


def names_of(field: Field[Any]) -> tuple[str, ...]:
    """Return the names of an option without dashes."""
    return (field.name.replace("_", "-"), *field.metadata["names"])


def _dashed(name: str) -> str:
    return f"{'-' if len(name) == 1 else '--'}{name}"


def version_text() -> str:
    """Return the output of `--version`."""
    from importlib.metadata import version

    return f"mesh-opt {version('mesh-opt')} on xDSL {version('xdsl')}\n"


def option_names(table: type[Any]) -> list[str]:
    """Return the names of all options of a table without dashes, sorted."""
    return sorted(_fields(table))


def names_option(word: str, name: str) -> bool:
    """Return whether an argument is an option, with or without its value."""
    return word.partition("=")[0] in (f"--{name}", f"-{name}")


def values_of(arguments: Sequence[str], name: str) -> list[str]:
    """Return the values of an option with a value in arguments that may be invalid."""
    found: list[str] = []
    for word, after in zip(arguments, (*arguments[1:], ""), strict=False):
        if names_option(word, name):
            _, equals, value = word.partition("=")
            found.append(value if equals else after)
    return found


def option_hint(name: str | None, table: type[Any]) -> str:
    """Return a hint for an unknown pass in a pipeline if an option has its name."""
    if name is None or name not in _fields(table):
        return ""
    return f"; --{name} is an option, not a pass: write it beside the pipeline, -p ... --{name}"


def parse_arguments(
    table: type[Table],
    arguments: Sequence[str],
    pass_names: Mapping[str, object],
    defaults: Table | None = None,
) -> tuple[Table, list[tuple[str, str | None]]]:
    """Parse the arguments after a program's name; pass names are returned with their values.

    Raises UsageError for unknown options, wrong values and a second positional argument.
    """
    fields = _fields(table)
    place = next(f.name for f in dataclasses.fields(table) if f.metadata["kind"] == "positional")
    values: dict[str, Any] = {}
    passes: list[tuple[str, str | None]] = []
    rest = iter(arguments)
    positional_only = False
    ignored: Mapping[str, Any] = getattr(table, "IGNORED", {})
    for argument in rest:
        if positional_only or not argument.startswith("-") or argument == "-":
            if place in values:
                raise UsageError(f"more than one input: '{values[place]}' and '{argument}'")
            values[place] = argument
        elif argument == "--":
            positional_only = True
        else:
            name, equals, written = argument.lstrip("-").partition("=")
            value = written if equals else None
            if (field := fields.get(name)) is not None:
                _set(values, field, name, value, rest)
            elif name in pass_names:
                passes.append((name, value))
            elif name in ignored:
                if value is None and ignored[name].has_value:
                    _next_value(rest, name)
                values["ignored"] = (*values.get("ignored", ()), name)
            else:
                refused: Mapping[str, str] = getattr(table, "REFUSED", {})
                what = "option or pass" if pass_names else "option"
                hint = did_you_mean(name, {**fields, **pass_names}, "--")
                hint = f": {refused[name]}" if name in refused else hint
                raise UsageError(f"there is no {what} '{argument.partition('=')[0]}'{hint}")
    return dataclasses.replace(defaults or table(), **values), passes


def _next_value(rest: Iterator[str], name: str) -> str:
    """Return the argument after an option, which is its value. Raises UsageError."""
    value = next(rest, None)
    if value is None:
        raise UsageError(f"option '{_dashed(name)}' needs a value")
    return value


def _set(
    values: dict[str, Any], field: Field[Any], name: str, value: str | None, rest: Iterator[str]
) -> None:
    kind = field.metadata["kind"]
    bare: str | None = field.metadata.get("bare")
    if kind == "flag":
        if value is not None and value.lower() not in ("true", "false", "1", "0"):
            raise UsageError(f"option '--{name}' is true or false, not '{value}'")
        values[field.name] = value is None or value.lower() in ("true", "1")
        return
    if value is None and bare is not None:
        values[field.name] = bare
        return
    if value is None:
        value = _next_value(rest, name)
    if kind == "listed":
        values[field.name] = (*values.get(field.name, ()), *value.split(","))
    elif kind == "repeated":
        values[field.name] = (*values.get(field.name, ()), value)
    else:
        values[field.name] = _read(field, name, value)


def _read(field: Field[Any], name: str, value: str) -> Any:
    """Convert the text of a value. Raises UsageError."""
    match field.metadata["kind"]:
        case "integer":
            if len(value) > _LONGEST_INTEGER:
                kind = "an integer of at most 64 bits"
                raise UsageError(f"option '--{name}' takes {kind}, not '{value}'")
            try:
                return int(value)
            except ValueError:
                raise UsageError(f"option '--{name}' takes an integer, not '{value}'") from None
        case "real":
            try:
                return float(value)
            except ValueError:
                raise UsageError(f"option '--{name}' takes a number, not '{value}'") from None
        case "choice":
            choices: tuple[str, ...] = field.metadata["choices"]
            if value not in choices:
                listing = f"{', '.join(choices[:-1])} or {choices[-1]}"
                raise UsageError(f"option '--{name}' is {listing}, not '{value}'")
            return value
        case _:
            return value


# Help -----------------------------------------------------------------------------------------


def help_text(table: type[Information], introduction: str, *, grouped: bool = True) -> str:
    """Return the output of `--help`: an introduction and the options, in groups or sorted."""
    lines = [introduction.rstrip()]
    if not grouped:
        fields = sorted(dataclasses.fields(table), key=lambda field: field.name)
        return "\n".join([*lines, "", *_entries(fields)]) + "\n"
    by_name = {field.name: field for field in dataclasses.fields(table)}
    for group in reversed(table.__mro__):
        own = [by_name[name] for name in get_annotations(group) if name in by_name]
        if entries := _entries(own):
            heading = (group.__doc__ or "").partition("\n")[0].rstrip(".")
            lines += ["", f"{heading}:", *entries]
    return "\n".join(lines) + "\n"


def _entries(fields: Sequence[Field[Any]]) -> list[str]:
    return [line for field in fields for line in _entry(field)]


def _entry(field: Field[Any]) -> list[str]:
    kind = field.metadata["kind"]
    if kind in _NO_OPTIONS:
        return []
    head = ", ".join(map(_dashed, names_of(field)))
    if kind != "flag":
        shown = "|".join(field.metadata.get("choices", ())) or field.metadata["shown"]
        head += f"[={shown}]" if field.metadata.get("bare") is not None else f"={shown}"
    lines = textwrap.wrap(field.metadata["help"], _WIDTH - _COLUMN)
    if len(head) + 2 < _COLUMN - 1:
        lines[0] = f"  {head}".ljust(_COLUMN) + lines[0]
        return [lines[0], *(" " * _COLUMN + line for line in lines[1:])]
    return [f"  {head}", *(" " * _COLUMN + line for line in lines)]
