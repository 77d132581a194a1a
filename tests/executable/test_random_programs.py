"""Random programs with random annotations mean the same after partitioning.

100 programs by default, as many as MESH_OPT_RANDOM_PROGRAMS says otherwise. A failing program is
shrunk, and written to the file that MESH_OPT_FAILING_PROGRAM names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import Program as Loaded
from mesh_opt.interpreter.run import argument_types, find_function, run, run_partitioned
from mesh_opt.passes.registry import all_passes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.parser import Parser

COUNT = int(os.environ.get("MESH_OPT_RANDOM_PROGRAMS", "100"))
FAILING = os.environ.get("MESH_OPT_FAILING_PROGRAM")

GRIDS = [(2,), (3,), (4,), (2, 2), (2, 3), (3, 2), (2, 2, 2), (2, 1, 3), (2, 2, 1, 2)]
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
            place = self.draw([*range(len(shape)), None])
            if place is not None:
                lists[place].append(axis)
        text = ", ".join(str(entry) for entry in lists) or "[]"
        extra = ""
        if self.chance(8) and any(lists):
            offsets: list[int] = []
            for size, entry in zip(shape, lists, strict=True):
                if entry:
                    parts = prod(self.grid[axis] for axis in entry)
                    inner = sorted(self.data.draw(st.integers(0, size)) for _ in range(parts - 1))
                    offsets += [0, *inner, size]
            extra = f" sharded_dims_offsets = {offsets}"
        elif self.chance(8) and any(lists):
            halos: list[int] = []
            for size, entry in zip(shape, lists, strict=True):
                if entry:
                    least = size // prod(self.grid[axis] for axis in entry)
                    halos += [self.data.draw(st.integers(0, min(2, least))) for _ in range(2)]
            extra = f" halo_sizes = {halos}"
        name = self.fresh()
        self.emit(f"{name} = shard.sharding @g split_axes = [{text}]{extra} : !shard.sharding")
        return name

    def annotate(self, value: Value) -> Value:
        """Now and then an annotation or two after a value."""
        for flag in ("", " annotate_for_users"):
            if value.shape and self.chance(4):
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

    # Operations

    def unary(self) -> None:
        value = self.pick()
        name = self.draw(["math.absf", "math.tanh", "arith.negf", "tosa.abs", "tosa.tanh"])
        result = Value(self.fresh(), value.shape)
        if name.startswith("tosa"):
            self.emit(f"{result.name} = {name} {value.name} : ({value.type}) -> {value.type}")
        else:
            self.emit(f"{result.name} = {name} {value.name} : {value.type}")
        self.done(result)

    def binary(self) -> None:
        left = self.pick()
        same = [v for v in self.pool if v.shape == left.shape and v.element == left.element]
        right = self.draw([*same, left])
        name = self.draw(["arith.addf", "arith.mulf", "arith.subf", "arith.maximumf"])
        result = Value(self.fresh(), left.shape)
        self.emit(f"{result.name} = {name} {left.name}, {right.name} : {left.type}")
        self.done(result)

    def bias(self) -> None:
        value = self.pick(2)
        bias = self.argument((value.shape[1],))
        result = Value(self.fresh(), value.shape)
        empty = Value(self.fresh(), value.shape)
        self.emit(f"{empty.name} = tensor.empty() : {empty.type}")
        self.emit(
            f"{result.name} = linalg.generic {{indexing_maps = [affine_map<(i,j)->(i,j)>, "
            "affine_map<(i,j)->(j)>, affine_map<(i,j)->(i,j)>], iterator_types = "
            f'["parallel","parallel"]}} ins({value.name}, {bias.name} : {value.type}, '
            f"{bias.type}) outs({empty.name} : {empty.type}) {{"
        )
        self.emit("^bb0(%a: f64, %b: f64, %c: f64):")
        self.emit("  %i = linalg.index 0 : index")
        self.emit("  %k = arith.index_cast %i : index to i64")
        self.emit("  %f = arith.sitofp %k : i64 to f64")
        self.emit("  %s = arith.addf %a, %b : f64")
        self.emit("  %t = arith.addf %s, %f : f64")
        self.emit("  linalg.yield %t : f64")
        self.emit(f"}} -> {result.type}")
        self.done(result)

    def matmul(self) -> None:
        left = self.pick(2)
        columns = self.draw(SIZES)
        right = self.argument((left.shape[1], columns))
        out = self.start((left.shape[0], columns))
        result = Value(self.fresh(), out.shape)
        self.emit(
            f"{result.name} = linalg.matmul ins({left.name}, {right.name} : {left.type}, "
            f"{right.type}) outs({out.name} : {out.type}) -> {result.type}"
        )
        self.done(result)

    def reduce(self) -> None:
        element = self.draw(["f64", "f64", "i32"])
        value = self.pick(self.draw([1, 2, 3]), element)
        if element == "f64":
            names = ["addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"]
        else:
            names = "addi muli maxsi minsi maxui minui andi ori xori".split()
        name = self.draw(names)
        dimensions = sorted(
            self.data.draw(st.sets(st.integers(0, len(value.shape) - 1), min_size=1))
        )
        kept = tuple(s for d, s in enumerate(value.shape) if d not in dimensions)
        out = self.start(kept, element)
        result = Value(self.fresh(), kept, element)
        self.emit(
            f"{result.name} = linalg.reduce {{ arith.{name} }} ins({value.name} : {value.type}) "
            f"outs({out.name} : {out.type}) dimensions = {dimensions}"
        )
        self.done(result)

    def two_results(self) -> None:
        """A sum and a maximum in one body, or an arg-max."""
        value = self.pick(2)
        rows = (value.shape[0],)
        one = self.start(rows)
        arg_max = self.chance(2)
        element = "index" if arg_max else "f64"
        two = self.filled(rows, "0", "index") if arg_max else self.start(rows)
        first, second = Value(self.fresh(), rows), Value(self.fresh(), rows, element)
        pair = self.fresh()
        self.emit(
            f"{pair}:2 = linalg.generic {{indexing_maps = [affine_map<(i,j)->(i,j)>, "
            "affine_map<(i,j)->(i)>, affine_map<(i,j)->(i)>], iterator_types = "
            f'["parallel","reduction"]}} ins({value.name} : {value.type}) outs({one.name}, '
            f"{two.name} : {one.type}, {two.type}) {{"
        )
        self.emit(f"^bb0(%a: f64, %b: f64, %c: {element}):")
        if arg_max:
            self.emit("  %j = linalg.index 1 : index")
            self.emit("  %p = arith.cmpf ogt, %a, %b : f64")
            self.emit("  %s = arith.select %p, %a, %b : f64")
            self.emit("  %t = arith.select %p, %j, %c : index")
        else:
            self.emit("  %s = arith.addf %b, %a : f64")
            self.emit("  %t = arith.maximumf %c, %a : f64")
        self.emit(f"  linalg.yield %s, %t : f64, {element}")
        self.emit(f"}} -> ({first.type}, {second.type})")
        self.done(Value(f"{pair}#0", rows))
        self.pool.append(Value(f"{pair}#1", rows, element))

    def transpose(self) -> None:
        value = self.pick(self.draw([2, 3]))
        order = self.data.draw(st.permutations(range(len(value.shape))))
        out = Value(self.fresh(), tuple(value.shape[d] for d in order))
        result = Value(self.fresh(), out.shape)
        self.emit(f"{out.name} = tensor.empty() : {out.type}")
        self.emit(
            f"{result.name} = linalg.transpose ins({value.name} : {value.type}) outs({out.name} : "
            f"{out.type}) permutation = {list(order)}"
        )
        self.done(result)

    def collapse(self) -> None:
        value = self.pick(self.draw([2, 3]))
        at = self.data.draw(st.integers(0, len(value.shape) - 2))
        shape = (
            *value.shape[:at],
            value.shape[at] * value.shape[at + 1],
            *value.shape[at + 2 :],
        )
        groups = [[d] for d in range(at)] + [[at, at + 1]]
        groups += [[d] for d in range(at + 2, len(value.shape))]
        result = Value(self.fresh(), shape)
        self.emit(
            f"{result.name} = tensor.collapse_shape {value.name} {groups} : {value.type} into "
            f"{result.type}"
        )
        self.done(result)

    def expand(self) -> None:
        value = self.pick(self.draw([1, 2]))
        at = self.data.draw(st.integers(0, len(value.shape) - 1))
        size = value.shape[at]
        major = self.draw([d for d in range(1, size + 1) if size % d == 0])
        shape = (*value.shape[:at], major, size // major, *value.shape[at + 1 :])
        groups = [[d] for d in range(at)] + [[at, at + 1]]
        groups += [[d + 1] for d in range(at + 1, len(value.shape))]
        result = Value(self.fresh(), shape)
        self.emit(
            f"{result.name} = tensor.expand_shape {value.name} {groups} output_shape "
            f"{list(shape)} : {value.type} into {result.type}"
        )
        self.done(result)

    def slice(self) -> None:
        value = self.pick()
        offsets: list[int] = []
        sizes: list[int] = []
        strides: list[int] = []
        for extent in value.shape:
            if self.chance(2):
                offset = self.data.draw(st.integers(0, extent - 1))
                stride = self.data.draw(st.integers(1, 2))
                size = self.data.draw(st.integers(1, (extent - offset - 1) // stride + 1))
            else:
                offset, size, stride = 0, extent, 1
            offsets.append(offset)
            sizes.append(size)
            strides.append(stride)
        result = Value(self.fresh(), tuple(sizes))
        self.emit(
            f"{result.name} = tensor.extract_slice {value.name}{offsets} {sizes} {strides} : "
            f"{value.type} to {result.type}"
        )
        self.done(result)

    def pad(self) -> None:
        value = self.pick()
        low = [self.draw([0, 0, 1]) for _ in value.shape]
        high = [self.draw([0, 0, 2]) for _ in value.shape]
        shape = tuple(
            size + before + after
            for size, before, after in zip(value.shape, low, high, strict=True)
        )
        result = Value(self.fresh(), shape)
        names = ", ".join(f"%x{d}: index" for d in range(len(shape)))
        self.emit(f"{result.name} = tensor.pad {value.name} low{low} high{high} {{")
        self.emit(f"^bb0({names}):")
        self.emit("  %k = arith.index_cast %x0 : index to i64")
        self.emit("  %f = arith.sitofp %k : i64 to f64")
        self.emit("  tensor.yield %f : f64")
        self.emit(f"}} : {value.type} to {result.type}")
        self.done(result)

    def concat(self) -> None:
        value = self.pick()
        axis = self.data.draw(st.integers(0, len(value.shape) - 1))
        shape = tuple(2 * s if d == axis else s for d, s in enumerate(value.shape))
        same = [v for v in self.pool if v.shape == value.shape and v.element == "f64"]
        other = self.draw([*same, value])
        result = Value(self.fresh(), shape)
        self.emit(
            f"{result.name} = tensor.concat dim({axis}) {value.name}, {other.name} : "
            f"({value.type}, {other.type}) -> {result.type}"
        )
        self.done(result)

    def stencil(self) -> None:
        """A one-dimensional convolution, or a two-dimensional one with strides and dilations."""
        if self.chance(2):
            value = self.pick(1)
            width = self.draw([w for w in (1, 2, 3) if w <= value.shape[0]])
            kernel = self.argument((width,))
            out = self.start((value.shape[0] - width + 1,))
            result = Value(self.fresh(), out.shape)
            self.emit(
                f"{result.name} = linalg.conv_1d ins({value.name}, {kernel.name} : {value.type}, "
                f"{kernel.type}) outs({out.name} : {out.type}) -> {result.type}"
            )
            self.done(result)
            return
        stride, dilation, width = self.draw([1, 2]), self.draw([1, 2]), self.draw([1, 2, 3])
        rows, columns = self.draw([1, 2, 4, 5]), self.draw([1, 3, 4])
        batch, channels, outputs = self.draw([1, 2]), self.draw([1, 2, 4]), self.draw([1, 2])
        height = (rows - 1) * stride + (width - 1) * dilation + 1
        breadth = (columns - 1) * stride + (width - 1) * dilation + 1
        value = self.argument((batch, height, breadth, channels))
        kernel = self.argument((width, width, channels, outputs))
        out = self.start((batch, rows, columns, outputs))
        result = Value(self.fresh(), out.shape)
        self.emit(
            f"{result.name} = linalg.conv_2d_nhwc_hwcf {{dilations = dense<{dilation}> : "
            f"tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}} ins({value.name}, "
            f"{kernel.name} : {value.type}, {kernel.type}) outs({out.name} : {out.type}) -> "
            f"{result.type}"
        )
        self.done(result)

    def loop(self) -> None:
        """A loop that carries a value, with a few operations inside."""
        if self.nested:
            return
        value = self.pick(2)
        names = {name: self.fresh() for name in ("low", "high", "step")}
        for name, number in (("low", 0), ("high", 2), ("step", 1)):
            self.emit(f"{names[name]} = arith.constant {number} : index")
        result = Value(self.fresh(), value.shape)
        carried = Value(self.fresh(), value.shape)
        self.emit(
            f"{result.name} = scf.for {self.fresh()} = {names['low']} to {names['high']} step "
            f"{names['step']} iter_args({carried.name} = {value.name}) -> ({value.type}) {{"
        )
        outer, self.pool, self.nested = self.pool, [*self.pool, carried], True
        inside = self.annotate(carried)
        self.pool.append(inside)
        for _ in range(self.data.draw(st.integers(0, 2))):
            self.operation()
        same = [v for v in self.pool if v.shape == value.shape and v.element == "f64"]
        total = Value(self.fresh(), value.shape)
        self.emit(f"{total.name} = arith.addf {inside.name}, {same[-1].name} : {value.type}")
        total = self.annotate(total)
        self.emit(f"scf.yield {total.name} : {value.type}")
        self.emit("}")
        self.pool, self.nested = outer, False
        self.done(result)

    def branch(self) -> None:
        """A choice by a condition that all processes agree on."""
        if self.nested:
            return
        value = self.pick()
        condition = self.fresh()
        self.emit(f"{condition} = arith.constant {self.draw(['true', 'false'])}")
        result = Value(self.fresh(), value.shape)
        self.emit(f"{result.name} = scf.if {condition} -> ({value.type}) {{")
        outer, self.pool, self.nested = self.pool, list(self.pool), True
        first = Value(self.fresh(), value.shape)
        self.emit(f"{first.name} = math.absf {value.name} : {value.type}")
        first = self.annotate(first)
        self.emit(f"scf.yield {first.name} : {value.type}")
        self.emit("} else {")
        second = self.annotate(value)
        self.emit(f"scf.yield {second.name} : {value.type}")
        self.emit("}")
        self.pool, self.nested = outer, False
        self.done(result)

    def call(self) -> None:
        value = self.pick(2)
        if value.shape != (4, 6) or self.nested:
            return
        result = Value(self.fresh(), value.shape)
        self.emit(
            f"{result.name} = func.call @helper({value.name}) : ({value.type}) -> {value.type}"
        )
        self.done(result)

    def operation(self) -> None:
        kinds = [
            self.unary,
            self.binary,
            self.bias,
            self.matmul,
            self.reduce,
            self.two_results,
            self.transpose,
            self.collapse,
            self.expand,
            self.slice,
            self.pad,
            self.concat,
            self.stencil,
            self.loop,
            self.branch,
            self.call,
        ]
        self.draw(kinds)()


def write_function(writer: Writer, name: str, returned: list[Value], private: str = "") -> str:
    arguments = ", ".join(f"{value.name}: {value.type}" for value in writer.arguments)
    types = ", ".join(value.type for value in returned)
    names = ", ".join(value.name for value in returned)
    body = "\n".join(writer.lines)
    return (
        f"func.func {private}@{name}({arguments}) -> ({types}) {{\n{body}\n"
        f"  func.return {names} : {types}\n}}\n"
    )


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a program with a function @main."""
    data = draw(st.data())
    grid = draw(st.sampled_from(GRIDS))
    helper = Writer(data, grid, prefix="h")
    inside = helper.argument((4, 6))
    made = Value(helper.fresh(), inside.shape)
    helper.emit(f"{made.name} = math.absf {inside.name} : {inside.type}")
    made = helper.annotate(made)
    writer = Writer(data, grid)
    writer.pool.append(writer.argument((4, 6)))
    for _ in range(draw(st.integers(1, 6))):
        writer.operation()
    last = writer.pool[-2:]
    shape = "x".join(map(str, grid))
    return (
        f"shard.grid @g(shape = {shape})\n"
        + write_function(helper, "helper", [made], "private ")
        + write_function(writer, "main", last)
    )


