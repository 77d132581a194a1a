"""Operations on tensors that random programs are made of."""

from __future__ import annotations

from hypothesis import strategies as st
from program_table import often, operation
from program_writer import SIZES, Value, Writer


@operation
def unary(w: Writer) -> None:
    value = w.pick(w.draw([1, 2, 2, 3]))
    name = w.draw(["math.absf", "math.tanh", "arith.negf", "tosa.abs", "tosa.tanh"])
    result = Value(w.fresh(), value.shape)
    if name.startswith("tosa"):
        w.emit(f"{result.name} = {name} {value.name} : ({value.type}) -> {value.type}")
    else:
        w.emit(f"{result.name} = {name} {value.name} : {value.type}")
    w.done(result)


@operation
def binary(w: Writer) -> None:
    left = w.pick()
    same = [v for v in w.pool if v.shape == left.shape and v.element == left.element]
    right = w.draw([*same, left])
    name = w.draw(["arith.addf", "arith.mulf", "arith.subf", "arith.maximumf"])
    result = Value(w.fresh(), left.shape)
    w.emit(f"{result.name} = {name} {left.name}, {right.name} : {left.type}")
    w.done(result)


@operation
def bias(w: Writer) -> None:
    value = w.annotate(w.pick(2))
    bias = w.argument((value.shape[1],))
    result = Value(w.fresh(), value.shape)
    empty = Value(w.fresh(), value.shape)
    w.emit(f"{empty.name} = tensor.empty() : {empty.type}")
    w.emit(
        f"{result.name} = linalg.generic {{indexing_maps = [affine_map<(i,j)->(i,j)>, "
        "affine_map<(i,j)->(j)>, affine_map<(i,j)->(i,j)>], iterator_types = "
        f'["parallel","parallel"]}} ins({value.name}, {bias.name} : {value.type}, '
        f"{bias.type}) outs({empty.name} : {empty.type}) {{"
    )
    w.emit("^bb0(%a: f64, %b: f64, %c: f64):")
    w.emit("  %i = linalg.index 0 : index")
    w.emit("  %k = arith.index_cast %i : index to i64")
    w.emit("  %f = arith.sitofp %k : i64 to f64")
    w.emit("  %s = arith.addf %a, %b : f64")
    w.emit("  %t = arith.addf %s, %f : f64")
    w.emit("  linalg.yield %t : f64")
    w.emit(f"}} -> {result.type}")
    w.done(result)


@often
def matmul(w: Writer) -> None:
    left = w.annotate(w.pick(2))
    columns = w.draw(SIZES)
    right = w.argument((left.shape[1], columns))
    out = w.start((left.shape[0], columns))
    result = Value(w.fresh(), out.shape)
    w.emit(
        f"{result.name} = linalg.matmul ins({left.name}, {right.name} : {left.type}, "
        f"{right.type}) outs({out.name} : {out.type}) -> {result.type}"
    )
    w.done(result)


@often
def reduce(w: Writer) -> None:
    element = w.draw(["f64", "f64", "i32"])
    value = w.annotate(w.pick(w.draw([1, 2, 3]), element))
    if element == "f64":
        names = ["addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"]
    else:
        names = "addi muli maxsi minsi maxui minui andi ori xori".split()
    name = w.draw(names)
    dimensions = sorted(w.data.draw(st.sets(st.integers(0, len(value.shape) - 1), min_size=1)))
    kept = tuple(s for d, s in enumerate(value.shape) if d not in dimensions)
    out = w.start(kept, element)
    result = Value(w.fresh(), kept, element)
    w.emit(
        f"{result.name} = linalg.reduce {{ arith.{name} }} ins({value.name} : {value.type}) "
        f"outs({out.name} : {out.type}) dimensions = {dimensions}"
    )
    w.done(result)


