"""Writes random operations on tensors of static and open sizes, one behind the other.

Offsets and sizes are computed in the program and are inside of what they are for, most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

COMMON = ("i32", "f32")
OTHERS = ("i8", "f64", "index", "bf16", "i1")
SHAPES = ("?x", "?x", "4x", "?x?x", "3x4x")
NUMBERS = {0: "zero", 1: "one", 2: "two", 3: "three", 4: "four", 7: "seven"}
STATIC = ("4x", "3x4x", "6x")

Scope = dict[str, list[str]]


def shape_of(kind: str) -> list[str]:
    """The sizes of a tensor type as they are written."""
    return kind.removeprefix("tensor<").removesuffix(element_of(kind) + ">").split("x")[:-1]


def rank(kind: str) -> int:
    return len(shape_of(kind)) if kind.startswith("tensor") else 0


def element_of(kind: str) -> str:
    if not kind.startswith("tensor"):
        return kind
    return (
        "index"
        if kind.endswith("xindex>")
        else kind[:-1].rsplit("x", 1)[-1].removeprefix("tensor<")
    )


class Writer:
    """Writes operations, each with a name of its own."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.count = 0
        self.lines: list[str] = []

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name


class TensorWriter(Writer):
    """Writes operations; a scope has the values of each type that they may read."""

    def __init__(self, seed: int, grid: Sequence[int] = ()) -> None:
        """With a `grid` the arguments of @main are spread over it."""
        super().__init__(seed)
        self.grid = grid
        self.functions: list[str] = []
        self.signatures: list[tuple[str, list[str], list[str]]] = []
        self.budget = 0
        self.is_whole = False
        elements = [self.random.choice(COMMON)]
        if self.random.random() < 0.5:
            elements.append(self.random.choice(COMMON + OTHERS))
        shapes = self.random.sample(STATIC if grid and self.chance(0.8) else SHAPES, 2)
        self.elements = elements
        self.kinds = sorted({f"tensor<{shape}{each}>" for shape in shapes for each in elements})
        self.types = [*self.kinds, *self.kinds, "index", *elements]

    # Text -------------------------------------------------------------------------------------

    def chance(self, odds: float) -> bool:
        return self.random.random() < odds

    def index(self, number: int) -> str:
        return self.emit(f"arith.constant {number} : index")

    def keep(self, scope: Scope, kind: str, name: str) -> str:
        scope.setdefault(kind, []).append(name)
        return name

    # Values -----------------------------------------------------------------------------------

    def pick(self, scope: Scope, kind: str) -> str:
        """A value of a type: one of the scope, seldom a new one."""
        found = scope.get(kind)
        if found and self.chance(0.95):
            # What is old is read as often as what is new.
            return self.random.choice(found)
        return self.keep(scope, kind, self.made(scope, kind))

    def made(self, scope: Scope, kind: str) -> str:
        element = element_of(kind)
        number = self.random.choice(["true", "false"])
        if element != "i1":
            number = f"{self.random.randint(0, 3)}" + ("" if "f" not in element else ".0")
        if not kind.startswith("tensor"):
            text = f"arith.constant {number}"
            return self.emit(text if element == "i1" else f"{text} : {kind}")
        if "?" not in kind:
            return self.emit(f"arith.constant dense<{number}> : {kind}")
        value = self.made(scope, element)
        sizes = [self.size(scope) if each == "?" else "" for each in shape_of(kind)]
        dynamic = ", ".join(each for each in sizes if each)
        return self.emit(f"tensor.splat {value}[{dynamic}] : {kind}")

    def size(self, scope: Scope) -> str:
        """An index from 1 to 4, or what was found."""
        number = self.pick(scope, "index")
        if self.chance(0.01):
            return number
        rest = self.emit(f"arith.remui {number}, %four : index")
        return self.emit(f"arith.addi {rest}, %one : index")

    def inside(self, scope: Scope, limit: str) -> str:
        """An index below a limit that is not 0."""
        number = self.pick(scope, "index")
        if self.chance(0.01):
            return number
        return self.emit(f"arith.remui {number}, {limit} : index")

    def dimension(self, value: str, kind: str, axis: int) -> str:
        size = shape_of(kind)[axis]
        if size != "?":
            return self.index(int(size))
        return self.emit(f"tensor.dim {value}, {self.index(axis)} : {kind}")

    def fitted(self, values: Sequence[str], kind: str) -> list[str]:
        """Values of one type, cut to the sizes that all of them have."""
        if "?" not in kind or len(set(values)) == 1:
            return list(values)
        sizes: list[str] = []
        for axis in range(rank(kind)):
            found = [self.dimension(each, kind, axis) for each in values]
            low = found[0]
            for each in found[1:]:
                low = self.emit(f"arith.minui {low}, {each} : index")
            sizes.append(low)
        zeros, ones = ["0"] * len(sizes), ["1"] * len(sizes)
        return [self.cut(each, kind, zeros, sizes, ones) for each in values]

    def cut(
        self,
        value: str,
        kind: str,
        offsets: Sequence[str],
        sizes: Sequence[str],
        strides: Sequence[str],
    ) -> str:
        result = f"tensor<{'?x' * len(sizes)}{element_of(kind)}>"
        lists = " ".join(f"[{', '.join(each)}]" for each in (offsets, sizes, strides))
        part = self.emit(f"tensor.extract_slice {value}{lists} : {kind} to {result}")
        return part

    # Statements -------------------------------------------------------------------------------

    def elementwise(self, scope: Scope) -> None:
        kind = self.random.choice(self.kinds)
        left, right = self.pick(scope, kind), self.pick(scope, kind)
        element = element_of(kind)
        left, right = self.fitted([left, right], kind)
        if element == "i1":
            name = self.random.choice(["xori", "ori", "andi"])
        elif "f" in element:
            name = self.random.choice(["addf", "subf", "maximumf"])
        else:
            name = self.random.choice(["addi", "subi", "maxsi"])
        self.keep(scope, kind, self.emit(f"arith.{name} {left}, {right} : {kind}"))

    def element(self, scope: Scope) -> None:
        """An element is read, and another one written."""
        kind = self.random.choice(self.kinds)
        value = self.pick(scope, kind)
        places = [
            self.inside(scope, self.dimension(value, kind, axis)) for axis in range(rank(kind))
        ]
        found = self.emit(f"tensor.extract {value}[{', '.join(places)}] : {kind}")
        self.keep(scope, element_of(kind), found)
        target = value if self.chance(0.4) else self.pick(scope, kind)
        places = [
            self.inside(scope, self.dimension(target, kind, axis)) for axis in range(rank(kind))
        ]
        new = self.pick(scope, element_of(kind))
        text = f"tensor.insert {new} into {target}[{', '.join(places)}] : {kind}"
        self.keep(scope, kind, self.emit(text))

    def part(self, scope: Scope) -> None:
        """A part of a tensor of open or static size, which may be inserted into another one."""
        kind = self.random.choice(self.kinds)
        source, target = self.pick(scope, kind), self.pick(scope, kind)
        offsets, sizes, starts = [], [], []
        whole = self.random.randrange(4)
        for axis in range(rank(kind)):
            own, other = (self.dimension(each, kind, axis) for each in (source, target))
            least = self.emit(f"arith.minui {own}, {other} : index")
            if axis and whole:
                # Rows are one piece of memory.
                offsets.append("0")
                starts.append("0")
                sizes.append(least)
                continue
            size = self.inside(scope, least)
            sizes.append(self.emit(f"arith.addi {size}, %one : index"))
            for extent, found in ((own, offsets), (other, starts)):
                rest = self.emit(f"arith.subi {extent}, {size} : index")
                found.append(self.inside(scope, rest))
        ones = ["1"] * len(sizes)
        part = self.cut(source, kind, offsets, sizes, ones)
        loose = f"tensor<{'?x' * rank(kind)}{element_of(kind)}>"
        if loose in self.kinds:
            self.keep(scope, loose, part)
        if self.chance(0.3):
            part = self.emit(f"arith.{self.doubling(kind)} {part}, {part} : {loose}")
        if self.chance(0.8):
            lists = " ".join(f"[{', '.join(each)}]" for each in (starts, sizes, ones))
            text = f"tensor.insert_slice {part} into {target}{lists} : {loose} into {kind}"
            self.keep(scope, kind, self.emit(text))

    def doubling(self, kind: str) -> str:
        element = element_of(kind)
        return "ori" if element == "i1" else "addf" if "f" in element else "addi"

    def number(self, scope: Scope) -> None:
        element = self.random.choice(["index", *self.elements])
        left, right = self.pick(scope, element), self.pick(scope, element)
        if element == "index":
            name = self.random.choice(["addi", "muli", "maxsi", "minsi"])
            found = self.emit(f"arith.{name} {left}, {right} : index")
            self.keep(scope, "index", self.emit(f"arith.remui {found}, %seven : index"))
        elif element == "i1":
            self.keep(scope, "i1", self.emit(f"arith.xori {left}, {right} : i1"))
        else:
            names = ["addf", "subf"] if "f" in element else ["addi", "muli", "subi", "minsi"]
            name = self.random.choice(names)
            self.keep(scope, element, self.emit(f"arith.{name} {left}, {right} : {element}"))

    def condition(self, scope: Scope) -> str:
        if "i1" in self.elements and self.chance(0.5):
            return self.pick(scope, "i1")
        element = self.random.choice(["index", *self.elements])
        left, right = self.pick(scope, element), self.pick(scope, element)
        if element == "i1":
            return left
        if "f" in element:
            return self.emit(f"arith.cmpf olt, {left}, {right} : {element}")
        return self.emit(f"arith.cmpi slt, {left}, {right} : {element}")

    def recast(self, scope: Scope) -> None:
        """Between static and open sizes."""
        fixed = [each for each in self.kinds if "?" not in each]
        loose = [each for each in self.kinds if "?" in each]
        pairs = [
            (a, b)
            for a in fixed
            for b in loose
            if rank(a) == rank(b) and element_of(a) == element_of(b)
        ]
        if not pairs:
            return self.special(scope)
        kind, other = self.random.choice(pairs)
        value = self.pick(scope, kind)
        self.keep(scope, other, self.emit(f"tensor.cast {value} : {kind} to {other}"))
        return None

    def special(self, scope: Scope) -> None:
        kind = self.random.choice(self.kinds)
        value, element = self.pick(scope, kind), element_of(kind)
        form = self.random.choice(
            ["generate", "fill", "pad", "reduce", "concat", "matmul", "generic"]
        )
        sizes = [self.dimension(value, kind, axis) for axis in range(rank(kind))]
        names = [f"d{axis}" for axis in range(rank(kind))]
        space = ", ".join(names)
        dynamic = [s for s, each in zip(sizes, shape_of(kind), strict=True) if each == "?"]
        if form == "generate" and dynamic:
            arguments = ", ".join(f"%{n}: index" for n in names)
            self.lines.append(f"{(name := self.name())} = tensor.generate {', '.join(dynamic)} {{")
            self.lines.append(f"^bb0({arguments}):")
            found = self.emit(
                f"tensor.extract {value}[{', '.join('%' + n for n in names)}] : {kind}"
            )
            self.lines.append(f"tensor.yield {found} : {element}\n}} : {kind}")
            self.keep(scope, kind, name)
        elif form == "fill":
            empty = self.emit(f"tensor.empty({', '.join(dynamic)}) : {kind}")
            number = self.pick(scope, element)
            target = value if self.chance(0.5) else empty
            text = f"linalg.fill ins({number} : {element}) outs({target} : {kind}) -> {kind}"
            self.keep(scope, kind, self.emit(text))
        elif form == "pad" and len(dynamic) == rank(kind):
            number = self.pick(scope, element)
            lists = ", ".join(self.inside(scope, "%two") for _ in names)
            zeros = ", ".join("0" for _ in names)
            arguments = ", ".join(f"%{n}: index" for n in names)
            self.lines.append(
                f"{(name := self.name())} = tensor.pad {value} low[{zeros}] high[{lists}] {{"
            )
            self.lines.append(f"^bb0({arguments}):\ntensor.yield {number} : {element}")
            self.lines.append(f"}} : {kind} to {kind}")
            self.keep(scope, kind, name)
        elif form == "reduce" and element not in ("i1", "bf16"):
            self.reduction(scope, value, kind)
        elif form == "concat" and kind.startswith("tensor<?x"):
            size = self.emit(f"arith.minui {sizes[0]}, %two : index")
            rest = sizes[1:]
            zeros = ["0"] * rank(kind)
            part = self.cut(value, kind, zeros, [size, *rest], ["1"] * rank(kind))
            text = f"tensor.concat dim(0) {part}, {part} : ({kind}, {kind}) -> {kind}"
            self.keep(scope, kind, self.emit(text))
        elif form == "matmul" and kind == f"tensor<?x?x{element}>" and element in ("i32", "f64"):
            start = self.pick(scope, kind)
            k = self.emit(f"arith.minui {sizes[0]}, {sizes[1]} : index")
            for axis in (0, 1):
                k = self.emit(f"arith.minui {k}, {self.dimension(start, kind, axis)} : index")
            a, b = (self.cut(each, kind, ["0", "0"], [k, k], ["1", "1"]) for each in (value, start))
            text = f"linalg.matmul ins({a}, {b} : {kind}, {kind}) outs({b} : {kind}) -> {kind}"
            self.keep(scope, kind, self.emit(text))
        elif form == "generic":
            other = self.pick(scope, kind)
            value, other = self.fitted([value, other], kind)
            same = f"affine_map<({space}) -> ({space})>"
            kinds = ", ".join(['"parallel"'] * rank(kind))
            self.lines.append(
                f"{(name := self.name())} = linalg.generic {{indexing_maps = [{same}, {same}],"
                f" iterator_types = [{kinds}]}} ins({value} : {kind}) outs({other} : {kind}) {{"
            )
            self.lines.append(f"^bb0(%x: {element}, %y: {element}):")
            found = self.emit(f"arith.{self.doubling(kind)} %x, %y : {element}")
            self.lines.append(f"linalg.yield {found} : {element}\n}} -> {kind}")
            self.keep(scope, kind, name)

    def reduction(self, scope: Scope, value: str, kind: str) -> None:
        element = element_of(kind)
        start = self.made(scope, element)
        total = f"tensor<{element}>"
        empty = self.emit(f"tensor.from_elements {start} : {total}")
        axes = ", ".join(map(str, range(rank(kind))))
        name = "maximumf" if "f" in element else "addi"
        self.lines.append(
            f"{(reduced := self.name())} = linalg.reduce ins({value} : {kind}) outs({empty} :"
            f" {total}) dimensions = [{axes}]\n(%in: {element}, %acc: {element}) {{"
        )
        found = self.emit(f"arith.{name} %in, %acc : {element}")
        self.lines.append(f"linalg.yield {found} : {element}\n}}")
        self.keep(scope, element, self.emit(f"tensor.extract {reduced}[] : {total}"))
