"""Random programs on resources of odd element widths, as no pass of ours makes them.

They read and write single elements and parts of tensors: slices, updates and fills of one run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from random import Random

from width_programs import SHAPES, WIDTHS, index_constants, literal, tensor

PACKED = "#iree_encoding.packed_storage"
"""An encoding that stores booleans as bits."""


@dataclass(frozen=True)
class Stored:
    """A tensor in a resource of `size` bytes."""

    name: str
    size: str
    shape: tuple[int, ...]
    width: int
    encoding: str = ""
    lifetime: str = "*"

    @property
    def type(self) -> str:
        type_ = tensor(self.shape, self.width)
        return f"{type_[:-1]}, {self.encoding}>" if self.encoding else type_

    @property
    def held(self) -> str:
        """The tensor, and the resource that it is in."""
        return f"{self.type} in {self.resource}"

    @property
    def resource(self) -> str:
        return f"!stream.resource<{self.lifetime}>{{{self.size}}}"


class StreamWidthProgram:
    """A function @main of buffer views and an index, which is 0 or 1."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._count = 0
        self._lines: list[str] = []
        self._stored: list[Stored] = []
        self._numbers: list[tuple[str, int]] = []

    def text(self) -> str:
        """The module."""
        random = self._random
        arguments = [
            self._new(random.choice(WIDTHS), random.choice(SHAPES))
            for _ in range(random.randint(1, 2))
        ]
        for position, stored in enumerate(arguments):
            self._emit(stored, f"stream.tensor.import %a{position} : !hal.buffer_view -> {{held}}")
        for _ in range(random.randint(3, 9)):
            random.choice(
                (self._constant, self._splat, self._fill, self._fill, self._slice, self._update,
                 self._update, self._load, self._load, self._store, self._store, self._clone)
            )()  # fmt: skip
        names, types = zip(*self._results(), strict=True)
        taken = ", ".join(f"%a{position}: !hal.buffer_view" for position in range(len(arguments)))
        lines = [
            f"util.func public @main({taken}, %at: index) -> ({', '.join(types)}) {{",
            *index_constants(self._lines),
            *(f"  {line}" for line in self._lines),
            f"  util.return {', '.join(names)} : {', '.join(types)}",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _results(self) -> list[tuple[str, str]]:
        """The last tensors as buffer views, and the last numbers."""
        results: list[tuple[str, str]] = []
        for stored in self._stored[-4:]:
            name = self._fresh("v")
            text = f"stream.tensor.export {stored.name} : {stored.held} -> !hal.buffer_view"
            self._lines.append(f"{name} = {text}")
            results.append((name, "!hal.buffer_view"))
        return results + [(name, f"i{width}") for name, width in self._numbers[-4:]]

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"%{prefix}{self._count}"

    def _new(self, width: int, shape: tuple[int, ...]) -> Stored:
        """A tensor to come, and its size."""
        size = self._fresh("s")
        packed = width in (1, 2, 4) and self._random.random() < 0.1
        stored = Stored(self._fresh("r"), size, shape, width, PACKED if packed else "")
        self._lines.append(f"{size} = stream.tensor.sizeof {stored.type} : index")
        return stored

    def _emit(self, stored: Stored, text: str) -> None:
        text = text.replace("{held}", stored.held).replace("{type}", stored.type)
        self._lines.append(f"{stored.name} = {text}")
        self._stored.append(stored)

    def _again(self, stored: Stored) -> Stored:
        """A tensor to come that is like another, in as many bytes."""
        return Stored(self._fresh("r"), stored.size, stored.shape, stored.width, stored.encoding)

    def _any(self) -> Stored:
        return self._random.choice(self._stored[-5:])

    def _number(self, width: int) -> str:
        found = [name for name, other in self._numbers if other == width]
        if found and self._random.random() < 0.6:
            return self._random.choice(found)
        name, type_ = self._fresh("n"), "" if width == 1 else f" : i{width}"
        self._lines.append(f"{name} = arith.constant {literal(self._random, width)}{type_}")
        return name

    def _indices(self, stored: Stored) -> str:
        return ", ".join(
            "%at"
            if size > 1 and self._random.random() < 0.4
            else f"%c{self._random.randrange(size)}"
            for size in stored.shape
        )

    def _run(self, stored: Stored) -> tuple[list[str], list[int]]:
        """Where a part of a tensor starts, and its lengths; often one run of whole bytes."""
        random = self._random
        split = random.randrange(len(stored.shape))
        starts, lengths = [], []
        for axis, size in enumerate(stored.shape):
            length = 1 if axis < split else size if axis > split else random.randint(1, size)
            start = random.randint(0, size - length)
            if axis == split and random.random() < 0.6:
                start = start // 8 * 8 if random.random() < 0.5 else 0
            starts.append("%at" if length < size and random.random() < 0.2 else f"%c{start}")
            lengths.append(length)
        return starts, lengths

    # Operations

    def _constant(self) -> None:
        stored = self._new(self._random.choice(WIDTHS), self._random.choice(SHAPES))
        numbers = [literal(self._random, stored.width) for _ in range(prod(stored.shape))]
        type_ = f"tensor<{len(numbers)}xi{stored.width}>"
        flat = Stored(stored.name, stored.size, (len(numbers),), stored.width, stored.encoding)
        contents = f"dense<[{', '.join(numbers)}]> : {type_}"
        made = self._fresh("k")
        self._lines.append(
            f"{made} = stream.tensor.constant : {flat.type} in !stream.resource<constant>"
            f" = {contents}"
        )
        resource = f"!stream.resource<constant>{{{stored.size}}}"
        self._emit(flat, f"stream.async.cast {made} : {resource} -> {stored.resource}")

    def _splat(self) -> None:
        stored = self._new(self._random.choice(WIDTHS), self._random.choice(SHAPES))
        value = self._number(stored.width)
        self._emit(stored, f"stream.tensor.splat {value} : i{stored.width} -> {{held}}")

    def _clone(self) -> None:
        source = self._any()
        copy = self._again(source)
        if not source.encoding:
            # The same bytes in one dimension.
            copy = replace(copy, shape=(prod(source.shape),))
        self._emit(copy, f"stream.tensor.clone {source.name} : {source.held} -> {{held}}")

    def _fill(self) -> None:
        target = self._any()
        value, part = self._number(target.width), ""
        if target.shape and self._random.random() < 0.8:
            starts, lengths = self._run(target)
            part = f"[{', '.join(starts)} for {', '.join(f'%c{n}' for n in lengths)}]"
        self._emit(
            self._again(target),
            f"stream.tensor.fill {value}, {target.name}{part} : i{target.width} -> {target.type}"
            f" in {target.name} as {target.resource}",
        )

    def _slice(self) -> None:
        source = self._any()
        if not source.shape:
            return
        starts, lengths = self._run(source)
        part = f"[{', '.join(starts)} for {', '.join(f'%c{n}' for n in lengths)}]"
        self._emit(
            self._new(source.width, tuple(lengths)),
            f"stream.tensor.slice {source.name}{part} : {source.held} -> {{held}}",
        )

    def _update(self) -> None:
        target = self._any()
        if not target.shape:
            return
        starts, lengths = self._run(target)
        part = self._new(target.width, tuple(lengths))
        value = self._number(part.width)
        self._emit(part, f"stream.tensor.splat {value} : i{part.width} -> {{held}}")
        self._emit(
            self._again(target),
            f"stream.tensor.update {part.name}, {target.name}[{', '.join(starts)}] :"
            f" {part.held} -> {target.type} in {target.name} as {target.resource}",
        )

    def _moved(self, source: Stored, lifetime: str) -> Stored:
        """A tensor in memory of another kind: the host sees staging memory alone."""
        moved = replace(source, name=self._fresh("r"), lifetime=lifetime)
        text = f"stream.async.transfer {source.name} : {source.resource} -> {moved.resource}"
        self._lines.append(f"{moved.name} = {text}")
        return moved

    def _load(self) -> None:
        source = self._moved(self._any(), "staging")
        name, at = self._fresh("n"), f"[{self._indices(source)}]" if source.shape else ""
        text = f"stream.tensor.load {source.name}{at} : {source.held} -> i{source.width}"
        self._lines.append(f"{name} = {text}")
        self._numbers.append((name, source.width))

    def _store(self) -> None:
        target = self._moved(self._any(), "staging")
        value = self._number(target.width)
        at = f"[{self._indices(target)}]" if target.shape else ""
        written = replace(target, name=self._fresh("r"))
        self._lines.append(
            f"{written.name} = stream.tensor.store {value}, {target.name}{at} : i{target.width} ->"
            f" {target.type} in {target.name} as {target.resource}"
        )
        self._stored.append(self._moved(written, "*"))