@often
def two_results(w: Writer) -> None:
    """A sum and a maximum in one body, or an arg-max."""
    value = w.annotate(w.pick(2))
    rows = (value.shape[0],)
    one = w.start(rows)
    arg_max = w.chance(2)
    element = "index" if arg_max else "f64"
    two = w.filled(rows, "0", "index") if arg_max else w.start(rows)
    first, second = Value(w.fresh(), rows), Value(w.fresh(), rows, element)
    pair = w.fresh()
    w.emit(
        f"{pair}:2 = linalg.generic {{indexing_maps = [affine_map<(i,j)->(i,j)>, "
        "affine_map<(i,j)->(i)>, affine_map<(i,j)->(i)>], iterator_types = "
        f'["parallel","reduction"]}} ins({value.name} : {value.type}) outs({one.name}, '
        f"{two.name} : {one.type}, {two.type}) {{"
    )
    w.emit(f"^bb0(%a: f64, %b: f64, %c: {element}):")
    if arg_max:
        w.emit("  %j = linalg.index 1 : index")
        w.emit("  %p = arith.cmpf ogt, %a, %b : f64")
        w.emit("  %s = arith.select %p, %a, %b : f64")
        w.emit("  %t = arith.select %p, %j, %c : index")
    else:
        w.emit("  %s = arith.addf %b, %a : f64")
        w.emit("  %t = arith.maximumf %c, %a : f64")
    w.emit(f"  linalg.yield %s, %t : f64, {element}")
    w.emit(f"}} -> ({first.type}, {second.type})")
    w.done(Value(f"{pair}#0", rows))
    w.pool.append(Value(f"{pair}#1", rows, element))


@operation
def transpose(w: Writer) -> None:
    value = w.pick(w.draw([2, 3]))
    order = w.data.draw(st.permutations(range(len(value.shape))))
    out = Value(w.fresh(), tuple(value.shape[d] for d in order))
    result = Value(w.fresh(), out.shape)
    w.emit(f"{out.name} = tensor.empty() : {out.type}")
    w.emit(
        f"{result.name} = linalg.transpose ins({value.name} : {value.type}) outs({out.name} : "
        f"{out.type}) permutation = {list(order)}"
    )
    w.done(result)


@operation
def collapse(w: Writer) -> None:
    value = w.pick(w.draw([2, 3]))
    at = w.data.draw(st.integers(0, len(value.shape) - 2))
    shape = (
        *value.shape[:at],
        value.shape[at] * value.shape[at + 1],
        *value.shape[at + 2 :],
    )
    groups = [[d] for d in range(at)] + [[at, at + 1]]
    groups += [[d] for d in range(at + 2, len(value.shape))]
    result = Value(w.fresh(), shape)
    w.emit(
        f"{result.name} = tensor.collapse_shape {value.name} {groups} : {value.type} into "
        f"{result.type}"
    )
    w.done(result)


