"""Operations of `tensor` and on elements whose sizes and indices may lie: one writer each."""

from __future__ import annotations

from math import prod

import numpy as np
from lying_writer import LyingWriter, Shape


def cast(w: LyingWriter) -> None:
    value = w.pick()
    w.keep(w.cast(value, w.loosened(value.shape)))


def elementwise(w: LyingWriter) -> None:
    left = w.pick()
    right = w.of_shape(left.shape)
    static = w.loosened(left.shape)
    left, right = w.cast(left, static), w.cast(right, static)
    new = w.keep(w.result(left.shape, static=static))
    name = w.random.choice(["arith.addf", "arith.mulf", "arith.maximumf", "math.copysign"])
    w.emit(f"{new.name} = {name} {left.name}, {right.name} : {new.type}")


def unary(w: LyingWriter) -> None:
    value = w.pick()
    new = w.keep(w.result(value.shape, static=value.static))
    name = w.random.choice(["math.absf", "arith.negf", "math.exp"])
    w.emit(f"{new.name} = {name} {value.name} : {new.type}")


def splat(w: LyingWriter) -> None:
    w.filled(w.shape())


def generate(w: LyingWriter) -> None:
    shape = w.shape()
    new = w.result(shape)
    sizes = [w.number(n) for n, known in zip(shape, new.static, strict=True) if known < 0]
    source = w.pick(1)
    block = ", ".join(f"%g{w.count}_{i}: index" for i in range(len(shape)))
    first = f"%g{w.count}_0"
    at, element, bound = w.fresh(), w.fresh(), w.fresh()
    w.emit(f"{bound} = arith.constant {w.random.choice([1, 2, 3, 100])} : index")
    w.emit(f"{new.name} = tensor.generate {', '.join(sizes)} {{")
    w.emit(f"^bb0({block}):")
    w.emit(f"  {at} = arith.remsi {first}, {bound} : index")
    w.emit(f"  {element} = tensor.extract {source.name}[{at}] : {source.type}")
    w.emit(f"  tensor.yield {element} : f32")
    w.emit(f"}} : {new.type}")
    w.keep(new)


def extract(w: LyingWriter) -> None:
    value = w.pick()
    if 0 in value.shape:
        return
    indices = [w.number(w.random.randrange(size), is_index=True) for size in value.shape]
    name = w.fresh()
    w.emit(f"{name} = tensor.extract {value.name}[{', '.join(indices)}] : {value.type}")
    w.returned.append((name, "f32"))


def insert(w: LyingWriter) -> None:
    value = w.pick()
    if 0 in value.shape:
        return
    indices = [w.number(w.random.randrange(size), is_index=True) for size in value.shape]
    number = w.fresh()
    w.emit(f"{number} = arith.constant 9.0 : f32")
    new = w.result(value.shape, static=value.static)
    w.emit(
        f"{new.name} = tensor.insert {number} into {value.name}[{', '.join(indices)}] : "
        f"{value.type}"
    )
    w.keep(new)


def dimension(w: LyingWriter) -> None:
    value = w.pick()
    axis = w.number(w.random.randrange(len(value.shape)), is_index=True)
    name = w.fresh()
    w.emit(f"{name} = tensor.dim {value.name}, {axis} : {value.type}")
    w.returned.append((name, "index"))


def _slice(w: LyingWriter, shape: Shape) -> tuple[Shape, str, Shape]:
    """The sizes of a slice, its text, and the sizes that the text says."""
    lists: list[list[str]] = [[], [], []]
    sizes: list[int] = []
    known: list[int] = []
    for extent in shape:
        stride = w.random.choice([1, 1, 1, 2, -1])
        size = (
            w.random.randint(0, extent)
            if w.chance(0.2)
            else w.random.randint(min(1, extent), extent)
        )
        if (size - 1) * abs(stride) >= extent:
            stride = 1
        room = extent - 1 - max(size - 1, 0) * abs(stride)
        offset = w.random.randint(0, max(room, 0)) + (max(size - 1, 0) if stride < 0 else 0)
        for texts, number, odds in zip(lists, (offset, size, stride), (0.6, 0.5, 0.2), strict=True):
            is_open = w.chance(odds) or number < 0
            wrong = w.lies()
            if is_open:
                texts.append(w.number(number, is_index=True))
            else:
                texts.append(str(max(number + (1 if wrong else 0), 0)))
        sizes.append(size)
        known.append(-1 if lists[1][-1].startswith("%") else int(lists[1][-1]))
    return tuple(sizes), " ".join(f"[{', '.join(each)}]" for each in lists), tuple(known)


def extract_slice(w: LyingWriter) -> None:
    value = w.pick()
    sizes, text, known = _slice(w, value.shape)
    new = w.result(sizes, static=known)
    w.emit(f"{new.name} = tensor.extract_slice {value.name}{text} : {value.type} to {new.type}")
    w.keep(new)


def insert_slice(w: LyingWriter) -> None:
    value = w.pick()
    sizes, text, known = _slice(w, value.shape)
    part = w.cast(w.of_shape(sizes), known)
    new = w.result(value.shape, static=value.static)
    w.emit(
        f"{new.name} = tensor.insert_slice {part.name} into {value.name}{text} : {part.type} into"
        f" {value.type}"
    )
    w.keep(new)


