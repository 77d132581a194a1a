"""Convert constant attributes to arrays: dense lists, splats, hexadecimal data, resources."""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import Attribute, Operation

from ..dialects.stream.types import NamedParameter
from ..ir.diagnostics import OperationError
from ..ir.nesting_limits import MAXIMUM_CONSTANT_ELEMENTS
from ..runtime.abi.arrays import Array, UnsupportedType, wrap
from ..runtime.abi.values import dtype_of, from_integer, integer_width, is_unsigned, static_shape
from .shapes import check_countable


def constant_array(op: Operation, value: Attribute | None) -> Array:
    """Return the value of a constant attribute as an array.

    Raises OperationError for other attributes.
    """
    try:
        if isinstance(value, IntegerAttr):
            number = cast(IntegerAttr[Any], value)
            return from_integer(number.value.data, number.type)
        if isinstance(value, FloatAttr):
            real = cast(FloatAttr[Any], value)
            return np.asarray(real.value.data).astype(dtype_of(real.type))
        if isinstance(value, DenseIntOrFPElementsAttr):
            return _dense(op, cast(Any, value))
        if isinstance(value, DenseResourceAttr):
            return _resource(op, value)
        if isinstance(value, ArrayAttr):
            parts = cast("tuple[FloatAttr[Any], ...]", cast(Any, value).data)
            real, imaginary = (each.value.data for each in parts)
            return np.asarray(complex(real, imaginary)).astype(dtype_of(op.results[0].type))
    except UnsupportedType as error:
        raise OperationError(op, str(error)) from error
    if isinstance(value, NamedParameter):
        raise OperationError(op, f"reads the parameter {value}, whose contents are not given")
    raise OperationError(op, f"has a value that is not a number or an array of numbers: {value}")


def _shape(op: Operation, value_type: Attribute) -> tuple[int, ...]:
    shape = static_shape(value_type)
    if shape is None or min(shape, default=0) < 0:
        raise OperationError(op, f"has a constant of type {value_type}, expected static sizes")
    check_countable(op, shape)
    return shape


def _dense(op: Operation, value: DenseIntOrFPElementsAttr[Any]) -> Array:
    element_type = cast(Attribute, value.get_element_type())
    shape = _shape(op, cast(Attribute, value.type))
    data = value.data.data
    return _from_bytes(data, element_type, shape)


def _from_bytes(data: bytes, element_type: Attribute, shape: tuple[int, ...]) -> Array:
    """Decode little-endian elements of whole bytes; a single element is a splat."""
    dtype = dtype_of(element_type)
    width = integer_width(element_type)
    if width is None:
        array = np.frombuffer(data, dtype)
    else:
        raw = np.frombuffer(data, np.dtype(f"i{dtype.itemsize}"))
        array = wrap(raw, width, to_unsigned=is_unsigned(element_type))
    if array.size == 1:
        return np.full(shape, array[0], dtype)
    return array.reshape(shape)


def _resource(op: Operation, value: DenseResourceAttr) -> Array:
    from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
    from xdsl.dialects.builtin import Builtin

    key = value.resource_handle.data
    storage = Builtin.get_interface(OpAsmDialectInterface)
    found = storage.lookup(key) if storage is not None else None
    if not found:
        raise OperationError(op, f"refers to the resource '{key}', which has no data")
    try:
        # The first four bytes of an MLIR resource blob hold the alignment of its data.
        blob = bytes.fromhex(found.removeprefix("0x"))
        alignment, data = int.from_bytes(blob[:4], "little"), blob[4:]
        if alignment & (alignment - 1):
            raise ValueError(f"its alignment is {alignment}, expected a power of 2")
    except ValueError as error:
        raise OperationError(
            op, f"refers to the resource '{key}', which is damaged: {error}"
        ) from error
    resource_type = cast(Attribute, value.type)
    shape = _shape(op, resource_type)
    element_type = cast(Attribute, getattr(resource_type, "element_type", resource_type))
    size = dtype_of(element_type).itemsize
    if len(data) not in (size, prod(shape) * size):
        raise OperationError(
            op,
            f"refers to the resource '{key}' of {len(data)} bytes, but needs {prod(shape) * size}",
        )
    if len(data) == size and prod(shape) > MAXIMUM_CONSTANT_ELEMENTS:
        raise OperationError(
            op,
            f"repeats the resource '{key}' {prod(shape)} times: a constant has at most"
            f" {MAXIMUM_CONSTANT_ELEMENTS} elements",
        )
    return _from_bytes(data, element_type, shape)