@operation
def expand(w: Writer) -> None:
    value = w.pick(w.draw([1, 2]))
    at = w.data.draw(st.integers(0, len(value.shape) - 1))
    size = value.shape[at]
    major = w.draw([d for d in range(1, size + 1) if size % d == 0])
    shape = (*value.shape[:at], major, size // major, *value.shape[at + 1 :])
    groups = [[d] for d in range(at)] + [[at, at + 1]]
    groups += [[d + 1] for d in range(at + 1, len(value.shape))]
    result = Value(w.fresh(), shape)
    w.emit(
        f"{result.name} = tensor.expand_shape {value.name} {groups} output_shape "
        f"{list(shape)} : {value.type} into {result.type}"
    )
    w.done(result)


@operation
def slice_(w: Writer) -> None:
    value = w.pick(w.draw([1, 2, 2, 3]))
    offsets: list[int] = []
    sizes: list[int] = []
    strides: list[int] = []
    for extent in value.shape:
        if w.chance(2):
            offset = w.data.draw(st.integers(0, extent - 1))
            stride = w.data.draw(st.integers(1, 2))
            size = w.data.draw(st.integers(1, (extent - offset - 1) // stride + 1))
        else:
            offset, size, stride = 0, extent, 1
        offsets.append(offset)
        sizes.append(size)
        strides.append(stride)
    result = Value(w.fresh(), tuple(sizes))
    w.emit(
        f"{result.name} = tensor.extract_slice {value.name}{offsets} {sizes} {strides} : "
        f"{value.type} to {result.type}"
    )
    w.done(result)


@operation
def pad(w: Writer) -> None:
    value = w.pick(w.draw([1, 2, 2, 3]))
    low = [w.draw([0, 0, 1]) for _ in value.shape]
    high = [w.draw([0, 0, 2]) for _ in value.shape]
    shape = tuple(
        size + before + after for size, before, after in zip(value.shape, low, high, strict=True)
    )
    result = Value(w.fresh(), shape)
    names = ", ".join(f"%x{d}: index" for d in range(len(shape)))
    w.emit(f"{result.name} = tensor.pad {value.name} low{low} high{high} {{")
    w.emit(f"^bb0({names}):")
    w.emit("  %k = arith.index_cast %x0 : index to i64")
    w.emit("  %f = arith.sitofp %k : i64 to f64")
    w.emit("  tensor.yield %f : f64")
    w.emit(f"}} : {value.type} to {result.type}")
    w.done(result)


@operation
def concat(w: Writer) -> None:
    value = w.pick(w.draw([1, 2, 2, 3]))
    axis = w.data.draw(st.integers(0, len(value.shape) - 1))
    shape = tuple(2 * s if d == axis else s for d, s in enumerate(value.shape))
    same = [v for v in w.pool if v.shape == value.shape and v.element == "f64"]
    other = w.draw([*same, value])
    result = Value(w.fresh(), shape)
    w.emit(
        f"{result.name} = tensor.concat dim({axis}) {value.name}, {other.name} : "
        f"({value.type}, {other.type}) -> {result.type}"
    )
    w.done(result)


@operation
def stencil(w: Writer) -> None:
    """A one-dimensional convolution, or a two-dimensional one with strides and dilations."""
    if w.chance(2):
        value = w.pick(1)
        width = w.draw([w for w in (1, 2, 3) if w <= value.shape[0]])
        kernel = w.argument((width,))
        out = w.start((value.shape[0] - width + 1,))
        result = Value(w.fresh(), out.shape)
        w.emit(
            f"{result.name} = linalg.conv_1d ins({value.name}, {kernel.name} : {value.type}, "
            f"{kernel.type}) outs({out.name} : {out.type}) -> {result.type}"
        )
        w.done(result)
        return
    stride, dilation, width = w.draw([1, 2]), w.draw([1, 2]), w.draw([1, 2, 3])
    rows, columns = w.draw([1, 2, 4, 5]), w.draw([1, 3, 4])
    batch, channels, outputs = w.draw([1, 2]), w.draw([1, 2, 4]), w.draw([1, 2])
    height = (rows - 1) * stride + (width - 1) * dilation + 1
    breadth = (columns - 1) * stride + (width - 1) * dilation + 1
    value = w.argument((batch, height, breadth, channels))
    kernel = w.argument((width, width, channels, outputs))
    out = w.start((batch, rows, columns, outputs))
    result = Value(w.fresh(), out.shape)
    w.emit(
        f"{result.name} = linalg.conv_2d_nhwc_hwcf {{dilations = dense<{dilation}> : "
        f"tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}} ins({value.name}, "
        f"{kernel.name} : {value.type}, {kernel.type}) outs({out.name} : {out.type}) -> "
        f"{result.type}"
    )
    w.done(result)


@operation
def insert(w: Writer) -> None:
    """A slice written into a tensor, whole in some dimensions."""
    value = w.pick(w.draw([1, 2, 3]))
    offsets: list[int] = []
    sizes: list[int] = []
    for extent in value.shape:
        size = w.data.draw(st.integers(1, extent)) if w.chance(2) else extent
        offsets.append(w.data.draw(st.integers(0, extent - size)))
        sizes.append(size)
    piece = w.argument(tuple(sizes))
    result = Value(w.fresh(), value.shape)
    ones = [1] * len(sizes)
    w.emit(
        f"{result.name} = tensor.insert_slice {piece.name} into {value.name}{offsets} {sizes} "
        f"{ones} : {piece.type} into {value.type}"
    )
    w.done(result)


@operation
def batch_matmul(w: Writer) -> None:
    left = w.pick(3)
    batch, rows, inner = left.shape
    right = w.argument((batch, inner, w.draw(SIZES)))
    out = w.start((batch, rows, right.shape[2]))
    result = Value(w.fresh(), out.shape)
    w.emit(
        f"{result.name} = linalg.batch_matmul ins({left.name}, {right.name} : {left.type}, "
        f"{right.type}) outs({out.name} : {out.type}) -> {result.type}"
    )
    w.done(result)


@operation
def pooling(w: Writer) -> None:
    """A pooling whose window may reach into the neighbours' rows, NHWC or NCHW."""
    kind = w.draw(["nhwc_sum", "nhwc_max", "nchw_sum", "nchw_max"])
    stride, width = w.draw([1, 2, 3]), w.draw([1, 2, 3])
    rows, columns = w.draw([1, 2, 4, 6]), w.draw([1, 3])
    batch, channels = w.draw([1, 2, 3]), w.draw([1, 2, 4])
    height, breadth = (rows - 1) * stride + width, (columns - 1) * stride + width
    if kind.startswith("nhwc"):
        shapes = (batch, height, breadth, channels), (batch, rows, columns, channels)
    else:
        shapes = (batch, channels, height, breadth), (batch, channels, rows, columns)
    value, out = w.argument(shapes[0]), w.start(shapes[1])
    window = Value(w.fresh(), (width, width))
    w.emit(f"{window.name} = tensor.empty() : {window.type}")
    result = Value(w.fresh(), out.shape)
    w.emit(
        f"{result.name} = linalg.pooling_{kind} {{dilations = dense<1> : tensor<2xi64>, strides = "
        f"dense<{stride}> : tensor<2xi64>}} ins({value.name}, {window.name} : {value.type}, "
        f"{window.type}) outs({out.name} : {out.type}) -> {result.type}"
    )
    w.done(result)


@often
def look_up(w: Writer) -> None:
    """Rows of a table that the body reads from outside, and a generated tensor."""
    table = w.annotate(w.pick(2))
    rows, columns = w.draw(SIZES), table.shape[1]
    indices = Value(w.fresh(), (rows,), "index")
    places = [w.data.draw(st.integers(0, table.shape[0] - 1)) for _ in range(rows)]
    w.emit(f"{indices.name} = arith.constant dense<{places}> : {indices.type}")
    indices = w.annotate(indices)
    empty = Value(w.fresh(), (rows, columns))
    result = Value(w.fresh(), (rows, columns))
    w.emit(f"{empty.name} = tensor.empty() : {empty.type}")
    w.emit(
        f"{result.name} = linalg.generic {{indexing_maps = [affine_map<(i,j)->(i)>, "
        'affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} '
        f"ins({indices.name} : {indices.type}) outs({empty.name} : {empty.type}) {{"
    )
    w.emit("^bb0(%a: index, %c: f64):")
    w.emit("  %j = linalg.index 1 : index")
    w.emit(f"  %e = tensor.extract {table.name}[%a, %j] : {table.type}")
    w.emit("  linalg.yield %e : f64")
    w.emit(f"}} -> {result.type}")
    w.done(result)


@operation
def generate(w: Writer) -> None:
    shape = (w.draw(SIZES), w.draw(SIZES))
    result = Value(w.fresh(), shape)
    w.emit(f"{result.name} = tensor.generate {{")
    w.emit("^bb0(%i: index, %j: index):")
    w.emit("  %k = arith.muli %i, %j : index")
    w.emit("  %l = arith.addi %k, %i : index")
    w.emit("  %m = arith.index_cast %l : index to i64")
    w.emit("  %f = arith.sitofp %m : i64 to f64")
    w.emit("  tensor.yield %f : f64")
    w.emit(f"}} : {result.type}")
    w.done(result)


@operation
def tosa_reduce(w: Writer) -> None:
    value = w.pick(w.draw([1, 2, 3]))
    axis = w.data.draw(st.integers(0, len(value.shape) - 1))
    shape = tuple(1 if d == axis else s for d, s in enumerate(value.shape))
    result = Value(w.fresh(), shape)
    name = w.draw(["reduce_sum", "reduce_max", "reduce_min", "reduce_product"])
    w.emit(
        f"{result.name} = tosa.{name} {value.name} {{axis = {axis} : i32}} : ({value.type}) -> "
        f"{result.type}"
    )
    w.done(result)


@operation
def tosa_broadcast(w: Writer) -> None:
    """An operand of extent 1 where the other has more."""
    value = w.pick(w.draw([2, 3]))
    shape = tuple(1 if w.chance(2) else size for size in value.shape)
    other = w.argument(shape)
    result = Value(w.fresh(), value.shape)
    w.emit(
        f"{result.name} = tosa.{w.draw(['add', 'sub', 'maximum'])} {value.name}, {other.name} : "
        f"({value.type}, {other.type}) -> {result.type}"
    )
    w.done(result)


@operation
def tosa_moves(w: Writer) -> None:
    """A transposition, a reversal or a join."""
    value = w.pick(w.draw([2, 3]))
    rank = len(value.shape)
    axis = w.data.draw(st.integers(0, rank - 1))
    kind = w.draw(["transpose", "reverse", "concat"])
    if kind == "transpose":
        order = list(w.data.draw(st.permutations(range(rank))))
        result = Value(w.fresh(), tuple(value.shape[d] for d in order))
        text = f"{value.name} {{perms = array<i32: {', '.join(map(str, order))}>}}"
        types = value.type
    elif kind == "reverse":
        result = Value(w.fresh(), value.shape)
        text, types = f"{value.name} {{axis = {axis} : i32}}", value.type
    else:
        shape = tuple(2 * s if d == axis else s for d, s in enumerate(value.shape))
        result = Value(w.fresh(), shape)
        text = f"{value.name}, {value.name} {{axis = {axis} : i32}}"
        types = f"{value.type}, {value.type}"
    w.emit(f"{result.name} = tosa.{kind} {text} : ({types}) -> {result.type}")
    w.done(result)


@operation
def tosa_reshape(w: Writer) -> None:
    value = w.pick(w.draw([2, 3]))
    flat = 1
    for size in value.shape:
        flat *= size
    major = w.draw([d for d in range(1, flat + 1) if flat % d == 0])
    result = Value(w.fresh(), (major, flat // major))
    shape = w.fresh()
    w.emit(
        f"{shape} = tosa.const_shape {{values = dense<[{major}, {flat // major}]> : "
        "tensor<2xindex>} : () -> !tosa.shape<2>"
    )
    w.emit(
        f"{result.name} = tosa.reshape {value.name}, {shape} : ({value.type}, !tosa.shape<2>) -> "
        f"{result.type}"
    )
    w.done(result)


@operation
def tosa_slice(w: Writer) -> None:
    value = w.pick(2)
    starts: list[int] = []
    sizes: list[int] = []
    for extent in value.shape:
        start = w.data.draw(st.integers(0, extent - 1)) if w.chance(2) else 0
        starts.append(start)
        sizes.append(extent - start)
    names = w.fresh(), w.fresh()
    for name, numbers in zip(names, (starts, sizes), strict=True):
        w.emit(
            f"{name} = tosa.const_shape {{values = dense<{numbers}> : tensor<2xindex>}} : () -> "
            "!tosa.shape<2>"
        )
    result = Value(w.fresh(), tuple(sizes))
    w.emit(
        f"{result.name} = tosa.slice {value.name}, {names[0]}, {names[1]} : ({value.type}, "
        f"!tosa.shape<2>, !tosa.shape<2>) -> {result.type}"
    )
    w.done(result)


@operation
def softmax(w: Writer) -> None:
    value = w.pick(w.draw([1, 2, 3]))
    axis = w.data.draw(st.integers(0, len(value.shape) - 1))
    out, result = Value(w.fresh(), value.shape), Value(w.fresh(), value.shape)
    w.emit(f"{out.name} = tensor.empty() : {out.type}")
    w.emit(
        f"{result.name} = linalg.softmax dimension({axis}) ins({value.name} : {value.type}) "
        f"outs({out.name} : {out.type}) -> {result.type}"
    )
    w.done(result)
