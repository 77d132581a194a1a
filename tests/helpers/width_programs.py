"""Random programs over integers of odd widths, of which several may share a byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random

WIDTHS = (1, 2, 3, 4, 4, 4, 7, 8, 12, 16, 24)
SHAPES = ((), (1,), (3,), (5,), (9,), (13,), (3, 3), (2, 5), (1, 7), (5, 3), (2, 3, 3))
DYNAMIC = -1
DYNAMIC_SIZE = 5
"""What every `?` of an argument is when the program runs."""


@dataclass(frozen=True)
class Value:
    """A tensor, or a number if `shape` is None."""

    name: str
    width: int
    shape: tuple[int, ...] | None = None

    @property
    def type(self) -> str:
        return f"i{self.width}" if self.shape is None else tensor(self.shape, self.width)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many elements there are along each dimension when the program runs."""
        return tuple(DYNAMIC_SIZE if size == DYNAMIC else size for size in self.shape or ())


def tensor(shape: Sequence[int], width: int) -> str:
    extents = ("?x" if size == DYNAMIC else f"{size}x" for size in shape)
    return f"tensor<{''.join(extents)}i{width}>"


def literal(random: Random, width: int) -> str:
    """Any bits, as a signed number."""
    if width == 1:
        return random.choice(("true", "false"))
    return str(random.randrange(-(1 << width - 1), 1 << width - 1))


def index_constants(lines: Sequence[str]) -> list[str]:
    """Definitions of the constants `%c7` that some lines read."""
    numbers = {int(number) for line in lines for number in re.findall(r"%c(\d+)", line)}
    return [f"  %c{number} = arith.constant {number} : index" for number in sorted(numbers)]


DEVICES = tuple(
    f'util.global private @d{number} = #hal.device.target<"local", {{ordinal = {number} : index}},'
    f' [#hal.executable.target<"{backend}", "{backend}-{number}", {{{solver}}}>]> : !hal.device'
    for number, (backend, solver) in enumerate(
        (
            ("vmvx", "iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>"),
            (
                "llvm-cpu",
                'target_triple = "aarch64-x-x", cpu_features = "+i8mm",'
                " iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>",
            ),
        )
    )
)


