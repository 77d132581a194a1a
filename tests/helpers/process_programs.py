"""Programs whose grids name the devices of their processes: given ones, and random ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

CPU = "iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>"
VMVX = "iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>"
TARGETS = {
    "znver4": '"llvm-cpu", "embedded-elf-x86_64", {target_triple = "x86_64-none-elf",'
    f' cpu = "znver4", cpu_features = "+avx512f,+avx512bw,+avx512vnni,+avx512bf16", {CPU}}}',
    "avx2": '"llvm-cpu", "embedded-elf-x86_64", {target_triple = "x86_64-none-elf",'
    f' cpu_features = "+avx,+avx2", {CPU}}}',
    "i8mm": '"llvm-cpu", "embedded-elf-arm_64", {target_triple = "aarch64-none-elf",'
    f' cpu_features = "+dotprod,+i8mm,+bf16", {CPU}}}',
    "riscv": '"llvm-cpu", "embedded-elf-riscv_64", {target_triple = "riscv64-none-elf",'
    f' cpu_features = "+v,+zvl256b", {CPU}}}',
    "vmvx": f'"vmvx", "vmvx-bytecode-fb", {{ukernels = "none", {VMVX}}}',
    "vmvx_all": f'"vmvx", "vmvx-bytecode-fb", {{ukernels = "all", {VMVX}}}',
    "plain": '"llvm-cpu", "plain", {target_triple = "x86_64-none-elf"}',
}
"""Executable targets, of which no two but the vmvx ones without microkernels lay out alike."""


def defined(devices: Sequence[str]) -> str:
    """The globals of devices: `znver4`, or `znver4_1` for another with the same target."""
    return "".join(
        f'util.global private @{name} = #hal.device.target<"local", '
        f"[#hal.executable.target<{TARGETS[re.sub('_[0-9]+$', '', name)]}>]> : !hal.device\n"
        for name in dict.fromkeys(devices)
    )


def listed(devices: Sequence[str]) -> str:
    """The attribute of a grid that names the device of each process."""
    places = ", ".join(f"#hal.device.affinity<@{name}>" for name in devices)
    return f"devices = [{places}]"


def on_devices(text: str, devices: Sequence[str]) -> str:
    """A program with one grid or mesh, whose processes are put on devices."""
    places = listed(devices)
    mesh = re.search(r"sdy\.mesh @\w+ = <[^>]*> {", text)
    if mesh is not None:
        text = f"{text[: mesh.end()]}{places}, {text[mesh.end() :]}"
        module = re.search(r"module @\w+ attributes {[^}]*} {\n", text)
        start = module.end() if module is not None else 0
        return text[:start] + defined(devices) + text[start:]
    grid = re.search(r"shard\.grid @\w+\(shape = [0-9x]+\)", text)
    if grid is None:
        raise ValueError("the program has no grid")
    return text[: grid.start()] + defined(devices) + f"{grid[0]} {{{places}}}" + text[grid.end() :]


def random_program(seed: int) -> tuple[str, list[tuple[int, ...]]]:
    """A chain of products of small integers on a random grid, and the shapes of its arguments."""
    random = Random(seed)
    grid = random.choice([(2,), (4,), (2, 2), (2, 3), (2, 2, 2)])
    count = 1
    for extent in grid:
        count *= extent
    names = [*TARGETS, *(f"{name}_1" for name in TARGETS)]
    pool = random.sample(names, random.randint(1, 4))
    devices = [random.choice(pool) for _ in range(count)]
    writer = _Writer(random, grid, count)
    value = writer.value(writer.size(), writer.size())
    for _ in range(random.randint(1, 4)):
        value = writer.step(value)
    arguments = ", ".join(f"{name}: {type_of(shape)}" for name, shape in writer.arguments)
    result = type_of(value[1])
    shape = "x".join(map(str, grid))
    body = "\n".join(f"  {line}" for line in writer.lines)
    text = (
        f"#id = affine_map<(i, j) -> (i, j)>\n#column = affine_map<(i, j) -> (j)>\n"
        f"shard.grid @g(shape = {shape})\n"
        f"func.func @main({arguments}) -> {result} {{\n{body}\n  return {value[0]} : {result}\n}}\n"
    )
    return on_devices(text, devices), [shape for _, shape in writer.arguments]


Shaped = tuple[str, tuple[int, ...]]


def type_of(shape: Sequence[int]) -> str:
    """A type of floats."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"


