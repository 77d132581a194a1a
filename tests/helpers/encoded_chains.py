"""Chains of contractions in the making, for devices of many kinds.

All numbers are small integers, so that sums are exact in any order, and NumPy says in 64 bits
what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray

CPU = (
    '#hal.executable.target<"llvm-cpu", "{form}", {{cpu_features = "{features}", '
    'target_triple = "{triple}", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}}>'
)
INNER_TILED = CPU.replace("target_triple", "enable_inner_tiled = true, target_triple")
VMVX = (
    '#hal.executable.target<"vmvx", "vmvx-bytecode-fb", {{ukernels = "{ukernels}", '
    "iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}}>"
)
GPU = (
    '#hal.executable.target<"rocm", "rocm-hsaco-fb", {iree.encoding.resolver = '
    "#iree_gpu.gpu_encoding_resolver<>, iree_codegen.target_info = #iree_gpu.target<"
    'arch = "gfx942", features = "", wgp = <mma = [<MFMA_F32_16x16x4_F32>, '
    "<MFMA_I32_16x16x32_I8>, <MFMA_F32_16x16x16_BF16>], max_workgroup_memory_bytes = 65536, "
    "max_load_instruction_bits = 128, simds_per_wgp = 4, vgpr_space_bits = 2048>>}>"
)
PADDING = (
    '#hal.executable.target<"llvm-cpu", "padded", {iree.encoding.resolver = '
    "#iree_encoding.identity_resolver<>}>"
)
TARGETS = (
    CPU.format(form="embedded-elf-x86_64", features="+avx2", triple="x86_64-x-x"),
    CPU.format(
        form="embedded-elf-x86_64",
        features="+avx512f,+avx512bw,+avx512vnni,+avx512bf16",
        triple="x86_64-x-x",
    ),
    CPU.format(form="embedded-elf-arm_64", features="+i8mm,+bf16", triple="aarch64-x-x"),
    CPU.format(form="embedded-elf-riscv_64", features="+v,+zvl256b", triple="riscv64-x-x"),
    VMVX.format(ukernels="none"),
    VMVX.format(ukernels="all"),
    GPU,
    PADDING,
    '#hal.executable.target<"llvm-cpu", "plain">',
    INNER_TILED.format(form="embedded-elf-x86_64", features="+avx512f", triple="x86_64-x-x"),
    INNER_TILED.format(form="embedded-elf-riscv_64", features="+v", triple="riscv64-x-x"),
    INNER_TILED.format(form="embedded-elf-arm_64", features="", triple="aarch64-x-x"),
)

WIDE = {
    **dict.fromkeys(("i1", "i3", "i4", "i8", "i12", "i16", "i32"), "i32"),
    "i64": "i64",
    **dict.fromkeys(("bf16", "f16", "f32"), "f32"),
    "f64": "f64",
}
"""In which type products of a type are added up."""

SIZES = (0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33)
WEIGHTS = (1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2)
"""How often a size is chosen: most programs have elements."""


def width(element: str) -> int:
    return int(element.lstrip("bfi"))


def is_float(element: str) -> bool:
    return "f" in element


@dataclass
class Tensor:
    """A tensor of the program, its numbers, and the values of sizes that its type leaves open."""

    name: str
    numbers: Array
    element: str
    device: int
    open: tuple[str | None, ...]

    @property
    def type(self) -> str:
        pairs = zip(self.open, self.numbers.shape, strict=True)
        sizes = "x".join(str(size) if name is None else "?" for name, size in pairs)
        return f"tensor<{sizes}x{self.element}>"

    @property
    def sizes(self) -> list[str]:
        return [name for name in self.open if name is not None]


@dataclass
class EncodedProgram:
    """A program in the making."""

    generator: np.random.Generator
    lines: list[str] = field(default_factory=list[str])
    globals: list[str] = field(default_factory=list[str])
    arguments: list[Tensor] = field(default_factory=list[Tensor])
    functions: list[str] = field(default_factory=list[str])
    count: int = 0

    def number(self, low: int, high: int) -> int:
        return int(self.generator.integers(low, high))

    def size(self) -> int:
        weights = np.array(WEIGHTS)
        return int(self.generator.choice(SIZES, p=weights / weights.sum()))

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def numbers(self, shape: tuple[int, ...], element: str) -> Array:
        found = self.generator.integers(-1, 2, shape)
        return -(found & 1) if element == "i1" else found

    def argument(self, shape: tuple[int, ...], element: str, device: int) -> Tensor:
        """An argument, of which each size may be open."""
        name = f"%{self.fresh('a')}"
        sizes = tuple(f"{name}d{i}" if self.number(0, 4) == 0 else None for i in range(len(shape)))
        value = Tensor(name, self.numbers(shape, element), element, device, sizes)
        self.arguments.append(value)
        for place, size in enumerate(sizes):
            if size is not None:
                self.lines += [
                    f"{size}c = arith.constant {place} : index",
                    f"{size} = tensor.dim {name}, {size}c : {value.type}",
                ]
        return value

    def weight(self, shape: tuple[int, ...], element: str, device: int) -> Tensor:
        """A global that is the same on all devices."""
        name = self.fresh("w")
        numbers = self.numbers(shape, element)
        value = Tensor(f"%{name}", numbers, element, device, (None,) * len(shape))
        numbers = value.numbers.astype(float if is_float(element) else int).tolist()
        text = str(numbers).replace("-1", "true").replace("0", "false")
        literal = text if element == "i1" else str(numbers)
        dense = f"dense<{literal if value.numbers.size else ''}>"
        self.globals.append(f"util.global private @{name} = {dense} : {value.type}")
        self.lines.append(f"{value.name} = util.global.load @{name} : {value.type}")
        return value

    def move(self, value: Tensor, device: int) -> Tensor:
        if value.device == device:
            return value
        moved = Tensor(f"%{self.fresh('t')}", value.numbers, value.element, device, value.open)
        sizes = f"{{{', '.join(value.sizes)}}}" if value.sizes else ""
        self.lines.append(
            f"{moved.name} = flow.tensor.transfer {value.name} : {value.type}{sizes} "
            f"to #hal.device.affinity<@d{device}>"
        )
        return moved

    def product(self, left: Tensor, columns: int) -> Tensor:
        """The product with a matrix, which may be transposed, in the wide type."""
        transposed = self.number(0, 2) == 1
        inner = left.numbers.shape[1]
        shape = (columns, inner) if transposed else (inner, columns)
        make = self.argument if self.number(0, 2) else self.weight
        right = make(shape, left.element, left.device)
        numbers = left.numbers @ (right.numbers.T if transposed else right.numbers)
        wide, name = WIDE[left.element], f"%{self.fresh('p')}"
        place = 0 if transposed else 1
        result = Tensor(name, numbers, wide, left.device, (left.open[0], right.open[place]))
        maps = ", ".join(f"affine_map<(m, n, k) -> {m}>" for m in ("(m, k)", "(n, k)", "(m, n)"))
        attributes = f" indexing_maps = [{maps}]" if transposed else ""
        type_ = result.type
        self.lines += [
            f"{name}z = arith.constant {'0.0' if is_float(wide) else '0'} : {wide}",
            f"{name}e = tensor.empty({', '.join(result.sizes)}) : {type_}",
            f"{name}f = linalg.fill ins({name}z : {wide}) outs({name}e : {type_}) -> {type_}",
            f"{name} = linalg.matmul{attributes} ins({left.name}, {right.name} : {left.type}, "
            f"{right.type}) outs({name}f : {type_}) -> {type_}",
        ]
        return result

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        """The sum of two products of one left side, whose right sides agree in what is open."""
        name = f"%{self.fresh('s')}"
        operation = "arith.addf" if is_float(left.element) else "arith.addi"
        self.lines.append(f"{name} = {operation} {left.name}, {right.name} : {left.type}")
        numbers = left.numbers + right.numbers
        return Tensor(name, numbers, left.element, left.device, left.open)

    def clamp(self, value: Tensor) -> Tensor:
        """Numbers from -1 to 1 again, in another type."""
        floating, wide = is_float(value.element), value.element
        kinds = ("arith.maximumf", "arith.minimumf") if floating else ("arith.maxsi", "arith.minsi")
        element = list(WIDE)[self.number(0, len(WIDE))]
        if floating and element == "i1":
            element = "i8"
        casts: list[str] = []
        if is_float(element) != floating:
            casts = ["fptosi" if floating else "sitofp"]
        elif element != wide:
            wider = width(element) > width(wide)
            casts = [
                ("extf" if wider else "truncf") if floating else "extsi" if wider else "trunci"
            ]
        name, zero = f"%{self.fresh('c')}", ".0" if floating else ""
        numbers = np.clip(value.numbers, -1, 1)
        if element == "i1":
            numbers = -(numbers & 1)
        result = Tensor(name, numbers, element, value.device, value.open)
        same = "affine_map<(i, j) -> (i, j)>"
        body = [
            f"%low = arith.constant -1{zero} : {wide}",
            f"%high = arith.constant 1{zero} : {wide}",
            f"%m = {kinds[0]} %x, %low : {wide}",
            f"%n = {kinds[1]} %m, %high : {wide}",
            *(f"%r = arith.{cast} %n : {wide} to {element}" for cast in casts),
            f"linalg.yield {'%r' if casts else '%n'} : {element}",
        ]
        self.lines += [
            f"{name}e = tensor.empty({', '.join(value.sizes)}) : {result.type}",
            f"{name} = linalg.generic {{indexing_maps = [{same}, {same}], "
            f'iterator_types = ["parallel", "parallel"]}} ins({value.name} : {value.type}) '
            f"outs({name}e : {result.type}) {{",
            f"^bb0(%x: {wide}, %o: {element}):",
            *body,
            f"}} -> {result.type}",
        ]
        return result
