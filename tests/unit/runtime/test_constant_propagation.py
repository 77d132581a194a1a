"""Registers that only get one constant: what is asked of them is answered while code is made."""

from __future__ import annotations

import pytest
from mesh_opt.runtime.host.builder import Builder
from mesh_opt.runtime.host.printer import print_program
from mesh_opt.runtime.host.program import HostFunction, HostProgram, LinkedProgram, Register
from mesh_opt.runtime.host.virtual_machine import VirtualMachine


def seven_or_nine(builder: Builder, result: Register, condition: Register) -> None:
    """End a function with 7 where a condition holds, else 9."""
    otherwise = builder.label()
    builder.jump_unless(condition, otherwise)
    builder.move(result, 7)
    builder.emit("return")
    builder.bind_label(otherwise)
    builder.move(result, 9)
    builder.emit("return")


def answer(size: int, order: str, limit: int) -> tuple[str, list[int]]:
    """A function that gives 7 where a carried size compares so with a limit, else 9."""
    builder = Builder(HostFunction("main"))
    result, carried = builder.result(), builder.register()
    builder.move(carried, size)
    builder.move(carried, carried)
    held = builder.compute(f"cmpi{order}_i64", carried, builder.hold(limit))
    both = builder.all_of([held, builder.compute("cmpieq_i64", carried, carried)])
    seven_or_nine(builder, result, both)
    program = HostProgram([builder.finish()])
    return print_program(program), VirtualMachine(LinkedProgram(program)).call(0, ())


@pytest.mark.parametrize(
    ("size", "order", "limit", "wanted"),
    [
        (256, "eq", 256, 7),
        (256, "ne", 256, 9),
        (256, "ule", 1 << 62, 7),
        (256, "ugt", 1 << 62, 9),
        (-1, "slt", 0, 7),
    ],
)
def test_conditions_on_constants_are_known(size: int, order: str, limit: int, wanted: int) -> None:
    text, (found,) = answer(size, order, limit)
    assert found == wanted
    assert "cmpi" not in text
    assert "jump_" not in text


def test_unsigned_orders_of_negative_numbers_are_left_to_the_run() -> None:
    text, (found,) = answer(-1, "ult", 5)
    assert found == 9
    assert "cmpiult_i64" in text


def test_a_size_that_changes_is_asked_in_each_turn() -> None:
    builder = Builder(HostFunction("main"))
    start, result, carried = builder.argument(), builder.result(), builder.register()
    builder.move(carried, 256)
    again, done = builder.label(), builder.label()
    builder.bind_label(again)
    held = builder.compute("cmpieq_i64", carried, builder.hold(256))
    builder.jump_unless(held, done)
    builder.move(carried, start)
    builder.jump(again)
    builder.bind_label(done)
    builder.move(result, carried)
    builder.emit("return")
    program = HostProgram([builder.finish()])
    assert "cmpieq_i64" in print_program(program)
    assert VirtualMachine(LinkedProgram(program)).call(0, (5,)) == [5]


def test_a_condition_that_is_computed_again_is_not_known() -> None:
    builder = Builder(HostFunction("main"))
    start, result, held = builder.argument(), builder.result(), builder.register()
    for left in (builder.hold(5), start):
        builder.emit("cmpieq_i64", held, left, builder.hold(5))
    seven_or_nine(builder, result, held)
    machine = VirtualMachine(LinkedProgram(HostProgram([builder.finish()])))
    assert [machine.call(0, (number,)) for number in (5, 3)] == [[7], [9]]
