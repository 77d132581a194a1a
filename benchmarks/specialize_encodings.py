"""Measure the time to parse and to specialise a program of many dispatches on eight devices.

    python -m benchmarks.specialize_encodings [dispatches ...]

Specialising should take less time than parsing, and both should grow linearly with the program.
"""

from __future__ import annotations

import argparse
import time

from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.stream.encode_host_tensors import encode_host_tensors
from mesh_opt.passes.stream.specialize_encodings import SpecializeEncodingsPass
from mesh_opt.tools.driver import new_context

DEVICES = 8
EXECUTABLES = 10
FEATURES = (
    "",
    "+avx",
    "+avx,+avx2",
    "+avx,+avx512f",
    "+avx,+avx512f,+avx512bw",
    "+avx,+avx512f,+avx512vnni",
    "+avx,+avx512f,+avx512bf16",
    "+avx,+fma",
)

ENCODING = (
    "#iree_encoding.encoding<operand_index = {index} : index, op_type = matmul, "
    "element_types = [f32, f32, f32], user_indexing_maps = [affine_map<(m, n, k) -> (m, k)>, "
    "affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], "
    "iteration_sizes = [64, 64, 64]>"
)
TENSORS = [f"tensor<64x64xf32, #e{index}>" for index in range(3)]


def program(dispatches: int) -> str:
    """Return matrix products with distinct operands, on the devices in turn."""
    lines = [f"#e{index} = {ENCODING.format(index=index)}" for index in range(3)]
    for device in range(DEVICES):
        configuration = (
            f'{{target_triple = "x86_64-x-x", cpu_features = "{FEATURES[device]}", '
            "iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}"
        )
        target = f'#hal.executable.target<"llvm-cpu", "elf", {configuration}>'
        lines.append(
            f'util.global private @d{device} = #hal.device.target<"local", [{target}]> '
            ": !hal.device"
        )
    lines += [_executable(number) for number in range(EXECUTABLES)]
    lines.append("util.func public @main(%s: index) {")
    lines += [_dispatch(number) for number in range(dispatches)]
    return "\n".join([*lines, "  util.return", "}"])


def _executable(number: int) -> str:
    subspans = "\n".join(
        f"      %{index} = stream.binding.subspan %b{index}[%c0] : !stream.binding -> "
        f"!iree_tensor_ext.dispatch.tensor<{access}:{tensor}>"
        for index, (access, tensor) in enumerate(
            zip(("readonly", "readonly", "writeonly"), TENSORS, strict=True)
        )
    )
    return f"""stream.executable private @ex{number} {{
  stream.executable.export public @f
  builtin.module {{
    func.func @f(%b0: !stream.binding, %b1: !stream.binding, %b2: !stream.binding) {{
      %c0 = arith.constant 0 : index
{subspans}
      func.return
    }}
  }}
}}"""


def _dispatch(number: int) -> str:
    on = f"on(#hal.device.affinity<@d{number % DEVICES}>)"
    left, right, result = TENSORS
    resource = "!stream.resource<*>{%s}"
    return "\n".join(
        (
            f"  %a{number} = stream.tensor.empty {on} : {left} in {resource}",
            f"  %b{number} = stream.tensor.empty {on} : {right} in {resource}",
            f"  %z{number} = stream.tensor.sizeof {on} {result} : index",
            f"  %r{number} = stream.tensor.dispatch {on} @ex{number % EXECUTABLES}::@f"
            f"(%a{number}, %b{number}) : ({left} in {resource}, {right} in {resource}) -> "
            f"{result} in !stream.resource<*>{{%z{number}}}",
        )
    )


def main() -> None:
    """Print the CPU seconds for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dispatches", type=int, nargs="*", default=[500, 2000, 10000])
    for dispatches in parser.parse_args().dispatches:
        source, context = Source(program(dispatches), "benchmark"), new_context()
        started = time.process_time()
        module = parse_module(context, source)
        read = time.process_time()
        SpecializeEncodingsPass().apply(context, module)
        specialized = time.process_time()
        encode_host_tensors().apply(context, module)
        encoded = time.process_time()
        print(
            f"{dispatches} dispatches: read {read - started:.2f} s, specialise "
            f"{specialized - read:.2f} s, encode host tensors {encoded - specialized:.2f} s"
        )


if __name__ == "__main__":
    main()
