"""Writes random programs: values, constants, and annotations now and then."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from hypothesis import strategies as st
from hypothesis.strategies import DataObject

SIZES = [1, 2, 3, 4, 6, 8, 12]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    name: str
    shape: Shape
    element: str = "f64"

    @property
    def type(self) -> str:
        return "tensor<" + "".join(f"{size}x" for size in self.shape) + self.element + ">"


@dataclass
class Writer:
    """Writes a program, one operation of random kind after another."""

    data: DataObject
    grid: Shape
    prefix: str = "v"
    lines: list[str] = field(default_factory=list)
    arguments: list[Value] = field(default_factory=list)
    pool: list[Value] = field(default_factory=list)
    count: int = 0
    nested: bool = False

    def draw(self, choices: list, label: str = ""):
        return self.data.draw(st.sampled_from(choices), label=label)

    def chance(self, of: int) -> bool:
        return self.data.draw(st.integers(0, of - 1)) == of - 1

    def fresh(self) -> str:
        self.count += 1
        return f"%{self.prefix}{self.count}"

    def emit(self, text: str) -> None:
        self.lines.append("  " + text)

    def argument(self, shape: Shape, element: str = "f64") -> Value:
        if self.nested:
            return self.constant(shape, element)
        value = Value(f"%arg{len(self.arguments)}", shape, element)
        self.arguments.append(value)
        return self.annotate(value)

    def constant(self, shape: Shape, element: str) -> Value:
        value = Value(self.fresh(), shape, element)
        number = "1.5" if element.startswith("f") else "3"
        self.emit(f"{value.name} = arith.constant dense<{number}> : {value.type}")
        return value

    def pick(self, rank: int | None = None, element: str = "f64") -> Value:
        found = [
            value
            for value in self.pool
            if value.element == element and (rank is None or len(value.shape) == rank)
        ]
        if not found or self.chance(6):
            rank = self.draw([1, 2, 2, 3]) if rank is None else rank
            shape = tuple(self.draw(SIZES) for _ in range(rank))
            value = self.argument(shape, element)
            self.pool.append(value)
            return value
        return self.draw(found)

    def sharding(self, shape: Shape) -> str:
        """A `shard.sharding` for a tensor; returns its name."""
        axes = list(range(len(self.grid)))
        axes = self.data.draw(st.permutations(axes)) if len(axes) > 1 else axes
        lists: list[list[int]] = [[] for _ in shape]
        for axis in axes:
            place = self.data.draw(st.integers(0, len(shape)))
            if place < len(shape):
                lists[place].append(axis)
        text = ", ".join(str(entry) for entry in lists) or "[]"
        extra = ""
        free = [axis for axis in axes if not any(axis in entry for entry in lists)]
        if free and self.chance(2):
            extra = f" partial = sum{free}"
        if self.chance(8) and any(lists):
            offsets: list[int] = []
            for size, entry in zip(shape, lists, strict=True):
                if entry:
                    parts = prod(self.grid[axis] for axis in entry)
                    inner = sorted(self.data.draw(st.integers(0, size)) for _ in range(parts - 1))
                    offsets += [0, *inner, size]
            extra += f" sharded_dims_offsets = {offsets}"
        elif self.chance(8) and any(lists):
            halos: list[int] = []
            for size, entry in zip(shape, lists, strict=True):
                if entry:
                    least = size // prod(self.grid[axis] for axis in entry)
                    halos += [self.data.draw(st.integers(0, min(2, least))) for _ in range(2)]
            extra += f" halo_sizes = {halos}"
        name = self.fresh()
        self.emit(f"{name} = shard.sharding @g split_axes = [{text}]{extra} : !shard.sharding")
        return name

    def annotate(self, value: Value) -> Value:
        """Now and then an annotation or two after a value."""
        for flag in ("", " annotate_for_users"):
            if value.shape and self.chance(3):
                sharding = self.sharding(value.shape)
                new = Value(self.fresh(), value.shape, value.element)
                self.emit(f"{new.name} = shard.shard {value.name} to {sharding}{flag} : {new.type}")
                value = new
        return value

    def done(self, value: Value) -> Value:
        value = self.annotate(value)
        self.pool.append(value)
        return value

    def filled(self, shape: Shape, number: str, element: str = "f64") -> Value:
        scalar = self.fresh()
        self.emit(f"{scalar} = arith.constant {number} : {element}")
        empty, value = Value(self.fresh(), shape, element), Value(self.fresh(), shape, element)
        self.emit(f"{empty.name} = tensor.empty() : {empty.type}")
        self.emit(
            f"{value.name} = linalg.fill ins({scalar} : {element}) outs({empty.name} : "
            f"{empty.type}) -> {value.type}"
        )
        return value

    def start(self, shape: Shape, element: str = "f64") -> Value:
        """A destination for a reduction: neutral, another number, or an argument."""
        zero, one = ("0.0", "1.25") if element.startswith("f") else ("0", "5")
        kind = self.draw(["zero", "zero", "one", "argument"])
        if kind == "argument":
            return self.argument(shape, element)
        return self.filled(shape, zero if kind == "zero" else one, element)

    def write(self, name: str, returned: list[Value], visibility: str = "") -> str:
        """The function that was written."""
        arguments = ", ".join(f"{value.name}: {value.type}" for value in self.arguments)
        types = ", ".join(value.type for value in returned)
        names = ", ".join(value.name for value in returned)
        body = "\n".join(self.lines)
        return (
            f"func.func {visibility}@{name}({arguments}) -> ({types}) {{\n{body}\n"
            f"  func.return {names} : {types}\n}}\n"
        )
