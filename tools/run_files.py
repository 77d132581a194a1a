"""Reading values of `mesh-run` from its arguments and from NumPy's files, and writing results."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute

from ..interpreter.values import (
    Array,
    dtype_of,
    element_type,
    integer_width,
    is_unsigned,
    static_shape,
    wrap,
)
from .usage_error import UsageError
from .value_text import MAXIMAL_INPUT, MAXIMAL_RANK, TextError, parse_raw, parse_value


@dataclass(frozen=True, slots=True)
class Role:
    """What values of the command line are for."""

    option: str
    noun: str
    """What one of them is called."""


INPUT = Role("--input", "input")
EXPECTED = Role("--expected_output", "result")


def read_values(
    texts: Sequence[str], types: Sequence[Attribute], role: Role = INPUT
) -> list[Array | None]:
    """The values that options mean, for types from the first on; `None` for `(ignored)`.

    Raises UsageError that names the option at fault.
    """
    arrays: list[Array | None] = []
    for text in texts:
        if text.startswith("@"):
            for array in _read_file(text[1:], len(types) - len(arrays), role):
                arrays.append(_as_expected(text, array, types, len(arrays), role))
            continue
        if len(arrays) >= len(types):
            raise UsageError(
                f"expected {len(types)} {role.noun}s, but {role.option}={_short(text)} is one more"
            )
        if role is EXPECTED and text == "(ignored)":
            arrays.append(None)
            continue
        arrays.append(read_value(text, types[len(arrays)], f"{role.noun} {len(arrays)}"))
    return arrays


def read_inputs(texts: Sequence[str], types: Sequence[Attribute]) -> list[Array]:
    """The inputs that the options mean, for arguments of these types from the first on."""
    return [array for array in read_values(texts, types) if array is not None]


def read_value(text: str, expected: Attribute, role: str) -> Array:
    """A value from its text. Raises UsageError that names the role that it was given for."""
    try:
        head, at, path = text.partition("=@")
        if at:
            return parse_raw(head, _bytes(path), expected)
        return parse_value(text, expected)
    except TextError as problem:
        raise UsageError(f"{role} ({_short(text)}) {problem}") from problem


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as problem:
        raise UsageError(f"cannot read '{path}': {problem.strerror}") from problem


_NPY_MAGIC = b"\x93NUMPY"
_NUMBERED = re.compile(r"(in|input|arg|arr)_?(\d+)")


def _read_file(text: str, wanted: int, role: Role) -> list[Array]:
    """The arrays of an .npy file, however many there are one after another, or of an .npz."""
    path, _, key = text.partition(".npz:")
    if key:
        path += ".npz"
    data = _bytes(path)
    try:
        if data.startswith(b"PK"):
            return _from_archive(path, data, key, wanted, role)
        if key:
            raise UsageError(f"'{path}' is no .npz file, so it has no '{key}'")
        stream = io.BytesIO(data)
        arrays: list[Array] = []
        if not data:
            raise UsageError(f"'{path}' is empty")
        if not data.startswith(_NPY_MAGIC):
            # NumPy would take it for a pickle, and advise to load that.
            raise UsageError(f"'{path}' is no file of NumPy arrays")
        while stream.tell() < len(data):
            arrays.append(np.load(stream, allow_pickle=False))
        return arrays
    except (UsageError, MemoryError):
        raise
    except Exception as problem:
        # Damaged headers and archives make NumPy, zipfile, zlib and tokenize raise what they like.
        reason = str(problem).strip() or type(problem).__name__
        raise UsageError(f"'{path}' is no file of NumPy arrays: {reason}") from problem


def _from_archive(path: str, data: bytes, key: str, wanted: int, role: Role) -> list[Array]:
    archive: Any = np.load(io.BytesIO(data), allow_pickle=False)
    names: list[str] = list(archive.files)
    if key:
        if key not in names:
            raise UsageError(f"'{path}' has no array '{key}', but {', '.join(names)}")
        return [archive[key]]
    numbered = [(match, name) for name in names if (match := _NUMBERED.fullmatch(name))]
    if numbered:
        names = [name for _, name in sorted(numbered, key=lambda entry: int(entry[0][2]))]
    if len(names) > wanted:
        raise UsageError(
            f"'{path}' has {len(names)} arrays, but {wanted} {role.noun}s are expected"
        )
    return [archive[name] for name in names]


def _as_expected(
    text: str, array: Array, types: Sequence[Attribute], position: int, role: Role
) -> Array:
    if position >= len(types):
        raise UsageError(f"expected {len(types)} {role.noun}s, but {role.option}={text} holds more")
    dtype = dtype_of(types[position])
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        # NumPy stores types that it does not know, such as bf16, as raw bytes.
        return array.view(dtype)
    return array


def random_inputs(seed: int, types: Sequence[Attribute], given: int, extent: int) -> list[Array]:
    """Random values for the arguments from number `given` on; the same for the same seed.

    What argument i gets does not depend on how many are given. Raises UsageError for more
    elements than can be held.
    """
    arrays: list[Array] = []
    for position in range(given, len(types)):
        value_type = types[position]
        shape = tuple(extent if n < 0 else n for n in static_shape(value_type) or ())
        if prod(shape) > MAXIMAL_INPUT:
            raise UsageError(
                f"argument {position} has {prod(shape)} elements, more than can be held"
            )
        if len(shape) > MAXIMAL_RANK:
            raise UsageError(f"argument {position} has more than {MAXIMAL_RANK} dimensions")
        generator = np.random.default_rng([seed, position])
        arrays.append(_random(generator, value_type, shape))
    return arrays


def _random(generator: np.random.Generator, value_type: Attribute, shape: tuple[int, ...]) -> Array:
    dtype = dtype_of(value_type)
    width = integer_width(value_type)
    if width is None:
        values: Array = generator.standard_normal(shape)
        if dtype.kind == "c":
            values = values + 1j * generator.standard_normal(shape)
        return np.asarray(values).astype(dtype)
    natural = is_unsigned(value_type) or isinstance(element_type(value_type), IndexType)
    numbers = np.asarray(generator.integers(0 if natural else -8, 8, shape))
    return wrap(numbers, width, to_unsigned=is_unsigned(value_type))


def write_array(path: str, array: Array, *, append: bool) -> None:
    """Write an array to an .npy file, or behind what is there already."""
    try:
        with open(path, "ab" if append else "wb") as file:
            if path.endswith(".bin"):
                file.write(np.ascontiguousarray(array).tobytes())
            else:
                np.save(file, array, allow_pickle=False)
    except OSError as problem:
        raise UsageError(f"cannot write '{path}': {problem.strerror}") from problem


def write_archive(path: str, arrays: Sequence[Array]) -> None:
    """Write all results to an .npz file as out0, out1, ..."""
    try:
        with open(path, "wb") as file:
            named: dict[str, Any] = {f"out{index}": array for index, array in enumerate(arrays)}
            np.savez(file, **named)
    except OSError as problem:
        raise UsageError(f"cannot write '{path}': {problem.strerror}") from problem