def pad(w: LyingWriter) -> None:
    value = w.pick()
    low = [w.random.randint(-1, 2) for _ in value.shape]
    high = [w.random.randint(-1, 2) for _ in value.shape]
    shape = tuple(max(a + n + b, 0) for a, n, b in zip(low, value.shape, high, strict=True))
    texts = [[w.number(n) if w.chance(0.4) else str(n) for n in each] for each in (low, high)]
    known = tuple(
        int(a) + n + int(b) if n >= 0 and "%" not in a + b else w.loosened((size,))[0]
        for a, n, b, size in zip(texts[0], value.static, texts[1], shape, strict=True)
    )
    new = w.result(shape, static=known)
    number = w.fresh()
    w.emit(f"{number} = arith.constant 3.0 : f32")
    block = ", ".join(f"%p{w.count}_{i}: index" for i in range(len(shape)))
    w.emit(
        f"{new.name} = tensor.pad {value.name} low[{', '.join(texts[0])}]"
        f" high[{', '.join(texts[1])}] {{"
    )
    w.emit(f"^bb0({block}):\n    tensor.yield {number} : f32\n  }} : {value.type} to {new.type}")
    w.keep(new)


def concat(w: LyingWriter, dialect: str = "tensor") -> None:
    first = w.pick()
    axis = w.random.randrange(len(first.shape))
    parts = [first]
    for _ in range(w.random.randint(1, 2)):
        parts.append(w.of_shape((*first.shape[:axis], w.size(), *first.shape[axis + 1 :])))
    if dialect == "tensor":
        # Static sizes across the axis must agree.
        static = tuple(-1 for _ in first.shape)
        parts = [w.cast(part, static) if w.chance(0.7) else part for part in parts]
    total = sum(part.shape[axis] for part in parts)
    new = w.result((*first.shape[:axis], total, *first.shape[axis + 1 :]))
    names = ", ".join(part.name for part in parts)
    types = f"({', '.join(part.type for part in parts)}) -> {new.type}"
    if dialect == "tensor":
        w.emit(f"{new.name} = tensor.concat dim({axis}) {names} : {types}")
    else:
        w.emit(f"{new.name} = tosa.concat {names} {{axis = {axis} : i32}} : {types}")
    w.keep(new)


def collapse(w: LyingWriter) -> None:
    value = w.pick(w.random.choice([2, 3]))
    rank = len(value.shape)
    groups = [[0, 1], *[[i] for i in range(2, rank)]]
    shape = (prod(value.shape[:2]), *value.shape[2:])
    known = value.static[:2]
    first = prod(known) if min(known) >= 0 else -1
    new = w.result(shape, static=(first, *value.static[2:]))
    w.emit(
        f"{new.name} = tensor.collapse_shape {value.name} {groups} : {value.type} into {new.type}"
    )
    w.keep(new)


def expand(w: LyingWriter) -> None:
    value = w.pick(1)
    size = value.shape[0]
    factor = w.random.choice([n for n in (1, 2, 3, 5) if size % n == 0])
    parts = (factor, size // factor) if w.chance(0.5) else (size // factor, factor)
    value = w.cast(value, (-1,))
    texts = [w.number(n) if w.chance(0.5) else str(n) for n in parts]
    if not any("%" in text for text in texts):
        texts[0] = w.number(parts[0])
    static = tuple(-1 if "%" in text else int(text) for text in texts)
    new = w.result(parts, static=static)
    w.emit(
        f"{new.name} = tensor.expand_shape {value.name} [[0, 1]] output_shape"
        f" [{', '.join(texts)}] : {value.type} into {new.type}"
    )
    w.keep(new)


def reshape(w: LyingWriter) -> None:
    value = w.pick()
    size = prod(value.shape)
    factor = w.random.choice([n for n in (1, 2, 3, 5) if size % n == 0])
    shape = (factor, size // factor)
    if w.chance(0.5):
        extents = w.argument((2,), "index", (2,))
        wrong = [w.wrong(n) if w.lies() else n for n in shape]
        w.inputs[-1] = np.asarray(wrong, np.int64)
        name = extents.name
    else:
        name = w.fresh()
        numbers = [w.number(n) for n in shape]
        w.emit(f"{name} = tensor.from_elements {', '.join(numbers)} : tensor<2xindex>")
    new = w.result(shape)
    w.emit(
        f"{new.name} = tensor.reshape {value.name}({name}) : ({value.type}, tensor<2xindex>) ->"
        f" {new.type}"
    )
    w.keep(new)


def gather(w: LyingWriter) -> None:
    value = w.cast(w.pick(2), (-1, -1))
    count = w.size()
    indices = w.argument((count, 1), "index", (count, 1))
    limit = max(value.shape[0], 1)
    high = limit + 1 if w.lies() else limit
    w.inputs[-1] = np.asarray([[w.random.randrange(high)] for _ in range(count)], np.int64).reshape(
        count, 1
    )
    if w.lies() and count:
        w.inputs[-1][0, 0] = w.random.choice([-1, 1 << 62, limit])
    new = w.result((count, 1, value.shape[1]), static=(count, 1, -1))
    w.emit(
        f'{new.name} = "tensor.gather"({value.name}, {indices.name})'
        f" <{{gather_dims = array<i64: 0>}}> : ({value.type}, {indices.type}) -> {new.type}"
    )
    w.keep(new)
