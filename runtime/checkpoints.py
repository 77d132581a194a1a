"""Checkpoints: the state of a computation in files, from which a later run resumes.

    folder/step-000000000040/0.0, 0.1, ...   the parts of each array of the state
    folder/step-000000000040/manifest.json   their types, extents and checksums

Files are written to a temporary folder and synced before that is renamed, so a checkpoint is either
complete or absent, whenever the process is killed. Parts are the shards of the devices that wrote
them; devices of another grid read the sections of them that they need.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .abi.arrays import Array, ValueType, shape_text
from .abi.device_array import DeviceArray
from .abi.shards import Intervals, all_intervals, slices
from .saved.fields import DamagedFile, Fields

MANIFEST = "manifest.json"
VERSION = 1
_KEPT = 2
_NAME = re.compile(r"step-(\d{12,18})")
_UNFINISHED = re.compile(r"step-\d{12,18}\.tmp\d*")


class CheckpointError(ValueError):
    """A checkpoint from which a run cannot resume; the message says what was found and expected."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array of a checkpoint: the type it was written with, and the files of its parts.

    Slicing reads only the files that overlap the slice; `numpy.asarray` reads all.
    """

    type: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    parts: tuple[tuple[Intervals, Path], ...]

    def __getitem__(self, part: tuple[slice, ...]) -> Array:
        """Return a section of the array, by slices with a start and a stop."""
        return self._read(tuple((each.start, each.stop) for each in part))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the whole array."""
        return self._read(tuple((0, size) for size in self.shape)).astype(dtype or self.dtype)

    def _read(self, intervals: Intervals) -> Array:
        found = np.empty([end - start for start, end in intervals], self.dtype)
        for own, path in self.parts:
            common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(intervals, own, strict=True)]
            if any(start >= end for start, end in common) or not prod(found.shape):
                continue
            data = np.memmap(path, np.uint8, "r")
            stored = data.view(self.dtype).reshape([end - start for start, end in own])
            found[_within(common, intervals)] = stored[_within(common, own)]
        return found


