"""Replace parameters by their contents: constants in files, identified by scope and key.

A program refers to them as `#flow.parameter.named<"scope"::"key">`. The caller provides the
contents. They are substituted as ordinary constants after all passes: a parameter that is unknown
at compile time is packed when the program is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i8,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.iree_encoding.interfaces import Tensor
from ..dialects.stream.types import NamedParameter
from ..ir.diagnostics import OperationError
from ..ir.syntax.assembly_format import values
from ..ir.tensor_types import element_named
from ..runtime.abi.arrays import Array, Value, shape_text
from ..runtime.abi.parameters import Deferred, Parameter, Parameters
from ..runtime.abi.values import dtype_of, element_type, static_shape
from ..tiling.packed_arrays import Bytes, from_bytes

__all__ = ["Deferred", "Parameter", "Parameters", "provide_parameters"]

PARAMETERS = frozenset({"flow.parameter.named", "stream.parameter.named"})
"""Names of attributes that stand for parameter contents."""

READERS = frozenset(
    {"io_parameters.gather", "io_parameters.load"}
    | {f"stream.cmd.parameter.{what}" for what in ("gather", "load", "read")}
)
"""Operations that read parameter contents at run time."""

CONTENTS = "interpreter.contents"
"""Name of the attribute that `provide_parameters` adds to such operations: the contents."""


def provide_parameters(module: ModuleOp, parameters: Parameters) -> None:
    """Replace the parameters of a module by their contents.

    Raises OperationError at an operation whose parameter is missing or does not fit its type.
    """
    made: dict[Attribute, Attribute] = {}

    def provided(operation: Operation, value: Attribute) -> Attribute:
        if isinstance(value, ArrayAttr):
            parts = cast("ArrayAttr[Attribute]", value).data
            return ArrayAttr([provided(operation, part) for part in parts])
        if value.name not in PARAMETERS or not isinstance(value, NamedParameter):
            return value
        if value not in made:
            made[value] = _constant(operation, value, parameters)
        return made[value]

    for operation in module.walk():
        for attributes in (operation.properties, operation.attributes):
            for name, value in attributes.items():
                attributes[name] = provided(operation, value)
        if operation.name in READERS:
            operation.attributes[CONTENTS] = _contents(operation, parameters)


def _contents(operation: Operation, parameters: Parameters) -> Attribute:
    """Return the bytes that an operation reads at run time: one constant per key."""
    scopes = values(operation, "source_scope")
    scope = _text(operation, scopes[0]) if scopes else ""
    found: list[Attribute] = []
    for key in values(operation, "source_keys") or values(operation, "source_key"):
        data = _parameter(operation, scope, _text(operation, key), parameters).read()
        type_ = TensorType(i8, [len(data)])
        found.append(DenseIntOrFPElementsAttr(type_, BytesAttr(data)))
    return ArrayAttr(found)


def _text(operation: Operation, value: SSAValue) -> str:
    maker = value.owner
    found = maker.properties.get("value") if isinstance(maker, Operation) else None
    if not isinstance(found, StringAttr):
        raise OperationError(
            operation, "reads a parameter whose name is only known at run time, expected a constant"
        )
    return found.data


def contents_read(op: Operation, offsets: Sequence[Value], lengths: Sequence[Value]) -> list[Bytes]:
    """Return the bytes that an operation reads from each of its parameters.

    Raises OperationError.
    """
    contents = op.attributes.get(CONTENTS)
    if not isinstance(contents, ArrayAttr):
        raise OperationError(op, "reads parameters, but none are given")
    parts: list[Bytes] = []
    for each, offset, length in zip(
        cast("ArrayAttr[DenseIntOrFPElementsAttr]", contents), offsets, lengths, strict=True
    ):
        data = np.frombuffer(each.data.data, np.uint8)
        first, last = int(offset), int(offset) + int(length)
        if not 0 <= first <= last <= data.size:
            raise OperationError(
                op, f"reads bytes {first} to {last} of a parameter of {data.size} bytes"
            )
        parts.append(data[first:last].copy())
    return parts


def _constant(op: Operation, value: NamedParameter, parameters: Parameters) -> Attribute:
    scope = value.scope.data if isinstance(value.scope, StringAttr) else ""
    key = value.key.data
    found = _parameter(op, scope, key, parameters)
    type_, shape = value.type, static_shape(value.type)
    if not isinstance(type_, TensorType) or shape is None or any(size < 0 for size in shape):
        raise OperationError(op, f"reads a parameter as {type_}, expected a tensor of static shape")
    tensor = cast(Tensor, type_)
    try:
        array = _array(found, tensor, shape)
    except ValueError as error:
        raise OperationError(op, f"reads the parameter {_shown(scope, key)}: {error}") from error
    return DenseIntOrFPElementsAttr(
        cast("TensorType[AnyDenseElement]", tensor), BytesAttr(array.tobytes())
    )


def _parameter(op: Operation, scope: str, key: str, parameters: Parameters) -> Parameter:
    found = parameters.get((scope, key))
    if found is None:
        raise OperationError(op, _missing(scope, key, parameters))
    return found


def _shown(scope: str, key: str) -> str:
    return f'"{scope}"::"{key}"' if scope else f'"{key}"'


def _missing(scope: str, key: str, parameters: Parameters) -> str:
    message = f"reads the parameter {_shown(scope, key)}, but "
    scopes = sorted({each for each, _ in parameters})
    if scope not in scopes:
        named = ", ".join(f'"{each}"' if each else "none" for each in scopes)
        return f"{message}no parameters of that scope are given (scopes: {named or 'no file'})"
    keys = sorted(name for each, name in parameters if each == scope)
    shown = ", ".join(f'"{name}"' for name in keys[:8]) + (", ..." if len(keys) > 8 else "")
    return f"{message}its scope has no such key (keys: {shown})"


def _array(found: Parameter, type_: Tensor, shape: tuple[int, ...]) -> Array:
    """Return the elements of a parameter as values of a type.

    Raises ValueError if they do not fit.
    """
    dtype, element = dtype_of(type_), element_named(element_type(type_))
    if found.shape is not None and found.shape != shape:
        raise ValueError(f"expected {type_}, found a shape of {shape_text(found.shape)}")
    if found.dtype is not None and not _holds(found.dtype, dtype):
        raise ValueError(f"expected {type_}, found elements of {found.dtype}")
    if found.dtype is not None and found.size == prod(shape) * dtype.itemsize:
        return np.frombuffer(found.read(), found.dtype).astype(dtype)
    stored = -(-prod(shape) * element.storage_bits // 8)
    if found.size != stored:
        raise ValueError(f"expected {stored} bytes for {type_}, found {found.size}")
    data = np.frombuffer(found.read(), np.uint8)
    return from_bytes(data, element, dtype, prod(shape), element.storage_bits)


def _holds(stored: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Return whether file elements can be read as `dtype`; integers of the IR are signless."""
    integral = stored.kind in "iub" and dtype.kind in "iub"
    same_size = stored.itemsize == dtype.itemsize
    return stored.newbyteorder("=") == dtype or (integral and same_size)
