"""Writes programs whose types, sizes and indices need not be true when they run.

A value has a type, which may leave sizes open or lie, and the shape that it has when the program
runs. Every lie is one that no verifier can see.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np

Shape = tuple[int, ...]

FAR = [1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63), 1 << 32, -1]
"""Numbers that are no indices of anything, and whose sums and products overflow."""

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i8": np.int8,
    "index": np.int64,
    "i1": np.bool_,
}


@dataclass(frozen=True)
class Value:
    """A tensor: what its type says, and its shape at run time."""

    name: str
    static: Shape
    shape: Shape
    element: str = "f32"

    @property
    def type(self) -> str:
        return type_text(self.static, self.element)


def type_text(shape: Shape, element: str) -> str:
    sizes = "".join(f"{'?' if size < 0 else size}x" for size in shape)
    return f"tensor<{sizes}{element}>"


@dataclass
class LyingWriter:
    """Writes a function, one operation after another; `odds` is how often something is a lie."""

    random: Random
    odds: float
    lines: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    parameters: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[np.ndarray] = field(default_factory=list)
    pool: list[Value] = field(default_factory=list)
    returned: list[tuple[str, str]] = field(default_factory=list)
    count: int = 0

    # Chances ----------------------------------------------------------------------------------

    def chance(self, odds: float) -> bool:
        return self.random.random() < odds

    def lies(self) -> bool:
        return self.chance(self.odds)

    def wrong(self, size: int) -> int:
        """Another size than the right one."""
        return self.random.choice(
            [n for n in (0, 1, size - 1, size + 1, 7, 64) if n != size >= 0 <= n]
        )

    def size(self) -> int:
        return self.random.choice([1, 2, 3, 4, 5, 6, 8, 0] if self.chance(0.1) else [2, 3, 4, 5, 6])

    def shape(self, rank: int | None = None) -> Shape:
        rank = self.random.choice([1, 2, 2, 3]) if rank is None else rank
        return tuple(self.size() for _ in range(rank))

    def loosened(self, shape: Shape) -> Shape:
        """A type's shape: some sizes are open, and some may be wrong."""
        found: list[int] = []
        for size in shape:
            if self.chance(0.5):
                found.append(-1)
            else:
                found.append(self.wrong(size) if self.lies() else size)
        return tuple(found)

    # Text -------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str) -> None:
        self.lines.append("  " + text)

    def result(self, shape: Shape, element: str = "f32", static: Shape | None = None) -> Value:
        """A value to be written next, with a type that may lie."""
        static = self.loosened(shape) if static is None else static
        return Value(self.fresh(), static, shape, element)

    def keep(self, value: Value) -> Value:
        self.pool.append(value)
        return value

    def argument(self, shape: Shape, element: str = "f32", static: Shape | None = None) -> Value:
        """A new parameter, with a type that its input has."""
        if static is None:
            static = tuple(-1 if self.chance(0.6) else size for size in shape)
        value = Value(f"%a{len(self.inputs)}", static, shape, element)
        self.parameters.append((value.name, value.type))
        self.inputs.append(self.contents(shape, element))
        return value

    def contents(self, shape: Shape, element: str) -> np.ndarray:
        numbers = np.random.default_rng(self.random.randrange(1 << 30))
        if element.startswith("f"):
            return numbers.standard_normal(shape).astype(DTYPES[element])
        return numbers.integers(0, 2, shape).astype(DTYPES[element])

    def number(self, right: int, *, is_index: bool = False) -> str:
        """An index or size, from the caller or as a constant; a wrong one may be far off."""
        if self.lies():
            near = [right - 1, right + 1, right + 2, 0, -1, 5]
            right = self.random.choice(near if self.chance(0.6) or not is_index else FAR)
            if not is_index:
                right = self.random.choice([right, -2, 1 << 62]) if self.chance(0.3) else right
        if self.chance(0.7):
            name = f"%a{len(self.inputs)}"
            self.parameters.append((name, "index"))
            self.inputs.append(np.asarray(right, np.int64))
            return name
        name = self.fresh()
        self.emit(f"{name} = arith.constant {right} : index")
        return name

    def dimension(self, value: Value, axis: int) -> str:
        """The size of a tensor along an axis, asked for in the program."""
        place, name = self.fresh(), self.fresh()
        self.emit(f"{place} = arith.constant {axis} : index")
        self.emit(f"{name} = tensor.dim {value.name}, {place} : {value.type}")
        return name

    # Values -----------------------------------------------------------------------------------

    def pick(self, rank: int | None = None, element: str = "f32") -> Value:
        """A tensor of the program so far, or a new parameter."""
        found = [
            each
            for each in self.pool
            if each.element == element and (rank is None or len(each.static) == rank)
        ]
        if found and self.chance(0.7):
            return self.random.choice(found)
        return self.keep(self.argument(self.shape(rank), element))

    def of_shape(self, shape: Shape, element: str = "f32") -> Value:
        """A tensor that should have a shape."""
        found = [each for each in self.pool if each.shape == shape and each.element == element]
        if found and self.chance(0.4):
            return self.random.choice(found)
        if self.lies():
            shape = tuple(self.wrong(size) if self.chance(0.4) else size for size in shape)
        return self.keep(self.argument(shape, element))

    def cast(self, value: Value, static: Shape) -> Value:
        """The value with another type, by way of one that leaves all open."""
        for each in ((-1,) * len(static), static):
            if each != value.static:
                new = Value(self.fresh(), each, value.shape, value.element)
                self.emit(f"{new.name} = tensor.cast {value.name} : {value.type} to {new.type}")
                value = new
        return value

    def filled(self, shape: Shape, element: str = "f32", static: Shape | None = None) -> Value:
        """A new tensor of equal elements, whose sizes the program is told."""
        value = self.result(shape, element, static)
        number = self.fresh()
        text = "0.5" if element.startswith("f") else "1"
        self.emit(f"{number} = arith.constant {text} : {element}")
        sizes = [
            self.number(size) for size, known in zip(shape, value.static, strict=True) if known < 0
        ]
        dynamic = f"[{', '.join(sizes)}]" if sizes else ""
        self.emit(f"{value.name} = tensor.splat {number}{dynamic} : {value.type}")
        return self.keep(value)

    def program(self) -> str:
        """The text of the program, which returns some of its tensors."""
        values = [*self.pool[-3:], *self.random.sample(self.pool, min(1, len(self.pool)))]
        results = [(each.name, each.type) for each in values] + self.returned
        names = ", ".join(name for name, _ in results)
        types = ", ".join(kind for _, kind in results)
        parameters = ", ".join(f"{name}: {kind}" for name, kind in self.parameters)
        body = "\n".join(self.lines)
        return "\n".join(
            [
                *self.functions,
                f"func.func @main({parameters}) -> ({types}) {{",
                body,
                f"  return {names} : {types}\n}}",
            ]
        )
