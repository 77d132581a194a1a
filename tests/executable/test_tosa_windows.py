"""Random convolutions and poolings of tosa on split images: windows, channels and batches."""

from __future__ import annotations

import random

import numpy as np
import pytest
from breadth import cases
from mesh_opt import api
from mesh_opt.interpreter.run import run, run_partitioned
from mesh_opt.passes.registry import all_passes
from mesh_opt.passes.sharding.shard_partition import ShardPartitionPass
from mesh_opt.passes.sharding.sharding_propagation import ShardingPropagationPass
from mesh_opt.runtime.abi.arrays import Array
from mesh_opt.runtime.abi.errors import ExecutionError
from mesh_opt.sharding.grid import Grid
from mesh_opt.tools.driver import new_context
from parsing import parse_program
from xdsl.dialects.builtin import ModuleOp

KINDS = ["conv2d", "depthwise_conv2d", "conv3d", "transpose_conv2d", "max_pool2d", "avg_pool2d"]
ELEMENTS = {"f32": ("f32", np.float32), "i8": ("i32", np.int8)}


def array(numbers: list[int]) -> str:
    return f"array<i64: {', '.join(map(str, numbers))}>"


class Program:
    """One operation on an image that is split somehow, with a result that may be."""

    def __init__(self, seed: int, kind: str) -> None:
        self._random = random.Random(f"{seed} {kind}")
        draw = self._random.randint
        self.kind = kind
        self.grid = self._random.choice([(2,), (3,), (4,), (2, 2), (2, 3)])
        self.element = self._random.choice(list(ELEMENTS))
        count = 3 if kind == "conv3d" else 2
        self._stride = [draw(1, 3) for _ in range(count)]
        self._dilation = [draw(1, 2) if "conv2d" in kind[-9:] else 1 for _ in range(count)]
        if kind == "transpose_conv2d":
            self._dilation = [1] * count
        self._kernel = [draw(1, 4) for _ in range(count)]
        self._pad: list[int] = []
        image: list[int] = []
        result: list[int] = []
        for stride, dilation, size in zip(self._stride, self._dilation, self._kernel, strict=True):
            reach = (size - 1) * dilation + 1
            if kind == "transpose_conv2d":
                before, after = draw(1 - size, 3), draw(1 - size, 3)
                extent = draw(2, 9)
                windows = (extent - 1) * stride + size + before + after
                extent += max(0, 2 - windows)
                windows = (extent - 1) * stride + size + before + after
            else:
                limit = size - 1 if "pool" in kind else 3
                before, after = draw(0, limit), draw(0, limit)
                windows = draw(1, 9)
                windows += max(0, -(-(before + after + 1 - reach) // stride) + 1 - windows)
                extent = (windows - 1) * stride + reach - before - after
            self._pad += [before, after]
            image.append(extent)
            result.append(windows)
        batch, inputs = draw(1, 4), draw(1, 6)
        outputs = inputs if "pool" in kind else draw(1, 6)
        weight = [outputs, *self._kernel, inputs]
        if kind == "depthwise_conv2d":
            multiplier = draw(1, 2)
            outputs, weight = inputs * multiplier, [*self._kernel, inputs, multiplier]
        self.image = [batch, *image, inputs]
        self._result = [batch, *result, outputs]
        self._weight = weight
        self._bias = [self._random.choice([1, outputs])]

    def _sharding(self, rank: int) -> str:
        axes = list(range(len(self.grid)))
        self._random.shuffle(axes)
        lists: list[list[int]] = [[] for _ in range(rank)]
        for axis in axes:
            if self._random.random() < 0.85:
                lists[self._random.choice([0, *range(1, rank), *range(1, rank - 1)])].append(axis)
        return f"shard.sharding @g split_axes = {lists} : !shard.sharding"

    def text(self, grid: str | None = None) -> str:
        wide, _ = ELEMENTS[self.element]
        result_element = self.element if "pool" in self.kind else wide

        def tensor(shape: list[int], element: str) -> str:
            return f"tensor<{'x'.join(map(str, [*shape, element]))}>"

        image, result = tensor(self.image, self.element), tensor(self._result, result_element)
        weight, bias = tensor(self._weight, self.element), tensor(self._bias, wide)
        zero = tensor([1], self.element)
        state = self._random.getstate()
        lines = [f"  %s = {self._sharding(len(self.image))}"]
        lines.append(f"  %xs = shard.shard %x to %s : {image}")
        attributes = {"stride": array(self._stride)}
        attributes["out_pad" if "transpose" in self.kind else "pad"] = array(self._pad)
        operands, types = ["%xs"], [image]
        if "pool" in self.kind:
            attributes["kernel"] = array(self._kernel)
        else:
            operands += ["%w", "%b", "%z", "%y"]
            types += [weight, bias, zero, zero]
            attributes["acc_type"] = wide
            if "transpose" not in self.kind:
                attributes["dilation"] = array(self._dilation)
        if self.kind == "avg_pool2d":
            operands += ["%z", "%z"]
            types += [zero, zero]
            attributes["acc_type"] = wide
        held = ", ".join(f"{name} = {value}" for name, value in attributes.items())
        lines.append(
            f"  %r = tosa.{self.kind} {', '.join(operands)} {{{held}}} : ({', '.join(types)}) -> "
            f"{result}"
        )
        returned = "%r"
        if self._random.random() < 0.6:
            lines.append(f"  %t = {self._sharding(len(self.image))}")
            users = self._random.choice(["", " annotate_for_users"])
            lines.append(f"  %rs = shard.shard %r to %t{users} : {result}")
            returned = "%rs"
        self._random.setstate(state)
        number = "3" if self.element == "i8" else "0.0"
        other = "-2" if self.element == "i8" else "0.0"
        return "\n".join(
            [
                f"shard.grid @g(shape = {grid or 'x'.join(map(str, self.grid))})",
                f"func.func @f(%x: {image}, %w: {weight}, %b: {bias}) -> {result} {{",
                f'  %z = "tosa.const"() {{values = dense<{number}> : {zero}}} : () -> {zero}',
                f'  %y = "tosa.const"() {{values = dense<{other}> : {zero}}} : () -> {zero}',
                *lines,
                f"  return {returned} : {result}",
                "}",
            ]
        )

    def inputs(self) -> list[Array]:
        """Small whole numbers, whose sums are exact in any order."""
        generator = np.random.default_rng(0)
        wide, dtype = ELEMENTS[self.element]
        wide_dtype = np.int32 if wide == "i32" else np.float32
        return [
            np.asarray(generator.integers(-9, 10, shape)).astype(kind)
            for shape, kind in (
                (self.image, dtype),
                (self._weight, dtype),
                (self._bias, wide_dtype),
            )
        ]


def check(program: Program, module: ModuleOp, expected: Array, grid: Grid | None = None) -> None:
    module.verify()
    found = run_partitioned(module, "f", program.inputs(), grid)
    np.testing.assert_array_equal(found[0], expected, err_msg=program.text())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", cases(2, 50))
def test_partitioned(kind: str, seed: int) -> None:
    program = Program(seed, kind)
    text = program.text()
    (expected,) = run(parse_program(text), "f", program.inputs())
    for name in ("spmd", "shard-partition"):
        module = parse_program(text)
        all_passes()[name]()().apply(new_context(), module)
        check(program, module, np.asarray(expected))
    module = parse_program(text)
    ShardingPropagationPass().apply(new_context(), module)
    ShardPartitionPass(abi="global").apply(new_context(), module)
    check(program, module, np.asarray(expected))
    if seed < 3:
        module = parse_program(program.text("x".join("?" * len(program.grid))))
        all_passes()["spmd"]()().apply(new_context(), module)
        check(program, module, np.asarray(expected), Grid("g", program.grid))


@pytest.mark.parametrize("kind", KINDS)
def test_compiled(kind: str) -> None:
    for seed in (100, 101):
        program = Program(seed, kind)
        text = program.text()
        expected = run(parse_program(text), "f", program.inputs())
        found = api.compile(text, "compile")["f"].run(program.inputs(), "native")
        np.testing.assert_array_equal(found[0], expected[0], err_msg=text)


@pytest.mark.parametrize("pipeline", ["", "compile"])
def test_an_image_shorter_than_a_window_is_refused(pipeline: str) -> None:
    """A window of stride 4 would round the number of places up to 0."""
    function = api.compile(
        """
func.func @f(%x: tensor<1x?x6x1xf32>) -> tensor<1x?x2x1xf32> {
  %0 = tosa.max_pool2d %x {kernel = array<i64: 5, 2>, stride = array<i64: 4, 4>,
      pad = array<i64: 0, 0, 0, 0>} : (tensor<1x?x6x1xf32>) -> tensor<1x?x2x1xf32>
  return %0 : tensor<1x?x2x1xf32>
}""",
        pipeline,
    )["f"]
    assert function(np.ones((1, 9, 6, 1), np.float32)).shape == (1, 2, 2, 1)
    with pytest.raises(ExecutionError, match="reaches over 5 elements, the padded image has 3"):
        function(np.ones((1, 3, 6, 1), np.float32))
