"""Operations of programs whose types, sizes and indices may lie: one writer each."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random

import numpy as np
from lying_writer import LyingWriter, Shape, type_text

Operation = Callable[[LyingWriter], None]


# Tensors --------------------------------------------------------------------------------------


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


def tosa_concat(w: LyingWriter) -> None:
    concat(w, "tosa")


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


# Bodies ---------------------------------------------------------------------------------------


def gather_in_body(w: LyingWriter) -> None:
    """Elements at indices that are data, in a body that later operations may be fused with."""
    table = w.pick(w.random.choice([1, 2]))
    count = w.size()
    kind = w.random.choice(["i32", "index"])
    indices = w.argument((count,), kind)
    limit = table.shape[0]
    w.inputs[-1] = np.asarray(
        [w.random.randrange(max(limit, 1)) for _ in range(count)], w.inputs[-1].dtype
    )
    if w.lies() and count:
        w.inputs[-1][w.random.randrange(count)] = w.random.choice([-1, limit, 1 << 30])
    start = w.filled((count,))
    new = w.result((count,), static=start.static)
    at, zero, element = w.fresh(), w.fresh(), w.fresh()
    w.emit(f"{zero} = arith.constant {w.random.choice([0, 0, 0, 1])} : index")
    w.emit(
        f"{new.name} = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>,"
        f' affine_map<(i) -> (i)>], iterator_types = ["parallel"]}} ins({indices.name} :'
        f" {indices.type}) outs({start.name} : {start.type}) {{"
    )
    w.emit(f"^bb0(%x: {kind}, %o: f32):")
    if kind == "index":
        at = "%x"
    else:
        w.emit(f"  {at} = arith.index_cast %x : i32 to index")
    place = at if len(table.shape) == 1 else f"{at}, {zero}"
    w.emit(f"  {element} = tensor.extract {table.name}[{place}] : {table.type}")
    w.emit(f"  linalg.yield {element} : f32 }} -> {new.type}")
    w.keep(new)


def windows_in_body(w: LyingWriter) -> None:
    """Elements at indices that are computed from the loops: proven inside, or not."""
    table = w.pick(1)
    shape = w.shape(1)
    start = w.filled(shape)
    new = w.result(shape, static=start.static)
    c = w.fresh()
    w.emit(f"{c} = arith.constant {w.random.choice([1, 2, 3, 4])} : index")
    i, at, element = w.fresh(), w.fresh(), w.fresh()
    w.emit(
        f"{new.name} = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>],"
        f' iterator_types = ["parallel"]}} outs({start.name} : {start.type}) {{'
    )
    w.emit(f"^bb0(%o: f32):\n    {i} = linalg.index 0 : index")
    operation = w.random.choice(
        ["muli", "addi", "subi", "remsi", "remui", "divsi", "floordivsi", "minsi"]
    )
    if w.chance(0.4):
        text = _expression(w, ["d0"], "s0" if w.chance(0.3) else None)
        w.emit(f"  {at} = affine.apply affine_map<(d0)[s0] -> ({text})>({i})[{c}]")
    else:
        w.emit(f"  {at} = arith.{operation} {i}, {c} : index")
    w.emit(f"  {element} = tensor.extract {table.name}[{at}] : {table.type}")
    w.emit(f"  linalg.yield {element} : f32 }} -> {new.type}")
    w.keep(new)


def _expression(w: LyingWriter, loops: list[str], symbol: str | None = None) -> str:
    """An affine expression of loops, monotone or not."""
    loop = w.random.choice(loops)
    number = w.random.choice([1, 2, 3, 4])
    divisor = symbol or str(number)
    forms = [
        loop,
        f"{loop} + {number}",
        f"{loop} * {number}",
        f"{number} - {loop}",
        f"({loop} mod {divisor}) * {w.random.choice([1, 2, 3])}",
        f"{loop} floordiv {divisor}",
        f"{loop} ceildiv {divisor}",
        f"({loop} floordiv {divisor}) * {number} + {loop} mod {number}",
        f"{loop} - ({loop} floordiv {divisor}) * {number}",
        f"{loop} * -1 + {number}",
        "0",
        str(number),
    ]
    if len(loops) > 1:
        other = next(each for each in loops if each != loop)
        forms += [f"{loop} + {other}", f"{loop} * {number} + {other}", f"{loop} - {other}"]
        forms += [f"({loop} + {other}) mod {divisor}"]
    return w.random.choice(forms)


def generic(w: LyingWriter) -> None:
    """A loop nest with maps that read and write anywhere."""
    count = w.random.choice([1, 2, 2])
    loops = [f"d{i}" for i in range(count)]
    extents = w.shape(count)
    head = f"({', '.join(loops)})"
    whole = w.of_shape(extents)
    other = w.pick()
    texts = [_expression(w, loops) for _ in other.shape]
    written = w.random.choice(["plain", "plain", "reduced", "any"])
    order = w.random.sample(range(count), count) if written == "plain" else [0]
    if written == "any":
        out_texts = [_expression(w, loops) for _ in order]
        out_shape = tuple(w.size() for _ in order)
    else:
        out_texts = [loops[i] for i in order]
        out_shape = tuple(extents[i] for i in order)
    start = w.filled(out_shape)
    kinds = ["parallel" if f"d{i}" in out_texts else "reduction" for i in range(count)]
    kinds = [w.random.choice(["parallel", "reduction"]) if w.chance(0.1) else k for k in kinds]
    new = w.result(out_shape, static=start.static)
    a, b = w.fresh(), w.fresh()
    maps = ", ".join(
        f"affine_map<{head} -> ({', '.join(each)})>" for each in (loops, texts, out_texts)
    )
    quoted = ", ".join(f'"{kind}"' for kind in kinds)
    w.emit(
        f"{new.name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{quoted}]}}"
        f" ins({whole.name}, {other.name} : {whole.type}, {other.type})"
        f" outs({start.name} : {start.type}) {{"
    )
    w.emit("^bb0(%x: f32, %y: f32, %o: f32):")
    last = "%o" if written != "plain" or w.chance(0.3) else "%x"
    w.emit(f"  {a} = arith.subf %x, %y : f32\n    {b} = arith.addf {last}, {a} : f32")
    w.emit(f"  linalg.yield {b} : f32 }} -> {new.type}")
    w.keep(new)


# The linalg dialect ---------------------------------------------------------------------------


def matmul(w: LyingWriter) -> None:
    m, k, n = w.shape(3) if w.chance(0.8) else (w.random.choice([70, 90]),) * 3
    left, right = w.of_shape((m, k)), w.of_shape((k, n))
    start = w.of_shape((m, n))
    new = w.result((m, n), static=start.static)
    w.emit(
        f"{new.name} = linalg.matmul ins({left.name}, {right.name} : {left.type}, {right.type})"
        f" outs({start.name} : {start.type}) -> {new.type}"
    )
    w.keep(new)


def named(w: LyingWriter) -> None:
    value = w.pick()
    other, start = w.of_shape(value.shape), w.of_shape(value.shape)
    new = w.result(value.shape, static=start.static)
    name = w.random.choice(["add", "mul", "sub", "max"])
    w.emit(
        f"{new.name} = linalg.{name} ins({value.name}, {other.name} : {value.type}, {other.type})"
        f" outs({start.name} : {start.type}) -> {new.type}"
    )
    w.keep(new)


def rearrange(w: LyingWriter) -> None:
    value = w.pick(2)
    if w.chance(0.5):
        start = w.of_shape(value.shape[::-1])
        new = w.result(start.shape, static=start.static)
        w.emit(
            f"{new.name} = linalg.transpose ins({value.name} : {value.type}) outs({start.name} :"
            f" {start.type}) permutation = [1, 0]"
        )
    else:
        start = w.of_shape((w.size(), *value.shape))
        new = w.result(start.shape, static=start.static)
        w.emit(
            f"{new.name} = linalg.broadcast ins({value.name} : {value.type}) outs({start.name} :"
            f" {start.type}) dimensions = [0]"
        )
    w.keep(new)


def reduce(w: LyingWriter) -> None:
    value = w.pick(2)
    axis = w.random.randrange(2)
    start = w.of_shape((value.shape[1 - axis],))
    new = w.result(start.shape, static=start.static)
    a = w.fresh()
    w.emit(
        f"{new.name} = linalg.reduce ins({value.name} : {value.type}) outs({start.name} :"
        f" {start.type}) dimensions = [{axis}] (%x: f32, %o: f32) {{"
    )
    w.emit(f"  {a} = arith.addf %x, %o : f32\n    linalg.yield {a} : f32 }}")
    w.keep(new)


def softmax(w: LyingWriter) -> None:
    value = w.pick(2)
    start = w.cast(w.of_shape(value.shape), value.static)
    new = w.result(value.shape, static=start.static)
    w.emit(
        f"{new.name} = linalg.softmax dimension({w.random.randrange(2)}) ins({value.name} :"
        f" {value.type}) outs({start.name} : {start.type}) -> {new.type}"
    )
    w.keep(new)


def convolution(w: LyingWriter) -> None:
    n, k, stride = w.random.randint(3, 8), w.random.randint(1, 3), w.random.choice([1, 2])
    rows = (n - k) // stride + 1
    source, kernel = w.of_shape((1, n, 2)), w.of_shape((k, 2, 3))
    start = w.of_shape((1, rows, 3))
    new = w.result(start.shape, static=start.static)
    w.emit(
        f"{new.name} = linalg.conv_1d_nwc_wcf {{dilations = dense<1> : tensor<1xi64>, strides ="
        f" dense<{stride}> : tensor<1xi64>}} ins({source.name}, {kernel.name} : {source.type},"
        f" {kernel.type}) outs({start.name} : {start.type}) -> {new.type}"
    )
    w.keep(new)


def convolution_2d(w: LyingWriter) -> None:
    """A convolution or a pooling over two dimensions."""
    h, k = w.random.randint(3, 6), w.random.randint(1, 3)
    rows = h - k + 1
    kind = w.random.choice(["conv_2d_nhwc_hwcf", "pooling_nhwc_sum", "pooling_nhwc_max"])
    pools = kind.startswith("pooling")
    source = w.of_shape((1, h, 4, 2))
    kernel = w.of_shape((k, 2)) if pools else w.of_shape((k, 2, 2, 3))
    start = w.of_shape((1, rows, 3, 2 if pools else 3))
    new = w.result(start.shape, static=start.static)
    ones = "dense<1> : tensor<2xi64>"
    w.emit(
        f"{new.name} = linalg.{kind} {{dilations = {ones}, strides = {ones}}} ins({source.name},"
        f" {kernel.name} : {source.type}, {kernel.type}) outs({start.name} : {start.type}) ->"
        f" {new.type}"
    )
    w.keep(new)


def packed_product(w: LyingWriter) -> None:
    m, n, k = w.random.choice([1, 2, 3]), w.random.choice([1, 2]), w.random.choice([1, 2, 3])
    rows, columns, depth = w.random.choice([(4, 4, 1), (2, 3, 2), (8, 8, 1)])
    left = w.cast(w.of_shape((m, k, rows, depth)), (-1, -1, rows, depth))
    right = w.cast(w.of_shape((n, k, columns, depth)), (-1, -1, columns, depth))
    start = w.cast(w.of_shape((m, n, rows, columns)), (-1, -1, rows, columns))
    new = w.result(start.shape, static=start.static)
    w.emit(
        f"{new.name} = linalg.mmt4d ins({left.name}, {right.name} : {left.type}, {right.type})"
        f" outs({start.name} : {start.type}) -> {new.type}"
    )
    w.keep(new)


def contract(w: LyingWriter) -> None:
    b, m, k, n = (*w.shape(3), w.size())
    left, right, start = w.of_shape((b, m, k)), w.of_shape((b, n, k)), w.of_shape((b, m, n))
    new = w.result(start.shape, static=start.static)
    maps = ", ".join(
        f"affine_map<(b, m, n, k) -> ({each})>" for each in ("b, m, k", "b, n, k", "b, m, n")
    )
    w.emit(
        f"{new.name} = linalg.contract indexing_maps = [{maps}] ins({left.name}, {right.name} :"
        f" {left.type}, {right.type}) outs({start.name} : {start.type}) -> {new.type}"
    )
    w.keep(new)


def mapped(w: LyingWriter) -> None:
    value = w.pick()
    other, start = w.of_shape(value.shape), w.of_shape(value.shape)
    new = w.result(value.shape, static=start.static)
    a = w.fresh()
    w.emit(
        f"{new.name} = linalg.map ins({value.name}, {other.name} : {value.type}, {other.type})"
        f" outs({start.name} : {start.type}) (%x: f32, %y: f32, %o: f32) {{"
    )
    w.emit(f"  {a} = arith.mulf %x, %y : f32\n    linalg.yield {a} : f32 }}")
    w.keep(new)


def pack(w: LyingWriter) -> None:
    value = w.cast(w.pick(2), (-1, -1))
    tiles = [w.random.randint(1, 3) for _ in range(2)]
    counts = [-(-n // tile) for n, tile in zip(value.shape, tiles, strict=True)]
    texts = [w.number(tile) if w.chance(0.4) else str(tile) for tile in tiles]
    shape = (*counts, *tiles)
    inner = tuple(-1 if "%" in text else int(text) for text in texts)
    start = w.cast(w.of_shape(shape), (-1, -1, *inner))
    new = w.result(shape, static=start.static)
    padding = ""
    if w.chance(0.7):
        number = w.fresh()
        w.emit(f"{number} = arith.constant 4.0 : f32")
        padding = f"padding_value({number} : f32) "
    w.emit(
        f"{new.name} = linalg.pack {value.name} {padding}inner_dims_pos = [0, 1] inner_tiles ="
        f" [{', '.join(texts)}] into {start.name} : {value.type} -> {new.type}"
    )
    w.keep(new)


def unpack(w: LyingWriter) -> None:
    tiles = [w.random.randint(1, 3) for _ in range(2)]
    counts = w.shape(2)
    texts = [w.number(tile) if w.chance(0.4) else str(tile) for tile in tiles]
    inner = tuple(-1 if "%" in text else int(text) for text in texts)
    value = w.cast(w.of_shape((*counts, *tiles)), (-1, -1, *inner))
    shape = tuple(
        n * tile - w.random.choice([0, 0, 1]) for n, tile in zip(counts, tiles, strict=True)
    )
    shape = tuple(max(n, 0) for n in shape)
    start = w.cast(w.of_shape(shape), (-1, -1))
    new = w.result(shape, static=start.static)
    w.emit(
        f"{new.name} = linalg.unpack {value.name} inner_dims_pos = [0, 1] inner_tiles ="
        f" [{', '.join(texts)}] into {start.name} : {value.type} -> {new.type}"
    )
    w.keep(new)


# The tosa dialect -----------------------------------------------------------------------------


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


# Control flow and memory ----------------------------------------------------------------------


def branch(w: LyingWriter) -> None:
    value = w.pick()
    static = w.loosened(value.shape)
    open_shape = tuple(-1 for _ in static)
    condition = f"%a{len(w.inputs)}"
    w.parameters.append((condition, "i1"))
    w.inputs.append(np.asarray(w.chance(0.5)))
    opened = w.cast(value, open_shape)
    new = w.result(value.shape, static=static)
    inner, other = w.fresh(), w.fresh()
    w.emit(f"{new.name} = scf.if {condition} -> ({new.type}) {{")
    w.emit(f"  {inner} = tensor.cast {opened.name} : {opened.type} to {new.type}")
    w.emit(f"  scf.yield {inner} : {new.type}\n  }} else {{")
    wrong = type_text(w.loosened(value.shape), "f32")
    w.emit(f"  {other}x = tensor.cast {opened.name} : {opened.type} to {wrong}")
    w.emit(f"  {other}y = tensor.cast {other}x : {wrong} to {opened.type}")
    w.emit(f"  {other} = tensor.cast {other}y : {opened.type} to {new.type}")
    w.emit(f"  scf.yield {other} : {new.type}\n  }}")
    w.keep(new)


def loop(w: LyingWriter) -> None:
    """A tensor that a loop carries, with a type that may not be true of each turn."""
    value = w.cast(w.pick(1), (-1,))
    low, high, step = w.number(0), w.number(2), w.fresh()
    w.emit(f"{step} = arith.constant 1 : index")
    start = w.cast(value, (-1,) if w.chance(0.6) else w.loosened(value.shape))
    other = w.cast(w.of_shape(value.shape), (-1,))
    new = w.result(value.shape, static=start.static)
    carried, opened, made, closed = (f"%l{w.count}_{i}" for i in range(4))
    w.emit(
        f"{new.name} = scf.for %i{w.count} = {low} to {high} step {step} iter_args({carried} ="
        f" {start.name}) -> ({new.type}) {{"
    )
    w.emit(f"  {opened} = tensor.cast {carried} : {new.type} to tensor<?xf32>")
    if w.lies():
        w.emit(
            f"  {made} = tensor.concat dim(0) {opened}, {other.name} : (tensor<?xf32>,"
            " tensor<?xf32>) -> tensor<?xf32>"
        )
    else:
        w.emit(f"  {made} = arith.addf {opened}, {other.name} : tensor<?xf32>")
    w.emit(f"  {closed} = tensor.cast {made} : tensor<?xf32> to {new.type}")
    w.emit(f"  scf.yield {closed} : {new.type}\n  }}")
    w.keep(new)


def call(w: LyingWriter) -> None:
    value = w.pick()
    given, made = w.loosened(value.shape), w.loosened(value.shape)
    name = f"@f{len(w.functions)}"
    types = type_text(given, "f32"), type_text(made, "f32"), type_text((-1,) * len(given), "f32")
    w.functions.append(
        f"func.func private {name}(%x: {types[0]}) -> {types[1]} {{\n"
        f"  %o = tensor.cast %x : {types[0]} to {types[2]}\n"
        f"  %e = math.exp %o : {types[2]}\n"
        f"  %r = tensor.cast %e : {types[2]} to {types[1]}\n"
        f"  return %r : {types[1]}\n}}"
    )
    passed = w.cast(value, given)
    new = w.result(value.shape, static=made)
    w.emit(f"{new.name} = call {name}({passed.name}) : ({passed.type}) -> {new.type}")
    w.keep(new)


def until(w: LyingWriter) -> None:
    """A loop that ends when the data say so."""
    value = w.cast(w.pick(1), (-1,))
    static = (-1,) if w.chance(0.6) else w.loosened(value.shape)
    start = w.cast(value, static)
    count, new = w.fresh(), w.result(value.shape, static=static)
    carried, other, turn, next_, is_less, opened, sum_, closed, one, two = (
        f"%u{w.count}_{i}" for i in range(10)
    )
    w.emit(f"{count} = arith.constant 0 : index\n  {one} = arith.constant 1 : index")
    w.emit(f"{two} = arith.constant 2 : index")
    kind = f"index, {new.type}"
    w.emit(f"%r{w.count}, {new.name} = scf.while (%c{w.count} = {count}, {carried} = {start.name})")
    w.emit(f"    : ({kind}) -> ({kind}) {{")
    w.emit(f"  {is_less} = arith.cmpi slt, %c{w.count}, {two} : index")
    w.emit(f"  scf.condition({is_less}) %c{w.count}, {carried} : {kind}\n  }} do {{")
    w.emit(f"^bb0({turn}: index, {other}: {new.type}):")
    w.emit(f"  {next_} = arith.addi {turn}, {one} : index")
    w.emit(f"  {opened} = tensor.cast {other} : {new.type} to tensor<?xf32>")
    w.emit(f"  {sum_} = math.absf {opened} : tensor<?xf32>")
    w.emit(f"  {closed} = tensor.cast {sum_} : tensor<?xf32> to {new.type}")
    w.emit(f"  scf.yield {next_}, {closed} : {kind}\n  }}")
    w.keep(new)


def memory(w: LyingWriter) -> None:
    """A buffer that is written and read at indices from the caller."""
    size = w.size() or 1
    length, buffer, number, found = w.number(size), w.fresh(), w.fresh(), w.fresh()
    first = w.number(w.random.randrange(size), is_index=True)
    if w.chance(0.3):
        given = f"%a{len(w.inputs)}"
        w.parameters.append((given, "memref<?xf32>"))
        w.inputs.append(w.contents((size,), "f32"))
        w.emit(f"{found} = memref.load {given}[{first}] : memref<?xf32>")
        w.returned.append((found, "f32"))
        return
    w.emit(f"{buffer} = memref.alloc({length}) : memref<?xf32>")
    w.emit(f"{number} = arith.constant 2.5 : f32")
    if w.chance(0.5):
        w.emit(f"memref.store {number}, {buffer}[{first}] : memref<?xf32>")
        w.emit(f"{found} = memref.load {buffer}[{first}] : memref<?xf32>")
    else:
        place = "map = affine_map<()[s0] -> (s0)>"
        w.emit(
            f'"affine.store"({number}, {buffer}, {first}) {{{place}}} : (f32, memref<?xf32>, index)'
            " -> ()"
        )
        w.emit(
            f'{found} = "affine.load"({buffer}, {first}) {{{place}}} : (memref<?xf32>, index)'
            " -> f32"
        )
    w.returned.append((found, "f32"))


OPERATIONS: list[Operation] = [
    branch, call, cast, collapse, concat, contract, convolution, convolution_2d, dimension,
    elementwise, expand, extract, extract_slice, gather, gather_in_body, generate, generic,
    generic, generic, insert, insert_slice, loop, mapped, matmul, memory, named, pack,
    packed_product, pad, rearrange, reduce, reshape, softmax, splat, tosa_binary, tosa_binary,
    tosa_concat, tosa_gather, tosa_matmul, tosa_movement, tosa_movement, tosa_numbers, tosa_reduce,
    tosa_scatter, tosa_select, tosa_unary, unary, unpack, until, windows_in_body,
]  # fmt: skip
"""What a program is made of; what needs more tries stands there more often."""


def program(number: int) -> tuple[str, list[np.ndarray]]:
    """A program, the same one for a number, and its inputs."""
    random = Random(number)
    writer = LyingWriter(random, random.choice([0.0, 0.05, 0.1, 0.2]))
    for _ in range(random.randint(1, 6)):
        random.choice(OPERATIONS)(writer)
    if not writer.pool:
        writer.pick()
    return writer.program(), writer.inputs
