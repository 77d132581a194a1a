"""Element types: their kinds, and the types that represent them after the conversion.

Integers become signless (`ui8` becomes `i8`), quantised numbers become their storage type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
    TupleType,
)
from xdsl.ir import Attribute, Operation

from ....dialects.quant import Quantization, quantization
from ....dialects.stablehlo.types import BoundsAttr, TokenType
from ....ir.attribute_access import element_type
from ....ir.diagnostics import OperationError

TOKEN = TensorType(IntegerType(1), [])
"""The converted type of a token. It carries no data: effects keep their textual order."""

_FRACTION_BITS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}
"""The bits of the fraction; other types have names like `f8E5M2`, of 2 bits."""


@dataclass(frozen=True, slots=True)
class Kind:
    """An element type and how ops treat it."""

    type: Attribute
    """The type after the conversion."""
    name: str
    """`float`, `complex`, `bool`, `signed` or `unsigned`."""
    width: int
    """The bit width; of a complex number, that of one part."""
    quantization: Quantization | None = None
    """What stored integers represent; `None` for other numbers."""

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers, including booleans."""
        return self.name in ("bool", "signed", "unsigned")

    @property
    def is_narrow_float(self) -> bool:
        """Whether elements are floats narrower than f32."""
        return self.name == "float" and self.width < 32

    @property
    def fraction_bits(self) -> int:
        """How many bits of a float, of which elements are, hold its fraction."""
        name = str(self.type)
        return _FRACTION_BITS.get(name) or int(name.partition("M")[2][0])

    @property
    def part(self) -> Kind:
        """The kind of the parts of a complex number; for any other kind, itself."""
        if self.name != "complex":
            return self
        return kind(cast("ComplexType[Any]", self.type).element_type)


def kind(value_type: Attribute) -> Kind:
    """Return the kind of an element type, or of a tensor's elements.

    Raises TypeError for other types.
    """
    element = element_type(value_type)
    stored = quantization(element)
    if stored is not None:
        name = "signed" if stored.is_signed else "unsigned"
        return Kind(stored.storage, name, stored.storage.width.data, stored)
    if isinstance(element, AnyFloat):
        return Kind(element, "float", element.bitwidth)
    if isinstance(element, ComplexType):
        part = cast("ComplexType[Any]", element).element_type
        return Kind(cast(Attribute, element), "complex", part.bitwidth)
    if isinstance(element, IntegerType):
        integer = cast("IntegerType[Any, Any]", element)
        width: int = integer.width.data
        if width == 1:
            return Kind(IntegerType(1), "bool", 1)
        unsigned = integer.signedness.data is Signedness.UNSIGNED
        return Kind(IntegerType(width), "unsigned" if unsigned else "signed", width)
    if isinstance(element, IndexType):
        return Kind(element, "signed", 64)
    raise TypeError(f"elements of type {element}")


def operand_kind(op: Operation, index: int = 0) -> Kind:
    """Return the kind of an operand's elements. Raises OperationError if they are not numbers."""
    return _kind_at(op, op.operand_types[index])


def result_kind(op: Operation) -> Kind:
    """Return the kind of the first result's elements.

    Raises OperationError if they are not numbers.
    """
    return _kind_at(op, op.result_types[0])


def element_kinds(op: Operation, first: int, count: int) -> list[Kind]:
    """Return the element kinds of `count` operands, from the operand `first` on."""
    return [kind(each) for each in op.operand_types[first : first + count]]


def _kind_at(op: Operation, value_type: Attribute) -> Kind:
    try:
        return kind(value_type)
    except TypeError as problem:
        raise OperationError(op, f"expects numbers, found {problem}") from problem


def converted(value_type: Attribute) -> Attribute:
    """Return the type of a value after the conversion."""
    if isinstance(value_type, TokenType):
        return TOKEN
    if isinstance(value_type, TupleType):
        return value_type
    if isinstance(value_type, TensorType):
        tensor = cast("TensorType[Any]", value_type)
        encoding = tensor.encoding
        kept = isinstance(encoding, BoundsAttr)
        before: Attribute = tensor.element_type
        element = _converted_element(before)
        if element is before and not kept:
            return tensor
        shape = tensor.get_shape()
        return TensorType(element, shape) if kept else TensorType(element, shape, encoding)
    return _converted_element(value_type)


def _converted_element(element: Attribute) -> Attribute:
    stored = quantization(element)
    if stored is not None:
        return stored.storage
    if isinstance(element, IntegerType):
        integer = cast("IntegerType[Any, Any]", element)
        is_plain = integer.signedness.data is Signedness.SIGNLESS
        return integer if is_plain else IntegerType(integer.width.data)
    return element


# Quantised numbers ------------------------------------------------------------------------------

OPS_ON_STORAGE = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("bitcast_convert", "broadcast", "broadcast_in_dim", "case", "concatenate", "constant"),
        *("custom_call", "dynamic_broadcast_in_dim", "dynamic_gather", "dynamic_pad", "gather"),
        *("dynamic_reshape", "dynamic_slice", "dynamic_update_slice", "get_dimension_size", "if"),
        *("optimization_barrier", "pad", "real_dynamic_slice", "reshape", "reverse", "select"),
        *("set_dimension_size", "slice", "transpose", "tuple", "get_tuple_element", "while"),
        *("uniform_quantize", "uniform_dequantize", "composite", "return", "map", "sort"),
        *("reduce", "reduce_window", "scatter", "select_and_scatter", "all_reduce"),
        *("reduce_scatter", "collective_reduce", "all_gather", "all_to_all"),
        *("collective_broadcast", "collective_permute"),
    )
)
"""Ops that do not compute with quantised numbers, or have their own rules for these.

Of ops with a body on elements the body computes, so each of its ops quantises its result.
"""


def quantization_of(value_type: Attribute) -> Quantization | None:
    """Return how a tensor's elements are quantised, `None` if they are not."""
    return quantization(element_type(value_type))


def computes_on_quantised(op: Operation) -> bool:
    """Return whether an op computes with quantised numbers."""
    return op.name not in OPS_ON_STORAGE and any(
        quantization_of(each) is not None for each in (*op.operand_types, *op.result_types)
    )
