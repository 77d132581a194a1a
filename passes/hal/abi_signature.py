"""The types, attributes and text of a function's signature, as callers through the HAL see it."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, TensorType
from xdsl.ir import Attribute, Operation

from ...dialects.hal.types import BufferViewType
from ...ir.attribute_access import BOUNDARY_GROUPS, boundary_attributes, boundary_entries

BUFFER_VIEW = BufferViewType()
INTERFACE = frozenset(f"iree.abi.{name}" for name in ("affinity", "encoding", "output"))
"""Attributes of arguments and results that imports and exports replace."""


def abi_type(type_: Attribute) -> Attribute:
    """Return the type that a caller sees."""
    return BUFFER_VIEW if isinstance(type_, TensorType) else type_


def kept_attributes(function: Operation) -> dict[str, ArrayAttr[DictionaryAttr]]:
    """Return the argument and result attributes that imports and exports do not replace."""
    found: dict[str, ArrayAttr[DictionaryAttr]] = {}
    for group in BOUNDARY_GROUPS:
        entries = boundary_entries(function, group)
        kept = [{k: v for k, v in each.items() if k not in INTERFACE} for each in entries]
        if any(kept):
            found[group] = ArrayAttr(map(DictionaryAttr, kept))
    return found


def declaration(function: Operation) -> str:
    """Return the original signature as text, for people and for tools that show it."""
    type_ = cast(FunctionType, function.properties["function_type"])
    name = cast(StringAttr, function.properties["sym_name"]).data
    inputs = _declared(function, "arg_attrs", type_.inputs.data, "input")
    outputs = _declared(function, "res_attrs", type_.outputs.data, "output")
    return f" func @{name}({inputs}) -> ({outputs})"


def _declared(function: Operation, group: str, types: tuple[Attribute, ...], kind: str) -> str:
    texts: list[str] = []
    for index, type_ in enumerate(types):
        attributes = dict(boundary_attributes(function, group, index))
        name = attributes.pop("iree.abi.name", None)
        text = f"%{name.data if isinstance(name, StringAttr) else f'{kind}{index}'}: {type_}"
        if attributes:
            text += f" {{{', '.join(f'{name} = {v}' for name, v in attributes.items())}}}"
        texts.append(text)
    return ", ".join(texts)
