"""Partitioned programs are simulated, and say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mesh_opt.api import compile
from mesh_opt.passes.sharding.cost.simulate import simulate
from mesh_opt.sharding.machine import Device, Machine, Network
from mesh_opt.sharding.machine_presets import PRESETS
from mesh_opt.sharding.simulation import makespan
from tool_runs import mesh_run

MACHINE = Machine(
    "toy",
    Device((("f32", 1.0),), memory=1e9, memory_bandwidth=1e30),
    (Network(1.0, 0.0), Network(4.0, 0.0, size=4)),
)

# Two reductions over two axes, and a kernel that reads neither.
PROGRAM = """
shard.grid @g(shape = 2x4)
func.func @main(%x: tensor<24xf32>) -> (tensor<24xf32>, tensor<24xf32>, tensor<24xf32>) {
  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<24xf32> -> tensor<24xf32>
  %b = shard.all_reduce %x on @g grid_axes = [1] : tensor<24xf32> -> tensor<24xf32>
  %c = math.exp %x : tensor<24xf32>
  return %a, %b, %c : tensor<24xf32>, tensor<24xf32>, tensor<24xf32>
}
"""


def run(*arguments: str, text: str = PROGRAM) -> tuple[int, str, str]:
    return mesh_run("-", *arguments, text=text)


def test_networks_and_kernels_overlap() -> None:
    simulation = simulate(compile(PROGRAM).module, "main", MACHINE)
    # Axis 0 is between hosts: 96 bytes at 1 per second; axis 1 inside: 144 at 4; 24 operations.
    assert makespan(simulation.serial) == pytest.approx(96 + 36 + 24)
    assert makespan(simulation.overlapped) == pytest.approx(96)
    trace = json.loads(simulation.trace())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(spans) == 6
    assert all(span["cat"] == "simulated" for span in spans)
    assert trace["otherData"]["simulated"] is True


LOOP = """
shard.grid @g(shape = 2)
func.func private @layer(%x: tensor<24xf32>) -> tensor<24xf32> {
  %a = shard.all_reduce %x on @g grid_axes = [0] : tensor<24xf32> -> tensor<24xf32>
  %c = math.exp %x : tensor<24xf32>
  %r = arith.addf %a, %c : tensor<24xf32>
  return %r : tensor<24xf32>
}
func.func @main(%x: tensor<24xf32>) -> tensor<24xf32> {
  %low = arith.constant 0 : index
  %high = arith.constant 10 : index
  %step = arith.constant 1 : index
  %r = scf.for %i = %low to %high step %step iter_args(%y = %x) -> (tensor<24xf32>) {
    %z = func.call @layer(%y) : (tensor<24xf32>) -> tensor<24xf32>
    scf.yield %z : tensor<24xf32>
  }
  return %r : tensor<24xf32>
}
"""


def test_loops_turn_one_turn_after_the_other() -> None:
    machine = Machine("toy", MACHINE.device, (Network(1.0, 0.0),))
    simulation = simulate(compile(LOOP).module, "main", machine)
    assert makespan(simulation.serial) == pytest.approx(10 * (96 + 24 + 24))
    assert makespan(simulation.overlapped) == pytest.approx(10 * (96 + 24))


def test_everything_that_is_printed_is_said_to_be_simulated(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    code, output, _ = run("--simulate", "--machine=gpu-host", f"--simulated-trace={trace}")
    assert code == 0
    lines = output.splitlines()
    assert lines[0] == (
        "SIMULATED @main on gpu-host: 8 devices, @g of 2x4; nothing was run, one device stands for"
        " all"
    )
    assert all(line.startswith("  simulated ") for line in lines[1:])
    events = json.loads(trace.read_text())["traceEvents"]
    assert all(
        "simulated" in event.get("cat", event["args"]["name"] if "args" in event else "")
        for event in events
    )


def test_many_devices_take_no_longer() -> None:
    text = """
    func.func @main(%x: tensor<65536x512xf32>, %w: tensor<512x512xf32>) -> tensor<65536x512xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<65536x512xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<65536x512xf32>) -> tensor<65536x512xf32>
      %y = linalg.matmul ins(%x, %w : tensor<65536x512xf32>, tensor<512x512xf32>)
        outs(%f : tensor<65536x512xf32>) -> tensor<65536x512xf32>
      return %y : tensor<65536x512xf32>
    }
    """
    pipeline = "-p=shard-annotate{grid=256x256 args=x:[[0],[1]]},spmd"
    code, output, errors = run("--simulate", "--machine=cpu-cluster", pipeline, text=text)
    assert code == 0, errors
    assert "65536 devices" in output
    assert "shard.reduce_scatter" in output or "shard.all_" in output


def test_the_longest_shards_stand_for_all_where_they_differ() -> None:
    text = """
    func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> {
      %y = math.exp %x : tensor<10xf32>
      return %y : tensor<10xf32>
    }
    """
    pipeline = "-p=shard-annotate{grid=4 args=x:[[0]]},spmd"
    code, output, _ = run("--simulate", "--machine=gpu-host", pipeline, text=text)
    assert code == 0
    assert "the device with the longest shards stands for all" in output
    assert "3 operations" in output


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (["--simulate"], PROGRAM, "--simulate needs a --machine, as gpu-host"),
        (["--machine=gpu-host"], PROGRAM, "--machine needs --simulate"),
        (["--simulate", "--machine=gpu"], PROGRAM, "there is no machine 'gpu'"),
        (
            ["--simulate", "--machine=gpu-host"],
            PROGRAM.replace("2x4", "4x4"),
            "--machine=gpu-host: the machine has 8 devices, but a grid of shape 4x4 needs 16",
        ),
        (
            ["--simulate", "--machine=gpu-host"],
            PROGRAM.replace("2x4", "2x?"),
            "'shard.grid' op has extents that are known only at run time",
        ),
        (
            ["--simulate", "--machine=gpu-host", "--simulated-trace=/nowhere/t.json"],
            PROGRAM,
            "cannot write '/nowhere/t.json'",
        ),
    ],
)
def test_unsupported_programs(arguments: list[str], text: str, message: str) -> None:
    code, _, errors = run(*arguments, text=text)
    assert code == 1
    assert message in errors
    assert "Traceback" not in errors


def test_programs_of_one_device_and_host_programs() -> None:
    text = """
    func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
      %z = arith.constant dense<0.0> : tensor<4x4xf32>
      %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>)
        outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
      return %y : tensor<4x4xf32>
    }
    """
    code, output, _ = run("--simulate", "--machine=gpu-host", text=text)
    assert code == 0
    assert output.startswith("SIMULATED @main on gpu-host: 1 device; nothing was run\n")
    # Buffers of a host program are not counted, and its kernels have copies of the grid.
    pipeline = "-p=shard-annotate{grid=2 args=x:[[0]]},compile"
    code, output, errors = run("--simulate", "--machine=gpu-host", pipeline, text=text)
    assert code == 0, errors
    first, *lines = output.splitlines()
    assert first.startswith("SIMULATED @main on gpu-host: 2 devices, @grid of 2; nothing was run")
    assert not any("held at the peak" in line for line in lines)


def test_a_program_before_partitioning_is_one_of_one_device() -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> {
      %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
      %a = shard.shard %x to %s : tensor<10xf32>
      %y = math.exp %a : tensor<10xf32>
      return %y : tensor<10xf32>
    }
    """
    code, output, _ = run("--simulate", "--machine=gpu-host", text=text)
    assert code == 0
    assert output.startswith("SIMULATED @main on gpu-host: 1 device; nothing was run\n")


def test_presets_simulate() -> None:
    for machine in PRESETS.values():
        simulation = simulate(compile(PROGRAM).module, "main", machine)
        assert 0 < makespan(simulation.overlapped) <= makespan(simulation.serial)
