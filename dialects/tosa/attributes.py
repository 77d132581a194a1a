"""The attributes and the type of the tosa dialect."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum

from ...ir.syntax.attribute_format import FormattedAttribute
from ...ir.syntax.keyword_attributes import KeywordAttribute


class NanMode(StrEnum):
    """How maxima and minima treat NaN."""

    PROPAGATE = "PROPAGATE"
    IGNORE = "IGNORE"


class RoundingMode(StrEnum):
    """How `rescale` and `apply_scale` round."""

    SINGLE_ROUND = "SINGLE_ROUND"
    INEXACT_ROUND = "INEXACT_ROUND"
    DOUBLE_ROUND = "DOUBLE_ROUND"


class ResizeMode(StrEnum):
    """How `resize` interpolates."""

    NEAREST_NEIGHBOR = "NEAREST_NEIGHBOR"
    BILINEAR = "BILINEAR"


@irdl_attr_definition
class NanModeAttr(KeywordAttribute[NanMode]):
    """`#tosa.nan_mode<IGNORE>`, or `IGNORE` in an op's attributes."""

    name = "tosa.nan_mode"
    WORDS = tuple(NanMode)


@irdl_attr_definition
class RoundingModeAttr(KeywordAttribute[RoundingMode]):
    """`#tosa.rounding_mode<SINGLE_ROUND>`."""

    name = "tosa.rounding_mode"
    WORDS = tuple(RoundingMode)


@irdl_attr_definition
class ResizeModeAttr(KeywordAttribute[ResizeMode]):
    """`#tosa.resize_mode<BILINEAR>`."""

    name = "tosa.resize_mode"
    WORDS = tuple(ResizeMode)


@irdl_attr_definition
class ShapeType(FormattedAttribute, TypeAttribute):
    """`!tosa.shape<3>`: the type of a list of three sizes or positions."""

    name = "tosa.shape"

    rank: IntAttr
    FORMAT: ClassVar[str] = "<$rank:count>"
