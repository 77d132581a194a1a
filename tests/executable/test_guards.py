"""Buffers that are smaller than what kernels write to them are noticed."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.api import compile
from mesh_opt.codegen.compile import GUARD_VARIABLE, CompiledProgram
from mesh_opt.codegen.host_code import executable_steps, stream_steps
from mesh_opt.codegen.host_code.function_lowering import FunctionLowering
from mesh_opt.codegen.host_code.values import HostResource
from mesh_opt.ir.diagnostics import OperationError
from tool_runs import mesh_run

PROGRAM = """
func.func @main(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>, %c: tensor<3x2xf32>) -> tensor<5x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x3xf32>) -> tensor<5x3xf32>
  %m = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x3xf32>)
    outs(%f : tensor<5x3xf32>) -> tensor<5x3xf32>
  %g = tensor.empty() : tensor<5x2xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<5x2xf32>) -> tensor<5x2xf32>
  %n = linalg.matmul ins(%m, %c : tensor<5x3xf32>, tensor<3x2xf32>)
    outs(%h : tensor<5x2xf32>) -> tensor<5x2xf32>
  return %n : tensor<5x2xf32>
}
"""

INPUTS = [np.ones(shape, np.float32) for shape in ((5, 7), (7, 3), (3, 2))]


def make_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let resources have fewer bytes than host code was lowered for."""

    def shrink(lowering: FunctionLowering, size: int, owner: int) -> HostResource:
        found = allocate(lowering, size - 4, owner)
        return HostResource(found.address, found.block, size, owner)

    allocate = stream_steps.allocate
    monkeypatch.setattr(stream_steps, "allocate", shrink)
    monkeypatch.setattr(executable_steps, "allocate", shrink)


@pytest.mark.parametrize("pipeline", ["data-tile", "data-tile{data-tiling=false}"])
@pytest.mark.parametrize("is_broken", [False, True])
def test_small_buffers(pipeline: str, is_broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module = compile(PROGRAM, pipeline).module
    if is_broken:
        make_too_small(monkeypatch)
    monkeypatch.setenv(GUARD_VARIABLE, "1")
    program = CompiledProgram(module)
    if is_broken:
        with pytest.raises(OperationError, match="writes outside of a buffer"):
            program.run("main", INPUTS)
    else:
        assert np.array_equal(program.run("main", INPUTS)[0], np.full((5, 2), 21.0))


@pytest.mark.parametrize("flags", [[], ["--guard"]])
def test_mesh_run_guards_when_asked(flags: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    make_too_small(monkeypatch)
    monkeypatch.delenv(GUARD_VARIABLE, raising=False)
    options = ("-p", "data-tile", "--backend=native", "--random-inputs=0", *flags)
    code, _, errors = mesh_run("-", *options, text=PROGRAM)
    assert code == (1 if flags else 0)
    assert ("writes outside of a buffer" in errors) == bool(flags)


def test_the_interpreter_has_no_guards() -> None:
    code, _, errors = mesh_run("-", "--backend=interpreter", "--guard", text=PROGRAM)
    assert code == 1
    assert errors == "mesh-run: --guard needs --backend=native or --backend=mpi\n"
