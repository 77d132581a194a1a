"""Random chains of contractions on random devices mean the same tiled, untiled, and before.

All numbers are small integers, so that
every sum is exact whatever its order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from breadth import cases
from encoded_chains import PADDING
from encoded_chains import TARGETS as ALL_TARGETS
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import argument_types, find_function, run
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.runtime.abi.values import dtype_of
from parsing import parse

TARGETS = [each for each in ALL_TARGETS if each != PADDING]
WIDE = {"f32": "f32", "bf16": "f32", "i8": "i32"}
"""In which type products of a type are added up."""

SIZES = (1, 2, 3, 7, 8, 16, 17, 33)


@dataclass
class Matrix:
    """A value of the program."""

    name: str
    rows: int
    columns: int
    element: str
    device: int

    @property
    def type(self) -> str:
        return f"tensor<{self.rows}x{self.columns}x{self.element}>"


@dataclass
class Chain:
    """A program in the making."""

    generator: np.random.Generator
    lines: list[str] = field(default_factory=list)
    globals: list[str] = field(default_factory=list)
    arguments: list[Matrix] = field(default_factory=list)

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{len(self.lines) + len(self.arguments) + len(self.globals)}"

    def choose(self, choices: tuple[int, ...] | list[str]) -> int:
        return int(self.generator.integers(0, len(choices)))

    def move(self, value: Matrix, device: int) -> Matrix:
        if value.device == device:
            return value
        moved = Matrix(f"%{self.fresh('t')}", value.rows, value.columns, value.element, device)
        place = f"#hal.device.affinity<@d{device}>"
        self.lines.append(
            f"{moved.name} = flow.tensor.transfer {value.name} : {value.type} to {place}"
        )
        return moved

    def source(self, rows: int, columns: int, element: str, device: int) -> Matrix:
        """An argument, or a weight that is the same on all devices."""
        if self.generator.integers(0, 2) == 0:
            value = Matrix(f"%{self.fresh('a')}", rows, columns, element, device)
            self.arguments.append(value)
            return value
        name = self.fresh("w")
        numbers = self.generator.integers(-1, 2, (rows, columns)).tolist()
        literal = numbers if element == "i8" else [[float(n) for n in row] for row in numbers]
        value = Matrix(f"%{name}", rows, columns, element, device)
        self.globals.append(f"util.global private @{name} = dense<{literal}> : {value.type}")
        self.lines.append(f"{value.name} = util.global.load @{name} : {value.type}")
        return value

    def product(self, left: Matrix, columns: int = 0) -> Matrix:
        """The product with a matrix, which may be transposed, in the wide type."""
        columns = columns or SIZES[self.choose(SIZES)]
        transposed = bool(self.generator.integers(0, 2))
        shape = (columns, left.columns) if transposed else (left.columns, columns)
        right = self.source(*shape, left.element, left.device)
        wide = WIDE[left.element]
        result = Matrix(f"%{self.fresh('p')}", left.rows, columns, wide, left.device)
        zero = "0" if wide == "i32" else "0.0"
        name = result.name
        maps = ", ".join(f"affine_map<(m, n, k) -> {m}>" for m in ("(m, k)", "(n, k)", "(m, n)"))
        attributes = f" indexing_maps = [{maps}]" if transposed else ""
        self.lines += [
            f"{name}z = arith.constant {zero} : {wide}",
            f"{name}e = tensor.empty() : {result.type}",
            f"{name}f = linalg.fill ins({name}z : {wide}) outs({name}e : {result.type}) "
            f"-> {result.type}",
            f"{name} = linalg.matmul{attributes} ins({left.name}, {right.name} : {left.type}, "
            f"{right.type}) outs({name}f : {result.type}) -> {result.type}",
        ]
        return result

    def elementwise(self, value: Matrix) -> Matrix:
        """Keep numbers small: -1, 0 or 1, and go on in another type."""
        integer = value.element == "i32"
        low, high = ("-1", "1") if integer else ("-1.0", "1.0")
        kinds = ("arith.maxsi", "arith.minsi") if integer else ("arith.maximumf", "arith.minimumf")
        name = f"%{self.fresh('c')}"
        type_ = value.type
        self.lines += [
            f"{name}l = arith.constant dense<{low}> : {type_}",
            f"{name}h = arith.constant dense<{high}> : {type_}",
            f"{name}m = {kinds[0]} {value.name}, {name}l : {type_}",
            f"{name} = {kinds[1]} {name}m, {name}h : {type_}",
        ]
        clamped = Matrix(name, value.rows, value.columns, value.element, value.device)
        narrow = "i8" if integer else ("f32", "bf16")[int(self.generator.integers(0, 2))]
        if narrow == value.element:
            return clamped
        result = Matrix(f"{name}n", value.rows, value.columns, narrow, value.device)
        cast = "arith.trunci" if integer else "arith.truncf"
        self.lines.append(f"{result.name} = {cast} {name} : {type_} to {result.type}")
        return result

    def add(self, left: Matrix, right: Matrix) -> Matrix:
        result = Matrix(f"%{self.fresh('s')}", left.rows, left.columns, left.element, left.device)
        operation = "arith.addi" if left.element == "i32" else "arith.addf"
        self.lines.append(f"{result.name} = {operation} {left.name}, {right.name} : {left.type}")
        return result


def program(seed: int) -> str:
    """The text of a program with a function @main."""
    generator = np.random.default_rng(seed)
    chain = Chain(generator)
    devices = [TARGETS[chain.choose(TARGETS)] for _ in range(int(generator.integers(1, 4)))]
    element = list(WIDE)[int(generator.integers(0, 3))]
    value = Matrix("%x", SIZES[chain.choose(SIZES)], SIZES[chain.choose(SIZES)], element, 0)
    chain.arguments.append(value)
    for _ in range(int(generator.integers(1, 4))):
        value = chain.move(value, int(generator.integers(0, len(devices))))
        total = chain.product(value)
        if generator.integers(0, 3) == 0:
            total = chain.add(total, chain.product(value, total.columns))
        value = chain.elementwise(total)
    value = chain.move(value, int(generator.integers(0, len(devices))))
    definitions = [
        f'util.global private @d{i} = #hal.device.target<"local", {{ordinal = {i} : index}}, '
        f"[{target}]> : !hal.device"
        for i, target in enumerate(devices)
    ]
    place = "{{iree.abi.affinity = #hal.device.affinity<@d{}>}}"
    arguments = ", ".join(f"{a.name}: {a.type} {place.format(a.device)}" for a in chain.arguments)
    body = "\n  ".join([*chain.lines, f"return {value.name} : {value.type}"])
    head = f"func.func @main({arguments}) -> ({value.type} {place.format(value.device)})"
    return "\n".join([*definitions, *chain.globals, f"{head} {{\n  {body}\n}}"])


@pytest.mark.parametrize("seed", cases(5, 1000))
def test_random_chains(seed: int) -> None:
    text = program(seed)
    context, module = parse(text)
    generator = np.random.default_rng(seed)
    inputs = [
        generator.integers(-1, 2, type_.get_shape()).astype(dtype_of(type_))
        for type_ in argument_types(find_function(Program(module), "main"))
    ]
    (expected,) = run(module, "main", inputs)
    for data_tiling in (True, False):
        context, module = parse(text)
        DataTilePass(data_tiling).apply(context, module)
        module.verify()
        (found,) = run(module, "main", inputs)
        np.testing.assert_array_equal(found, expected, err_msg=text)
