"""Read input and expected values of `mesh-run` from arguments and NumPy files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...ir.nesting_limits import exceeds_memory
from ...ir.usage_error import UsageError
from ...runtime.abi.arguments import InputError, check_kind
from ...runtime.abi.arrays import Array, ValueType, wrap
from .array_files import (
    FileProblem,
    StoredArray,
    archived_arrays,
    file_size,
    is_archive,
    read_part,
    stored_arrays,
)
from .parameter_files import BYTES, stored_parameters
from .value_text import MAXIMAL_INPUT, MAXIMAL_RANK, TextError, describe, parse_raw, parse_value


@dataclass(frozen=True, slots=True)
class Role:
    """The purpose of values on the command line."""

    option: str
    noun: str
    """The word for one value in messages."""


INPUT = Role("--input", "input")
EXPECTED = Role("--expected_output", "result")
IGNORED = "(ignored)"
"""The expected value of a result that is not compared."""


def read_values(
    texts: Sequence[str], types: Sequence[ValueType], role: Role = INPUT
) -> list[Array | None]:
    """Read the values of options for the given types, in order; `None` for `(ignored)`.

    Raises UsageError that names the invalid option.
    """
    arrays: list[Array | None] = []
    for text in texts:
        if text.startswith("@"):
            _read_file(text, types, arrays, role)
            continue
        if len(arrays) >= len(types):
            raise UsageError(
                f"expected {_counted(types, role)}, found one more: {role.option}={_short(text)}"
            )
        if role is EXPECTED and text == IGNORED:
            arrays.append(None)
            continue
        arrays.append(read_value(text, types[len(arrays)], f"{role.noun} {len(arrays)}"))
    return arrays


def read_inputs(texts: Sequence[str], types: Sequence[ValueType]) -> list[Array]:
    """Read the inputs of options for the given argument types, in order. Raises UsageError."""
    return [array for array in read_values(texts, types) if array is not None]


def read_value(text: str, expected: ValueType, role: str) -> Array:
    """Read a value from its text. Raises UsageError that names its role."""
    try:
        head, at, path = text.partition("=@")
        if at:
            size = file_size(path)
            return parse_raw(head, expected, size, lambda: read_part(path, 0, size))
        return parse_value(text, expected)
    except TextError as problem:
        raise UsageError(f"{role} ({_short(text)}) {problem}") from problem


def _counted(types: Sequence[ValueType], role: Role) -> str:
    return f"{len(types)} {role.noun}" + "s" * (len(types) != 1)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


_NUMBERED = re.compile(r"(in|input|arg|arr)_?(\d+)")


def _read_file(
    text: str, types: Sequence[ValueType], arrays: list[Array | None], role: Role
) -> None:
    """Append the arrays of an `.npy` file, which may have several, or of an archive."""
    path, key = _file_and_key(text[1:])
    wanted = len(types) - len(arrays)
    try:
        if path.endswith(WEIGHTS):
            found = _from_archive(path, stored_parameters(path), key, wanted, role)
        elif is_archive(path):
            found = _from_archive(path, archived_arrays(path), key, wanted, role)
        elif key:
            raise UsageError(f"'{path}' is not an .npz file, so it has no '{key}'")
        else:
            found = stored_arrays(path, wanted)
        if len(found) > wanted:
            raise UsageError(
                f"expected {_counted(types, role)}, but {role.option}={text} holds more"
            )
        for stored in found:
            arrays.append(_loaded(stored, types[len(arrays)], f"{role.noun} {len(arrays)}"))
    except FileProblem as problem:
        raise UsageError(f"'{path}' is not a NumPy file: it {problem}") from problem
    except InputError as problem:
        raise UsageError(f"{problem} ({_short(text)})") from problem


WEIGHTS = (".safetensors", ".irpa")
"""Suffixes of files whose arrays are memory-mapped, so that only accessed pages are read."""


def _file_and_key(text: str) -> tuple[str, str]:
    """Split `weights.npz:key` into the file name and the key, which may be empty."""
    for suffix in (".npz", *WEIGHTS):
        path, colon, key = text.partition(f"{suffix}:")
        if colon:
            return path + suffix, key
    return text, ""


def _from_archive(
    path: str, found: Mapping[str, StoredArray], key: str, wanted: int, role: Role
) -> list[StoredArray]:
    names = list(found)
    if key:
        if key not in found:
            raise UsageError(f"'{path}' has no array '{key}', but {', '.join(names)}")
        return [found[key]]
    numbered = [(match, name) for name in names if (match := _NUMBERED.fullmatch(name))]
    if numbered:
        names = [name for _, name in sorted(numbered, key=lambda entry: int(entry[0][2]))]
    if len(names) > wanted:
        raise UsageError(f"'{path}' has {len(names)} arrays, expected {wanted} {role.noun}s")
    return [found[name] for name in names]


def _loaded(stored: StoredArray, expected: ValueType, role: str) -> Array:
    """Read an array of a file after checking its type. Raises InputError."""
    own = expected.dtype
    shape = expected.shape
    if stored.element == BYTES and shape is not None and min(shape, default=0) >= 0:
        if stored.size != prod(shape) * own.itemsize:
            raise InputError(f"{role} has {stored.size} bytes, expected the bytes of {expected}")
        stored = StoredArray(own.str, own, own.itemsize, False, shape, stored.data)
    # NumPy stores types that it does not know, such as bf16, as raw bytes.
    is_raw = stored.dtype is None and own.isbuiltin != 1 and own.itemsize == stored.item_size
    if stored.dtype is None and not is_raw:
        raise InputError(f"{role} is of raw bytes ('{stored.element}'), expected {expected}")
    check_kind(role, stored.dtype or own, stored.shape, expected)
    return stored.load(own)


_MAX_MISSING = 4
"""The maximum number of missing inputs listed in a message."""


def missing_inputs(types: Sequence[ValueType], given: int) -> str:
    """Return the end of the message for a function that is given too few inputs."""
    wanted = types[given:][:_MAX_MISSING]
    missing = " ".join(f"--input={describe(each)}=..." for each in wanted)
    more = " ..." if len(types) - given > _MAX_MISSING else ""
    plural = "" if len(types) == 1 else "s"
    return (
        f"takes {len(types)} input{plural}, got {given}: give {missing}{more}, or"
        " --random-inputs=SEED"
    )


def random_inputs(seed: int, types: Sequence[ValueType], given: int, extent: int) -> list[Array]:
    """Return random values for the arguments from number `given` on, determined by the seed.

    The value of argument i does not depend on `given`. Raises UsageError for arrays that are too
    large.
    """
    arrays: list[Array] = []
    for position in range(given, len(types)):
        value_type = types[position]
        shape = tuple(extent if n < 0 else n for n in value_type.shape or ())
        if len(shape) > MAXIMAL_RANK:
            raise UsageError(f"argument {position} has more than {MAXIMAL_RANK} dimensions")
        count = prod(shape)
        if count > MAXIMAL_INPUT or exceeds_memory(count * value_type.dtype.itemsize):
            raise UsageError(f"argument {position} has {count} elements, more than can be held")
        generator = np.random.default_rng([seed, position])
        arrays.append(_random(generator, value_type, shape))
    return arrays


def _random(generator: np.random.Generator, value_type: ValueType, shape: tuple[int, ...]) -> Array:
    dtype = value_type.dtype
    width = value_type.integer_width
    if width is None:
        values: Array = generator.standard_normal(shape)
        if dtype.kind == "c":
            values = values + 1j * generator.standard_normal(shape)
        return np.asarray(values).astype(dtype)
    natural = value_type.is_unsigned or value_type.element == "index"
    numbers = np.asarray(generator.integers(0 if natural else -8, 8, shape))
    return wrap(numbers, width, to_unsigned=value_type.is_unsigned)
