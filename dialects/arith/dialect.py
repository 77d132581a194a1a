"""The arith ops that xDSL lacks, or parses for scalars only.

xDSL 0.74 parses `arith.extsi` and the like only for scalars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, with_element
from ...ir.dialect_extension import extended, variant
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import PURE, Rows
from .comparisons import CmpfOp, CmpiOp, SelectOp
from .flags import OPTIONAL_FAST_MATH, OVERFLOW, Rounding

# Conversions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConversionRule:
    """The element types that a conversion takes and returns, and how their widths compare."""

    source: tuple[type[Attribute], ...]
    result: tuple[type[Attribute], ...]
    width: int = 0
    """1 if the result must be wider, -1 if narrower, 0 for any width."""

    def allows(self, source: Attribute, result: Attribute) -> bool:
        if not isinstance(source, self.source) or not isinstance(result, self.result):
            return False
        difference = _width(result) - _width(source)
        return self.width == 0 or difference * self.width > 0


def _width(element: Attribute) -> int:
    return element.bitwidth if isinstance(element, IntegerType | AnyFloat) else 0


_INTEGER = (IntegerType,)
_FLOAT: tuple[type[Attribute], ...] = AnyFloat.__args__

RULES = {
    "arith.extf": ConversionRule(_FLOAT, _FLOAT, 1),
    "arith.extsi": ConversionRule(_INTEGER, _INTEGER, 1),
    "arith.extui": ConversionRule(_INTEGER, _INTEGER, 1),
    "arith.fptosi": ConversionRule(_FLOAT, _INTEGER),
    "arith.fptoui": ConversionRule(_FLOAT, _INTEGER),
    "arith.sitofp": ConversionRule(_INTEGER, _FLOAT),
    "arith.truncf": ConversionRule(_FLOAT, _FLOAT, -1),
    "arith.trunci": ConversionRule(_INTEGER, _INTEGER, -1),
    "arith.uitofp": ConversionRule(_INTEGER, _FLOAT),
}
"""The conversions whose element types follow such a rule."""


class ConversionOp(SyntaxOperation):
    """Base of the elementwise conversions to another element type."""

    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = " $input attr-dict : type($input) to type($result)"

    def allows(self, source: Attribute, result: Attribute) -> bool:
        """Return whether elements of type `source` can be converted to `result`."""
        return RULES[self.name].allows(source, result)

    def verify_(self) -> None:
        super().verify_()
        source, result = self.input.type, self.result.type
        elements = element_type(source), element_type(result)
        if with_element(source, elements[1]) != result or not self.allows(*elements):
            raise VerifyException(
                f"operand type '{source}' and result type '{result}' are cast incompatible"
            )


@irdl_op_definition
class _RuledConversionOp(ConversionOp):
    """The class from which the ops of `RULES` are derived."""

    name = "arith.conversion"


@irdl_op_definition
class ExtFOp(ConversionOp):
    """Extend a float to a wider type."""

    name = "arith.extf"

    fastmath = opt_prop_def(arith.FastMathFlagsAttr)

    SYNTAX: ClassVar[Syntax] = (
        " $input",
        OPTIONAL_FAST_MATH,
        " attr-dict : type($input) to type($result)",
    )


@irdl_op_definition
class TruncFOp(ConversionOp):
    """Truncate a float to a narrower type, to the nearest value or by `roundingmode`."""

    name = "arith.truncf"

    fastmath = opt_prop_def(arith.FastMathFlagsAttr)
    roundingmode = opt_prop_def(IntegerAttr)

    SYNTAX: ClassVar[Syntax] = (
        " $input",
        Rounding(),
        OPTIONAL_FAST_MATH,
        " attr-dict : type($input) to type($result)",
    )


@irdl_op_definition
class TruncIOp(ConversionOp):
    """Truncate an integer to its low bits."""

    name = "arith.trunci"

    overflow_flags = opt_prop_def(arith.IntegerOverflowAttr, prop_name="overflowFlags")

    SYNTAX: ClassVar[Syntax] = (
        " $input",
        OVERFLOW,
        " attr-dict : type($input) to type($result)",
    )


class _IndexConversionOp(ConversionOp):
    """Base of the conversions between index and integer."""

    def allows(self, source: Attribute, result: Attribute) -> bool:
        kinds = {type(source), type(result)}
        return kinds == {IndexType, IntegerType}


@irdl_op_definition
class IndexCastOp(_IndexConversionOp):
    """Convert between index and signed integer."""

    name = "arith.index_cast"


@irdl_op_definition
class IndexCastUIOp(_IndexConversionOp):
    """Convert between index and unsigned integer."""

    name = "arith.index_castui"


@irdl_op_definition
class BitcastOp(ConversionOp):
    """Reinterpret bits as another type of the same width."""

    name = "arith.bitcast"

    def allows(self, source: Attribute, result: Attribute) -> bool:
        return _width(source) == _width(result) > 0


_SCALING_TYPES = " attr-dict : type($input), type($scale) to type($result)"


def _verify_scaling(op: Operation) -> None:
    source, result = op.operands[0].type, op.results[0].type
    narrow, wide = element_type(source), element_type(result)
    if op.name == "arith.scaling_truncf":
        narrow, wide = wide, narrow
    floats = isinstance(narrow, AnyFloat) and isinstance(wide, AnyFloat)
    is_wider = floats and _width(narrow) < _width(wide)
    if not is_wider or with_element(source, element_type(result)) != result:
        raise VerifyException(
            f"operand type '{source}' and result type '{result}' are cast incompatible"
        )


row = Rows("arith", {"flags": arith.FastMathFlagsAttr}, default="any", traits=PURE)

ScalingExtFOp = row(
    "scaling_extf",
    "input scale -> result | fastmath:flags?",
    (" $input, $scale", OPTIONAL_FAST_MATH, _SCALING_TYPES),
    verify=_verify_scaling,
    doc="Extend the input to a wider type and multiply it by the scale, a power of two.",
)


ScalingTruncFOp = row(
    "scaling_truncf",
    "input scale -> result | fastmath:flags? roundingmode:int?",
    (" $input, $scale", Rounding(), OPTIONAL_FAST_MATH, _SCALING_TYPES),
    verify=_verify_scaling,
    doc="Divide the input by the scale, a power of two, and truncate it to a narrower type.",
)


# Arithmetic --------------------------------------------------------------------------------------


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """Compute the remainder of a float division, with the sign of the dividend."""

    name = "arith.remf"

    traits = traits_def(Pure())


_WITH_FLAGS = (ExtFOp.name, TruncFOp.name, TruncIOp.name)

ExtendedArith = extended(
    arith.Arith,
    [
        *(variant(_RuledConversionOp, name) for name in RULES if name not in _WITH_FLAGS),
        BitcastOp,
        CmpfOp,
        CmpiOp,
        ExtFOp,
        IndexCastOp,
        IndexCastUIOp,
        RemFOp,
        ScalingExtFOp,
        ScalingTruncFOp,
        SelectOp,
        TruncFOp,
        TruncIOp,
    ],
)
