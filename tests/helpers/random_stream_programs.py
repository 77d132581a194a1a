"""Random programs of asynchronous operations: two devices, sizes known and open, 0 and 1 too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from stream_schedule_programs import KERNELS, UNKNOWN, A, B, exported, imported

SIZES = (0, 1, 4, 17)
"""Numbers of elements of 4 bytes that are known; the input has `%n`, others `%m`."""


@dataclass(frozen=True)
class Value:
    """A resource of `%n<size>` numbers in `%s<size>` bytes on a device."""

    name: str
    size: str
    place: str

    @property
    def bytes(self) -> str:
        """The value that says how many bytes it has."""
        return f"%s{self.size}"

    @property
    def type(self) -> str:
        """Its type and size."""
        return f"{UNKNOWN}{{{self.bytes}}}"


class Writer:
    """Writes a program, one random operation after another."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._count = 0
        self._indent = "  "
        self._lines: list[str] = []

    def program(self) -> str:
        """The text of a program whose function takes `%v`, `%m` and `%flag`."""
        pool = [Value("%x", "n", A)]
        self._ops(pool, self._random.randint(3, 14), depth=0)
        outputs = self._random.sample(pool, min(len(pool), self._random.randint(1, 3)))
        ends = [self._moved(value, A) for value in outputs]
        body = "\n".join(self._lines)
        for number, value in enumerate(ends):
            extent = (f"%n{value.size}", value.bytes)
            body += exported(f"%out{number}", value.name, extent).replace(
                "{%n}", f"{{{extent[0]}}}"
            )
        results = ", ".join(f"%out{number}" for number in range(len(ends)))
        types = ", ".join(["!hal.buffer_view"] * len(ends))
        return f"""{KERNELS}
util.func public @main(%v: !hal.buffer_view, %m: index, %flag: i1) -> ({types}) {{
{_sizes()}{imported("%x", ("%n", "%sn"))}
{body}
  util.return {results} : {types}
}}"""

    def _ops(self, pool: list[Value], count: int, depth: int) -> None:
        for _ in range(count):
            kinds = [self._splat, self._constant, *[self._dispatch] * 4, *[self._in_place] * 3]
            kinds += [self._slice, self._clone, self._transfer, self._transfer]
            if depth < 2:
                kinds += [self._branch, self._loop]
            made = self._random.choice(kinds)
            made(pool, depth) if made in (self._branch, self._loop) else pool.append(made(pool))  # pyright: ignore

    def _line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    def _new(self, size: str, place: str) -> Value:
        self._count += 1
        return Value(f"%v{self._count}", size, place)

    def _place(self) -> str:
        return self._random.choice((A, A, B))

    def _size(self) -> str:
        return self._random.choice(("n", "m", *map(str, SIZES)))

    def _pick(self, pool: Sequence[Value]) -> Value:
        # Rather what is new: chains are longer than bushes.
        return pool[max(self._random.randrange(len(pool)), self._random.randrange(len(pool)))]

    def _moved(self, value: Value, place: str) -> Value:
        if value.place == place:
            return value
        made = self._new(value.size, place)
        self._line(
            f"{made.name} = stream.async.transfer {value.name} : {value.type}"
            f" from({value.place}) -> to({place}) {made.type}"
        )
        return made

    def _splat(self, pool: list[Value]) -> Value:
        made = self._new(self._size(), self._place())
        self._line(f"{made.name} = stream.async.splat on({made.place}) %bits : i32 -> {made.type}")
        return made

    def _constant(self, pool: list[Value]) -> Value:
        size = self._random.choice(SIZES[1:])
        made = self._new(str(size), self._place())
        numbers = ", ".join(f"{self._random.randint(-9, 9)}.0" for _ in range(size))
        self._line(
            f"{made.name} = stream.async.constant on({made.place}) : {made.type}"
            f" = dense<[{numbers}]> : tensor<{size}xf32>"
        )
        return made

    def _dispatch(self, pool: list[Value]) -> Value:
        kernel = self._random.choice(("add", "scale", "double"))
        one, place = self._pick(pool), self._place()
        alike = [value for value in pool if value.size == one.size]
        given = [one, self._pick(alike)] if kernel == "add" else [one]
        given = [self._moved(value, place) for value in given]
        made = self._new(one.size, place)
        count, bytes_ = f"%n{one.size}", one.bytes
        operands = [f"{value.name}[%c0 to {bytes_} for {bytes_}]" for value in given] + [count]
        types = [value.type for value in given] + ["index"]
        if kernel == "scale":
            operands, types = [*operands, "%two"], [*types, "f32"]
        to = f"{given[0].name}{{{bytes_}}}" if kernel == "double" else made.type
        self._line(
            f"{made.name} = stream.async.dispatch on({place}) @ex::@{kernel}[{count}]"
            f"({', '.join(operands)}) : ({', '.join(types)}) -> {to}"
        )
        return made

    def _range(self, value: Value) -> tuple[str, str, str]:
        """A part of a resource: its start, its end and its length."""
        if not value.size.isdigit():
            return self._random.choice((("%c0", value.bytes, value.bytes), ("%c0", "%c0", "%c0")))
        start, end = sorted(self._random.choices(range(int(value.size) + 1), k=2))
        return f"%b{start}", f"%b{end}", f"%b{end - start}"

    def _in_place(self, pool: list[Value]) -> Value:
        target = self._pick(pool)
        start, end, length = self._range(target)
        made = self._new(target.size, target.place)
        tied = f"{target.name} as {target.type}"
        if self._random.random() < 0.4:
            self._line(
                f"{made.name} = stream.async.fill on({target.place}) %bits,"
                f" {target.name}[{start} to {end} for {length}] : i32 -> {tied}"
            )
            return made
        bytes_ = {f"%b{size}": size for size in SIZES} | {"%sn": "n", "%sm": "m", "%c0": 0}
        fitting = [value for value in pool if value.size == str(bytes_.get(length))]
        if fitting and self._random.random() < 0.6:
            source = self._moved(self._pick(fitting), target.place)
            self._line(
                f"{made.name} = stream.async.update on({target.place}) {source.name},"
                f" {target.name}[{start} to {end}] : {source.type} -> {tied}"
            )
            return made
        source = self._moved(target, target.place)
        self._line(
            f"{made.name} = stream.async.copy on({target.place}) {source.name}[{start} to {end}],"
            f" {target.name}[{start} to {end}], {length} : {source.type} -> {tied}"
        )
        return made

    def _slice(self, pool: list[Value]) -> Value:
        source = self._pick(pool)
        if not source.size.isdigit():
            return self._clone(pool)
        size = self._random.choice([size for size in SIZES if size <= int(source.size)])
        start = self._random.randint(0, int(source.size) - size)
        made = self._new(str(size), source.place)
        self._line(
            f"{made.name} = stream.async.slice on({source.place})"
            f" {source.name}[%b{start} to %b{start + size}] : {source.type} -> {made.type}"
        )
        return made

    def _clone(self, pool: list[Value]) -> Value:
        source = self._pick(pool)
        made = self._new(source.size, source.place)
        self._line(
            f"{made.name} = stream.async.clone on({source.place}) {source.name}"
            f" : {source.type} -> {made.type}"
        )
        return made

    def _transfer(self, pool: list[Value]) -> Value:
        source = self._pick(pool)
        return self._moved(source, B if source.place == A else A)

    def _branch(self, pool: list[Value], depth: int) -> None:
        kept = self._pick(pool)
        made = self._new(kept.size, kept.place)
        self._line(f"{made.name} = scf.if %flag -> ({UNKNOWN}) {{")
        self._region(pool, kept, depth)
        self._line("} else {")
        self._region(pool, kept, depth)
        self._line("}")
        pool.append(made)

    def _loop(self, pool: list[Value], depth: int) -> None:
        kept = self._pick(pool)
        carried, made = (self._new(kept.size, kept.place) for _ in range(2))
        self._line(
            f"{made.name} = scf.for %i{made.name[2:]} = %c0 to %c2 step %c1"
            f" iter_args({carried.name} = {kept.name}) -> ({UNKNOWN}) {{"
        )
        self._region([*pool, carried], carried, depth)
        self._line("}")
        pool.append(made)

    def _region(self, pool: Sequence[Value], kept: Value, depth: int) -> None:
        """Operations, and then one of the values that are like `kept`."""
        self._indent += "  "
        inner = list(pool)
        self._ops(inner, self._random.randint(0, 3), depth + 1)
        alike = [value for value in inner if (value.size, value.place) == (kept.size, kept.place)]
        self._line(f"scf.yield {self._pick(alike).name} : {UNKNOWN}")
        self._indent = self._indent[2:]


