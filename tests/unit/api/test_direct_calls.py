"""Calls whose arrays native code checks: they take and reject what the first call does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mesh_opt
import numpy as np
import pytest
from mesh_opt.api import DeviceArray, InputError, Program, compile
from mesh_opt.codegen.compile import CompiledProgram
from mesh_opt.runtime.device_machines import DeviceMachines
from mesh_opt.runtime.direct_call import COPIED_BYTES
from mesh_opt.runtime.host.pool import USED
from mesh_opt.saved_programs import LoadedProgram

ADD = """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %one = arith.constant 1 : index
  %size = tensor.dim %b, %one : tensor<2x?xf32>
  %dynamic = tensor.cast %a : tensor<2x3xf32> to tensor<2x?xf32>
  %sum = arith.addf %dynamic, %b : tensor<2x?xf32>
  return %sum : tensor<2x?xf32>
}
"""
A = np.arange(6, dtype=np.float32).reshape(2, 3)

REJECTED: list[Any] = [
    (A,),
    (A, A, A),
    (A.reshape(3, 2), A),
    (A.reshape(6), A),
    (A.astype(np.float64), A),
    (A, A.reshape(1, 2, 3)),
    (A, np.ones((3, 3), np.float32)),
    (A, A.astype(np.int32)),
    (A, None),
    (np.ma.MaskedArray(A, A > 2), A),
]
CONVERTED: list[Any] = [
    (np.asfortranarray(A), A),
    (A, A[:, ::-1]),
    (A.astype(">f4"), A),
    (A.tolist(), A),
    (np.frombuffer(b"x" + A.tobytes(), np.float32, offset=1).reshape(2, 3), A),
    (A, np.broadcast_to(np.float32(3), (2, 3))),
]


@pytest.fixture(params=["compiled", "loaded"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program | LoadedProgram:
    compiled = compile(ADD)
    if request.param == "compiled":
        return compiled
    compiled.save(tmp_path / "add.meshprog")
    return mesh_opt.load(tmp_path / "add.meshprog")


def direct_calls(program: Program | LoadedProgram) -> Any:
    if isinstance(program, LoadedProgram):
        return program.saved.machines.direct_calls
    return program.direct_calls


def test_a_direct_call_takes_what_the_first_call_takes(program: Program | LoadedProgram) -> None:
    messages = []
    for given in REJECTED:
        with pytest.raises(InputError) as found:
            program.main(*given)
        messages.append(str(found.value))
    assert not direct_calls(program)
    np.testing.assert_array_equal(program.main(A, A), A + A)
    assert direct_calls(program)
    for given, message in zip(REJECTED, messages, strict=True):
        with pytest.raises(InputError) as found:
            program.main(*given)
        assert str(found.value) == message
    for one, other in CONVERTED:
        expected = np.array(one, np.float32) + np.array(other, np.float32)
        np.testing.assert_array_equal(program.main(one, other), expected)
    one = DeviceArray([A], A.shape, None, None)
    np.testing.assert_array_equal(program.main(one, A), A + A)


def test_arrays_on_the_device_are_taken_directly(
    program: Program | LoadedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = program.main.put(A, 0)
    (first,) = program.main.run_on_devices(one, A)
    monkeypatch.delattr(DeviceMachines, "run")
    (second,) = program.main.run_on_devices(one, first)
    np.testing.assert_array_equal(second, A + A + A)
    (third,) = program["main"].run([one, second])
    np.testing.assert_array_equal(third, A * 4)
    with pytest.raises(InputError, match="input 0"):
        program.main.run_on_devices(DeviceArray([A.T], (3, 2), None, None), A)


def test_inputs_that_call_the_program(program: Program | LoadedProgram) -> None:
    class Inputs(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            yield A
            yield program.main(A, A)

    for _ in range(2):
        (result,) = program["main"].run(Inputs([A, A]))
        np.testing.assert_array_equal(result, A + A + A)


def test_results_of_direct_calls_are_the_callers_own(program: Program | LoadedProgram) -> None:
    results = [program.main(A, A + number) for number in range(40)]
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result, A + A + number)


def test_sizes_of_a_direct_call_are_checked() -> None:
    program = compile(ADD)
    program.main(A, A)
    with pytest.raises(Exception) as first:
        compile(ADD).main(A, A[:, :2].copy())
    with pytest.raises(type(first.value)) as found:
        program.main(A, A[:, :2].copy())
    assert str(found.value) == str(first.value)
    np.testing.assert_array_equal(program.main(A, A), A + A)


def test_settings_hold_for_the_next_call() -> None:
    program, lines = compile(ADD), list[str]()
    program.main(A, A)
    program.trace_host = lines.append
    program.main(A, A)
    assert lines
    program.trace_host = None
    count = len(lines)
    for _ in range(2):
        program.main(A, A)
    assert len(lines) == count
    program.choose_backend("interpreter")
    assert not program.direct_calls
    program["main"].run([A, A], "native")
    assert not program.direct_calls


def test_settings_of_another_thread_hold_for_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    program, lines = compile(ADD), list[str]()
    run = CompiledProgram.run_partitioned

    def run_meanwhile(*arguments: Any) -> Any:
        results = run(*arguments)
        program.trace_host = lines.append
        return results

    monkeypatch.setattr(CompiledProgram, "run_partitioned", run_meanwhile)
    program.main(A, A)
    monkeypatch.undo()
    program.main(A, A)
    assert lines


def test_a_program_is_closed_during_its_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile(ADD).save(tmp_path / "add.meshprog")
    program = mesh_opt.load(tmp_path / "add.meshprog")
    run = DeviceMachines.run

    def run_meanwhile(*arguments: Any) -> Any:
        results = run(*arguments)
        program.close()
        return results

    monkeypatch.setattr(DeviceMachines, "run", run_meanwhile)
    np.testing.assert_array_equal(program.main(A, A), A + A)


def test_statistics_are_of_the_last_call() -> None:
    program = compile(ADD)
    for _ in range(3):
        program.main(A, A)
        (device,) = program.statistics()
    assert device.dispatches == 1
    with pytest.raises(InputError):
        program.main(A)


SMALL_RESULTS = """
func.func @main(%a: tensor<2x3xf32>, %n: tensor<i8>)
    -> (tensor<2x3xf32>, tensor<i8>, tensor<2x3xf32>, tensor<2xi32>, tensor<0x3xf32>,
        tensor<2x3xf32>) {
  %sum = arith.addf %a, %a : tensor<2x3xf32>
  %constant = arith.constant dense<[7, 8]> : tensor<2xi32>
  %none = tensor.empty() : tensor<0x3xf32>
  return %sum, %n, %a, %constant, %none, %sum
      : tensor<2x3xf32>, tensor<i8>, tensor<2x3xf32>, tensor<2xi32>, tensor<0x3xf32>,
        tensor<2x3xf32>
}
"""


def test_small_results_are_new_arrays_and_their_blocks_are_released(tmp_path: Path) -> None:
    compiled = compile(SMALL_RESULTS)
    compiled.save(tmp_path / "results.meshprog")
    for program in (compiled, mesh_opt.load(tmp_path / "results.meshprog")):
        calls: list[list[Any]] = []
        for number in range(5):
            given = A + number, np.array(number, np.int8)
            calls.append([*given, *program.main(*given)])
            given[0].flags.writeable = False
        for number, (a, n, total, same_n, same_a, constant, none, again) in enumerate(calls):
            np.testing.assert_array_equal(a, A + number)
            np.testing.assert_array_equal(total, a + a)
            np.testing.assert_array_equal(again, a + a)
            np.testing.assert_array_equal(same_a, a)
            assert (same_n, same_n.dtype, same_n.shape) == (n, np.int8, ())
            assert constant.tolist() == [7, 8]
            assert (none.shape, none.dtype) == ((0, 3), np.float32)
            assert not any(np.shares_memory(same_a, other) for other in (a, total, again))
        written = [array for call in calls for array in call[2:]]
        for array in written:
            array[...] = 1
        assert len({array.ctypes.data for array in written if array.size}) == 5 * 5
        pool = direct_calls(program)["main"]._device.machine.pool
        assert pool.words[USED] == 0


@pytest.mark.parametrize("elements", [COPIED_BYTES // 4, COPIED_BYTES // 4 + 1])
def test_results_about_the_size_that_is_copied(elements: int) -> None:
    program = compile(f"""
    func.func @main(%a: tensor<{elements}xf32>) -> tensor<{elements}xf32> {{
      %sum = arith.addf %a, %a : tensor<{elements}xf32>
      return %sum : tensor<{elements}xf32>
    }}""")
    a = np.arange(elements, dtype=np.float32)
    results = [program.main(a + number) for number in range(4)]
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result, 2 * (a + number))


def test_a_signal_in_the_first_part_of_a_run_leaves_no_blocks_in_use(
    program: Program | LoadedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = program["main"]
    add(A, A)
    add(A, A)
    direct = direct_calls(program)["main"]
    native = direct._native

    def interrupted(call: object) -> None:
        native(call)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(direct, "_native", interrupted)
        add(A, A)
    assert direct._device.machine.pool.words[USED] == 0
    assert (add(A, A) == 2 * A).all()
