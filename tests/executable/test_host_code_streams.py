"""Programs of bytes on devices as host code: what they compute is what the interpreter computes."""

from __future__ import annotations

import gc
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from breadth import sampled
from host_code_checks import used_bytes
from mesh_opt import api
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.codegen.host_code.lowering import HostEntry
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import find_function, public_functions, run
from mesh_opt.passes.data_tile import DataTilePass
from mesh_opt.runtime.host.virtual_machine import VirtualMachine
from xdsl.dialects.builtin import ModuleOp

MODELS = Path(__file__).parents[1] / "cases" / "models"

SPECIFICATION = spec_from_file_location(
    "native_streams", Path(__file__).with_name("test_native_streams.py")
)
assert SPECIFICATION is not None and SPECIFICATION.loader is not None
streams = module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(streams)


def check(module: ModuleOp, original: ModuleOp, name: str, inputs: list[np.ndarray]) -> None:
    symbols = Program(module)
    entry = HostEntry(symbols, find_function(symbols, name))
    machine = VirtualMachine(entry.program)
    expected = run(original, name, inputs)
    for _ in range(2):
        for got, wanted in zip(entry.call(machine, inputs), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
    del got
    gc.collect()
    assert used_bytes(machine.pool) == 0


BEFORE = "iree-stream-encode-device-tensors"
CASES = sampled([(case, last) for case in streams.SOME for last in (None, BEFORE)], 3)


@pytest.mark.parametrize(("case", "last"), CASES)
def test_case(case: str, last: str | None) -> None:
    context, module = streams.parse((streams.CASES / f"{case}.mlir").read_text())
    original = module.clone()
    (name,) = public_functions(module)
    for one in DataTilePass().passes():
        one.apply(context, module)
        if one.name == last:
            break
    check(module, original, name, streams.inputs_of(original, name))


@pytest.mark.parametrize("name", streams.BODIES)
def test_bytes(name: str) -> None:
    body, results = streams.BODIES[name]
    module = api.compile(streams.host(body, results)).module
    for inputs in (streams.X, streams.X + 3):
        check(module, module, "f", [inputs])


def test_the_transformer_block_needs_what_lives_at_a_time() -> None:
    text = (MODELS / "transformer_block.mlir").read_text()
    module = api.compile(text, "compile{host-layouts=true}").module
    symbols = Program(module)
    (name,) = public_functions(module)
    entry = HostEntry(symbols, find_function(symbols, name))
    machine = VirtualMachine(entry.program)
    stored = np.load(MODELS / "transformer_block.npz")
    inputs = [stored[f"in{index}"] for index in range(13)]
    (result,) = entry.call(machine, inputs)
    assert np.abs(result - stored["out0"]).max() <= 1e-5 * np.abs(stored["out0"]).max()
    assert sum(each.nbytes for each in inputs) + machine.pool.peak_bytes == 379_136


GLOBAL = """
util.global private mutable @state = dense<1> : tensor<2xi32>
util.global private mutable @count : index
func.func private @step(%x: tensor<2xi32>) {
  %one = arith.constant 1 : index
  %old = util.global.load @state : tensor<2xi32>
  %new = arith.addi %old, %x : tensor<2xi32>
  util.global.store %new, @state : tensor<2xi32>
  %n = util.global.load @count : index
  %m = arith.addi %n, %one : index
  util.global.store %m, @count : index
  func.return
}
func.func @f(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, index) {
  %before = util.global.load @state : tensor<2xi32>
  func.call @step(%x) : (tensor<2xi32>) -> ()
  func.call @step(%x) : (tensor<2xi32>) -> ()
  %after = util.global.load @state : tensor<2xi32>
  %n = util.global.load @count : index
  func.return %before, %after, %n : tensor<2xi32>, tensor<2xi32>, index
}"""


def test_globals_begin_anew_with_each_run() -> None:
    module = api.compile(GLOBAL).module
    for inputs in ([np.array([3, 4], np.int32)], [np.array([5, 6], np.int32)]):
        check(module, module, "f", inputs)


WORKGROUPS = """
stream.executable private @ex {
  stream.executable.export public @entry workgroups(%n: index) -> (index, index, index) {
    %c1 = arith.constant 1 : index
    stream.return %n, %c1, %c1 : index, index, index
  }
  builtin.module {
    func.func @entry(%in: !stream.binding, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %id = stream.dispatch.workgroup.id[0] : index
      %a = stream.binding.subspan %in[%c0]
        : !stream.binding -> !flow.dispatch.tensor<readonly:tensor<4x3xf32>>
      %b = stream.binding.subspan %out[%c0]
        : !stream.binding -> !flow.dispatch.tensor<writeonly:tensor<3x4xf32>>
      %row = flow.dispatch.tensor.load %a, offsets = [%id, 0], sizes = [1, 3], strides = [1, 1]
        : !flow.dispatch.tensor<readonly:tensor<4x3xf32>> -> tensor<3xf32>
      %twice = arith.addf %row, %row : tensor<3xf32>
      flow.dispatch.tensor.store %twice, %b, offsets = [0, %id], sizes = [3, 1], strides = [1, 1]
        : tensor<3xf32> -> !flow.dispatch.tensor<writeonly:tensor<3x4xf32>>
      func.return
    }
  }
}
util.func public @f(%x: !hal.buffer_view) -> !hal.buffer_view {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c48 = arith.constant 48 : index
  %r = stream.tensor.import %x : !hal.buffer_view -> tensor<4x3xf32> in !stream.resource<*>{%c48}
  %s = stream.async.dispatch @ex::@entry[%c4](%r[%c0 to %c48 for %c48])
    : (!stream.resource<*>{%c48}) -> !stream.resource<*>{%c48}
  %y = stream.tensor.export %s : tensor<3x4xf32> in !stream.resource<*>{%c48} -> !hal.buffer_view
  util.return %y : !hal.buffer_view
}"""


def test_kernels_run_once_for_each_workgroup() -> None:
    module = api.compile(WORKGROUPS).module
    check(module, module, "f", [np.arange(12, dtype=np.float32).reshape(4, 3)])


def test_a_function_with_blocks_takes_buffer_views() -> None:
    text = """
func.func @main(%a: tensor<4xi32>, %n: index) -> tensor<4xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^head(%c0 : index)
^head(%i: index):
  %c = arith.cmpi slt, %i, %n : index
  %j = arith.addi %i, %c1 : index
  cf.cond_br %c, ^head(%j : index), ^end
^end:
  %b = arith.addi %a, %a : tensor<4xi32>
  return %b : tensor<4xi32>
}"""
    module = api.compile(text, pipeline="data-tile").module
    program = CompiledProgram(module)
    target = program.symbols.lookup(module, "main")
    assert target is not None and program.has_host_code(target, None)
    inputs = [np.arange(4, dtype=np.int32), np.int64(3)]
    np.testing.assert_array_equal(program.run("main", inputs)[0], [0, 2, 4, 6])
