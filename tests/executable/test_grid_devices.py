"""Grids that name the devices of their processes: all processes together compute what one does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tool_runs
from breadth import NIGHTLY, cases
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import (
    argument_types,
    find_function,
    public_functions,
    run,
    run_partitioned,
)
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.printer import print_operation
from mesh_opt.passes.compile import CompilePass
from mesh_opt.runtime.abi.arrays import Array
from mesh_opt.runtime.abi.values import dtype_of
from parsing import parse
from process_programs import TARGETS, defined, listed, on_devices, random_program
from xdsl.dialects.builtin import ModuleOp

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "cases" / "models"
EXAMPLE = (ROOT / "examples" / "mlp_dp_tp.mlir").read_text()
FOUR = ("znver4", "vmvx", "i8mm", "riscv")


def compiled(text: str, data_tiling: bool = True) -> ModuleOp:
    context, module = parse(text)
    CompilePass(data_tiling).apply(context, module)
    module.verify()
    return module


def small_inputs(module: ModuleOp, name: str) -> list[Array]:
    generator = np.random.default_rng(0)
    return [
        np.asarray(generator.integers(-1, 2, type_.get_shape())).astype(dtype_of(type_))
        for type_ in argument_types(find_function(Program(module), name))
    ]


def check_every_stage(
    text: str, inputs: list[Array], expected: list[Array], data_tiling: bool, tolerance: float
) -> None:
    """Run what passes leave, read again from its text: every eighth and the last one, each one in
    the nightly run. Then native code, which must not write outside of its buffers."""
    context, module = parse(text)
    (name,) = public_functions(module)
    passes = CompilePass(data_tiling).passes()
    for left, stage in enumerate(passes, 1 - len(passes)):
        stage.apply(context, module)
        if left % 8 and not NIGHTLY:
            continue
        module.verify()
        _, read_again = parse(print_operation(module))
        found = run_partitioned(read_again, name, inputs)
        for array, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(array, wanted, 0, tolerance, err_msg=stage.name)
    program = CompiledProgram(module, guard=True)
    found = program.run_partitioned(name, inputs)
    program.close()
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, wanted, 0, tolerance)


@pytest.mark.skipif(not NIGHTLY, reason="the same as for smaller programs, but long: nightly")
@pytest.mark.parametrize("data_tiling", [True, False])
def test_a_transformer_block_on_alternating_targets(data_tiling: bool) -> None:
    text = (MODELS / "transformer_block_sharded.mlir").read_text()
    stored = np.load(MODELS / "transformer_block_sharded.npz")
    inputs = [stored[f"in{i}"] for i in range(sum(key.startswith("in") for key in stored))]
    expected = [stored[f"out{i}"] for i in range(sum(key.startswith("out") for key in stored))]
    text = on_devices(text, ("znver4", "vmvx") * 4)
    check_every_stage(text, inputs, expected, data_tiling, 1e-5)


# Tiled, shares of unequal sizes say more.
@pytest.mark.parametrize("data_tiling", [False, *([True] if NIGHTLY else [])])
def test_four_processes_on_four_targets(data_tiling: bool) -> None:
    text = on_devices(EXAMPLE, FOUR)
    _, module = parse(text)
    inputs = small_inputs(module, "mlp")
    check_every_stage(text, inputs, run(module, "mlp", inputs), data_tiling, 1e-4)


@pytest.mark.parametrize("seed", cases(2, 1000))
def test_random_programs(seed: int) -> None:
    text, shapes = random_program(seed)
    generator = np.random.default_rng(seed)
    inputs = [generator.integers(-2, 3, shape).astype(np.float32) for shape in shapes]
    _, module = parse(text)
    check_every_stage(text, inputs, run(module, "main", inputs), bool(seed % 4), 0)


def test_copies_are_made_for_targets_and_not_for_processes() -> None:
    """Four processes on four devices of two targets need two copies."""
    text = on_devices(EXAMPLE, ("znver4", "riscv", "znver4_1", "riscv_1"))
    module = compiled(text)
    written = print_operation(module)
    assert written.count("util.func private") == 2
    (kinds,) = re.findall(r"util\.switch index from \[(.*), (.*), (.*), (.*)\]", written)
    assert kinds[0] == kinds[2] != kinds[1] == kinds[3]
    _, original = parse(text)
    inputs = small_inputs(original, "mlp")
    (expected,) = run(original, "mlp", inputs)
    np.testing.assert_allclose(run_partitioned(module, "mlp", inputs)[0], expected, 1e-5, 1e-5)


def test_processes_of_one_target_need_no_copies() -> None:
    text = on_devices(EXAMPLE, ("znver4", "znver4_1") * 2)
    module = compiled(text)
    assert "util.switch" not in print_operation(module)
    _, original = parse(text)
    inputs = small_inputs(original, "mlp")
    np.testing.assert_allclose(
        run_partitioned(module, "mlp", inputs)[0], run(original, "mlp", inputs)[0], 1e-5, 1e-5
    )


WEIGHTS = f"""
{defined(("znver4", "riscv"))}
shard.grid @g(shape = 2) {{{listed(("znver4", "riscv"))}}}
util.global private @w = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
func.func @main(%a: tensor<6x2xf32>) -> (tensor<6x2xf32>, tensor<6x2xf32>) {{
  %w = util.global.load immutable @w : tensor<2x2xf32>
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %p = shard.shard %a to %s : tensor<6x2xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x2xf32>) -> tensor<6x2xf32>
  %0 = linalg.matmul ins(%p, %w : tensor<6x2xf32>, tensor<2x2xf32>)
      outs(%f : tensor<6x2xf32>) -> tensor<6x2xf32>
  %1 = linalg.matmul ins(%0, %w : tensor<6x2xf32>, tensor<2x2xf32>)
      outs(%f : tensor<6x2xf32>) -> tensor<6x2xf32>
  return %0, %1 : tensor<6x2xf32>, tensor<6x2xf32>
}}
"""


def test_a_weight_is_packed_once_for_each_target() -> None:
    module = compiled(WEIGHTS)
    text = print_operation(module)
    assert text.count("= stream.async.constant") == 2
    a = np.arange(12, dtype=np.float32).reshape(6, 2)
    w = np.array([[1, 2], [3, 4]], np.float32)
    for found in (
        run_partitioned(module, "main", [a]),
        CompiledProgram(module).run_partitioned("main", [a]),
    ):
        np.testing.assert_array_equal(found[0], a @ w)
        np.testing.assert_array_equal(found[1], a @ w @ w)


STATE = f"""
{defined(("znver4", "riscv"))}
shard.grid @g(shape = 2) {{{listed(("znver4", "riscv"))}}}
util.global private mutable @sum = dense<1.0> : tensor<2xf32>
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {{
  %s = shard.sharding @g split_axes = [[]] : !shard.sharding
  %p = shard.shard %a to %s : tensor<2xf32>
  %old = util.global.load @sum : tensor<2xf32>
  %new = arith.addf %old, %p : tensor<2xf32>
  util.global.store %new, @sum : tensor<2xf32>
  %again = util.global.load @sum : tensor<2xf32>
  return %again : tensor<2xf32>
}}
"""


def test_each_process_has_a_state_of_its_own() -> None:
    module = compiled(STATE)
    a = np.array([1, 2], np.float32)
    for found in (
        run_partitioned(module, "main", [a]),
        CompiledProgram(module).run_partitioned("main", [a]),
    ):
        np.testing.assert_array_equal(found[0], [2, 3])


def test_a_process_cannot_run_the_copy_of_another_target() -> None:
    text = print_operation(compiled(on_devices(EXAMPLE, ("znver4", "vmvx") * 2)))
    swapped = text.replace(listed(("znver4", "vmvx") * 2), listed(("vmvx", "znver4") * 2))
    assert swapped != text
    _, module = parse(swapped)
    inputs = small_inputs(parse(EXAMPLE)[1], "mlp")
    message = "is on device @znver4, but runs in a process whose device is @vmvx"
    with pytest.raises(OperationError, match=message):
        run_partitioned(module, "mlp", inputs)
    with pytest.raises(OperationError, match=message):
        CompiledProgram(module).run_partitioned("mlp", inputs)


def mesh_run(path: Path, *arguments: str) -> tuple[int, list[str], str]:
    code, output, errors = tool_runs.mesh_run(str(path), "--random-inputs=0", *arguments)
    return code, output.splitlines(), errors


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.mlir"
    path.write_text(on_devices(EXAMPLE, ("znver4", "vmvx") * 2))
    return path


def test_mesh_run_binds_devices_and_checks(example: Path) -> None:
    devices = ("--device=local-task", "--device=local-task")
    code, lines, _ = mesh_run(example, *devices, "--check", "--backend=native", "--statistics")
    assert (code, lines[-1]) == (0, "CHECK @mlp on 4 devices agrees with the reference")
    assert [line.partition(":")[0] for line in lines if line.startswith("STATISTICS")] == [
        "STATISTICS process 0 on local-task#0",
        "STATISTICS process 1 on local-task#1",
        "STATISTICS process 2 on local-task#0",
        "STATISTICS process 3 on local-task#1",
    ]


def test_mesh_run_misses_a_device(example: Path) -> None:
    code, _, stderr = mesh_run(example, "--device=local-task")
    assert code == 1
    assert "device @vmvx needs device #1 of kind" in stderr


def test_devices_that_are_chosen_and_loops_and_helpers() -> None:
    """Of one process the device is another's in other words; of one it is optional."""
    vmvx = f"[#hal.executable.target<{TARGETS['vmvx_all']}>]"
    text = f"""
{defined(("znver4", "i8mm"))}
util.global private @same = #hal.device.fallback<@znver4> : !hal.device
util.global private @some = #hal.device.select<[
    #hal.device.target<"cuda", {vmvx}>, #hal.device.target<"local", {vmvx}>]> : !hal.device
mesh.mesh @m(shape = 2x2) {{{listed(("znver4", "same", "some", "i8mm"))}}}
func.func private @layer(%x: tensor<10x12xf32>, %w: tensor<12x12xf32>) -> tensor<10x12xf32> {{
  %c = arith.constant dense<1.0> : tensor<10x12xf32>
  %o = linalg.matmul ins(%x, %w : tensor<10x12xf32>, tensor<12x12xf32>)
      outs(%c : tensor<10x12xf32>) -> tensor<10x12xf32>
  return %o : tensor<10x12xf32>
}}
func.func @main(%x: tensor<10x12xf32>, %w: tensor<12x12xf32>, %n: index) -> tensor<10x12xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = mesh.sharding @m split_axes = [[0], [1]] : !mesh.sharding
  %a = mesh.shard %x to %s : tensor<10x12xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> (tensor<10x12xf32>) {{
    %z = func.call @layer(%y, %w) : (tensor<10x12xf32>, tensor<12x12xf32>) -> tensor<10x12xf32>
    scf.yield %z : tensor<10x12xf32>
  }}
  return %r : tensor<10x12xf32>
}}
"""
    generator = np.random.default_rng(0)
    shapes = ((10, 12), (12, 12))
    inputs = [generator.integers(-1, 2, shape).astype(np.float32) for shape in shapes]
    inputs.append(np.asarray(np.int64(3)))
    _, module = parse(text)
    check_every_stage(text, inputs, run(module, "main", inputs), True, 0)


