"""Loop nests of `linalg` whose maps, sizes and indices may lie: one writer each."""

from __future__ import annotations

import numpy as np
from lying_writer import LyingWriter


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


# Named operations -----------------------------------------------------------------------------


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