def _sizes() -> str:
    lines = [
        "  %two = arith.constant 2.0 : f32",
        "  %bits = arith.constant 1077936128 : i32",
        *(f"  %c{number} = arith.constant {number} : index" for number in (0, 1, 2, 4)),
        *(f"  %b{size} = arith.constant {4 * size} : index" for size in range(max(SIZES) + 1)),
        "  %n = hal.buffer_view.dim<%v : !hal.buffer_view>[0] : index",
        "  %nn = arith.muli %n, %c1 : index",
        "  %nm = arith.muli %m, %c1 : index",
        "  %sn = arith.muli %n, %c4 : index",
        "  %sm = arith.muli %m, %c4 : index",
    ]
    for size in SIZES:
        lines += [
            f"  %n{size} = arith.constant {size} : index",
            f"  %s{size} = arith.constant {4 * size} : index",
        ]
    return "\n".join(lines)


def random_stream_program(seed: int) -> tuple[str, list[np.ndarray]]:
    """A program, and what `@main` is given."""
    random = np.random.default_rng(seed)
    count, other = (int(random.choice([0, 1, 4, 5])) for _ in range(2))
    numbers = random.integers(-9, 9, count).astype(np.float32)
    return Writer(seed).program(), [numbers, np.array(other), np.array(bool(seed % 2))]
