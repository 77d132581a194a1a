"""The machine for host code: instructions, memory, calls, and what ends a run."""

from __future__ import annotations

from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from host_code_checks import build, machine_of
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.runtime.commands import DeviceFailed
from mesh_opt.runtime.host.builder import Builder
from mesh_opt.runtime.host.instructions import BY_OPCODE, CONTROL, KINDS, SCALARS
from mesh_opt.runtime.host.machine_state import SCALAR_CODE
from mesh_opt.runtime.host.pool import ALLOCATED, USED
from mesh_opt.runtime.host.printer import print_program
from mesh_opt.runtime.host.program import ArrayAddress, HostFunction, LinkedProgram, Outgoing
from mesh_opt.runtime.host.virtual_machine import (
    MAX_CALLS,
    STACK_WORDS,
    VirtualMachine,
    VirtualMachineError,
    address_of,
)


def test_every_opcode_is_one_instruction() -> None:
    assert len(BY_OPCODE) == len(KINDS) == len(CONTROL) + len(SCALARS)


def scalar(name: str, *operands: int) -> int:
    def main(b: Builder) -> None:
        arguments = [b.argument() for _ in operands]
        b.emit(name, b.result(), *arguments)
        b.emit("return")

    return machine_of(main).call(0, operands)[0]


def bits(value: float, dtype=np.float32) -> int:
    word = np.zeros(1, np.int64)
    word.view(dtype)[0] = value
    return int(word[0])


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("addi_i64", (2**63 - 1, 1), -(2**63)),
        ("addi_i32", (2**31 - 1, 1), -(2**31)),
        ("addi_i8", (100, 100), -56),
        ("addi_i1", (1, 1), 0),
        ("divsi_i32", (-7, 2), -3),
        ("divui_i32", (-1, 2), 2**31 - 1),
        ("floordivsi_i64", (-7, 2), -4),
        ("floormodsi_i64", (-7, 2), 1),
        ("cmpiult_i8", (1, -1), 1),
        ("cmpislt_i8", (1, -1), 0),
        ("select_i32", (0, 3, -4), -4),
        ("convertui_i8_i64", (-1,), 255),
        ("converti_i64_i16", (65_537,), 1),
        ("addf_f32", (bits(1.5), bits(2.25)), bits(3.75)),
        ("maximumf_f64", (bits(1.5, np.float64), bits(2.0, np.float64)), bits(2.0, np.float64)),
        ("cmpfolt_f32", (bits(float("nan")), bits(1.0)), 0),
        ("cmpfult_f32", (bits(float("nan")), bits(1.0)), 1),
        ("sitofp_i8_f32", (-3,), bits(-3.0)),
        ("fptosi_f32_i32", (bits(-3.7),), -3),
        ("convertf_f64_f32", (bits(0.5, np.float64),), bits(0.5)),
    ],
)
def test_scalar_instruction(name: str, operands: tuple[int, ...], expected: int) -> None:
    assert scalar(name, *operands) == expected


def test_scalar_code_is_loaded_when_needed() -> None:
    """Its compilation takes most of a cold start."""

    def moves(b: Builder) -> None:
        b.move(b.result(), b.argument())
        b.emit("return")

    def adds(b: Builder) -> None:
        x, y = b.argument(), b.register()
        b.emit("addi_i64", y, x, x)
        b.emit("addi_i64", b.result(), y, x)
        b.emit("return")

    for write, needs, expected in ((moves, False, 7), (adds, True, 21)):
        machine = machine_of(write)
        assert machine.linked.has_scalars == needs
        assert machine.call(0, [7]) == [expected]
        assert (machine._state[SCALAR_CODE] != 0) == needs


def count_up(b: Builder) -> None:
    low, high, step, count = b.argument(), b.argument(), b.argument(), b.result()
    index, total = b.register(), b.register()
    b.move(index, low)
    b.move(total, 0)
    top, end = b.label(), b.label()
    b.emit("jump_unless", b.compute("cmpislt_i64", low, high), end)
    b.bind_label(top)
    b.emit("addi_i64", total, total, b.constant(1))
    b.emit("loop", index, high, step, top)
    b.bind_label(end)
    b.move(count, total)
    b.emit("return")


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 30), st.integers(1, 2**63 - 1))
def test_a_loop_runs_as_often_as_a_range_has_numbers(low: int, span: int, step: int) -> None:
    high = min(low + span, 2**63 - 1)
    assert COUNTER.call(0, [low, high, step]) == [len(range(low, high, step))]


COUNTER = machine_of(count_up)


def test_a_loop_to_the_largest_number_ends() -> None:
    assert COUNTER.call(0, [-(2**63), 2**63 - 1, 2**62]) == [4]


