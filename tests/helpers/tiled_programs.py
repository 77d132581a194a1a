"""Runs programs with contractions on two devices, after each stage of `data-tile` and compiled."""

from __future__ import annotations

import numpy as np
from breadth import is_sampled
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import argument_types, find_function, run
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.runtime.abi.values import dtype_of
from parsing import parse
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, ShapedType

Array = np.ndarray
PRODUCTS = ("linalg.mmt4d", "linalg.batch_mmt4d")

DEVICES = """
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [
  #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu_features = "+avx512f,+avx512bw",
    target_triple = "x86_64-x-x", iree.encoding.resolver =
      #iree_cpu.cpu_encoding_resolver<>}>]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [
  #hal.executable.target<"vmvx", "vmvx-bytecode-fb", {ukernels = "all",
    iree.encoding.resolver =
      #iree_cpu.vmvx_encoding_resolver<>}>]> : !hal.device
"""
HERE = "{iree.abi.affinity = #hal.device.affinity<@a>}"


def inputs_of(module: ModuleOp, dynamic: int = 5) -> list[Array]:
    generator = np.random.default_rng(0)
    arrays: list[Array] = []
    for type_ in argument_types(find_function(Program(module), "main")):
        shape: tuple[int, ...] = ()
        if isinstance(type_, ShapedType):
            shape = tuple(dynamic if n == DYNAMIC_INDEX else n for n in type_.get_shape())
        dtype = dtype_of(type_)
        low = 0 if dtype == np.bool_ else -2
        arrays.append(generator.integers(low, 3, shape).astype(dtype))
    return arrays


def check(
    text: str,
    products: int | None = None,
    dynamic: int = 5,
    *,
    convolutions: bool = False,
    compiled: bool = True,
) -> ModuleOp:
    """Run a program after some stages, in `make nightly` after all; return what has become of it.

    `products` is how many kernels on packed tiles it should have in the end, if that is known.
    """
    context, module = parse(DEVICES + text)
    inputs = inputs_of(module, dynamic)
    expected = run(module, "main", inputs)
    for number, one in enumerate(DataTilePass(encode_convolutions=convolutions).passes()):
        one.apply(context, module)
        if not is_sampled(number + len(text), 6):
            continue
        module.verify()
        for found, wanted in zip(run(module, "main", inputs), expected, strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted, err_msg=f"after {one.name}")
    module.verify()
    results = run(module, "main", inputs)
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg="after all stages")
    if compiled:
        results = CompiledProgram(module).run_partitioned("main", inputs)
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg="compiled")
    if products is not None:
        found_products = [op.name for op in module.walk() if op.name in PRODUCTS]
        assert len(found_products) == products, found_products
    return module
