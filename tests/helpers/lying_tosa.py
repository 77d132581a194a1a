"""Operations of `tosa` whose types and sizes may lie: one writer each."""

from __future__ import annotations

from math import prod

import numpy as np
from lying_tensors import concat
from lying_writer import LyingWriter


def tosa_binary(w: LyingWriter) -> None:
    left = w.pick()
    shape = tuple(1 if w.chance(0.3) else n for n in left.shape)
    right = w.of_shape(shape)
    common = tuple(b if a == 1 else a for a, b in zip(left.shape, right.shape, strict=True))
    new = w.result(common)
    name = w.random.choice(["add", "sub", "maximum", "pow"])
    w.emit(
        f"{new.name} = tosa.{name} {left.name}, {right.name} : ({left.type}, {right.type}) ->"
        f" {new.type}"
    )
    w.keep(new)


def tosa_unary(w: LyingWriter) -> None:
    value = w.pick()
    new = w.result(value.shape)
    name = w.random.choice(["exp", "abs", "floor", "tanh", "reverse"])
    axis = f" {{axis = {w.random.randrange(len(value.shape))} : i32}}" if name == "reverse" else ""
    w.emit(f"{new.name} = tosa.{name} {value.name}{axis} : ({value.type}) -> {new.type}")
    w.keep(new)


def tosa_select(w: LyingWriter) -> None:
    left = w.pick()
    shapes = [tuple(1 if w.chance(0.3) else n for n in left.shape) for _ in range(2)]
    right, condition = w.of_shape(shapes[0]), w.of_shape(shapes[1], "i1")
    common = tuple(
        max(sizes) if 0 not in sizes else 0 for sizes in zip(left.shape, *shapes, strict=True)
    )
    new = w.result(common)
    w.emit(
        f"{new.name} = tosa.select {condition.name}, {left.name}, {right.name} : ({condition.type},"
        f" {left.type}, {right.type}) -> {new.type}"
    )
    w.keep(new)


def tosa_numbers(w: LyingWriter) -> None:
    """Operations with operands of one element beside the tensors."""
    value = w.pick()
    other = w.of_shape(value.shape)
    new = w.result(value.shape)
    if w.chance(0.5):
        zeros = [w.argument((1,), static=(w.random.choice([1, -1]),)) for _ in range(2)]
        w.inputs[-1] = w.contents(
            (w.wrong(1) if w.lies() and zeros[1].static == (-1,) else 1,), "f32"
        )
        w.emit(
            f"{new.name} = tosa.negate {value.name}, {zeros[0].name}, {zeros[1].name} :"
            f" ({value.type}, {zeros[0].type}, {zeros[1].type}) -> {new.type}"
        )
    else:
        shift = w.fresh()
        w.emit(
            f'{shift} = "tosa.const"() {{values = dense<0> : tensor<1xi8>}} : () -> tensor<1xi8>'
        )
        w.emit(
            f"{new.name} = tosa.mul {value.name}, {other.name}, {shift} : ({value.type},"
            f" {other.type}, tensor<1xi8>) -> {new.type}"
        )
    w.keep(new)


def _shape(w: LyingWriter, numbers: list[int]) -> tuple[str, str]:
    name, kind = w.fresh(), f"!tosa.shape<{len(numbers)}>"
    w.emit(
        f"{name} = tosa.const_shape {{values = dense<{numbers}> : tensor<{len(numbers)}xindex>}} :"
        f" () -> {kind}"
    )
    return name, kind