def _within(inner: Sequence[tuple[int, int]], outer: Intervals) -> tuple[slice, ...]:
    return slices(tuple((a - c, b - c) for (a, b), (c, _) in zip(inner, outer, strict=True)))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after `step` steps."""

    step: int
    state: tuple[StoredArray, ...]


class Checkpoints:
    """The checkpoints in a folder, of which the last two are kept.

    Among ranks that hold the same state, `writes` is set on one only.
    """

    def __init__(self, folder: str | os.PathLike[str], *, writes: bool = True) -> None:
        """Create the folder. Raises OSError, and CheckpointError for an empty name."""
        if not os.fspath(folder):
            raise CheckpointError("checkpoints need the name of a folder, got an empty one")
        self._folder = Path(folder)
        self._writes = writes
        self._folder.mkdir(parents=True, exist_ok=True)

    def save(
        self, step: int, state: Sequence[Array | DeviceArray], types: Sequence[ValueType]
    ) -> None:
        """Write the state after a step atomically. Raises OSError."""
        if not self._writes:
            return
        name = f"step-{step:012}"
        folder = self._folder / f"{name}.tmp{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir()
            rows = [
                _write_array(folder, number, array, kind)
                for number, (array, kind) in enumerate(zip(state, types, strict=True))
            ]
            text = json.dumps({"version": VERSION, "step": step, "state": rows}).encode()
            _write_file(folder / MANIFEST, text)
            _sync_folder(folder)
        except OSError:
            # A partial checkpoint is useless and may fill the disk.
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(self._folder / name, ignore_errors=True)
        os.rename(folder, self._folder / name)
        _sync_folder(self._folder)
        self.clean(step)

    def clean(self, newest: int) -> None:
        """Delete checkpoints other than the last two, and unfinished ones."""
        if not self._writes:
            return
        steps = sorted(each for each in self._steps() if each <= newest)
        for step in steps[:-_KEPT]:
            shutil.rmtree(self._folder / f"step-{step:012}", ignore_errors=True)
        for each in self._folder.iterdir():
            if _UNFINISHED.fullmatch(each.name):
                shutil.rmtree(each, ignore_errors=True)

    def _steps(self) -> Iterator[int]:
        for each in self._folder.iterdir():
            if match := _NAME.fullmatch(each.name):
                yield int(match[1])

    def last(self) -> Checkpoint | None:
        """Return the last complete checkpoint, `None` if there is none.

        A damaged checkpoint is skipped for the one before it. Raises CheckpointError if all are
        damaged.
        """
        problem: DamagedFile | OSError | None = None
        for step in sorted(self._steps(), reverse=True):
            try:
                return self._read(self._folder / f"step-{step:012}", step)
            except (DamagedFile, OSError) as error:
                problem = problem or error
        if problem is not None:
            raise CheckpointError(
                f"'{self._folder}' has no complete checkpoint: the last {problem}"
            )
        return None

    def _read(self, folder: Path, step: int) -> Checkpoint:
        try:
            data: object = json.loads((folder / MANIFEST).read_bytes())
        except FileNotFoundError as problem:
            raise DamagedFile(f"has no {MANIFEST}") from problem
        except (ValueError, RecursionError) as problem:
            raise DamagedFile(f"has a manifest that is not JSON: {problem}") from problem
        manifest = Fields(data, "manifest")
        manifest["version"].integer(VERSION, VERSION)
        manifest["step"].integer(step, step)
        rows = manifest["state"].items()
        return Checkpoint(step, tuple(_read_array(folder, each) for each in rows))


def resume(
    checkpoint: Checkpoint,
    types: Sequence[ValueType],
    place: Callable[[int, StoredArray], Array | DeviceArray],
) -> list[Array | DeviceArray]:
    """Return the state of a checkpoint as arguments of the given types.

    `place` scatters one array to the devices. Raises CheckpointError if the types differ.
    """
    stored = checkpoint.state
    if len(stored) != len(types):
        raise CheckpointError(
            f"the checkpoint after step {checkpoint.step} has {len(stored)} arrays, expected"
            f" {len(types)}"
        )
    for number, (each, kind) in enumerate(zip(stored, types, strict=True)):
        if each.type != str(kind) or each.dtype != kind.dtype:
            raise CheckpointError(
                f"the checkpoint after step {checkpoint.step} has {each.type} as array {number},"
                f" expected {kind}"
            )
    return [place(number, each) for number, each in enumerate(stored)]


# Files ----------------------------------------------------------------------------------------


def _write_array(folder: Path, number: int, array: Array | DeviceArray, kind: ValueType) -> Any:
    rows: list[Any] = []
    for part, (intervals, data) in enumerate(_parts(array)):
        name = f"{number}.{part}"
        content = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        _write_file(folder / name, content.data)
        rows.append([[list(each) for each in intervals], sha256(content.data).hexdigest()])
    return [str(kind), kind.element, list(array.shape), rows]


def _parts(array: Array | DeviceArray) -> Iterator[tuple[Intervals, Array]]:
    """Yield each distinct shard of a DeviceArray with its intervals; other arrays as one part."""
    sharding = array.sharding if isinstance(array, DeviceArray) else None
    if (
        not isinstance(array, DeviceArray)
        or sharding is None
        or sharding.halos
        or sharding.partials
    ):
        whole = np.asarray(array)
        yield tuple((0, size) for size in whole.shape), whole
        return
    seen: set[Intervals] = set()
    for intervals, shard in zip(all_intervals(array.shape, sharding), array.shards, strict=True):
        if intervals not in seen:
            seen.add(intervals)
            yield intervals, shard


def _write_file(path: Path, data: bytes | memoryview) -> None:
    """Write and sync a file. Raises OSError with the file's name."""
    try:
        with open(path, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from problem


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_array(folder: Path, data: Fields) -> StoredArray:
    kind, element, sizes, rows = data.items(4)
    shape = sizes.integers(0)
    value_type = ValueType(kind.text(), element.text(), shape, "tensor")
    if not value_type.holds_numbers:
        raise DamagedFile(f"has elements of {value_type.element}")
    number = data.path.rpartition("[")[2].rstrip("]")
    parts = [
        _read_part(folder / f"{number}.{part}", each, shape, value_type.dtype)
        for part, each in enumerate(rows.items())
    ]
    held = sum(prod(end - start for start, end in intervals) for intervals, _ in parts)
    if held != prod(shape) or _overlap([intervals for intervals, _ in parts]):
        raise DamagedFile(f"has parts of {held} elements that do not make up {shape_text(shape)}")
    return StoredArray(value_type.text, shape, value_type.dtype, tuple(parts))


def _overlap(parts: Sequence[Intervals]) -> bool:
    """Return whether two parts share elements; parts are products of intervals of a grid."""
    filled = [part for part in parts if all(start < end for start, end in part)]
    for intervals in zip(*filled, strict=True):
        if any(one[1] > other[0] for one, other in pairwise(sorted(set(intervals)))):
            return True
    return len(set(filled)) < len(filled)


def _read_part(
    path: Path, data: Fields, shape: Sequence[int], dtype: np.dtype[Any]
) -> tuple[Intervals, Path]:
    ends, digest = data.items(2)
    intervals: list[tuple[int, int]] = []
    for each, size in zip(ends.items(len(shape)), shape, strict=True):
        start, end = each.integers(0, size, 2)
        intervals.append((start, max(start, end)))
    expected = prod(end - start for start, end in intervals) * dtype.itemsize
    found = path.stat().st_size
    if found != expected:
        raise DamagedFile(f"has {found} bytes in '{path.name}', expected {expected}")
    with open(path, "rb") as file:
        if _digest(file) != digest.text():
            raise DamagedFile(f"has '{path.name}', whose checksum differs from the manifest")
    return tuple(intervals), path


def _digest(file: Any) -> str:
    digest = sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