def fibonacci(b: Builder) -> None:
    n, result = b.argument(), b.result()
    small = b.later(lambda: (b.move(result, n), b.emit("return")))
    b.emit("jump_if", b.hold(b.compare("slt", n, 2)), small)
    terms = []
    for distance in (1, 2):
        b.move(Outgoing(1), b.subtract(n, distance))
        b.emit("call", 0, 0)
        terms.append(b.register())
        b.move(terms[-1], Outgoing(0))
    b.move(result, b.add(*terms))
    b.emit("return")


def test_recursion() -> None:
    assert machine_of(fibonacci).call(0, [20]) == [6765]


def descend(b: Builder) -> None:
    n, result = b.argument(), b.result()
    bottom = b.later(lambda: (b.move(result, 7), b.emit("return")))
    b.emit("jump_unless", n, bottom)
    b.move(Outgoing(1), b.subtract(n, 1))
    b.emit("call", 0, 0)
    b.move(result, Outgoing(0))
    b.emit("return")


def test_frames_get_more_memory_when_they_need_it() -> None:
    assert MAX_CALLS > STACK_WORDS
    assert machine_of(descend).call(0, [MAX_CALLS - 1]) == [7]


def test_a_recursion_without_end_is_an_error_at_its_call() -> None:
    machine = machine_of(descend)
    with pytest.raises(VirtualMachineError, match="20000 nested calls: does @descend recurse"):
        machine.call(0, [MAX_CALLS + 1])
    assert machine.call(0, [1]) == [7]


def test_moves_happen_at_the_same_time() -> None:
    def main(b: Builder) -> None:
        x, y, z = (b.argument() for _ in range(3))
        results = [b.result() for _ in range(3)]
        b.move_all([x, y, z], [y, z, x])
        b.move_all(results, [x, y, z])
        b.emit("return")

    assert machine_of(main).call(0, [1, 2, 3]) == [2, 3, 1]


def test_an_index_outside_goes_elsewhere() -> None:
    def main(b: Builder) -> None:
        index, size, result = b.argument(), b.argument(), b.result()
        outside = b.later(lambda: b.emit("fail", 0, (index, size)))
        b.emit("position", result, b.constant(0), index, size, outside)
        b.emit("return")

    machine = machine_of(main, failures=[lambda numbers: IndexError(str(numbers))])
    assert machine.call(0, [3, 4]) == [3]
    for index in (4, -1, 2**62, -(2**63)):
        with pytest.raises(IndexError, match=str(index)):
            machine.call(0, [index, 4])


def test_sizes_are_checked_when_they_change() -> None:
    seen = []

    def main(b: Builder) -> None:
        b.emit("check", 0, (b.argument(), b.argument()))
        b.emit("return")

    machine = machine_of(main, checks=[lambda numbers: seen.append(list(numbers))])
    for sizes in ([1, 2], [1, 2], [1, 3], [1, 3]):
        machine.call(0, sizes)
    assert seen == [[1, 2], [1, 3]]


def test_python_is_called_with_words_and_gives_words() -> None:
    from mesh_opt.runtime.host.program import PythonCall

    def main(b: Builder) -> None:
        x, y = b.argument(), b.argument()
        b.emit("python", 0, (b.result(), b.result()), (x, y))
        b.emit("return")

    calls = [PythonCall("divmod", lambda machine, numbers: divmod(*numbers))]
    assert machine_of(main, python=calls).call(0, [17, 5]) == [3, 2]


def test_constants_are_arrays() -> None:
    def main(b: Builder) -> None:
        b.emit("load_i16", b.result(), b.constant(ArrayAddress(0)))
        b.emit("return")

    assert machine_of(main, arrays=[np.array([-5], np.int16)]).call(0, []) == [-5]


@pytest.mark.parametrize(("kind", "bytes_"), [("size", 0), ("allocate", 1 << 61)])
def test_sizes_that_nobody_has_are_an_error(kind: str, bytes_: int) -> None:
    def main(b: Builder) -> None:
        size = b.argument()
        if kind == "size":
            size = b.compute("size", size, size)
        b.emit("allocate", b.result(), size)
        b.emit("return")

    machine = machine_of(main)
    for size in (1 << 40, (1 << 62) + 1, -1) if kind == "size" else (bytes_, -1):
        if kind == "size" and size == -1:
            continue
        with pytest.raises(MemoryError):
            machine.call(0, [size])


def forever(b: Builder) -> None:
    top = b.label()
    b.bind_label(top)
    b.jump(top)


def test_a_run_ends_when_it_is_told_to() -> None:
    cancel = np.ones(1, np.int64)
    machine = VirtualMachine(LinkedProgram(build(forever)), cancel=cancel)
    with pytest.raises(DeviceFailed):
        machine.call(0, [])


