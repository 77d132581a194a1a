"""Random slices, joins and the like of split tensors: shards are fetched from where they are."""

from __future__ import annotations

import random

import numpy as np
import pytest
from breadth import cases, sampled
from mesh_opt import api
from mesh_opt.interpreter.run import run, run_partitioned
from mesh_opt.passes.registry import all_passes
from mesh_opt.sharding.grid import Grid
from mesh_opt.tools.driver import new_context
from parsing import parse_program
from xdsl.dialects.builtin import ModuleOp


def applied(module: ModuleOp, name: str) -> ModuleOp:
    all_passes()[name]()().apply(new_context(), module)
    module.verify()
    return module


class Program:
    """A chain of shifting operations on one tensor."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.grid = self._random.choice([(2,), (3,), (4,), (2, 2), (2, 3)])
        self.shape = [self._random.randint(1, 14) for _ in range(self._random.randint(1, 3))]
        self._lines: list[str] = []
        self._first = self._type(self.shape)
        self._current, self._extents = "%x", list(self.shape)
        self._annotate()
        for _ in range(self._random.randint(1, 4)):
            self._random.choice(
                [
                    self._slice,
                    self._pad,
                    self._insert,
                    self._join,
                    self._concatenate,
                    self._reverse,
                    self._interleave,
                    self._elementwise,
                    self._annotate,
                ]
            )()

    @staticmethod
    def _type(shape: list[int]) -> str:
        return f"tensor<{'x'.join(map(str, [*shape, 'f32']))}>"

    def _name(self) -> str:
        return f"%v{len(self._lines)}"

    def _add(self, line: str, shape: list[int]) -> None:
        name = self._name()
        self._lines.append(f"  {name} = {line}")
        self._current, self._extents = name, shape

    def _annotate(self) -> None:
        axes = list(range(len(self.grid)))
        self._random.shuffle(axes)
        lists: list[list[int]] = [[] for _ in self._extents]
        for axis in axes:
            if self._random.random() < 0.8:
                self._random.choice(lists).append(axis)
        sharding = self._name()
        self._lines.append(
            f"  {sharding} = shard.sharding @g split_axes = {lists} : !shard.sharding"
        )
        users = " annotate_for_users" if self._random.random() < 0.5 else ""
        line = f"shard.shard {self._current} to {sharding}{users} : {self._type(self._extents)}"
        self._add(line, self._extents)

    def _elementwise(self) -> None:
        self._add(f"math.absf {self._current} : {self._type(self._extents)}", self._extents)

    def _slice(self) -> None:
        offsets: list[int] = []
        sizes: list[int] = []
        strides: list[int] = []
        for extent in self._extents:
            stride = self._random.choice([1, 1, 1, 2, 3])
            offset = self._random.choice([0, self._random.randrange(extent)])
            sizes.append(self._random.randint(1, (extent - offset - 1) // stride + 1))
            offsets.append(offset)
            strides.append(stride)
        line = (
            f"tensor.extract_slice {self._current}{offsets} {sizes} {strides} : "
            f"{self._type(self._extents)} to {self._type(sizes)}"
        )
        self._add(line, sizes)

    def _pad(self) -> None:
        low = [self._random.choice([0, 0, 1, 3]) for _ in self._extents]
        high = [self._random.choice([0, 0, 1, 5]) for _ in self._extents]
        shape = [a + size + b for a, size, b in zip(low, self._extents, high, strict=True)]
        arguments = ", ".join(f"%i{d}: index" for d in range(len(shape)))
        line = (
            f"tensor.pad {self._current} low{low} high{high} {{\n  ^bb0({arguments}):\n"
            "    %n = arith.index_cast %i0 : index to i32\n"
            "    %p = arith.sitofp %n : i32 to f32\n    tensor.yield %p : f32\n"
            f"  }} : {self._type(self._extents)} to {self._type(shape)}"
        )
        self._add(line, shape)

    def _insert(self) -> None:
        """Put a slice of the tensor, or a row of it without that dimension, into it."""
        sizes = [self._random.choice([1, extent]) for extent in self._extents]
        sizes = [self._random.randint(1, size) for size in sizes]
        limits = [extent - size for extent, size in zip(self._extents, sizes, strict=True)]
        drops = len(sizes) > 1 and 1 in sizes and self._random.random() < 0.5
        source = list(sizes)
        if drops:
            source.remove(1)
        origins = [self._random.randint(0, limit) for limit in limits]
        targets = [str(self._random.randint(0, limit)) for limit in limits]
        ones = [1] * len(sizes)
        whole, into = self._current, self._type(self._extents)
        self._add(
            f"tensor.extract_slice {whole}{origins} {sizes} {ones} : "
            f"{into} to {self._type(source)}",
            self._extents,
        )
        piece = self._current
        for place, limit in enumerate(limits):
            if limit and self._random.random() < 0.4:
                targets[place] = f"%c{self._random.randint(0, limit)}"
        self._add(
            f"tensor.insert_slice {piece} into {whole}[{', '.join(targets)}] {sizes} {ones} : "
            f"{self._type(source)} into {into}",
            self._extents,
        )

    def _join(self) -> None:
        """Put a slice of the tensor behind the tensor, or before it, as JAX lowers that."""
        before, shape = self._current, self._extents
        along = self._random.randrange(len(shape))
        self._slice_along(along)
        pieces = [(before, shape), (self._current, self._extents)]
        self._random.shuffle(pieces)
        (first, left), (second, right) = pieces
        result = list(shape)
        result[along] = left[along] + right[along]
        name, kind = f"%e{len(self._lines)}", self._type(result)
        dims = ", ".join(f"d{d}" for d in range(len(shape)))
        parallel = ", ".join(['"parallel"'] * len(shape))
        places = [f"%i{d}" for d in range(len(shape))]
        shifted = [*places]
        shifted[along] = "%k"
        self._lines.append(f"  {name} = tensor.empty() : {kind}")
        indices = "\n".join(f"    %i{d} = linalg.index {d} : index" for d in range(len(shape)))
        self._add(
            f"linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>], "
            f"iterator_types = [{parallel}]}} outs({name} : {kind}) {{\n  ^bb0(%out: f32):\n"
            f"{indices}\n    %p = arith.cmpi ult, %i{along}, %c{left[along]} : index\n"
            "    %v = scf.if %p -> (f32) {\n"
            f"      %a = tensor.extract {first}[{', '.join(places)}] : {self._type(left)}\n"
            "      scf.yield %a : f32\n    } else {\n"
            f"      %k = arith.subi %i{along}, %c{left[along]} : index\n"
            f"      %b = tensor.extract {second}[{', '.join(shifted)}] : {self._type(right)}\n"
            f"      scf.yield %b : f32\n    }}\n    linalg.yield %v : f32\n  }} -> {kind}",
            result,
        )

    def _concatenate(self) -> None:
        """Put a slice of the tensor behind the tensor, or before it."""
        before, shape = self._current, self._extents
        along = self._random.randrange(len(shape))
        self._slice_along(along)
        pieces = [(before, shape), (self._current, self._extents)]
        self._random.shuffle(pieces)
        result = list(shape)
        result[along] += self._extents[along]
        names = ", ".join(name for name, _ in pieces)
        types = ", ".join(self._type(extents) for _, extents in pieces)
        kind = self._type(result)
        dialect = self._random.choice(
            [
                f"tensor.concat dim({along}) {names}",
                f"tosa.concat {names} {{axis = {along} : i32}}",
            ]
        )
        self._add(f"{dialect} : ({types}) -> {kind}", result)

    def _reverse(self) -> None:
        along, kind = self._random.randrange(len(self._extents)), self._type(self._extents)
        if self._random.random() < 0.5:
            line = f"tosa.reverse {self._current} {{axis = {along} : i32}} : ({kind}) -> {kind}"
            self._add(line, self._extents)
            return
        name = f"%e{len(self._lines)}"
        self._lines.append(f"  {name} = tensor.empty() : {kind}")
        dims = [f"d{d}" for d in range(len(self._extents))]
        read = [*dims]
        read[along] = f"{self._extents[along] - 1} - d{along}"
        maps = [f"affine_map<({', '.join(dims)}) -> ({', '.join(each)})>" for each in (read, dims)]
        parallel = ", ".join(['"parallel"'] * len(dims))
        self._add(
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{parallel}]}}"
            f" ins({self._current} : {kind}) outs({name} : {kind}) {{\n  ^bb0(%a: f32, %b: f32):\n"
            f"    linalg.yield %a : f32\n  }} -> {kind}",
            self._extents,
        )

    def _interleave(self) -> None:
        """Write the tensor to every second place of a larger one."""
        along = self._random.randrange(len(self._extents))
        shape, strides = list(self._extents), [1] * len(self._extents)
        offsets = [0] * len(shape)
        offsets[along], strides[along] = self._random.randint(0, 2), 2
        shape[along] = offsets[along] + 2 * shape[along] + self._random.randint(0, 2)
        name, kind = f"%e{len(self._lines)}", self._type(shape)
        self._lines.append(f"  {name} = arith.constant dense<-1.0> : {kind}")
        self._add(
            f"tensor.insert_slice {self._current} into {name}{offsets} {self._extents} {strides} : "
            f"{self._type(self._extents)} into {kind}",
            shape,
        )

    def _slice_along(self, dimension: int) -> None:
        size = self._random.randint(1, self._extents[dimension])
        offsets, sizes = [0] * len(self._extents), list(self._extents)
        offsets[dimension] = self._random.randint(0, self._extents[dimension] - size)
        sizes[dimension] = size
        self._add(
            f"tensor.extract_slice {self._current}{offsets} {sizes} {[1] * len(sizes)} : "
            f"{self._type(self._extents)} to {self._type(sizes)}",
            sizes,
        )

    def text(self, grid: str | None = None) -> str:
        shape = grid or "x".join(map(str, self.grid))
        result = self._type(self._extents)
        return "\n".join(
            [
                f"shard.grid @g(shape = {shape})",
                f"func.func @f(%x: {self._first}) -> {result} {{",
                *(f"  %c{n} = arith.constant {n} : index" for n in range(200)),
                *self._lines,
                f"  return {self._current} : {result}",
                "}",
            ]
        )


@pytest.mark.parametrize("seed", cases(3, 60))
def test_partitioned(seed: int) -> None:
    program = Program(seed)
    text = program.text()
    inputs = [np.random.default_rng(seed).standard_normal(program.shape).astype(np.float32)]
    expected = run(parse_program(text), "f", inputs)
    for name in ("spmd", "shard-partition"):
        module = applied(parse_program(text), name)
        found = run_partitioned(module, "f", inputs)
        np.testing.assert_array_equal(found[0], expected[0], err_msg=text)
    sized = "x".join("?" * len(program.grid))
    module = applied(parse_program(program.text(sized)), "spmd")
    found = run_partitioned(module, "f", inputs, Grid("g", program.grid))
    np.testing.assert_array_equal(found[0], expected[0], err_msg=text)


@pytest.mark.parametrize("seed", sampled(range(60, 75), 3))
def test_compiled(seed: int) -> None:
    program = Program(seed)
    text = program.text()
    inputs = [np.random.default_rng(seed).standard_normal(program.shape).astype(np.float32)]
    expected = run(parse_program(text), "f", inputs)
    found = api.compile(text, "compile")["f"].run(inputs, "native")
    np.testing.assert_array_equal(found[0], expected[0], err_msg=text)


PENDING = """
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %columns = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %pending = shard.sharding @g split_axes = [[1], []] partial = sum[0] : !shard.sharding
  %finished = shard.sharding @g split_axes = [[1], []] : !shard.sharding
  %xs = shard.shard %x to %columns annotate_for_users : tensor<8x16xf32>
  %ws = shard.shard %w to %rows annotate_for_users : tensor<16x8xf32>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = linalg.matmul ins(%xs, %ws : tensor<8x16xf32>, tensor<16x8xf32>)
    outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %ms = shard.shard %m to %pending : tensor<8x8xf32>
  OPERATION
  %rs = shard.shard %r to %finished : tensor<4x8xf32>
  return %rs : tensor<4x8xf32>
}
"""


@pytest.mark.parametrize(
    "operation",
    [
        "%r = tensor.extract_slice %ms[1, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>",
        "%r = tensor.extract_slice %ms[0, 0] [4, 8] [2, 1] : tensor<8x8xf32> to tensor<4x8xf32>",
        "%s = tensor.extract_slice %ms[5, 0] [1, 8] [1, 1] : tensor<8x8xf32> to tensor<8xf32>\n"
        "  %a = tensor.extract_slice %ms[2, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>\n"
        "  %r = tensor.insert_slice %s into %a[3, 0] [1, 8] [1, 1]"
        " : tensor<8xf32> into tensor<4x8xf32>",
        "%a = tensor.extract_slice %ms[2, 0] [2, 8] [1, 1] : tensor<8x8xf32> to tensor<2x8xf32>\n"
        "  %r = tensor.pad %a low[1, 0] high[1, 0] {\n  ^bb0(%i: index, %j: index):\n"
        "    %one = arith.constant 1.0 : f32\n    tensor.yield %one : f32\n"
        "  } : tensor<2x8xf32> to tensor<4x8xf32>",
    ],
    ids=["slice", "stride", "insert", "pad"],
)
@pytest.mark.parametrize("name", ["shard-partition", "spmd"])
def test_a_pending_reduction(name: str, operation: str) -> None:
    text = PENDING.replace("OPERATION", operation)
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(shape).astype(np.float32) for shape in ((8, 16), (16, 8))]
    expected = run(parse_program(text), "f", inputs)
    found = run_partitioned(applied(parse_program(text), name), "f", inputs)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("index", ["%k = arith.addi %c, %i", "%k = arith.subi %i, %c"])
def test_a_read_at_a_loop_plus_nothing(index: str) -> None:
    """The part of the loop is what is read, and its first element is the first of the part."""
    text = f"""
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {{
  %c = arith.constant 0 : index
  %one = arith.constant 1 : index
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %xs = shard.shard %x to %s : tensor<4x3xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}} outs(%e : tensor<4x2xf32>) {{
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    {index} : index
    %j = linalg.index 1 : index
    %l = arith.addi %j, %one : index
    %v = tensor.extract %xs[%k, %l] : tensor<4x3xf32>
    linalg.yield %v : f32
  }} -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}}"""
    module = applied(parse_program(text), "spmd")
    assert all(not op.name.startswith("shard.all_") for op in module.walk())
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(run_partitioned(module, "f", [values])[0], values[:, 1:])
