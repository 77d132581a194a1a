"""Random programs with control flow over tensors of static and open sizes: native code does what
the interpreter does, on one device and partitioned over threads.

What the one refuses the other does, with the same message at the same place; inputs stay as they
are, and no memory is left over.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

import numpy as np
from breadth import cases
from control_flow_programs import inputs_for, program
from host_code_checks import used_bytes
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter import run as interpreter
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.passes.registry import all_passes
from mesh_opt.tools.driver import new_context
from parsing import parse_verified
from xdsl.dialects.builtin import ModuleOp

GRIDS = ((2,), (3,), (2, 2), (4,))

Arrays = Sequence[np.ndarray]
Outcome = tuple[Arrays, object]


def outcome(execute: Callable[..., Arrays], *arguments: object) -> Outcome:
    """The results, or what was refused and where."""
    try:
        with np.errstate(all="ignore"):
            return execute(*arguments), None
    except OperationError as error:
        return (), (error.operation, error.message)


def assert_same(found: Outcome, expected: Outcome, text: str) -> None:
    assert found[1] == expected[1], text
    for got, want in zip(found[0], expected[0], strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), text
        np.testing.assert_array_equal(got, want, err_msg=text)


def left_over(compiled: CompiledProgram, module: ModuleOp) -> int:
    """The bytes that host code holds between calls."""
    target = compiled.symbols.lookup(module, "main")
    assert target is not None
    entry = compiled._entry(target, None)
    assert entry is not None, "the program has no host code"
    gc.collect(0)
    machine = compiled._machines.prepare(entry).machine
    pool = machine.pool
    return used_bytes(pool)


def test_one_device() -> None:
    for seed in cases(8, 2000):
        text, arguments = program(seed)
        module = parse_verified(text)[1]
        compiled = CompiledProgram(module)
        for call in range(3):
            inputs = inputs_for(arguments, 3 * seed + call % 2)
            kept = [np.array(each) for each in inputs]
            expected = outcome(interpreter.run, module, "main", inputs)
            found = outcome(compiled.run, "main", inputs)
            assert_same(found, expected, text)
            assert all(map(np.array_equal, inputs, kept)), text
        del found
        assert left_over(compiled, module) == 0, text
        compiled.close()


def test_partitioned() -> None:
    for seed in cases(4, 1000):
        text, arguments = program(seed, GRIDS[seed % len(GRIDS)])
        whole, module = parse_verified(text)[1], parse_verified(text)[1]
        all_passes()["spmd"]()().apply(new_context(), module)
        module.verify()
        compiled = CompiledProgram(module)
        for call in range(2):
            inputs = inputs_for(arguments, 3 * seed + call)
            kept = [np.array(each) for each in inputs]
            meant = outcome(interpreter.run, whole, "main", inputs)
            expected = outcome(interpreter.run_partitioned, module, "main", inputs)
            found = outcome(compiled.run_partitioned, "main", inputs)
            assert_same(found, expected, text)
            # Passes may drop what would be refused, if nothing reads it.
            if meant[1] is None:
                assert_same(found, meant, text)
            assert all(map(np.array_equal, inputs, kept)), text
        compiled.close()
