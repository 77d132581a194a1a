"""Check and convert the arguments of a function: arrays of the types that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .arrays import (
    Array,
    UnsupportedType,
    ValueType,
    narrow_integer,
    shape_fits,
    shape_phrase,
    wrap,
)
from .device_array import DeviceArray

IN_PLACE = 0x101
"""NumPy's flags of arrays that are C-contiguous and aligned."""

ArrayKind = tuple[np.dtype[Any], tuple[int, ...]]
"""The element type and shape of an array; sizes are negative where dynamic."""


class InputError(ValueError):
    """The inputs do not fit the function; the message says which input and why."""


class InputTypes:
    """The types of a function's arguments, with fast checks prepared once for all calls."""

    def __init__(self, types: Sequence[ValueType]) -> None:
        self._types = types
        kinds = [_array_kind(each) for each in types]
        known = [each for each in kinds if each is not None]
        self.kinds = known if len(known) == len(kinds) else None
        """The kind of each argument; `None` if there is more to check of one of them."""

    def checked(self, inputs: Sequence[Array | DeviceArray]) -> Sequence[Array]:
        """Return inputs as C-contiguous arrays of the arguments' element types and shapes.

        Raises InputError for inputs of another number, type or shape.
        """
        arrays: Sequence[Any] = inputs
        if self.kinds is not None and len(arrays) == len(self.kinds):
            for array, (dtype, shape) in zip(arrays, self.kinds, strict=True):
                if (
                    array.__class__ is not np.ndarray
                    or (array.dtype is not dtype and array.dtype != dtype)
                    or (array.shape != shape and not shape_fits(array.shape, shape))
                    or array.flags.num & IN_PLACE != IN_PLACE
                ):
                    break
            else:
                return arrays
        own = [on_one_device(each) for each in inputs]
        return [np.asarray(each, order="C") for each in checked_inputs(self._types, own)]

    def checked_for_devices(
        self, inputs: Sequence[Array | DeviceArray]
    ) -> Sequence[Array | DeviceArray]:
        """Return the same as `checked`, but leave inputs that are DeviceArrays unchanged."""
        if not any(isinstance(each, DeviceArray) for each in inputs):
            return self.checked(inputs)
        if self.kinds is not None and len(inputs) == len(self.kinds):
            for array, (dtype, shape) in zip(inputs, self.kinds, strict=True):
                if (
                    not isinstance(array, DeviceArray)
                    or array.shape != shape
                    or array.dtype != dtype
                ):
                    break
            else:
                return inputs
        return [_checked_for_devices(*row) for row in _numbered(self._types, inputs)]

    def arrays(
        self, function: str, inputs: Sequence[npt.ArrayLike | DeviceArray]
    ) -> Sequence[Array | DeviceArray]:
        """Return the inputs of a function as arrays; Python numbers and lists are converted.

        Arrays are not checked here, since the runner checks them. Raises InputError.
        """
        count = len(self._types)
        given: tuple[Any, ...] = tuple(inputs)  # What is checked must not change afterwards.
        if len(given) != count:
            plural = "" if count == 1 else "s"
            raise InputError(f"@{function} takes {count} input{plural}, got {len(given)}")
        for value in given:
            if value.__class__ is not np.ndarray and not isinstance(value, DeviceArray):
                break
        else:
            return given
        return [_array(*row) for row in zip(range(count), given, self._types, strict=True)]

    def array(self, argument: int, value: npt.ArrayLike) -> Array:
        """Return one input as an array of its type. Raises InputError."""
        kind = self._types[argument]
        return checked_input(argument, _array(argument, value, kind), kind)

    def check_number(self, function: str, argument: int) -> None:
        """Raise InputError if the function has no argument with this number."""
        count = len(self._types)
        if not 0 <= argument < count:
            raise InputError(f"@{function} has no input {argument}: it takes {count} inputs")


def _array(index: int, value: Any, kind: ValueType) -> Array | DeviceArray:
    """Return an input as an array of a type if it is none yet. Raises InputError."""
    if isinstance(value, np.ndarray | np.generic | DeviceArray):
        return cast("Array | DeviceArray", value)
    return converted(f"input {index}", value, kind)


def on_one_device(value: Array | DeviceArray) -> Array | DeviceArray:
    """Return the only shard of a DeviceArray without a sharding; other values unchanged."""
    return value.shards[0] if isinstance(value, DeviceArray) and value.sharding is None else value


def _array_kind(value_type: ValueType) -> ArrayKind | None:
    """Return the kind that arrays of a type have.

    `None` if the elements must be checked too (an integer narrower than its container), or if the
    type has no arrays of a fixed rank.
    """
    try:
        dtype, shape = value_type.dtype, value_type.shape
    except UnsupportedType:
        return None
    is_full = value_type.integer_width in (None, 8, 16, 32, 64)
    return (dtype, shape) if is_full and shape is not None else None