def parse(text: str) -> tuple[Context, ModuleOp]:
    context = Context()
    register_dialects(context)
    module = Parser(context, text).parse_module()
    module.verify()
    return context, module


def random_inputs(module: ModuleOp) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    arrays: list[np.ndarray] = []
    for value_type in argument_types(find_function(Loaded(module), "main")):
        assert isinstance(value_type, TensorType)
        shape = value_type.get_shape()
        if str(value_type.element_type) == "i32":
            arrays.append(generator.integers(-9, 9, shape).astype(np.int32))
        else:
            arrays.append(generator.standard_normal(shape))
    return arrays


def check(text: str, *passes: str) -> None:
    """Partition a program and compare it with itself."""
    context, module = parse(text)
    inputs = random_inputs(module)
    expected = run(module, "main", inputs)
    for name in passes:
        all_passes()[name]()().apply(context, module)
        module.verify()
    printed = str(module)
    _, module = parse(printed)
    for got, wanted in zip(run_partitioned(module, "main", inputs), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9, err_msg=printed)


@settings(
    max_examples=COUNT,
    deadline=None,
    database=None,
    derandomize=COUNT <= 100,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
@pytest.mark.parametrize(
    "passes",
    [("spmd",), ("shard-partition",)],
    ids=["spmd", "partition alone"],
)
def test_random_programs(passes: tuple[str, ...], text: str) -> None:
    try:
        check(text, *passes)
    except Exception:
        note(text)
        if FAILING:
            Path(FAILING).write_text(text)
        raise
