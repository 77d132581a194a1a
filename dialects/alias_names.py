"""Which attributes and types are printed as aliases, and under which name.

The names are those of MLIR (`#map`, `#set`, `!tuple`) and of IREE 3.13, so that text compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, TupleType
from xdsl.ir import Attribute

_LARGEST_INLINE_TUPLE = 16
"""Longer tuple types have an alias, as in MLIR."""


def alias_name(attribute: Attribute) -> str | None:
    """The name, without a number, that an attribute or type is abbreviated to; None: it is not."""
    name = _NAMES.get(attribute.name)
    return name(attribute) if name is not None else None


def _executable_target(attribute: Attribute) -> str:
    return f"executable_target_{_identifier(_string(attribute, 'format'))}"


def _device_target(attribute: Attribute) -> str:
    name = f"device_target_{_identifier(_string(attribute, 'identifier'))}"
    configuration: Attribute | None = getattr(attribute, "configuration", None)
    if isinstance(configuration, DictionaryAttr):
        ordinal = configuration.data.get("ordinal")
        if isinstance(ordinal, IntegerAttr):
            return f"{name}_{_identifier(str(cast(IntegerAttr, ordinal).value.data))}_"
    return name


def _tuple(attribute: Attribute) -> str | None:
    long = isinstance(attribute, TupleType) and len(attribute.types) > _LARGEST_INLINE_TUPLE
    return "tuple" if long else None


def _string(attribute: Attribute, field: str) -> str:
    value: Attribute | None = getattr(attribute, field, None)
    return value.data if isinstance(value, StringAttr) else ""


def _identifier(text: str) -> str:
    """IREE's fragment of a symbol's name: one `_` for each byte that is no letter or digit."""
    return re.sub(rb"[^a-z0-9_]", b"_", text.lower().encode()).decode()


def _always(name: str) -> Callable[[Attribute], str]:
    return lambda _: name


_NAMES: dict[str, Callable[[Attribute], str | None]] = {
    "affine_map": _always("map"),
    "affine_set": _always("set"),
    "hal.device.target": _device_target,
    "hal.executable.target": _executable_target,
    "hal.pipeline.layout": _always("pipeline_layout"),
    "iree_encoding.encoding": _always("encoding"),
    "iree_encoding.layout": _always("encoding"),
    "iree_encoding.testing": _always("encoding"),
    "iree_encoding.unknown": _always("encoding"),
    "tuple": _tuple,
}
"""By the name of an attribute or type."""