def test_shares_of_unequal_sizes() -> None:
    text = re.sub(r"(?<![0-9f])8(?=x)", "7", EXAMPLE)
    text = on_devices(re.sub(r"(?<![0-9f])32(?=x)", "33", text), FOUR)
    _, module = parse(text)
    inputs = small_inputs(module, "mlp")
    check_every_stage(text, inputs, run(module, "mlp", inputs), True, 1e-4)


def test_functions_that_call_themselves_and_blocks() -> None:
    """Private functions with tensors stay, and have copies as well."""
    text = f"""
{defined(("znver4", "i8mm"))}
shard.grid @g(shape = 2) {{{listed(("znver4", "i8mm"))}}}
func.func private @powers(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %done = arith.cmpi sle, %n, %c0 : index
  cf.cond_br %done, ^end(%x : tensor<4x4xf32>), ^more
^more:
  %c = arith.constant dense<1.0> : tensor<4x4xf32>
  %o = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = arith.subi %n, %c1 : index
  %y = func.call @powers(%o, %m) : (tensor<4x4xf32>, index) -> tensor<4x4xf32>
  cf.br ^end(%y : tensor<4x4xf32>)
^end(%r: tensor<4x4xf32>):
  return %r : tensor<4x4xf32>
}}
func.func @main(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {{
  %s = shard.sharding @g split_axes = [AXES] : !shard.sharding
  %a = shard.shard %x to %s : tensor<4x4xf32>
  %o = func.call @powers(%a, %n) : (tensor<4x4xf32>, index) -> tensor<4x4xf32>
  return %o : tensor<4x4xf32>
}}
"""
    x = np.random.default_rng(0).integers(-1, 2, (4, 4)).astype(np.float32)
    inputs = [x, np.asarray(np.int64(2))]
    for axes in ("[0]", "[], [0]", "[]"):
        split = text.replace("AXES", axes)
        _, module = parse(split)
        check_every_stage(split, inputs, run(module, "main", inputs), True, 0)


def test_a_finer_grid_has_the_devices_of_the_coarse_one() -> None:
    text = f"""
{defined(("znver4", "i8mm"))}
shard.grid @g(shape = 4) {{{listed(("znver4", "i8mm") * 2)}}}
func.func @main(%x: tensor<8x12xf32>, %w: tensor<12x6xf32>) -> tensor<2x4x6xf32> {{
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<8x12xf32>
  %c = arith.constant dense<1.0> : tensor<8x6xf32>
  %o = linalg.matmul ins(%a, %w : tensor<8x12xf32>, tensor<12x6xf32>)
      outs(%c : tensor<8x6xf32>) -> tensor<8x6xf32>
  %e = tensor.expand_shape %o [[0, 1], [2]] output_shape [2, 4, 6]
      : tensor<8x6xf32> into tensor<2x4x6xf32>
  return %e : tensor<2x4x6xf32>
}}
"""
    context, module = parse(text)
    inputs = small_inputs(module, "main")
    (expected,) = run(module, "main", inputs)
    CompilePass().apply(context, module)
    assert "shard.grid @g_2x2(shape = 2x2)" in print_operation(module)
    np.testing.assert_array_equal(run_partitioned(module, "main", inputs)[0], expected)