def tosa_movement(w: LyingWriter) -> None:
    value = w.pick()
    rank = len(value.shape)
    kind = w.random.choice(["slice", "pad", "tile", "reshape", "transpose"])
    extra = ""
    if kind == "slice":
        starts = [w.random.randint(0, n) for n in value.shape]
        sizes = [w.random.randint(0, n - s) for n, s in zip(value.shape, starts, strict=True)]
        shape = tuple(sizes)
        if w.lies():
            starts[0] += 2
        lists = [_shape(w, starts), _shape(w, sizes)]
    elif kind == "pad":
        widths = [w.random.randint(0, 2) for _ in range(2 * rank)]
        shape = tuple(n + widths[2 * i] + widths[2 * i + 1] for i, n in enumerate(value.shape))
        lists = [_shape(w, widths)]
        filler = w.argument((1,), static=(1,))
        lists.append((filler.name, filler.type))
    elif kind == "tile":
        times = [w.random.randint(1, 2) for _ in range(rank)]
        shape = tuple(n * t for n, t in zip(value.shape, times, strict=True))
        lists = [_shape(w, times)]
    elif kind == "reshape":
        shape = (prod(value.shape), 1)
        lists = [_shape(w, [w.random.choice([-1, shape[0]]), 1])]
    else:
        order = w.random.sample(range(rank), rank)
        shape = tuple(value.shape[i] for i in order)
        lists = []
        extra = f" {{perms = array<i32: {', '.join(map(str, order))}>}}"
    new = w.result(shape, static=w.loosened(shape) if w.chance(0.5) else shape)
    names = ", ".join([value.name, *(name for name, _ in lists)])
    types = ", ".join([value.type, *(kind for _, kind in lists)])
    w.emit(f"{new.name} = tosa.{kind} {names}{extra} : ({types}) -> {new.type}")
    w.keep(new)


def tosa_reduce(w: LyingWriter) -> None:
    value = w.pick()
    axis = w.random.randrange(len(value.shape))
    shape = (*value.shape[:axis], 1, *value.shape[axis + 1 :])
    static = w.loosened(shape)
    new = w.result(shape, static=(*static[:axis], 1, *static[axis + 1 :]))
    name = w.random.choice(["sum", "max", "min", "product"])
    w.emit(
        f"{new.name} = tosa.reduce_{name} {value.name} {{axis = {axis} : i32}} : ({value.type}) ->"
        f" {new.type}"
    )
    w.keep(new)


def tosa_matmul(w: LyingWriter) -> None:
    b, m, k = w.shape(3)
    n = w.size()
    left, right = w.of_shape((b, m, k)), w.of_shape((b, k, n))
    zero = w.fresh()
    w.emit(f'{zero} = "tosa.const"() {{values = dense<0.0> : tensor<1xf32>}} : () -> tensor<1xf32>')
    new = w.result((b, m, n))
    w.emit(
        f"{new.name} = tosa.matmul {left.name}, {right.name}, {zero}, {zero} : ({left.type},"
        f" {right.type}, tensor<1xf32>, tensor<1xf32>) -> {new.type}"
    )
    w.keep(new)


def tosa_gather(w: LyingWriter) -> None:
    values = w.pick(3)
    b, n, c = values.shape
    count = w.size()
    indices = w.argument((b, count), "i32")
    w.inputs[-1] = np.asarray(
        [[w.random.randrange(max(n, 1)) for _ in range(count)] for _ in range(b)], np.int32
    ).reshape(b, count)
    if w.lies() and indices.shape[0] * count:
        w.inputs[-1][0, 0] = w.random.choice([-1, n])
    new = w.result((b, count, c))
    w.emit(
        f"{new.name} = tosa.gather {values.name}, {indices.name} : ({values.type}, {indices.type})"
        f" -> {new.type}"
    )
    w.keep(new)


def tosa_scatter(w: LyingWriter) -> None:
    values = w.pick(3)
    b, n, c = values.shape
    count = w.random.randint(0, n)
    indices = w.argument((b, count), "i32")
    rows = [w.random.sample(range(n), count) for _ in range(b)]
    w.inputs[-1] = np.asarray(rows, np.int32).reshape(b, count)
    if w.lies() and b * count:
        w.inputs[-1][0, 0] = w.random.choice([-1, n])
    source = w.of_shape((b, count, c))
    new = w.result(values.shape)
    w.emit(
        f"{new.name} = tosa.scatter {values.name}, {indices.name}, {source.name} : ({values.type},"
        f" {indices.type}, {source.type}) -> {new.type}"
    )
    w.keep(new)


def tosa_concat(w: LyingWriter) -> None:
    concat(w, "tosa")
