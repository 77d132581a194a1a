"""Instantiate passes from their names and option texts.

As in xDSL, the fields of a pass's dataclass define the names and types of its options. In names,
`-` and `_` are equivalent. Texts are parsed by type:

| type | text |
|---|---|
| bool | `true`, `false`, or nothing: a bare `{flag}` is true |
| float | `1` is valid, too |
| str | `@grid` is, too |
| tuple | `a,b`, `[a,b]` or nothing |

Braces around a text are dropped, as in MLIR: `{a,b}` is a list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType
from xdsl.utils.exceptions import ArgSpecParseError

from ...ir.usage_error import did_you_mean
from .pipeline_text import PassEntry, PipelineError, unquote

PassTable = Mapping[str, Callable[[], type[ModulePass]]]
"""Maps pass names and aliases to functions that import the pass class."""


def build_pass(entry: PassEntry, text: str, table: PassTable) -> ModulePass:
    """Instantiate the pass of a pipeline entry.

    Raises PipelineError, at the entry's offset, for an unknown pass or a bad option.
    """
    factory = table.get(entry.name)
    if factory is None:
        message = unknown_pass_message(entry.name, table)
        raise PipelineError(text, entry.offset, message, entry.name)
    pass_type = factory()
    try:
        parameters = _parse_options(pass_type, entry)
        return pass_type.from_spec(ArgSpec(pass_type.name, parameters))
    except (ValueError, TypeError, ArgSpecParseError) as failure:
        raise PipelineError(text, entry.offset, f"pass '{entry.name}': {failure}") from failure


def unknown_pass_message(name: str, table: PassTable) -> str:
    """Return the error message for an unknown pass, with the most similar name."""
    return f"there is no pass '{name}'{did_you_mean(name, table)}"


def _parse_options(pass_type: type[ModulePass], entry: PassEntry) -> dict[str, ParameterListType]:
    fields = {
        field.name: field
        for field in dataclasses.fields(pass_type)
        if field.init and field.name != "name"
    }
    types = get_type_hints(pass_type)
    parameters: dict[str, ParameterListType] = {}
    for key, value in entry.options:
        name = key.replace("-", "_")
        if name not in fields:
            options = {field.replace("_", "-"): None for field in fields}
            listing = f"; its options are {', '.join(options)}" if options else "; it has none"
            raise ValueError(f"no option '{key}'{did_you_mean(key, options) or listing}")
        converted = _convert(key, value, types[name])
        # As in MLIR, a list that is given again continues; of other options the last one counts.
        is_list = get_origin(types[name]) is tuple
        parameters[name] = (*parameters.get(name, ()), *converted) if is_list else converted
    return parameters


def _convert(key: str, value: str | None, expected: Any) -> ParameterListType:
    """Return an option text as xDSL's parameter list for a field of the expected type."""
    alternatives = get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)
    if value is None:
        if bool in alternatives:
            return (True,)
        if NoneType in alternatives:
            return ()
        raise ValueError(f"option '{key}' needs a value: {key}=...")
    if value.startswith("{") and value.endswith("}"):
        value = value[1:-1].strip()
    for alternative in alternatives:
        if alternative is NoneType:
            continue
        try:
            return _convert_to(value, alternative)
        except ValueError:
            continue
    raise ValueError(f"option '{key}' cannot be '{value}'; expected {type_name(expected)}")


def _convert_to(value: str, expected: Any) -> ParameterListType:
    if get_origin(expected) is tuple:
        element = get_args(expected)[0]
        return tuple(item for part in _split_list(value) for item in _convert_to(part, element))
    if get_origin(expected) in (Union, UnionType):
        return _convert("", value, expected)
    text = unquote(value)
    if expected is bool:
        if text.lower() not in ("true", "false", "1", "0"):
            raise ValueError(text)
        return (text.lower() in ("true", "1"),)
    if expected is int:
        return (int(text, 0),)
    if expected is float:
        return (float(text),)
    if get_origin(expected) is Literal:
        for choice in get_args(expected):
            if str(choice) == text:
                return (choice,)
        raise ValueError(text)
    return (text,)


def _split_list(value: str) -> list[str]:
    """Split the text of a list option at commas outside of brackets and quotes."""
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    value = value.strip()
    if not value:
        return []
    parts: list[str] = []
    depth = 0
    quote = ""
    current = ""
    for character in value:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += character
    return [*parts, current.strip()]


def type_name(expected: Any) -> str:
    if get_origin(expected) is Literal:
        return " or ".join(f"'{choice}'" for choice in get_args(expected))
    if get_origin(expected) in (Union, UnionType):
        names = [type_name(part) for part in get_args(expected) if part is not NoneType]
        return " or ".join(names)
    if get_origin(expected) is tuple:
        return f"a list of {type_name(get_args(expected)[0])}"
    return {bool: "true or false", int: "an integer", float: "a number", str: "text"}.get(
        expected, str(expected)
    )


def describe_pass(instance: ModulePass) -> str:
    """Return a pass and its non-default options in pipeline syntax."""
    options: list[str] = []
    for name, values in instance.spec().parameters.items():
        text = ",".join(option_text(value) for value in values)
        options.append(f"{name.replace('_', '-')}={text}" if values else name.replace("_", "-"))
    return f"{instance.name}{{{' '.join(options)}}}" if options else instance.name


def option_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if isinstance(value, str) and (not text or any(c in " ,{}[]()\"'" for c in text)):
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return text
