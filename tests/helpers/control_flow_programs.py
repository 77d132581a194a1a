"""Writes random programs with loops, branches and calls over tensors of static and open sizes.

Elements are small integers, so results are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import ml_dtypes
import numpy as np
from tensor_statements import NUMBERS, Scope, TensorWriter, element_of, rank, shape_of

DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i32": np.int32,
    "index": np.int64,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
}


class ControlFlowWriter(TensorWriter):
    """Writes the functions of a program."""

    def statement(self, scope: Scope, depth: int) -> None:
        self.budget -= 1
        plain: list[Callable[[Scope], None]] = [
            self.elementwise,
            self.element,
            self.element,
            self.part,
            self.part,
            self.number,
            self.number,
            self.recast,
            self.special,
        ]
        nested = [self.loop, self.loop, self.choice, self.until, self.switch, self.region]
        nested += [self.forall, self.parallel]
        if self.signatures and not self.is_whole and self.chance(0.12):
            self.call(scope)
        elif depth < 3 and self.budget > 0 and self.chance(0.35):
            self.random.choice(nested)(scope, depth)
        else:
            self.random.choice(plain)(scope)

    # Regions ----------------------------------------------------------------------------------

    def some_types(self) -> list[str]:
        return [self.random.choice(self.types) for _ in range(self.random.choice([1, 1, 2, 2, 3]))]

    def copied(self, scope: Scope) -> Scope:
        return {kind: list(names) for kind, names in scope.items()}

    def body(self, scope: Scope, depth: int, most: int = 4) -> None:
        for _ in range(self.random.randint(0, most)):
            self.statement(scope, depth + 1)

    def picked(self, scope: Scope, types: Sequence[str]) -> str:
        """Values of types, the newest of the scope rather often."""
        names = [
            scope[kind][-1] if scope.get(kind) and self.chance(0.5) else self.pick(scope, kind)
            for kind in types
        ]
        return f"{', '.join(names)} : {', '.join(types)}"

    def results(self, scope: Scope, name: str, types: Sequence[str]) -> None:
        for position, kind in enumerate(types):
            self.keep(scope, kind, f"{name}#{position}")

    def carried(self, scope: Scope, types: Sequence[str]) -> tuple[Scope, str]:
        inner = self.copied(scope)
        starts: list[str] = []
        fresh: list[tuple[str, str]] = []
        for kind in types:
            start, name = self.pick(scope, kind), self.name()
            starts.append(f"{name} = {start}")
            fresh.append((kind, name))
        inner = self.copied(scope)
        for kind, name in fresh:
            inner.setdefault(kind, []).extend([name, name])
        return inner, ", ".join(starts)

    def loop(self, scope: Scope, depth: int) -> None:
        types = self.some_types()
        inner, starts = self.carried(scope, types)
        high = self.inside(scope, "%four")
        low = self.inside(scope, "%two") if self.chance(0.3) else "%zero"
        name, counter = self.name(), self.name()
        step = "%two" if self.chance(0.1) else "%one"
        self.lines.append(
            f"{name}:{len(types)} = scf.for {counter} = {low} to {high} step {step}"
            f" iter_args({starts}) -> ({', '.join(types)}) {{"
        )
        inner.setdefault("index", []).append(counter)
        self.body(inner, depth)
        self.lines.append(f"scf.yield {self.picked(inner, types)}\n}}")
        self.results(scope, name, types)

    def until(self, scope: Scope, depth: int) -> None:
        types = self.some_types()
        inner, starts = self.carried(scope, types)
        passed = self.some_types()
        name, count = self.name(), self.name()
        self.lines.append(
            f"{name}:{len(passed) + 1} = scf.while ({count} = %zero, {starts}) : "
            f"({', '.join(['index', *types])}) -> ({', '.join(['index', *passed])}) {{"
        )
        self.body(inner, depth, 2)
        wanted = self.condition(inner)
        few = self.emit(f"arith.cmpi slt, {count}, %three : index")
        both = self.emit(f"arith.andi {wanted}, {few} : i1")
        again = self.random.choice([few, both])
        found = self.picked(inner, passed).split(" : ")
        self.lines.append(f"scf.condition({again}) {count}, {found[0]} : index, {found[1]}")
        inner = self.copied(scope)
        arguments = [(self.name(), kind) for kind in ("index", *passed)]
        text = ", ".join(f"{each}: {kind}" for each, kind in arguments)
        self.lines.append(f"}} do {{\n^bb0({text}):")
        for each, kind in arguments[1:]:
            inner.setdefault(kind, []).extend([each, each])
        self.body(inner, depth, 2)
        following = self.emit(f"arith.addi {arguments[0][0]}, %one : index")
        found = self.picked(inner, types).split(" : ")
        self.lines.append(f"scf.yield {following}, {found[0]} : index, {found[1]}\n}}")
        self.results(scope, name, ["index", *passed])

    def yielding(self, scope: Scope, depth: int, head: str, types: Sequence[str]) -> None:
        self.lines.append(head)
        inner = self.copied(scope)
        self.body(inner, depth)
        self.lines.append(f"scf.yield {self.picked(inner, types)}")

    def choice(self, scope: Scope, depth: int) -> None:
        types, condition, name = self.some_types(), self.condition(scope), self.name()
        head = f"{name}:{len(types)} = scf.if {condition} -> ({', '.join(types)}) {{"
        self.yielding(scope, depth, head, types)
        self.yielding(scope, depth, "} else {", types)
        self.lines.append("}")
        self.results(scope, name, types)

    def switch(self, scope: Scope, depth: int) -> None:
        types, chosen, name = self.some_types(), self.inside(scope, "%four"), self.name()
        self.lines.append(f"{name}:{len(types)} = scf.index_switch {chosen} -> {', '.join(types)}")
        for head in ("case 1 {", "case 3 {", "default {"):
            self.yielding(scope, depth, head, types)
            self.lines.append("}")
        self.results(scope, name, types)

    def region(self, scope: Scope, depth: int) -> None:
        """A region that runs once, with blocks or without."""
        types, name = self.some_types(), self.name()
        self.lines.append(f"{name}:{len(types)} = scf.execute_region -> ({', '.join(types)}) {{")
        inner = self.copied(scope)
        if self.grid or self.chance(0.5):
            # A region of several blocks is not partitioned.
            self.body(inner, depth)
            self.lines.append(f"scf.yield {self.picked(inner, types)}")
        else:
            self.blocks(inner, depth, types, "scf.yield")
        self.lines.append("}")
        self.results(scope, name, types)

    def blocks(self, scope: Scope, depth: int, types: Sequence[str], end: str) -> None:
        """A loop of blocks with a branch inside, which ends with values of types."""
        self.count += 1
        label = f"b{self.count}"
        self.body(scope, depth, 2)
        carried = self.some_types()
        given = self.picked(scope, carried).split(" : ")
        self.lines.append(f"cf.br ^{label}h(%zero, {given[0]} : index, {given[1]})")
        count, arguments = self.name(), [(self.name(), kind) for kind in carried]
        text = "".join(f", {each}: {kind}" for each, kind in arguments)
        start = len(self.lines)
        self.lines.append(f"^{label}h({count}: index{text}):")
        inner = self.copied(scope)
        for each, kind in arguments:
            inner.setdefault(kind, []).extend([each, each])
        self.body(inner, depth, 2)
        few = self.emit(f"arith.cmpi slt, {count}, %three : index")
        marks = [start, len(self.lines) + 1]
        self.lines.append(f"cf.cond_br {few}, ^{label}b, ^{label}e")
        self.lines.append(f"^{label}b:")
        following = self.emit(f"arith.addi {count}, %one : index")
        body = self.copied(inner)
        self.body(body, depth, 3)
        first, second = (self.picked(body, carried).split(" : ") for _ in range(2))
        heads = [
            f"^{label}h({following}, {each[0]} : index, {each[1]})" for each in (first, second)
        ]
        if self.chance(0.5):
            self.lines.append(f"cf.cond_br {self.condition(body)}, {', '.join(heads)}")
        else:
            chosen = self.emit(f"arith.index_cast {self.pick(body, 'index')} : index to i32")
            self.lines.append(
                f"cf.switch {chosen} : i32, [\n default: {heads[0]},\n 0: ^{label}c,\n"
                f" 1: ^{label}e,\n 2: {heads[1]}\n]"
            )
        marks.append(len(self.lines))
        self.lines.append(f"^{label}c:")
        other = self.copied(body)
        self.body(other, depth, 2)
        given = self.picked(other, carried).split(" : ")
        self.lines.append(f"cf.br ^{label}h({following}, {given[0]} : index, {given[1]})")
        marks.append(len(self.lines))
        self.lines.append(f"^{label}e:")
        self.body(inner, depth, 2)
        self.lines.append(f"{end} {self.picked(inner, types)}")
        marks.append(len(self.lines))
        parts = [self.lines[a:b] for a, b in pairwise(marks)]
        if self.chance(0.5):
            self.random.shuffle(parts)
        self.lines[start:] = [line for part in parts for line in part]

    def forall(self, scope: Scope, depth: int) -> None:
        with self.unspread():
            self.write_forall(scope, depth)

    def parallel(self, scope: Scope, depth: int) -> None:
        with self.unspread():
            self.write_parallel(scope, depth)

    @contextmanager
    def unspread(self) -> Generator[None]:
        """Regions that are not partitioned cannot call functions that are."""
        outer, self.is_whole = self.is_whole, bool(self.grid)
        yield
        self.is_whole = outer

    def write_forall(self, scope: Scope, depth: int) -> None:
        kind = self.random.choice(self.kinds)
        target, name, out, counter = self.pick(scope, kind), self.name(), self.name(), self.name()
        size = self.dimension(target, kind, 0)
        inner = self.copied(scope)
        self.lines.append(
            f"{name} = scf.forall ({counter}) in ({size}) shared_outs({out} = {target})"
            f" -> ({kind}) {{"
        )
        inner.setdefault("index", []).append(counter)
        if self.chance(0.5):
            inner.setdefault(kind, []).append(out)
        self.body(inner, depth, 2)
        element = self.pick(inner, element_of(kind))
        row = "x".join(["1"] * rank(kind)) + "x" + element_of(kind)
        one = self.emit(f"tensor.splat {element} : tensor<{row}>")
        rest = "".join(", 0" for _ in range(rank(kind) - 1))
        ones = ", ".join(["1"] * rank(kind))
        self.lines.append(
            f"scf.forall.in_parallel {{\ntensor.parallel_insert_slice {one} into"
            f" {out}[{counter}{rest}] [{ones}] [{ones}] : tensor<{row}> into {kind}\n}}\n}}"
        )
        self.keep(scope, kind, name)

    def write_parallel(self, scope: Scope, depth: int) -> None:
        kind = self.random.choice([*self.kinds, *self.elements])
        start, high = self.pick(scope, kind), self.inside(scope, "%four")
        name, counter = self.name(), self.name()
        self.lines.append(
            f"{name} = scf.parallel ({counter}) = (%zero) to ({high}) step (%one)"
            f" init ({start}) -> {kind} {{"
        )
        inner = self.copied(scope)
        inner.setdefault("index", []).append(counter)
        self.body(inner, depth, 2)
        given = self.pick(inner, kind)
        left, right = self.name(), self.name()
        self.lines.append(
            f"scf.reduce({given} : {kind}) {{\n^bb0({left}: {kind}, {right}: {kind}):"
        )
        reducer = self.copied(inner)
        reducer.setdefault(kind, []).extend([left, right])
        self.body(reducer, depth + 1, 2)
        self.lines.append(f"scf.reduce.return {self.picked(reducer, [kind])}\n}}\n}}")
        self.keep(scope, kind, name)

    # Functions --------------------------------------------------------------------------------

    def call(self, scope: Scope) -> None:
        callee, arguments, results = self.random.choice(self.signatures)
        names = [self.pick(scope, kind) for kind in arguments]
        if callee.startswith("r"):
            names[0] = self.inside(scope, "%four")
        name = self.name()
        self.lines.append(
            f"{name}:{len(results)} = func.call @{callee}({', '.join(names)}) :"
            f" ({', '.join(arguments)}) -> ({', '.join(results)})"
        )
        self.results(scope, name, results)

    def function(self, name: str, arguments: Sequence[str], results: Sequence[str]) -> None:
        self.lines = [
            f"%{each} = arith.constant {number} : index" for number, each in NUMBERS.items()
        ]
        scope: Scope = {"index": ["%zero", "%two"]}
        for position, kind in enumerate(arguments):
            value = f"%a{position}"
            if self.grid and name == "main" and rank(kind) and self.chance(0.7):
                value = self.spread(value, kind)
            scope.setdefault(kind, []).extend([value] * 2)
        depth = 0 if name == "main" else 1
        self.budget = self.random.randint(4, 20) if name == "main" else 4
        if name.startswith("r"):
            self.recursive(scope, name, arguments, results)
        elif self.chance(0.3):
            self.blocks(scope, depth, results, "return")
        else:
            for _ in range(self.random.randint(2, 9) if name == "main" else 3):
                self.statement(scope, depth)
            self.lines.append(f"return {self.picked(scope, results)}")
        named = ", ".join(f"%a{i}: {each}" for i, each in enumerate(arguments))
        private = "" if name == "main" else "private "
        body = "\n".join(f"  {line}" for line in self.lines)
        self.functions.append(
            f"func.func {private}@{name}({named}) -> ({', '.join(results)}) {{\n{body}\n}}"
        )

    def spread(self, value: str, kind: str) -> str:
        """A tensor with an annotation."""
        places = [self.random.randint(0, rank(kind)) for _ in self.grid]
        axes = ", ".join(
            f"[{', '.join(str(axis) for axis, place in enumerate(places) if place == each)}]"
            for each in range(rank(kind))
        )
        sharding = self.emit(f"shard.sharding @g split_axes = [{axes}] : !shard.sharding")
        return self.emit(f"shard.shard {value} to {sharding} : {kind}")

    def recursive(
        self, scope: Scope, name: str, arguments: Sequence[str], results: Sequence[str]
    ) -> None:
        more = self.emit("arith.cmpi sgt, %a0, %zero : index")
        types, found = ", ".join(results), self.name()
        self.lines.append(f"{found}:{len(results)} = scf.if {more} -> ({types}) {{")
        inner = self.copied(scope)
        self.body(inner, 1, 2)
        less = self.emit("arith.subi %a0, %one : index")
        values = [self.pick(inner, kind) for kind in arguments[1:]]
        called = self.name()
        self.lines.append(
            f"{called}:{len(results)} = func.call @{name}({', '.join([less, *values])}) :"
            f" ({', '.join(arguments)}) -> ({types})"
        )
        self.results(inner, called, results)
        self.body(inner, 1, 2)
        self.lines.append(f"scf.yield {self.picked(inner, results)}")
        self.yielding(scope, 2, "} else {", results)
        self.lines.append("}")
        self.results(scope, found, results)
        self.lines.append(f"return {self.picked(scope, results)}")

    def program(self) -> tuple[str, list[str]]:
        """The text, and the types of the arguments of @main."""
        for number in range(self.random.choice([0, 1, 1, 2])):
            name, results = f"{'fr'[self.chance(0.4)]}{number}", self.some_types()
            arguments = ["index", *self.some_types()]
            self.function(name, arguments, results)
            self.signatures.append((name, arguments, results))
        arguments = ["index", *self.kinds, self.random.choice(self.types)]
        results = self.some_types()
        results += [*self.random.choices(self.kinds, k=5), self.random.choice(results)]
        self.function("main", arguments, results)
        sizes = "x".join(map(str, self.grid))
        head = [f"shard.grid @g(shape = {sizes})"] if self.grid else []
        return "\n".join([*head, *self.functions]) + "\n", arguments


def inputs_for(arguments: Sequence[str], seed: int) -> list[np.ndarray]:
    """Small integers for arguments, with sizes of their own for each seed."""
    rng = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    for kind in arguments:
        element = element_of(kind)
        dtype = DTYPES[element]
        shape = [] if not rank(kind) else shape_of(kind)
        sizes = [int(rng.integers(1, 5)) if size == "?" else int(size) for size in shape]
        found.append(np.asarray(rng.integers(0, 2 if element == "i1" else 4, sizes)).astype(dtype))
    return found


def program(seed: int, grid: Sequence[int] = ()) -> tuple[str, list[str]]:
    """Program `seed` and the types of its arguments."""
    return ControlFlowWriter(seed, grid).program()
