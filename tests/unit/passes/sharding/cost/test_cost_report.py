"""The costs of one device are counted right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mesh_opt.api import compile
from mesh_opt.passes.sharding.cost.cost_report import module_costs, render_report
from mesh_opt.passes.sharding.cost.program_cost import Cost
from mesh_opt.sharding.machine import Device, Machine, MachineError, Network, machine_text
from parsing import parse_program
from tool_runs import mesh_opt

PROGRAM = """
shard.grid @g(shape = 2x4)
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x8xf32>)
    outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = shard.all_reduce %m on @g grid_axes = [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
"""

LOOP = """
shard.grid @g(shape = 2x4)
func.func private @inner(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %y = math.exp %x : tensor<4x6xf32>
  %z = shard.all_gather %y on @g grid_axes = [0] gather_axis = 0
    : tensor<4x6xf32> -> tensor<8x6xf32>
  %s = shard.all_slice %z on @g grid_axes = [0] slice_axis = 0
    : tensor<8x6xf32> -> tensor<4x6xf32>
  return %s : tensor<4x6xf32>
}
func.func @main(%x: tensor<4x6xf32>, %n: index) -> tensor<4x6xf32> {
  %low = arith.constant 1 : index
  %high = arith.constant 8 : index
  %step = arith.constant 3 : index
  %r = scf.for %i = %low to %high step %step iter_args(%y = %x) -> (tensor<4x6xf32>) {
    %z = call @inner(%y) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    scf.yield %z : tensor<4x6xf32>
  }
  return %r : tensor<4x6xf32>
}
"""


def cost_of(text: str) -> Cost:
    return module_costs(parse_program(text))["main"]


TOSA = """
func.func @main(%a: tensor<1x8x4xf32>, %b: tensor<1x4x6xf32>, %x: tensor<1x8x8x3xf32>,
    %w: tensor<5x3x3x3xf32>, %bias: tensor<5xf32>)
    -> (tensor<1x6x6x5xf32>, tensor<1x1x6xf32>) {
  %z = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %m = tosa.matmul %a, %b, %z, %z : (tensor<1x8x4xf32>, tensor<1x4x6xf32>, tensor<1xf32>,
    tensor<1xf32>) -> tensor<1x8x6xf32>
  %c = tosa.conv2d %x, %w, %bias, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>,
    pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>,
    tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x5xf32>
  %r = tosa.reduce_sum %m {axis = 1 : i32} : (tensor<1x8x6xf32>) -> tensor<1x1x6xf32>
  return %c, %r : tensor<1x6x6x5xf32>, tensor<1x1x6xf32>
}
"""


def test_products_and_reductions_of_tosa() -> None:
    product, convolution, reduction = 2 * 4 * (8 * 6), 2 * (3 * 3 * 3) * (6 * 6 * 5), 8 * 6
    assert cost_of(TOSA).work == product + convolution + reduction


def test_matmul_and_reduction() -> None:
    cost = cost_of(PROGRAM)
    assert cost.work == 2 * 4 * 6 * 8
    # A ring over 4 devices passes 3/4 of the result around twice.
    assert cost.sent == pytest.approx(2 * 3 / 4 * 4 * 8 * 4)
    # Arguments, the result of the matmul in its destination's place, and the reduced result.
    assert cost.peak == 4 * (24 + 48 + 32 + 32)


def test_loops_and_calls_are_multiplied() -> None:
    cost = cost_of(LOOP)
    assert cost.work == 3 * 24
    assert cost.sent == pytest.approx(3 * 96)
    assert {name: count for (name, _), (count, _) in cost.collectives.items()} == {
        "shard.all_gather": 3,
        "shard.all_slice": 3,
    }


def test_sizes_known_at_run_time_are_not_counted() -> None:
    cost = cost_of(
        PROGRAM.replace("4x6", "?x6")
        .replace("4x8", "?x8")
        .replace("empty()", "empty(%n)")
        .replace("(%x:", "(%n: index, %x:")
    )
    assert cost.work == 0
    assert cost.uncounted == 3


# Of two branches one runs, a loop over four rows turns four times, and annotations hold nothing.
BRANCHES = """
shard.grid @g(shape = 2)
func.func @main(%c: i1, %x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %e = math.exp %x : tensor<4x6xf32>
  %a = shard.shard %e to %s : tensor<4x6xf32>
  %b = shard.shard %a to %s annotate_for_users : tensor<4x6xf32>
  %r = scf.if %c -> (tensor<4x6xf32>) {
    %1 = math.exp %b : tensor<4x6xf32>
    %2 = math.exp %1 : tensor<4x6xf32>
    scf.yield %2 : tensor<4x6xf32>
  } else {
    scf.yield %b : tensor<4x6xf32>
  }
  %l = scf.forall (%i) in (4) shared_outs(%o = %r) -> (tensor<4x6xf32>) {
    %row = tensor.extract_slice %r[%i, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<1x6xf32>
    %n = arith.negf %row : tensor<1x6xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %n into %o[%i, 0] [1, 6] [1, 1]
        : tensor<1x6xf32> into tensor<4x6xf32>
    }
  }
  return %l : tensor<4x6xf32>
}
"""

# The rows of four processes: 2, 2, 3, 3. The last one sends all but the first one's.
UNEVEN = """
shard.grid @g(shape = 4)
func.func @main(%x: tensor<10x6xf32>) -> tensor<10x6xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  %0 = shard.shard %x to %s : tensor<10x6xf32>
  %1 = math.tanh %0 : tensor<10x6xf32>
  %2 = shard.shard %1 to %r : tensor<10x6xf32>
  return %2 : tensor<10x6xf32>
}
"""

# 18 numbers on four processes: 4, 4, 5, 5. Each has one of the process before it and two behind.
WINDOWS = """
shard.grid @g(shape = 4)
func.func @main(%x: tensor<18xf32>, %w: tensor<3xf32>) -> tensor<16xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.conv_1d ins(%x, %w : tensor<18xf32>, tensor<3xf32>)
    outs(%f : tensor<16xf32>) -> tensor<16xf32>
  %1 = shard.shard %m to %s : tensor<16xf32>
  return %1 : tensor<16xf32>
}
"""

# The same rows, passed on three times in a loop.
ROUNDS = """
shard.grid @g(shape = 4)
func.func @main(%x: tensor<?x6xf32> {shard.boundary = {global_type = tensor<10x6xf32>, grid = @g,
    split_axes = #shard<axisarray[[0], []]>}}) -> tensor<?x6xf32> {
  %low = arith.constant 0 : index
  %high = arith.constant 3 : index
  %step = arith.constant 1 : index
  %r = scf.for %i = %low to %high step %step iter_args(%y = %x) -> (tensor<?x6xf32>) {
    %z = shard.shift %y on @g grid_axes = [0] shift_axis = 0 offset = 1 rotate
      : tensor<?x6xf32> -> tensor<?x6xf32>
    scf.yield %z : tensor<?x6xf32>
  }
  return %r : tensor<?x6xf32>
}
"""


def test_branches_and_annotations() -> None:
    assert cost_of(BRANCHES).work == 24 + 2 * 24 + 4 * 6
    straight = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %1 = math.exp %x : tensor<4xf32>
      ANNOTATION
      %2 = math.exp %1 : tensor<4xf32>
      %3 = math.exp %2 : tensor<4xf32>
      return %3 : tensor<4xf32>
    }
    shard.grid @g(shape = 2)
    """
    annotated = straight.replace("exp %1 ", "exp %a ").replace(
        "ANNOTATION",
        """%s = shard.sharding @g split_axes = [[0]] : !shard.sharding
        %a = shard.shard %1 to %s : tensor<4xf32>""",
    )
    assert cost_of(annotated).peak == cost_of(straight.replace("ANNOTATION", "")).peak == 3 * 16


def _reported(text: str, *passes: str) -> str:
    code, _, errors = mesh_opt("--shard-cost-report", *passes, text=text)
    assert code == 0
    return errors


def test_host_programs_cost_what_they_dispatch() -> None:
    report = _reported(PROGRAM, "--compile")
    assert report.splitlines() == [
        "@main, for one device:",
        "       1 x shard.all_reduce over @g[1] (4): 192 bytes sent",
        "  bytes sent     192",
        "  operations     384",
    ]


def test_collectives_of_mesh() -> None:
    text = """
    mesh.mesh @g(shape = 2)
    func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
      %y = mesh.all_gather %x on @g mesh_axes = [0] gather_axis = 0
        : tensor<4xf32> -> tensor<8xf32>
      return %y : tensor<8xf32>
    }
    """
    assert "1 x shard.all_gather over @g[0] (2): 16 bytes sent" in _reported(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (UNEVEN, f"1 x shard.all_gather over @g[0] (4): {(10 - 2) * 6 * 4} bytes sent"),
        (WINDOWS, f"1 x shard.update_halo over @g[0] (4): {(1 + 2) * 4} bytes sent"),
        (ROUNDS, f"3 x shard.shift over @g[0] (4): {3 * 3 * 6 * 4} bytes sent"),
    ],
    ids=["gather", "halo", "loop"],
)
def test_unequal_shards_are_counted(text: str, line: str) -> None:
    report = _reported(text, *(["--spmd"] if text is not ROUNDS else []))
    assert line in report
    assert "not counted" not in report


def test_report_is_printed_on_standard_error() -> None:
    report = _reported(PROGRAM)
    assert "1 x shard.all_reduce over @g[1] (4): 192 bytes sent" in report
    assert report == render_report(parse_program(PROGRAM))


MACHINE = Machine(
    "slow",
    Device((("f32", 1e6),), memory=400, memory_bandwidth=1e6, launch=1e-6),
    (Network(1e3, 1e-3, size=8),),
)


def test_time_of_kernels_and_collectives() -> None:
    cost = compile(PROGRAM)["main"].cost(MACHINE)
    # The product reads both operands and writes its result: 416 bytes; the fill is not stored.
    assert cost.computing == pytest.approx(1e-6 + max(384 / 1e6, 416 / 1e6))
    # Two rounds each of one message, with half of 256 bytes in all and then the same again; what
    # arrives is added up.
    assert cost.sending == pytest.approx(4e-3 + 192 / 1e3 + 3 * 96 / 1e6)
    assert cost.overlapped_seconds == cost.sending
    assert compile(PROGRAM)["main"].cost().seconds == 0


def test_elementwise_chains_are_one_kernel() -> None:
    text = """
    func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %1 = math.exp %x : tensor<4x6xf32>
      %2 = arith.addf %1, %x : tensor<4x6xf32>
      %3 = arith.negf %2 : tensor<4x6xf32>
      return %3 : tensor<4x6xf32>
    }
    """
    # Three operations on 24 numbers; %x is read twice, at %1 and at %2.
    cost = compile(text)["main"].cost(MACHINE)
    assert cost.computing == pytest.approx(1e-6 + 2 * 96e-6 + 96e-6)


def test_comparisons_of_tosa_are_fused() -> None:
    text = """
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %p = tosa.greater %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
      %r = tosa.select %p, %x, %y : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    """
    # Both operands are read twice; the flags are not stored.
    cost = compile(text)["main"].cost(MACHINE)
    assert cost.computing == pytest.approx(1e-6 + 4 * 32e-6 + 32e-6)


def test_report_with_a_machine(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(machine_text(MACHINE))
    _, _, text = mesh_opt("--cost-report", f"--machine={file}", text=PROGRAM)
    assert "time           196.7 ms as modelled for slow: computing 417 us" in text
    assert "does not fit   slow has 400 bytes on a device" in text
    _, _, text = mesh_opt("--cost-report=json", f"--machine={file}", text=PROGRAM)
    report = json.loads(text)
    assert report["main"]["bytes_sent"] == 192
    assert report["main"]["seconds"] == pytest.approx(0.1967, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cost-report=xml"], "option '--cost-report' is text or json, not 'xml'"),
        (["--machine=gpu-host"], "--machine needs --shard-cost-report"),
        (["--cost-report", "--machine=gpus"], "there is no machine 'gpus'"),
        (["--cost-report", "--machine=none.toml"], "none.toml"),
    ],
)
def test_wrong_options(arguments: list[str], message: str) -> None:
    code, _, errors = mesh_opt(*arguments, text=PROGRAM)
    assert code == 1
    assert message in errors


def test_a_machine_may_be_too_small() -> None:
    text = PROGRAM.replace("2x4", "4x4")
    with pytest.raises(MachineError, match="has 8 devices, but a grid of shape 4x4 needs 16"):
        compile(text)["main"].cost(MACHINE)
    code, _, errors = mesh_opt("--cost-report", "--machine=gpu-host", text=text)
    assert code == 1
    message = "error: machine gpu-host has 8 devices, but a grid of shape 4x4 needs 16"
    assert message in errors


def test_complex_numbers_take_several_operations() -> None:
    module = compile(
        """
        func.func @main(%x: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
          %e = tensor.empty() : tensor<4xcomplex<f64>>
          %y = linalg.map ins(%x : tensor<4xcomplex<f64>>) outs(%e : tensor<4xcomplex<f64>>)
            (%a: complex<f64>, %b: complex<f64>) {
              %m = complex.mul %a, %a : complex<f64>
              %s = complex.add %m, %a : complex<f64>
              %r = complex.re %s : complex<f64>
              %z = complex.create %r, %r : complex<f64>
              linalg.yield %z : complex<f64>
            }
          return %y : tensor<4xcomplex<f64>>
        }
        """,
    ).module
    device = Device((("f32", 1e30), ("f64", 1.0)), memory=1e9, memory_bandwidth=1e30)
    cost = module_costs(module, Machine("toy", device, (Network(1.0, 0.0),)))["main"]
    assert cost.work == 4 * (6 + 2)
    assert cost.computing == pytest.approx(cost.work)


def test_stablehlo_is_said_not_to_be_counted() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.tanh %x : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    """
    assert "not counted    1 operation" in render_report(parse_program(text))