class WidthProgram:
    """A function @main of tensors and one index. `tensors` and `numbers` are what it has."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._count = 0
        self._depth = 0
        self._lines: list[str] = []
        self._globals: list[Value] = []
        self._head: list[str] = []
        self.arguments: list[Value] = []
        self.tensors: list[Value] = []
        self.numbers: list[Value] = []

    def text(self) -> str:
        """The module."""
        choose = self.random.choice
        for _ in range(self.random.randint(1, 3)):
            shape = choose((*SHAPES, (DYNAMIC,), (DYNAMIC, 3)))
            self.arguments.append(self._fresh(choose(WIDTHS), shape))
        self.tensors += self.arguments
        for _ in range(self.random.randint(4, 12)):
            self._step()
        results = [choose(self.tensors), *self.tensors[-5:], *self.numbers[-3:]]
        types = ", ".join(value.type for value in results)
        names = ", ".join(value.name for value in results)
        arguments = ", ".join(f"{each.name}: {each.type}" for each in self.arguments)
        lines = [
            *DEVICES,
            *self._head,
            f"func.func @main({arguments}, %at: index) -> ({types})"
            " attributes {stream.affinity.default = #hal.device.affinity<@d0>} {",
            *index_constants(self._lines),
            *(f"  {line}" for line in self._lines),
            f"  return {names} : {types}",
            "}",
        ]
        return "\n".join(lines) + "\n"

    # The parts of operations

    def _fresh(self, width: int, shape: tuple[int, ...] | None = None) -> Value:
        self._count += 1
        return Value(f"%v{self._count}", width, shape)

    def _emit(self, width: int, shape: tuple[int, ...] | None, text: str) -> Value:
        """A new value; `{}` in the text is its type."""
        value = self._fresh(width, shape)
        self._lines.append(f"{value.name} = {text.replace('{}', value.type)}")
        (self.numbers if shape is None else self.tensors).append(value)
        return value

    def _dense(self, shape: Sequence[int], width: int) -> str:
        def nested(sizes: Sequence[int]) -> str:
            if not sizes:
                return literal(self.random, width)
            return f"[{', '.join(nested(sizes[1:]) for _ in range(sizes[0]))}]"

        return f"dense<{nested(shape if self.random.random() < 0.7 else ())}>"

    def _tensor(self, fits: Callable[[Value], bool] = lambda _: True) -> Value:
        """Any tensor that fits, or a new constant if there is none."""
        found = [value for value in self.tensors if fits(value)]
        if found:
            return self.random.choice(found[-6:])
        candidates = (Value("", w, s) for w in WIDTHS for s in SHAPES)
        like = self.random.choice([value for value in candidates if fits(value)])
        return self._constant_of(like.width, like.shape or ())

    def _constant_of(self, width: int, shape: tuple[int, ...]) -> Value:
        return self._emit(width, shape, f"arith.constant {self._dense(shape, width)} : {{}}")

    def _like(self, value: Value) -> Value:
        """A tensor of the same type: a new constant unless there is one."""
        if DYNAMIC in (value.shape or ()):
            return value
        found = [v for v in self.tensors if v.type == value.type and v.name != value.name]
        if found:
            return self.random.choice(found)
        return self._constant_of(value.width, value.shape or ())

    def _number(self, width: int) -> Value:
        found = [value for value in self.numbers if value.width == width]
        if found:
            return self.random.choice(found)
        return self._emit(
            width,
            None,
            f"arith.constant {literal(self.random, width)}" + ("" if width == 1 else " : {}"),
        )

    def _indices(self, value: Value) -> str:
        """Where an element is; the argument is 0 or 1 when the program runs."""
        return ", ".join(
            "%at" if size > 1 and self.random.random() < 0.3 else f"%c{self.random.randrange(size)}"
            for size in value.sizes
        )

    def _ranges(self, value: Value, *, strided: bool) -> tuple[str, tuple[int, ...]]:
        """`[offsets] [sizes] [strides]` of a part, and its sizes."""
        random = self.random
        parts: list[tuple[int, int, int]] = []
        for extent in value.sizes:
            size = random.randint(1, extent)
            stride = random.choice((1, 2)) if strided and 2 * size - 1 <= extent else 1
            parts.append((random.randint(0, extent - (size - 1) * stride - 1), size, stride))
        lists = [list(group) for group in zip(*parts, strict=True)] or [[], [], []]
        return " ".join(map(str, lists)), tuple(size for _, size, _ in parts)

    # Operations

    def _constant(self) -> None:
        self._constant_of(self.random.choice(WIDTHS), self.random.choice(SHAPES))

    def _step(self) -> None:
        operations = (
            self._constant, self._elementwise, self._elementwise, self._convert, self._compare,
            self._extract, self._extract, self._insert, self._insert, self._slice, self._update,
            self._concat, self._reshape, self._fill, self._from_elements, self._pad, self._lookup,
            self._arithmetic, self._variable, self._transpose, self._loop, self._branch,
            self._product, self._reduce, self._bitcast, self._move, self._kernel,
        )  # fmt: skip
        self.random.choice(operations)()

    def _elementwise(self) -> None:
        left = self._tensor()
        right = self._like(left)
        name = self.random.choice(("addi", "subi", "muli", "andi", "xori", "maxsi", "minui"))
        self._emit(left.width, left.shape, f"arith.{name} {left.name}, {right.name} : {{}}")

    def _arithmetic(self) -> None:
        left = self._number(self.random.choice(WIDTHS))
        right = self._number(left.width)
        name = self.random.choice(("addi", "muli", "xori", "maxsi"))
        self._emit(left.width, None, f"arith.{name} {left.name}, {right.name} : {{}}")

    def _convert(self) -> None:
        source: Value = self.random.choice([*self.tensors[-6:], *self.numbers[-3:]])
        width = self.random.choice([w for w in (*WIDTHS, 32) if w != source.width])
        kinds = ("extsi", "extui") if width > source.width else ("trunci",)
        text = f"arith.{self.random.choice(kinds)} {source.name} : {source.type} to {{}}"
        self._emit(width, source.shape, text)

    def _compare(self) -> None:
        left = self._tensor()
        right = self._like(left)
        kind = self.random.choice(("slt", "ult", "eq"))
        text = f"arith.cmpi {kind}, {left.name}, {right.name} : {left.type}"
        chosen = self._emit(1, left.shape, text)
        text = f"arith.select {chosen.name}, {left.name}, {right.name} : {chosen.type}, {{}}"
        self._emit(left.width, left.shape, text)

    def _extract(self) -> None:
        source = self._tensor()
        at = self._indices(source)
        self._emit(source.width, None, f"tensor.extract {source.name}[{at}] : {source.type}")

    def _insert(self) -> None:
        target = self._tensor()
        value = self._number(target.width)
        text = f"tensor.insert {value.name} into {target.name}[{self._indices(target)}] : {{}}"
        self._emit(target.width, target.shape, text)

    def _slice(self) -> None:
        source = self._tensor(lambda value: bool(value.shape))
        ranges, sizes = self._ranges(source, strided=True)
        text = f"tensor.extract_slice {source.name}{ranges} : {source.type} to {{}}"
        self._emit(source.width, sizes, text)

    def _update(self) -> None:
        target = self._tensor(lambda value: bool(value.shape))
        ranges, sizes = self._ranges(target, strided=True)
        part = self._constant_of(target.width, sizes)
        text = f"tensor.insert_slice {part.name} into {target.name}{ranges} : {part.type} into {{}}"
        self._emit(target.width, target.shape, text)

    def _concat(self) -> None:
        left = self._tensor(lambda value: bool(value.shape) and DYNAMIC not in value.shape)
        right = self._like(left)
        assert left.shape is not None
        axis = self.random.randrange(len(left.shape))
        shape = tuple(size * (1 + (i == axis)) for i, size in enumerate(left.shape))
        types = f"({left.type}, {right.type}) -> {{}}"
        text = f"tensor.concat dim({axis}) {left.name}, {right.name} : {types}"
        self._emit(left.width, shape, text)

    def _reshape(self) -> None:
        source = self._tensor(lambda value: bool(value.shape) and DYNAMIC not in value.shape)
        groups = [list(range(len(source.sizes)))]
        flat = self._emit(
            source.width,
            (prod(source.sizes),),
            f"tensor.collapse_shape {source.name} {groups} : {source.type} into {{}}",
        )
        size = prod(source.sizes)
        rows = self.random.choice([n for n in range(1, size + 1) if size % n == 0])
        shape = (rows, size // rows)
        text = f"tensor.expand_shape {flat.name} [[0, 1]] output_shape {list(shape)} "
        self._emit(source.width, shape, f"{text}: {flat.type} into {{}}")

    def _fill(self) -> None:
        value = self._number(self.random.choice(WIDTHS))
        shape = self.random.choice(SHAPES)
        if self.random.random() < 0.5:
            self._emit(value.width, shape, f"tensor.splat {value.name} : {{}}")
            return
        type_ = tensor(shape, value.width)
        empty = self._fresh(value.width, shape)
        self._lines.append(f"{empty.name} = tensor.empty() : {type_}")
        text = f"linalg.fill ins({value.name} : {value.type}) outs({empty.name} : {type_}) -> {{}}"
        self._emit(value.width, shape, text)

    def _from_elements(self) -> None:
        width = self.random.choice(WIDTHS)
        numbers = [self._number(width).name for _ in range(self.random.randint(1, 5))]
        self._emit(width, (len(numbers),), f"tensor.from_elements {', '.join(numbers)} : {{}}")

    def _pad(self) -> None:
        source = self._tensor(lambda value: bool(value.shape) and DYNAMIC not in value.shape)
        value = self._number(source.width)
        low, high = ([self.random.randint(0, 3) for _ in source.sizes] for _ in range(2))
        sizes = zip(source.sizes, low, high, strict=True)
        indices = ", ".join(f"%i{i}: index" for i in range(len(low)))
        text = (
            f"tensor.pad {source.name} low{low} high{high} {{ ^bb0({indices}): "
            f"tensor.yield {value.name} : {value.type} }} : {source.type} to {{}}"
        )
        self._emit(source.width, tuple(map(sum, sizes)), text)

    def _lookup(self) -> None:
        """Elements of one tensor at the places that another one tells."""
        table = self._tensor(lambda value: value.shape is not None and len(value.shape) == 1)
        places = self._tensor(lambda value: bool(value.shape) and DYNAMIC not in value.shape)
        assert places.shape is not None
        rank = len(places.shape)
        dims = ", ".join(f"d{i}" for i in range(rank))
        map_ = f"affine_map<({dims}) -> ({dims})>"
        kinds = ", ".join(['"parallel"'] * rank)
        empty = self._fresh(table.width, places.shape)
        size = self._fresh(0)
        self._lines += [
            f"{empty.name} = tensor.empty() : {empty.type}",
            f"{size.name} = arith.constant {table.sizes[0]} : index",
        ]
        inner = [f"{self._fresh(0).name}" for _ in range(4)]
        text = (
            f"linalg.generic {{indexing_maps = [{map_}, {map_}], iterator_types = [{kinds}]}}"
            f" ins({places.name} : {places.type}) outs({empty.name} : {empty.type}) {{"
            f" ^bb0({inner[0]}: i{places.width}, %o: i{table.width}):"
            f" {inner[1]} = arith.index_castui {inner[0]} : i{places.width} to index"
            f" {inner[2]} = arith.remui {inner[1]}, {size.name} : index"
            f" {inner[3]} = tensor.extract {table.name}[{inner[2]}] : {table.type}"
            f" linalg.yield {inner[3]} : i{table.width} }} -> {{}}"
        )
        self._emit(table.width, places.shape, text)

    def _transpose(self) -> None:
        source = self._tensor(lambda value: value.shape is not None and len(value.shape) == 2)
        assert source.shape is not None
        if DYNAMIC in source.shape:
            return
        empty = self._fresh(source.width, source.shape[::-1])
        self._lines.append(f"{empty.name} = tensor.empty() : {empty.type}")
        result = self._fresh(source.width, source.shape[::-1])
        self._lines.append(
            f"{result.name} = linalg.transpose ins({source.name} : {source.type})"
            f" outs({empty.name} : {empty.type}) permutation = [1, 0]"
        )
        self.tensors.append(result)

    def _product(self) -> None:
        """A matrix product, added up in the same type or in a wider one."""
        left = self._tensor(lambda value: value.shape is not None and len(value.shape) == 2)
        rows, inner = left.shape or ()
        if DYNAMIC in (rows, inner):
            return
        right = self._constant_of(left.width, (inner, self.random.choice((1, 3, 9))))
        width = self.random.choice((left.width, 32))
        start = self._constant_of(width, (rows, right.sizes[1]))
        operands = f"ins({left.name}, {right.name} : {left.type}, {right.type})"
        text = f"linalg.matmul {operands} outs({start.name} : {{}}) -> {{}}"
        self._emit(width, start.shape, text)

    def _reduce(self) -> None:
        source = self._tensor(lambda value: bool(value.shape) and DYNAMIC not in value.shape)
        axis = self.random.randrange(len(source.sizes))
        shape = tuple(size for i, size in enumerate(source.sizes) if i != axis)
        start = self._constant_of(source.width, shape)
        result = self._fresh(source.width, shape)
        name = self.random.choice(("addi", "xori", "maxsi", "minui"))
        self._lines.append(
            f"{result.name} = linalg.reduce {{ arith.{name} }} ins({source.name} : {source.type})"
            f" outs({start.name} : {start.type}) dimensions = [{axis}]"
        )
        self.tensors.append(result)

    def _bitcast(self) -> None:
        """Bits as those of a float, and back."""
        found = [value for value in self.tensors if value.width == 16]
        source = self.random.choice(found) if found else self._constant_of(16, (5,))
        float_ = self.random.choice(("f16", "bf16"))
        there = self._fresh(16, source.shape)
        type_ = source.type.replace("i16", float_)
        self._lines.append(f"{there.name} = arith.bitcast {source.name} : {source.type} to {type_}")
        self._emit(16, source.shape, f"arith.bitcast {there.name} : {type_} to {{}}")

    def _move(self) -> None:
        source = self._tensor(lambda value: DYNAMIC not in (value.shape or ()))
        place = f"#hal.device.affinity<@d{self.random.randrange(2)}>"
        text = f"flow.tensor.transfer {source.name} : {{}} to {place}"
        self._emit(source.width, source.shape, text)

    def _kernel(self) -> None:
        """A dispatch of the program's own, which reads and writes parts of tensors."""
        source = self._tensor(lambda value: bool(value.shape) and DYNAMIC not in value.shape)
        target = self._constant_of(source.width, source.sizes)
        ranges, shape = self._ranges(source, strided=False)
        offsets, sizes, strides = ranges.split("] [")
        part = tensor(shape, source.width)
        dispatch = "!iree_tensor_ext.dispatch.tensor"
        bound = f"offsets = {offsets}], sizes = [{sizes}], strides = [{strides}"
        into = self._count
        text = (
            f"flow.dispatch.workgroups({source.name}, {target.name}) : ({source.type},"
            f" {target.type}) -> {target.name} =\n"
            f"    (%a{into}: {dispatch}<readonly:{source.type}>,"
            f" %b{into}: {dispatch}<readwrite:{target.type}>) {{\n"
            f"    %l{into} = iree_tensor_ext.dispatch.tensor.load %a{into}, {bound}"
            f" : {dispatch}<readonly:{source.type}> -> {part}\n"
            f"    %s{into} = arith.addi %l{into}, %l{into} : {part}\n"
            f"    iree_tensor_ext.dispatch.tensor.store %s{into}, %b{into}, {bound}"
            f" : {part} -> {dispatch}<readwrite:{target.type}>\n"
            f"    flow.return\n  }}"
        )
        value = self._fresh(source.width, source.sizes)
        self._lines.append(f"{value.name} = {text}")
        self.tensors.append(value)

    def _variable(self) -> None:
        """A global: one that changes is stored to, read back, and stored to again."""
        value = self._tensor(lambda value: DYNAMIC not in (value.shape or ()))
        name = f"@g{len(self._head)}"
        contents = self._dense(value.sizes, value.width)
        mutable = self.random.random() < 0.7
        word = "mutable " if mutable else ""
        self._head.append(f"util.global private {word}{name} = {contents} : {value.type}")
        before = self._emit(value.width, value.shape, f"util.global.load {name} : {{}}")
        if mutable:
            self._lines.append(f"util.global.store {value.name}, {name} : {value.type}")
            self._emit(value.width, value.shape, f"util.global.load {name} : {{}}")
            self._lines.append(f"util.global.store {before.name}, {name} : {value.type}")

    def _loop(self) -> None:
        """Carries a tensor and a number, both of which change."""
        if self._depth:
            return
        first = self._tensor()
        number = self._number(first.width)
        carried, held = self._fresh(first.width, first.shape), self._fresh(first.width)
        types = f"{first.type}, {number.type}"
        tensors, numbers = list(self.tensors), list(self.numbers)
        result = self._fresh(first.width, first.shape)
        self._lines.append(
            f"{result.name}:2 = scf.for %i{self._count} = %c0 to %c3 step %c1 iter_args("
            f"{carried.name} = {first.name}, {held.name} = {number.name}) -> ({types}) {{"
        )
        self._depth += 1
        self.tensors.append(carried)
        self.numbers.append(held)
        at = self._indices(carried)
        text = f"tensor.extract {carried.name}[{at}] : {carried.type}"
        read = self._emit(first.width, None, text)
        total = self._emit(first.width, None, f"arith.addi {read.name}, {held.name} : {{}}")
        for _ in range(self.random.randint(0, 2)):
            self._step()
        at = self._indices(carried)
        changed = self._emit(
            first.width, first.shape, f"tensor.insert {total.name} into {carried.name}[{at}] : {{}}"
        )
        self._lines += [f"scf.yield {changed.name}, {total.name} : {types}", "}"]
        self._depth -= 1
        self.tensors = [*tensors, Value(f"{result.name}#0", first.width, first.shape)]
        self.numbers = [*numbers, Value(f"{result.name}#1", first.width)]

    def _branch(self) -> None:
        if self._depth:
            return
        left = self._tensor()
        right = self._like(left)
        flag = self._number(1)
        result = self._fresh(left.width, left.shape)
        self._lines += [
            f"{result.name} = scf.if {flag.name} -> ({left.type}) {{",
            f"scf.yield {left.name} : {left.type}",
            "} else {",
            f"scf.yield {right.name} : {left.type}",
            "}",
        ]
        self.tensors.append(result)
