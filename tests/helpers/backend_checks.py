"""Checks that the native backend computes what the interpreter computes."""

from __future__ import annotations

import numpy as np
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.explain import explain_kernels
from mesh_opt.ir.diagnostics import OperationError, Remark, remarks_to
from mesh_opt.runtime.abi.arrays import is_float_dtype
from mesh_opt.runtime.abi.compare import compare
from mesh_opt.runtime.abi.values import dtype_of, static_shape


def function(types: list[str], result: str, body: str) -> str:
    arguments = ", ".join(f"%a{i}: {each}" for i, each in enumerate(types))
    return f"func.func @main({arguments}) -> ({result}) {{\n{body}\n}}"


def random_input(kind, rng: np.random.Generator) -> np.ndarray:
    dtype = dtype_of(kind)
    shape = [5 if size < 0 else size for size in static_shape(kind) or ()]
    if is_float_dtype(dtype):
        return np.asarray(rng.standard_normal(shape)).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    width = getattr(getattr(getattr(kind, "element_type", kind), "width", None), "data", 8)
    top = 1 << (min(width, 8) - 1)
    return np.asarray(rng.integers(-top, top, shape)).astype(dtype)


def is_interpreted(program: CompiledProgram) -> bool:
    """Whether the interpreter runs a part of `main`, by the host code that calls use, too."""
    _, _, entries = program.entries("main", None)
    return isinstance(entries, OperationError) or any(each.interpreted for each in entries)


def check(text: str, *inputs: list[np.ndarray] | None, interpreted: bool = False) -> None:
    """The program runs in kernels (unless `interpreted`) and agrees with the interpreter, on each
    list of inputs. A list that is `None` or missing is random."""
    program = api.compile(text)
    main = program["main"]
    rng = np.random.default_rng(7)
    compiled = CompiledProgram(program.module)
    assert is_interpreted(compiled) == interpreted
    if interpreted:
        remarks: list[Remark] = []
        with remarks_to(remarks.append):
            explain_kernels(program.module)
        assert any(each.category == "backend" for each in remarks)
    for arrays in inputs or (None,):
        given = arrays or [random_input(each, rng) for each in main.argument_types]
        expected = main.reference(given)
        # The second call of native code checks its inputs in another way.
        for actual in (compiled.run("main", given), compiled.run("main", given)):
            for got, want in zip(actual, expected, strict=True):
                difference = compare(got, want)
                assert difference.agrees, difference