class _Writer:
    """The body of a function in the making."""

    def __init__(self, random: Random, grid: Sequence[int], count: int) -> None:
        self.lines = ["%zero = arith.constant 0.0 : f32"]
        self.arguments: list[Shaped] = []
        self._random = random
        self._grid = grid
        self._count = count
        self._number = 0

    def _emit(self, code: str, shape: tuple[int, ...]) -> Shaped:
        self._number += 1
        name = f"%v{self._number}"
        self.lines.append(f"{name} = {code}")
        return name, shape

    def size(self) -> int:
        """The size of a dimension, which mostly has equal shares for all processes."""
        if self._random.random() < 0.2:
            return self._random.choice((1, 5, 7, 17))
        return self._random.choice((1, 2, 3, 5)) * self._count

    def value(self, rows: int, columns: int) -> Shaped:
        """An argument, or a constant, perhaps annotated."""
        shape = rows, columns
        if self._random.random() < 0.4:
            data = [[self._random.randint(-2, 2) for _ in range(columns)] for _ in range(rows)]
            found = self._emit(f"arith.constant dense<{_floats(data)}> : {type_of(shape)}", shape)
        else:
            found = f"%a{len(self.arguments)}", shape
            self.arguments.append(found)
        return self._annotated(found)

    def _annotated(self, value: Shaped) -> Shaped:
        name, shape = value
        if self._random.random() < 0.3:
            return value
        axes: list[list[int]] = [[] for _ in shape]
        for axis in range(len(self._grid)):
            if (dimension := self._random.randint(0, len(shape))) < len(shape):
                axes[dimension].append(axis)
        while axes and not axes[-1] and len(axes) > 1:
            axes.pop()
        self._number += 1
        sharding = f"%s{self._number}"
        self.lines.append(f"{sharding} = shard.sharding @g split_axes = {axes} : !shard.sharding")
        users = self._random.choice(("", " annotate_for_users"))
        return self._emit(f"shard.shard {name} to {sharding}{users} : {type_of(shape)}", shape)

    def step(self, value: Shaped) -> Shaped:
        """The next operation on a value."""
        choice = self._random.choice((self._product, self._product, self._clamp, self._bias))
        return self._annotated(choice(value))

    def _empty(self, shape: tuple[int, ...]) -> str:
        return self._emit(f"tensor.empty() : {type_of(shape)}", shape)[0]

    def _product(self, value: Shaped) -> Shaped:
        rows, depth = value[1]
        right = self.value(depth, self.size())
        shape = rows, right[1][1]
        filled = self._emit(
            f"linalg.fill ins(%zero : f32) outs({self._empty(shape)} : {type_of(shape)})"
            f" -> {type_of(shape)}",
            shape,
        )
        return self._emit(
            f"linalg.matmul ins({value[0]}, {right[0]} : {type_of(value[1])}, {type_of(right[1])})"
            f" outs({filled[0]} : {type_of(shape)}) -> {type_of(shape)}",
            shape,
        )

    def _clamp(self, value: Shaped) -> Shaped:
        """Numbers stay small, so that sums stay exact."""
        type_ = type_of(value[1])
        body = (
            "^bb0(%x: f32, %o: f32):\n"
            "      %three = arith.constant 3.0 : f32\n      %m = arith.minimumf %x, %three : f32\n"
            "      %r = arith.maximumf %m, %zero : f32\n      linalg.yield %r : f32\n    }"
        )
        return self._emit(
            "linalg.generic {indexing_maps = [#id, #id], iterator_types = ["
            f'"parallel", "parallel"]}} ins({value[0]} : {type_}) outs({self._empty(value[1])} :'
            f" {type_}) {{\n    {body} -> {type_}",
            value[1],
        )

    def _bias(self, value: Shaped) -> Shaped:
        """A row is added to all rows: a constant vector."""
        type_, columns = type_of(value[1]), value[1][1]
        row = [self._random.randint(-3, 3) for _ in range(columns)]
        bias = self._emit(
            f"arith.constant dense<{_floats(row)}> : {type_of((columns,))}", (columns,)
        )
        body = (
            "^bb0(%x: f32, %b: f32, %o: f32):\n      %r = arith.addf %x, %b : f32\n"
            "      linalg.yield %r : f32\n    }"
        )
        return self._emit(
            "linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["
            f'"parallel", "parallel"]}} ins({value[0]}, {bias[0]} : {type_}, {type_of((columns,))})'
            f" outs({self._empty(value[1])} : {type_}) {{\n    {body} -> {type_}",
            value[1],
        )


def _floats(data: object) -> str:
    return re.sub(r"(-?\d+)", r"\1.0", str(data))
