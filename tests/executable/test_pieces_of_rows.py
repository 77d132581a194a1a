"""Rows that are put together from pieces of others: loops are cut where their conditions change."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from backend_checks import check
from breadth import cases

Shape = list[int]


class Moves:
    """Random operations that move elements; each reads the latest tensor or an older one."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        rows, columns = (self.random.choice((1, 2, 3, 7, 33)) for _ in range(2))
        self.lines: list[str] = []
        self.counts = 0
        self.tensors: list[tuple[str, Shape]] = [("%a", [rows, columns])]
        moves: list[Callable[[str, Shape], None]] = [
            self.slice,
            self.reverse,
            self.pad,
            self.join,
            self.tile,
            self.insert,
        ]
        for _ in range(self.random.randint(2, 6)):
            self.random.choice(moves)(*self.tensors[-1])

    def add(self, line: str, shape: Shape) -> None:
        self.lines.append(f"  %{len(self.lines)} = {line}")
        self.tensors.append((f"%{len(self.lines) - 1}", shape))

    def slice(self, name: str, shape: Shape) -> None:
        starts = [self.random.randint(0, size // 2) for size in shape]
        steps = [self.random.choice((1, 1, 2, 3)) for _ in shape]
        taken = [
            -(-(size - start) // step)
            for size, start, step in zip(shape, starts, steps, strict=True)
        ]
        line = f"tensor.extract_slice {name}{starts} {taken} {steps} : {kind(shape)} to"
        self.add(f"{line} {kind(taken)}", taken)

    def reverse(self, name: str, shape: Shape) -> None:
        axis = self.random.randrange(2)
        self.add(f"tosa.reverse {name} {{axis = {axis} : i32}} : {full(shape)}", shape)

    def pad(self, name: str, shape: Shape) -> None:
        low, high = ([self.random.choice((0, 1, 4)) for _ in shape] for _ in range(2))
        wide = [size + before + after for size, before, after in zip(shape, low, high, strict=True)]
        head = f"tensor.pad {name} low{low} high{high} {{\n    ^bb0(%i: index, %j: index):\n"
        self.add(f"{head}      tensor.yield %z : f32\n  }} : {kind(shape)} to {kind(wide)}", wide)

    def join(self, name: str, shape: Shape) -> None:
        axis = self.random.randrange(2)
        fitting = [each for each in self.tensors if each[1][1 - axis] == shape[1 - axis]]
        names, shapes = zip((name, shape), *self.random.choices(fitting, k=2), strict=True)
        total = list(shape)
        total[axis] = sum(each[axis] for each in shapes)
        kinds = ", ".join(map(kind, shapes))
        self.add(
            f"tensor.concat dim({axis}) {', '.join(names)} : ({kinds}) -> {kind(total)}", total
        )

    def tile(self, name: str, shape: Shape) -> None:
        if shape[1] > 40:
            return
        times = [1, self.random.randint(1, 3)]
        wide = [size * many for size, many in zip(shape, times, strict=True)]
        self.counts += 1
        counts = f"%m{self.counts} = tosa.const_shape"
        values = f"{{values = dense<{times}> : tensor<2xindex>}} : () -> !tosa.shape<2>"
        self.lines.append(f"  {counts} {values}")
        operands = f"({kind(shape)}, !tosa.shape<2>)"
        self.add(f"tosa.tile {name}, %m{self.counts} : {operands} -> {kind(wide)}", wide)

    def insert(self, name: str, shape: Shape) -> None:
        other, part = self.random.choice(self.tensors)
        if any(size > room for size, room in zip(part, shape, strict=True)):
            return
        at = [self.random.randint(0, room - size) for size, room in zip(part, shape, strict=True)]
        head = f"tensor.insert_slice {other} into {name}{at} {part} [1, 1]"
        self.add(f"{head} : {kind(part)} into {kind(shape)}", shape)

    def text(self) -> str:
        name, shape = self.tensors[-1]
        lines = "\n".join(["  %z = arith.constant 7.5 : f32", *self.lines])
        argument = kind(self.tensors[0][1])
        return f"""func.func @main(%a: {argument}) -> {kind(shape)} {{
{lines}
  %r = arith.negf {name} : {kind(shape)}
  return %r : {kind(shape)}
}}"""


def kind(shape: Shape) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def full(shape: Shape, result: Shape | None = None) -> str:
    return f"({kind(shape)}) -> {kind(result or shape)}"


@pytest.mark.parametrize("seed", cases(20, 400))
def test_moves(seed: int) -> None:
    check(Moves(seed).text())


@pytest.mark.parametrize("columns", [2, 9, 17, 64])
def test_reflection(columns: int) -> None:
    """A row, and what comes before it in the reverse order."""
    wide, row, rest = (f"tensor<3x{size}xf32>" for size in (2 * columns - 1, columns, columns - 1))
    check(
        f"""func.func @main(%a: {row}) -> {wide} {{
  %0 = tensor.extract_slice %a[0, 1] [3, {columns - 1}] [1, 1] : {row} to {rest}
  %1 = tosa.reverse %0 {{axis = 1 : i32}} : ({rest}) -> {rest}
  %2 = tensor.concat dim(1) %1, %a : ({rest}, {row}) -> {wide}
  return %2 : {wide}
}}"""
    )
