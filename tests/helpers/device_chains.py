"""Random chains of contractions and elementwise operations over several random devices."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

TARGETS = {
    "sse": ("llvm-cpu", 'target_triple = "x86_64-none-elf", cpu_features = "+sse2"', "cpu"),
    "avx2": ("llvm-cpu", 'target_triple = "x86_64-none-elf", cpu_features = "+avx,+avx2"', "cpu"),
    "avx512": ("llvm-cpu", 'target_triple = "x86_64-none-elf", cpu_features = "+avx512f"', "cpu"),
    "vnni": (
        "llvm-cpu",
        'target_triple = "x86_64-none-elf",'
        ' cpu_features = "+avx2,+avx512f,+avx512bw,+avx512vnni,+avx512bf16"',
        "cpu",
    ),
    "arm": ("llvm-cpu", 'target_triple = "aarch64-none-elf", cpu_features = ""', "cpu"),
    "i8mm": (
        "llvm-cpu",
        'target_triple = "aarch64-none-elf", cpu_features = "+dotprod,+i8mm,+bf16"',
        "cpu",
    ),
    "riscv": (
        "llvm-cpu",
        'target_triple = "riscv64-none-elf", cpu_features = "+v,+zvl256b"',
        "cpu",
    ),
    "vmvx": ("vmvx", 'ukernels = "none"', "vmvx"),
    "vmvx_all": ("vmvx", 'ukernels = "all"', "vmvx"),
    "gfx942": (
        "rocm",
        'abi = "hip", iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "",'
        " wgp = <compute = fp64|fp32, storage = b64|b32, subgroup = shuffle|arithmetic,"
        " mma = [<MFMA_F32_16x16x4_F32>, <MFMA_F32_16x16x16_F16>], subgroup_size_choices = [64],"
        ' simds_per_wgp = 4>, chip = <wgp_count = 304, sku = "mi300x">>',
        "gpu",
    ),
    "wmma": (
        "rocm",
        'abi = "hip", iree_codegen.target_info = #iree_gpu.target<arch = "gfx1200", features = "",'
        " wgp = <mma = [<WMMAR4_F32_16x16x16_F16>, <WMMA_F32_16x16x4_F32>,"
        " <WMMAR4_I32_16x16x16_I8>],"
        " max_workgroup_memory_bytes = 65536, max_load_instruction_bits = 128, simds_per_wgp = 4,"
        " vgpr_space_bits = 4096>>",
        "gpu",
    ),
    "none": ("llvm-cpu", 'target_triple = "x86_64-none-elf", cpu_features = "+avx2"', ""),
}
"""Executable targets: backend, configuration, and the kind of resolver."""

SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17, 20, 33)

FAMILIES = {
    "f32": ("f32", "f32"),
    "f64": ("f64", "f64"),
    "f16": ("f16", "f32"),
    "f16_f16": ("f16", "f16"),
    "bf16": ("bf16", "f32"),
    "i8": ("i8", "i32"),
    "ui8": ("i8", "i32"),
    "i16": ("i16", "i32"),
    "i32": ("i32", "i32"),
    "i64": ("i64", "i64"),
}
"""Element types of factors and of results."""


@dataclass(frozen=True)
class Chained:
    """A tensor of the program: its name, sizes, which of them the type leaves open, and where."""

    name: str
    sizes: tuple[int, ...]
    open: tuple[str | None, ...]
    element: str
    device: int

    @property
    def type(self) -> str:
        shape = "".join(
            f"{'?' if name else size}x" for size, name in zip(self.sizes, self.open, strict=True)
        )
        return f"tensor<{shape}{self.element}>"

    @property
    def dims(self) -> str:
        names = [name for name in self.open if name]
        return f"{{{', '.join(names)}}}" if names else ""


@dataclass
class Chain:
    """Writes a program with a function @main, whose arguments and results are on device 0."""

    random: Random
    family: str
    lines: list[str] = field(default_factory=list[str])
    arguments: list[Chained] = field(default_factory=list[Chained])
    globals: list[str] = field(default_factory=list[str])
    devices: int = 1
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    @property
    def factor(self) -> str:
        return FAMILIES[self.family][0]

    @property
    def result(self) -> str:
        return FAMILIES[self.family][1]

    # Tensors

    def argument(self, sizes: tuple[int, ...]) -> Chained:
        name = f"%a{len(self.arguments)}"
        dynamic = [self.random.random() < 0.3 for _ in sizes]
        names = tuple(f"{name}d{i}" if d else None for i, d in enumerate(dynamic))
        made = Chained(name, sizes, names, self.factor, 0)
        self.arguments.append(made)
        for index, dimension in enumerate(names):
            if dimension:
                self.emit(f"%c{name[1:]}{index} = arith.constant {index} : index")
                self.emit(f"{dimension} = tensor.dim {name}, %c{name[1:]}{index} : {made.type}")
        return made

    def constant(self, sizes: tuple[int, ...], device: int) -> Chained:
        made = Chained(self.fresh(), sizes, (None,) * len(sizes), self.factor, device)
        if self.random.random() < 0.3:
            text = self.scalar(self.random.randint(-1, 2))
        else:
            text = self._elements(sizes)
        if self.random.random() < 0.5:
            name = f"@w{len(self.globals)}"
            self.globals.append(f"util.global private {name} = dense<{text}> : {made.type}")
            self.emit(f"{made.name} = util.global.load {name} : {made.type}")
        else:
            self.emit(f"{made.name} = arith.constant dense<{text}> : {made.type}")
        return made

    def _elements(self, sizes: tuple[int, ...]) -> str:
        if not sizes:
            return self.scalar(self.random.randint(-2, 2))
        return f"[{', '.join(self._elements(sizes[1:]) for _ in range(sizes[0]))}]"

    def scalar(self, number: int) -> str:
        return f"{number}.0" if self.factor[0] in "fb" else str(number)

    def empty(self, like: Chained) -> str:
        name = self.fresh()
        dims = ", ".join(one for one in like.open if one)
        self.emit(f"{name} = tensor.empty({dims}) : {like.type}")
        return name

    def filled(self, like: Chained, number: int) -> str:
        zero, name, empty = self.fresh(), self.fresh(), self.empty(like)
        text = f"{number}.0" if like.element[0] in "fb" else str(number)
        self.emit(f"{zero} = arith.constant {text} : {like.element}")
        self.emit(
            f"{name} = linalg.fill ins({zero} : {like.element}) outs({empty} : {like.type})"
            f" -> {like.type}"
        )
        return name

    # Operations

    def on(self, value: Chained, device: int) -> Chained:
        if value.device == device:
            return value
        made = Chained(self.fresh(), value.sizes, value.open, value.element, device)
        self.emit(
            f"{made.name} = flow.tensor.transfer {value.name} : {value.type}{value.dims} to"
            f" #hal.device.affinity<@d{device}>"
        )
        return made

    def elementwise(self, values: list[Chained], body: list[str], element: str) -> Chained:
        """`body` computes `%r` of `%x0`, `%x1`, ...; a vector is the same for all rows."""
        first = values[0]
        made = Chained(self.fresh(), first.sizes, first.open, element, first.device)
        empty = self.empty(made)
        maps = [
            "affine_map<(i, j) -> (i, j)>" if len(v.sizes) == 2 else "affine_map<(i, j) -> (j)>"
            for v in values
        ]
        names = ", ".join(v.name for v in values)
        types = ", ".join(v.type for v in values)
        elements = ", ".join(f"%x{i}: {v.element}" for i, v in enumerate(values))
        self.emit(
            f"{made.name} = linalg.generic {{indexing_maps = [{', '.join(maps)},"
            ' affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}'
            f" ins({names} : {types}) outs({empty} : {made.type}) {{"
        )
        self.emit(f"^bb0({elements}, %o: {element}):")
        for line in body:
            self.emit(f"  {line}")
        self.emit(f"  linalg.yield %r : {element}")
        self.emit(f"}} -> {made.type}")
        return made

    def narrowed(self, value: Chained) -> Chained:
        """A result as a factor: smaller, and of the factors' type."""
        if value.element == self.factor and self.factor[0] == "i":
            return value
        wide, narrow = value.element, self.factor
        if narrow[0] == "i":
            return self.elementwise(
                [value], [f"%r = arith.trunci %x0 : {wide} to {narrow}"], narrow
            )
        body = [f"%c = arith.constant 0.015625 : {wide}"]
        if wide == narrow:
            body.append(f"%r = arith.mulf %x0, %c : {wide}")
        else:
            body.append(f"%s = arith.mulf %x0, %c : {wide}")
            body.append(f"%r = arith.truncf %s : {wide} to {narrow}")
        return self.elementwise([value], body, narrow)

    def activated(self, value: Chained) -> Chained:
        kind, e = ("f" if value.element[0] in "fb" else "i"), value.element
        body = [
            f"%c = arith.constant {'1.0' if kind == 'f' else '1'} : {e}",
            f"%s = arith.add{kind} %x0, %c : {e}",
            f"%r = arith.m{'aximumf' if kind == 'f' else 'axsi'} %s, %c : {e}",
        ]
        return self.elementwise([value], body, e)

    def added(self, left: Chained, right: Chained) -> Chained:
        kind = "f" if left.element[0] in "fb" else "i"
        return self.elementwise(
            [left, right], [f"%r = arith.add{kind} %x0, %x1 : {left.element}"], left.element
        )

    def product(self, left: Chained, right: Chained, transposed: bool) -> Chained:
        """left (m, k) times right (k, n), or (n, k) if transposed."""
        n = 0 if transposed else 1
        made = Chained(
            self.fresh(),
            (left.sizes[0], right.sizes[n]),
            (left.open[0], right.open[n]),
            self.result,
            left.device,
        )
        start = self.filled(made, self.random.choice([0, 0, 3]))
        if not transposed and self.family != "ui8" and self.random.random() < 0.6:
            self.emit(
                f"{made.name} = linalg.matmul ins({left.name}, {right.name} : {left.type},"
                f" {right.type}) outs({start} : {made.type}) -> {made.type}"
            )
            return made
        right_map = "(n, k)" if transposed else "(k, n)"
        kind = "f" if self.result[0] in "fb" else "i"
        body: list[str] = []
        factors = ["%x0", "%x1"]
        if self.factor != self.result:
            widen = "arith.extf" if kind == "f" else "arith.extsi"
            first = "arith.extui" if self.family == "ui8" else widen
            body.append(f"%y0 = {first} %x0 : {self.factor} to {self.result}")
            body.append(f"%y1 = {widen} %x1 : {self.factor} to {self.result}")
            factors = ["%y0", "%y1"]
        self.emit(
            f"{made.name} = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,"
            f" affine_map<(m, n, k) -> {right_map}>, affine_map<(m, n, k) -> (m, n)>],"
            ' iterator_types = ["parallel", "parallel", "reduction"]}'
            f" ins({left.name}, {right.name} : {left.type}, {right.type})"
            f" outs({start} : {made.type}) {{"
        )
        self.emit(f"^bb0(%x0: {left.element}, %x1: {right.element}, %o: {self.result}):")
        for line in body:
            self.emit(f"  {line}")
        self.emit(f"  %p = arith.mul{kind} {factors[0]}, {factors[1]} : {self.result}")
        self.emit(f"  %s = arith.add{kind} %o, %p : {self.result}")
        self.emit(f"  linalg.yield %s : {self.result}")
        self.emit(f"}} -> {made.type}")
        return made

    # Programs

    def size(self) -> int:
        return self.random.choice(SIZES)

    def forked(self, value: Chained) -> Chained:
        """The sum of two products of one tensor, on two devices or on one."""
        sizes = (value.sizes[1], self.size())
        parts: list[Chained] = []
        for _ in range(2):
            there = self.on(value, self.random.randrange(self.devices))
            right = self.constant(sizes, there.device)
            parts.append(self.narrowed(self.product(there, right, transposed=False)))
        device = self.random.choice([part.device for part in parts])
        return self.added(*(self.on(part, device) for part in parts))

    def looped(self, value: Chained) -> Chained:
        """Products with a square matrix in a loop, the tensor going to another device and back."""
        inner = replace(value, name=self.fresh())
        made = replace(value, name=self.fresh())
        low, high, step = (self.fresh() for _ in range(3))
        for name, number in ((low, 0), (high, self.random.randint(0, 3)), (step, 1)):
            self.emit(f"{name} = arith.constant {number} : index")
        self.emit(
            f"{made.name} = scf.for {self.fresh()} = {low} to {high} step {step}"
            f" iter_args({inner.name} = {value.name}) -> ({value.type}) {{"
        )
        there = self.on(inner, self.random.randrange(self.devices))
        right = self.constant((value.sizes[1],) * 2, there.device)
        turned = self.narrowed(self.product(there, right, transposed=False))
        # What goes round has the type of what comes in.
        kept = self.fresh()
        back = self.on(turned, value.device)
        self.emit(f"{kept} = tensor.cast {back.name} : {back.type} to {value.type}")
        self.emit(f"scf.yield {kept} : {value.type}")
        self.emit("}")
        return made

    def stored(self, value: Chained) -> Chained:
        """The tensor, by way of a global."""
        if any(value.open):
            return value
        name, made = f"@m{len(self.globals)}", replace(value, name=self.fresh())
        start = self.scalar(0)
        self.globals.append(f"util.global private mutable {name} = dense<{start}> : {value.type}")
        self.emit(f"util.global.store {value.name}, {name} : {value.type}")
        self.emit(f"{made.name} = util.global.load {name} : {value.type}")
        return made

    def extend(self, value: Chained) -> Chained:
        """A random operation on a factor; gives a factor."""
        device = self.random.randrange(self.devices)
        value = self.on(value, device) if self.random.random() < 0.6 else value
        choice = self.random.random()
        if choice > 0.9:
            return self.forked(value)
        if choice > 0.83:
            return self.looped(value)
        if choice > 0.79:
            return self.stored(value)
        if choice < 0.2:
            return self.activated(value)
        if choice < 0.35:
            return self.added(value, self.constant(value.sizes[1:], value.device))
        transposed = self.random.random() < 0.3
        sizes = (value.sizes[1], self.size())
        sizes = sizes[::-1] if transposed else sizes
        if self.random.random() < 0.6:
            right = self.constant(sizes, value.device)
        else:
            right = self.on(self.argument(sizes), value.device)
        if self.random.random() < 0.2:
            right = self.activated(right)
        return self.narrowed(self.product(value, right, transposed))

    def write(self) -> str:
        """The text of the program."""
        self.devices = self.random.randint(1, 4)
        targets, devices = self._devices()
        value = self.argument((self.size(), self.size()))
        for _ in range(self.random.randint(2, 6)):
            value = self.extend(value)
        result = self.on(value, 0)
        place = "{iree.abi.affinity = #hal.device.affinity<@d0>}"
        arguments = ", ".join(f"{one.name}: {one.type} {place}" for one in self.arguments)
        body = "\n".join(self.lines)
        default = "{stream.affinity.default = #hal.device.affinity<@d0>}"
        parts = "\n".join([*devices, *self.globals])
        return (
            f"{targets}\nmodule attributes {default} {{\n{parts}\n"
            f"func.func @main({arguments}) -> ({result.type} {place}) {{\n{body}\n"
            f"  return {result.name} : {result.type}\n}}\n}}\n"
        )

    def _devices(self) -> tuple[str, list[str]]:
        texts: list[str] = []
        for name, (backend, configuration, resolver) in TARGETS.items():
            dialect = "iree_gpu" if resolver == "gpu" else "iree_cpu"
            key = f", iree.encoding.resolver = #{dialect}.{resolver}_encoding_resolver<>"
            entries = configuration + (key if resolver else "")
            texts.append(
                f'#{name} = #hal.executable.target<"{backend}", "{backend}", {{{entries}}}>'
            )
        devices: list[str] = []
        for index in range(self.devices):
            count = 2 if self.random.random() < 0.15 else 1
            names = ", ".join(f"#{one}" for one in self.random.sample(sorted(TARGETS), count))
            device = f'#hal.device.target<"local", {{ordinal = {index} : index}}, [{names}]>'
            devices.append(f"util.global private @d{index} = {device} : !hal.device")
        return "\n".join(texts), devices


def random_chain(seed: int) -> tuple[str, list[tuple[int, ...]]]:
    """A program, and the shapes of its inputs."""
    random = Random(seed)
    chain = Chain(random, random.choice(sorted(FAMILIES)))
    text = chain.write()
    return text, [argument.sizes for argument in chain.arguments]
