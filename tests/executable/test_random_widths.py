"""Random programs over elements of odd widths: the same after every stage, interpreted and native.

In `make nightly` all are run in kernels too, else some: each after one stage.
"""

from __future__ import annotations

import numpy as np
import pytest
from breadth import NIGHTLY, cases, is_sampled
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import argument_types, find_function, run
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.passes.stream.encode_host_tensors import encode_host_tensors
from mesh_opt.runtime.abi.values import dtype_of, integer_width
from parsing import parse_verified
from stream_width_programs import StreamWidthProgram
from width_programs import DYNAMIC_SIZE, WidthProgram
from xdsl.dialects.builtin import ModuleOp, TensorType

SEEDS = cases(4, 500)
NATIVE_STAGES = ("", "iree-stream-encode-device-tensors", "verify-collectives")
"""Stages that kernels are made of: none, and those whose bindings are bytes."""

Arrays = list[np.ndarray]


def inputs_of(module: ModuleOp, seed: int) -> Arrays:
    """Any numbers; the index is 0 or 1."""
    numbers = np.random.default_rng(seed)
    arrays: Arrays = []
    for type_ in argument_types(find_function(Program(module), "main")):
        if not isinstance(type_, TensorType):
            arrays.append(np.asarray(seed % 2, np.int64))
            continue
        shape = [DYNAMIC_SIZE if size < 0 else size for size in type_.get_shape()]
        width = integer_width(type_)
        assert width is not None
        low, high = (0, 2) if width == 1 else (-(1 << width - 1), 1 << width - 1)
        arrays.append(numbers.integers(low, high, shape).astype(dtype_of(type_)))
    return arrays


def check(found: Arrays, expected: Arrays, where: str, text: str) -> None:
    for one, wanted in zip(found, expected, strict=True):
        assert one.dtype == wanted.dtype
        np.testing.assert_array_equal(one, wanted, err_msg=f"{where}\n{text}")


def is_compiled(seed: int) -> bool:
    return NIGHTLY > 0 or seed % 4 == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_tensors(seed: int) -> None:
    text = WidthProgram(seed).text()
    context, module = parse_verified(text)
    inputs = inputs_of(module, seed)
    expected = run(module, "main", inputs)
    native = NATIVE_STAGES[seed % len(NATIVE_STAGES)] if is_compiled(seed) else None
    if native == "":
        check(CompiledProgram(module).run("main", inputs), expected, "as it is written", text)
    passes = DataTilePass(data_tiling=seed % 4 > 0).passes()
    for position, one in enumerate(passes):
        one.apply(context, module)
        module.verify()
        if position == seed % len(passes):
            context, module = parse_verified(str(module))
        if one is passes[-1] or is_sampled(position + seed, 4):
            check(run(module, "main", inputs), expected, one.name, text)
        if one.name == native:
            found = CompiledProgram(module, guard=seed % 2 == 0).run("main", inputs)
            check(found, expected, f"native, after {one.name}", text)


@pytest.mark.parametrize("seed", SEEDS)
def test_resources(seed: int) -> None:
    """Parts that are not whole bytes are refused; whatever is not, is right."""
    text = StreamWidthProgram(seed).text()
    context, module = parse_verified(text)
    inputs = inputs_of(module, seed)
    expected = run(module, "main", inputs)
    try:
        encode_host_tensors().apply(context, module)
    except OperationError as error:
        assert "at a byte boundary" in error.message or "single elements" in error.message
        return
    module.verify()
    check(run(module, "main", inputs), expected, "bytes", text)
    if is_compiled(seed):
        check(CompiledProgram(module).run("main", inputs), expected, "native", text)