def checked_inputs(
    types: Sequence[ValueType], inputs: Sequence[Array | DeviceArray]
) -> list[Array]:
    """Return the inputs as arrays of the arguments' element types and shapes. Raises InputError."""
    return [checked_input(*row) for row in _numbered(types, inputs)]


def _numbered(
    types: Sequence[ValueType], inputs: Sequence[Array | DeviceArray]
) -> Iterator[tuple[int, Array | DeviceArray, ValueType]]:
    """Return an iterator over the inputs with their numbers and types. Raises InputError."""
    if len(types) != len(inputs):
        raise InputError(f"expected {len(types)} inputs, got {len(inputs)}")
    return zip(range(len(types)), inputs, types, strict=True)


def checked_input(index: int, value: Array | DeviceArray, value_type: ValueType) -> Array:
    """Return an input as an array of the argument's element type and shape. Raises InputError."""
    # NumPy imports `np.ma` where it is first named; plain arrays do without.
    is_plain = type(value) is np.ndarray
    if not is_plain and isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(f"input {index} has masked elements, expected only numbers")
    array = np.asarray(value)
    check_kind(f"input {index}", array.dtype, array.shape, value_type)
    return _native(f"input {index}", array, value_type)


def _checked_for_devices(
    index: int, value: Array | DeviceArray, value_type: ValueType
) -> Array | DeviceArray:
    if not isinstance(value, DeviceArray):
        return checked_input(index, value, value_type)
    check_kind(f"input {index}", value.dtype, value.shape, value_type)
    return value


def check_kind(
    role: str, dtype: np.dtype[Any], shape: tuple[int, ...], value_type: ValueType
) -> None:
    """Raise InputError unless arrays of `dtype` (in any byte order) and `shape` fit a type."""
    try:
        expected = value_type.dtype
    except UnsupportedType as error:
        raise InputError(f"{role}: {error}") from error
    found, narrow = dtype.newbyteorder("="), narrow_integer(value_type.element)
    # `narrow` may be `None`, which NumPy compares as float64.
    if found != expected and (narrow is None or found != narrow):
        raise InputError(f"{role} is of {dtype}, expected {value_type} ({expected})")
    declared = value_type.shape
    if declared is None or not shape_fits(shape, declared):
        raise InputError(f"{role} has {shape_phrase(shape)}, expected {value_type}")


def _native(role: str, array: Array, value_type: ValueType) -> Array:
    """Convert an array to native byte order, and check that its elements are values of the type.

    The container of an integer may hold larger numbers: `100` is not an i4, and a byte of 2 not an
    i1. Raises InputError.
    """
    array = array.astype(value_type.dtype, copy=not array.flags.aligned)
    width = value_type.integer_width
    if width == 1:
        return np.asarray(array.view(np.uint8) != 0)
    if width in (None, 8, 16, 32, 64):
        return array
    stray = array != wrap(array, width, to_unsigned=value_type.is_unsigned)
    if stray.any():
        place = tuple(int(number) for number in np.argwhere(stray)[0])
        where = f" at {list(place)}" if place else ""
        raise InputError(f"{role} holds {array[place]}{where}, which does not fit {value_type}")
    return array


def _as_array(value: npt.ArrayLike) -> Array:
    """Convert a value to an array, without a copy if it supports DLPack."""
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        try:
            return np.from_dlpack(cast("Any", value))
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # NumPy lacks the element type or device: try its own conversion.
    return np.asarray(value)


def converted(role: str, value: npt.ArrayLike, value_type: ValueType) -> Array:
    """Convert Python numbers to an array of a type if their kind fits. Raises InputError."""
    try:
        array: Array = _as_array(value)
    except (OverflowError, TypeError, ValueError) as problem:
        # Rows of different lengths, or an object whose conversion to an array fails.
        raise InputError(f"{role} is not an array: {problem}") from problem
    try:
        dtype = value_type.dtype
    except UnsupportedType:
        return array
    width = value_type.integer_width
    if array.dtype.kind not in ("biuf" if width is None else "biu") + dtype.kind:
        return array
    if width is not None and array.size and array.dtype.kind != "b":
        low = 0 if value_type.is_unsigned else -(1 << (width - 1))
        least, most = int(array.min()), int(array.max())
        # i1 is 0 or 1, although its only bit is the sign bit.
        if least < low or most >= 1 << (width if low == 0 or width == 1 else width - 1):
            number = least if least < low else most
            raise InputError(f"{role} holds {number}, which does not fit {value_type}")
    with np.errstate(over="ignore"):
        return array.astype(dtype)
