"""Random programs of control flow and calls: host code does what the interpreter does."""

from __future__ import annotations

import numpy as np
import pytest
from breadth import cases
from host_code_checks import check
from tensor_statements import Writer


class Generator(Writer):
    """Programs of two functions over `tensor<6xf64>`, indices and conditions.

    Kernels are few and alike: what is tested is who owns which memory, and control flow.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.calls: list[str] = []

    def statement(self, tensors: list[str], indices: list[str], depth: int) -> None:
        pick = self.random.choice
        tensor, other, index = pick(tensors), pick(tensors), pick(indices)
        kinds = ["add", "slice", "insert", "element", "index", *self.calls]
        if depth < 3:
            kinds += ["if", "for", "while", "switch"]
        kind = pick(kinds)
        if kind == "add":
            tensors.append(self.emit(f"arith.addf {tensor}, {other} : {T}"))
        elif kind == "slice":
            part = self.emit(f"tensor.extract_slice {tensor}[{index}] [3] [1] : {T} to {P}")
            text = (
                f"tensor.insert_slice {part} into {other}[{pick(indices)}] [3] [1] : {P} into {T}"
            )
            tensors.append(self.emit(text))
        elif kind == "insert":
            element = self.emit(f"tensor.extract {tensor}[{index}] : {T}")
            tensors.append(
                self.emit(f"tensor.insert {element} into {other}[{pick(indices)}] : {T}")
            )
        elif kind == "element":
            element = self.emit(f"tensor.extract {tensor}[{index}] : {T}")
            cast = self.emit(f"arith.fptosi {element} : f64 to i64")
            low = self.emit(f"arith.index_cast {cast} : i64 to index")
            indices.append(self.emit(f"arith.remui {low}, %four : index"))
        elif kind == "index":
            total = self.emit(f"arith.addi {index}, {pick(indices)} : index")
            indices.append(self.emit(f"arith.remui {total}, %four : index"))
        elif kind == "call":
            call = f"func.call @helper({tensor}, {index}) : ({T}, index) -> {T}"
            tensors.append(self.emit(call))
        else:
            getattr(self, f"region_{kind}")(tensors, indices, depth)

    def block(self, tensors: list[str], indices: list[str], depth: int, end: str) -> None:
        tensors, indices = list(tensors), list(indices)
        for _ in range(self.random.randint(0, 3)):
            self.statement(tensors, indices, depth + 1)
        last = tensors[-1] if self.random.random() < 0.7 else self.random.choice(tensors)
        self.lines.append(f"{end} {last}, {self.random.choice(indices)} : {T}, index")

    def region_if(self, tensors: list[str], indices: list[str], depth: int) -> None:
        condition = self.emit(f"arith.cmpi ult, {self.random.choice(indices)}, %two : index")
        name = self.name()
        self.lines.append(f"{name}:2 = scf.if {condition} -> ({T}, index) {{")
        self.block(tensors, indices, depth, "scf.yield")
        self.lines.append("} else {")
        self.block(tensors, indices, depth, "scf.yield")
        self.lines.append("}")
        tensors.append(f"{name}#0")
        indices.append(f"{name}#1")

    def region_switch(self, tensors: list[str], indices: list[str], depth: int) -> None:
        name = self.name()
        chosen = self.random.choice(indices)
        self.lines.append(f"{name}:2 = scf.index_switch {chosen} -> {T}, index")
        for head in ("case 1", "case 3", "default"):
            self.lines.append(f"{head} {{")
            self.block(tensors, indices, depth, "scf.yield")
            self.lines.append("}")
        tensors.append(f"{name}#0")
        indices.append(f"{name}#1")

    def region_for(self, tensors: list[str], indices: list[str], depth: int) -> None:
        name, counter, t, i = (self.name() for _ in range(4))
        starts = f"{t} = {self.random.choice(tensors)}, {i} = {self.random.choice(indices)}"
        high = self.random.choice([*indices, "%two"])
        self.lines.append(
            f"{name}:2 = scf.for {counter} = %zero to {high} step %one iter_args({starts})"
            f" -> ({T}, index) {{"
        )
        self.block([*tensors, t], [*indices, i, counter], depth, "scf.yield")
        self.lines.append("}")
        tensors.append(f"{name}#0")
        indices.append(f"{name}#1")

    def region_while(self, tensors: list[str], indices: list[str], depth: int) -> None:
        name, t, i, n, s, j, m = (self.name() for _ in range(7))
        starts = f"{t} = {self.random.choice(tensors)}, {i} = {self.random.choice(indices)}"
        self.lines.append(
            f"{name}:3 = scf.while ({starts}, {n} = %zero) : ({T}, index, index)"
            f" -> ({T}, index, index) {{"
        )
        condition = self.emit(f"arith.cmpi ult, {n}, %two : index")
        passed = self.random.choice([*tensors, t])
        self.lines.append(f"scf.condition({condition}) {passed}, {i}, {n} : {T}, index, index")
        self.lines.append(f"}} do {{\n^bb0({s}: {T}, {j}: index, {m}: index):")
        inner, numbers = [*tensors, s], [*indices, j]
        for _ in range(self.random.randint(0, 2)):
            self.statement(inner, numbers, depth + 1)
        following = self.emit(f"arith.addi {m}, %one : index")
        self.lines.append(f"scf.yield {inner[-1]}, {numbers[-1]}, {following} : {T}, index, index")
        self.lines.append("}")
        tensors.append(f"{name}#0")
        indices.append(f"{name}#1")

    def function(self, name: str, arguments: list[str], depth: int) -> str:
        self.lines = [f"%{n} = arith.constant {i} : index" for i, n in enumerate(NUMBERS)]
        tensors = [f"%a{i}" for i, each in enumerate(arguments) if each == T]
        indices = [f"%a{i}" for i, each in enumerate(arguments) if each != T] + ["%zero", "%two"]
        for _ in range(self.random.randint(2, 6)):
            self.statement(tensors, indices, depth)
        results = ", ".join(self.random.choices(tensors, k=2) if name == "main" else tensors[-1:])
        types = ", ".join([T] * (2 if name == "main" else 1))
        named = ", ".join(f"%a{i}: {each}" for i, each in enumerate(arguments))
        body = "\n".join(f"  {line}" for line in self.lines)
        return (
            f"func.func @{name}({named}) -> ({types}) {{\n{body}\n  return {results} : {types}\n}}"
        )

    def program(self) -> str:
        helper = self.function("helper", [T, "index"], 1)
        self.calls = ["call"]
        return f"{helper}\n{self.function('main', [T, T, 'index'], 0)}"


T, P = "tensor<6xf64>", "tensor<3xf64>"
NUMBERS = ("zero", "one", "two", "three", "four")


@pytest.mark.parametrize("seed", cases(4, 2000))
def test_random_program(seed: int) -> None:
    text = Generator(seed).program()
    values = np.random.default_rng(seed).integers(0, 9, (2, 6)).astype(np.float64)
    check(text, [values[0], values[1], np.int64(seed % 4)])
