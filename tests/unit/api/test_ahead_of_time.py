"""Native code that is made before the first call."""

from __future__ import annotations

import mesh_opt
import numpy as np
import pytest
from mesh_opt import ExecutionError
from mesh_opt.runtime.host.program import LinkedProgram

BRANCHES = """
shard.grid @devices(shape = 2)
func.func @main(%a: tensor<8xf32>, %p: i1) -> tensor<8xf32> {
  %s = shard.sharding @devices split_axes = [[0]] : !shard.sharding
  %x = shard.shard %a to %s annotate_for_users : tensor<8xf32>
  %r = scf.if %p -> tensor<8xf32> {
    %0 = math.exp %x : tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  } else {
    %0 = math.log %x : tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
"""


@pytest.mark.parametrize("pipeline", ["spmd", "compile"])
def test_calls_find_all_kernels(pipeline: str, monkeypatch: pytest.MonkeyPatch) -> None:
    main = mesh_opt.compile(BRANCHES, pipeline).main
    main.compile()

    def refuse(linked: LinkedProgram, numbers: object) -> None:
        raise AssertionError("a call has kernels compiled")

    monkeypatch.setattr(LinkedProgram, "compile_kernels", refuse)
    x = np.linspace(1, 2, 8, dtype=np.float32)
    np.testing.assert_allclose(main(x, True), np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(main(x, False), np.log(x), atol=1e-6)


def test_a_program_without_kernels_is_ready() -> None:
    main = mesh_opt.compile(
        "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }"
    ).main
    main.compile()
    a = np.ones(2, np.float32)
    np.testing.assert_array_equal(main(a), a)


def test_operation_without_kernel_is_error_if_native_required() -> None:
    program = mesh_opt.compile("""
func.func @main(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}""")
    program.require_native = True
    with pytest.raises(ExecutionError, match=r"<string>:3.*native code is required"):
        program.main.compile()
