"""The attributes and the type of the tosa dialect."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import TypeAttribute
from xdsl.irdl import irdl_attr_definition

from ...ir.syntax.attribute_format import FormattedAttribute
from ...ir.syntax.keyword_attributes import KeywordAttribute


@irdl_attr_definition
class NanModeAttr(KeywordAttribute[str]):
    """`#tosa.nan_mode<IGNORE>`: how maxima and minima treat NaN; `IGNORE` in an op's attributes."""

    name = "tosa.nan_mode"
    WORDS = ("PROPAGATE", "IGNORE")


@irdl_attr_definition
class RoundingModeAttr(KeywordAttribute[str]):
    """`#tosa.rounding_mode<SINGLE_ROUND>`: how `rescale` and `apply_scale` round."""

    name = "tosa.rounding_mode"
    WORDS = ("SINGLE_ROUND", "INEXACT_ROUND", "DOUBLE_ROUND")


@irdl_attr_definition
class ResizeModeAttr(KeywordAttribute[str]):
    """`#tosa.resize_mode<BILINEAR>`: how `resize` interpolates."""

    name = "tosa.resize_mode"
    WORDS = ("NEAREST_NEIGHBOR", "BILINEAR")


@irdl_attr_definition
class ShapeType(FormattedAttribute, TypeAttribute):
    """`!tosa.shape<3>`: the type of a list of three sizes or positions."""

    name = "tosa.shape"

    rank: IntAttr
    FORMAT: ClassVar[str] = "<$rank:count>"
