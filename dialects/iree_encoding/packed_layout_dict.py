"""Packed layouts as dictionary attributes, the form in which solvers serialise them.

`{innerDimsPos = [0, 1], innerTileSizes = [16, 1], outerDimsPerm = [0, 1]}`, with `scalableTiles =
[true, false]` and `swizzle = {expandShape = ..., permutation = ...}` if needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    i8,
    i16,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...tiling.packed_layouts import LayoutError, PackedLayout, Swizzle, SwizzleDimension

ENCODING_INFO = "encoding_info"
"""The key of a solver's configuration that holds a resolved layout."""


def encoding_info(layout: PackedLayout) -> DictionaryAttr:
    """Return a packed layout as a dictionary in IREE's format."""
    entries: dict[str, Attribute] = {
        "innerDimsPos": _integers(layout.inner_positions),
        "innerTileSizes": _integers(layout.inner_tiles),
        "outerDimsPerm": _integers(layout.outer_permutation),
    }
    if layout.scalable:
        entries["scalableTiles"] = ArrayAttr(BoolAttr.from_bool(flag) for flag in layout.scalable)
    if layout.swizzle is not None:
        entries["swizzle"] = _swizzle_attribute(layout.swizzle)
    return DictionaryAttr(entries)


def packed_layout_of(info: DictionaryAttr) -> PackedLayout:
    """Return the packed layout in a dictionary. Raises VerifyException if it is malformed."""
    known = {"innerDimsPos", "innerTileSizes", "outerDimsPerm", "scalableTiles", "swizzle"}
    if unknown := sorted(set(info.data) - known):
        raise VerifyException(f"{ENCODING_INFO} has no entry called '{unknown[0]}'")
    swizzle = info.data.get("swizzle")
    try:
        return PackedLayout(
            _read_integers(info, "innerDimsPos"),
            _read_integers(info, "innerTileSizes"),
            _read_integers(info, "outerDimsPerm"),
            tuple(bool(flag) for flag in _read_integers(info, "scalableTiles", optional=True)),
            None if swizzle is None else _read_swizzle(swizzle),
        )
    except LayoutError as error:
        raise VerifyException(f"{ENCODING_INFO}: {error}") from error


def _integers(values: Sequence[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr(IntegerAttr(value, i64) for value in values)


def _read_integers(info: DictionaryAttr, key: str, *, optional: bool = False) -> tuple[int, ...]:
    array = info.data.get(key)
    if array is None and optional:
        return ()
    if not isinstance(array, ArrayAttr):
        raise VerifyException(f"{ENCODING_INFO} expects an array '{key}'")
    return tuple(_integer(value, key) for value in cast("ArrayAttr[Attribute]", array))


def _integer(value: Attribute, where: str) -> int:
    if not isinstance(value, IntegerAttr):
        raise VerifyException(f"{ENCODING_INFO} expects integers in '{where}', found {value}")
    return value.value.data


def _swizzle_attribute(swizzle: Swizzle) -> DictionaryAttr:
    def factor(dimension: SwizzleDimension) -> ArrayAttr[Attribute]:
        parts: list[Attribute] = [
            StringAttr(dimension.kind),
            IntegerAttr(dimension.size, i16),
        ]
        if isinstance(dimension.symbol, str):
            parts.append(StringAttr(dimension.symbol))
        elif dimension.symbol is not None:
            parts.append(IntegerAttr(dimension.symbol, i8))
        return ArrayAttr(parts)

    groups = (ArrayAttr(factor(dimension) for dimension in group) for group in swizzle.expand_shape)
    return DictionaryAttr(
        {"expandShape": ArrayAttr(groups), "permutation": _integers(swizzle.permutation)}
    )


def _read_swizzle(attribute: Attribute) -> Swizzle:
    malformed = VerifyException(
        f"{ENCODING_INFO} expects swizzle = "
        "{expandShape = [[[kind, size], ...], ...], permutation = [...]}"
    )

    def array(value: Attribute | None) -> tuple[Attribute, ...]:
        if not isinstance(value, ArrayAttr):
            raise malformed
        return tuple(cast("ArrayAttr[Attribute]", value))

    def factor(value: Attribute) -> SwizzleDimension:
        match array(value):
            case (StringAttr() as kind, size, *rest):
                symbol = rest[0] if rest else None
            case _:
                raise malformed
        named = symbol.data if isinstance(symbol, StringAttr) else None
        number = symbol.value.data if isinstance(symbol, IntegerAttr) else None
        return SwizzleDimension(kind.data, _integer(size, "swizzle"), named or number)

    if not isinstance(attribute, DictionaryAttr):
        raise malformed
    groups = tuple(
        tuple(factor(value) for value in array(group))
        for group in array(attribute.data.get("expandShape"))
    )
    return Swizzle(groups, _read_integers(attribute, "permutation"))
