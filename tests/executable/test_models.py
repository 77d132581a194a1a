"""A transformer block computes what JAX computed for it: on a grid, on one device, and on two."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from breadth import NIGHTLY, is_sampled
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import run, run_partitioned
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.passes.registry import all_passes
from xdsl.context import Context

MODELS = Path(__file__).parents[1] / "cases" / "models"


def test_transformer_block() -> None:
    context = Context()
    register_dialects(context)
    text = (MODELS / "transformer_block_sharded.mlir").read_text()
    module = parse_module(context, Source(text, "<test>"))
    all_passes()["spmd"]()().apply(context, module)
    module.verify()
    collectives = Counter(op.name for op in module.walk() if op.name.startswith("shard."))
    # One reduction after attention and one after the second matmul, as Megatron has it.
    assert collectives == {"shard.grid": 1, "shard.all_reduce": 2}
    stored = np.load(MODELS / "transformer_block_sharded.npz")
    inputs = [stored[f"in{index}"] for index in range(13)]
    (result,) = run_partitioned(module, "main", inputs)
    expected = stored["out0"]
    assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()


DEVICE = """util.global private @{name} =
  #hal.device.target<"local", {{ordinal = {number} : index}}, [
    #hal.executable.target<{target}>]> : !hal.device
"""
CPU = """"llvm-cpu", "{form}", {{cpu_features = "{features}", target_triple = "{triple}",
    iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>}}"""
ZNVER4 = CPU.format(
    form="embedded-elf-x86_64",
    features="+avx2,+avx512f,+avx512bw,+avx512vnni,+avx512bf16",
    triple="x86_64-x-x",
)
AARCH64 = CPU.format(form="embedded-elf-arm_64", features="+dotprod", triple="aarch64-x-x")
VMVX = """"vmvx", "vmvx-bytecode-fb", {ukernels = "all",
    iree.encoding.resolver = #iree_cpu.vmvx_encoding_resolver<>}"""

HALFWAY = "%61"
"""The block's input with the result of attention added: what the second half starts from."""


def on_devices(text: str, *targets: str) -> str:
    """The transformer block on one device, or with its second half on another one."""
    devices = "".join(
        DEVICE.format(name="ab"[number], number=number, target=target)
        for number, target in enumerate(targets)
    )
    start = text.index("module @jit_block")
    names = {"%arg7", "%arg8", "%arg9", "%arg10", "%arg11", "%arg12"} if len(targets) > 1 else set()
    lines: list[str] = []
    for line in text[start:].splitlines():
        lines.append(line)
        if line.lstrip().startswith("module"):
            lines.append(devices)
        elif line.lstrip().startswith("func.func"):
            lines[-1] = re.sub(
                r"(%arg\d+): (tensor<[^>]*>)",
                lambda found: (
                    f"{found[1]}: {found[2]} {{iree.abi.affinity = #hal.device.affinity"
                    f"<@{'b' if found[1] in names else 'a'}>}}"
                ),
                line,
            )
    body = "\n".join(lines)
    if len(targets) > 1:
        made, rest = re.split(rf"(?<=\n)(?=    {HALFWAY} = )", body)
        ends = rest.index("} -> tensor<2x32x64xf32>") + len("} -> tensor<2x32x64xf32>")
        move = (
            f"\n    %moved = flow.tensor.transfer {HALFWAY} : tensor<2x32x64xf32> "
            "to #hal.device.affinity<@b>"
        )
        body = made + rest[:ends] + move + re.sub(rf"{HALFWAY}\b", "%moved", rest[ends:])
    return text[:start] + body


@pytest.mark.parametrize(
    "targets",
    [(ZNVER4, AARCH64), *([(ZNVER4,), (ZNVER4, VMVX), (VMVX, ZNVER4)] if NIGHTLY else [])],
)
def test_transformer_block_in_tiles(targets: tuple[str, ...]) -> None:
    context = Context()
    register_dialects(context)
    text = on_devices((MODELS / "transformer_block.mlir").read_text(), *targets)
    module = parse_module(context, Source(text, "<test>"))
    stored = np.load(MODELS / "transformer_block.npz")
    inputs = [stored[f"in{index}"] for index in range(13)]
    expected = stored["out0"]

    def check(result: np.ndarray, when: str) -> None:
        assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max(), when

    for number, one in enumerate(DataTilePass().passes()):
        one.apply(context, module)
        module.verify()
        if is_sampled(number, 4):
            check(run(module, "main", inputs)[0], f"after {one.name}")
    check(CompiledProgram(module).run_partitioned("main", inputs)[0], "compiled")
    names = Counter(operation.name for operation in module.walk())
    # The eight contractions, and three of them are one kernel; no other adds up products.
    assert names["linalg.mmt4d"] + names["linalg.batch_mmt4d"] == 6
    transfers = [op for op in module.walk() if op.name == "stream.async.transfer"]
    assert bool(transfers) == (len(targets) > 1)