def test_python_gets_to_see_signals() -> None:
    """The loop returns to Python every now and then, where a handler may raise."""
    machine = machine_of(forever)
    looks = []

    def handle(reason: int) -> None:
        looks.append(reason)
        if len(looks) == 2:
            raise KeyboardInterrupt

    machine._handle = handle
    with pytest.raises(KeyboardInterrupt):
        machine.call(0, [])


def test_a_signal_in_the_first_part_of_a_run_leaves_no_blocks_in_use() -> None:
    def keep(b: Builder) -> None:
        b.compute("allocate", b.constant(64))
        forever(b)

    machine = machine_of(keep)
    native = machine._native

    def interrupted(argument: object) -> None:
        native(argument)
        raise KeyboardInterrupt

    machine._native = interrupted
    with pytest.raises(KeyboardInterrupt):
        machine.call(0, [])
    assert machine.pool.words[USED] == 0


def test_code_is_printed() -> None:
    text = print_program(build(count_up, fibonacci))
    assert "func @count_up(%arg0, %arg1, %arg2) -> (%result0) {" in text
    assert "loop %" in text and ", %arg1, %arg2, ^0" in text
    assert "  call @count_up" in text and "%out1 = move" in text


def test_a_block_of_a_loop_is_allocated_before_it() -> None:
    """Not in it, even if another device is set there."""
    function = HostFunction("f")
    builder = Builder(function)
    builder.emit("device", 1)
    block = builder.compute("allocate", builder.constant(64))
    builder.emit("device", 0)
    builder.emit("process", builder.register())
    with builder.scope():
        builder.emit("device", 1)
        builder.emit("copy", block, builder.constant(0), builder.constant(0))
        builder.emit("device", 0)
    builder.emit("release", block)
    builder.finish()
    names = [each.kind.name for each in function.instructions]
    assert names.index("allocate") < names.index("process") < names.index("copy")


def test_variable_with_one_constant() -> None:
    """Through others and around a loop; a check of constants is made once, and kept if it fails."""
    function = HostFunction("f")
    builder = Builder(function)
    size, passed, turn, other = (builder.register() for _ in range(4))
    result, place = builder.result(), builder.register()
    builder.move_all([size, turn, other, place], [64, 0, 3, 5])
    top = builder.label()
    builder.bind_label(top)
    builder.move(passed, size)
    for number, checked in enumerate((passed, passed, turn)):
        builder.emit("check", number, (checked,))
    builder.move(turn, builder.add(turn, 1))
    builder.move(size, passed)
    builder.move(other, 4)
    builder.emit("address", result, place)
    builder.jump_unless(builder.compare("eq", other, size), top)
    builder.emit("return")
    builder.finish(lambda number, sizes: number == 0 and sizes == [64])
    found = [(each.kind.name, each.operands) for each in function.instructions]
    constant = next(each for each, value in function.constants.items() if value == 64)
    assert [operands for name, operands in found if name == "check"] == [
        (1, (constant,)),
        (2, (turn,)),
    ]
    moved = {operands[0] for name, operands in found if name == "move"}
    assert moved == {turn, other, place}


def test_devices_are_set_only_where_it_was_another_one() -> None:
    """Around a loop whose turns begin with one device and end with another."""

    def on_device(b: Builder, device: int, count: int) -> None:
        b.emit("device", device)
        for _ in range(count):
            block = b.compute("allocate", b.constant(64))
            b.emit("copy", block, block, b.constant(0))
            b.emit("release", block)
        b.emit("device", 0)

    def main(b: Builder) -> None:
        index = b.compute("process")
        b.emit("device", 2)
        b.emit("device", 0)
        top = b.label()
        with b.scope():
            b.bind_label(top)
            on_device(b, 1, 2)
            on_device(b, 1, 1)
            on_device(b, 2, 1)
            b.emit("loop", index, b.constant(5), b.constant(1), top)
        on_device(b, 2, 1)
        # What is copied on the host is no device's work.
        nothing = b.constant(0)
        b.emit("copy", nothing, nothing, nothing)
        b.emit("return")

    program = build(main, devices=3)
    instructions = program.functions[0].instructions
    switches = [
        (each.operands[0], following.kind.name)
        for each, following in pairwise(instructions)
        if each.kind.name == "device"
    ]
    assert switches == [(1, "allocate"), (2, "allocate"), (0, "copy")]
    machine = VirtualMachine(LinkedProgram(program))
    machine.call(0, [])
    allocated = [machine.pool.count(device, ALLOCATED) // 64 for device in range(3)]
    assert allocated == [0, 15, 6]


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, ml_dtypes.bfloat16, np.complex128])
@pytest.mark.parametrize("shape", [(), (3, 5), (0, 4)])
def test_the_address_of_an_array(dtype: type, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    assert address_of(array) == array.ctypes.data
    array.setflags(write=False)
    assert address_of(array) == array.ctypes.data
