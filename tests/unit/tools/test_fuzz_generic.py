"""Programs mutated as IR, not as text: right in every letter, and wrong in what they say.

A valid program is read, operands, attributes, types, regions and names of its operations are
changed, and what comes out is printed in the generic form, which every reader understands. Then
it is verified, sent through passes and run: all that may be said is a verdict with a place.
"""

from __future__ import annotations

import io
import random
import re
from functools import cache
from typing import Any

import pytest
import tool_runs
from breadth import cases
from fuzzing import limits, programs
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

INPUTS = cases(15, 50_000)
BATCH = 50
PIPELINES = [
    (),
    ("--canonicalize",),
    ("--cse", "--canonicalize"),
    ("--sharding-propagation",),
    ("--shard-partition", "--shard-simplify"),
    ("--spmd",),
    ("--data-tile",),
    ("--compile",),
    ("--set-encoding", "--form-dispatches"),
    ("--convert-mesh-to-shard", "--convert-sdy-to-shard"),
    ("--specialize-encodings",),
    ("--encode-host-tensors",),
    ("--materialize-encodings",),
]
ODD_ATTRIBUTES: list[Attribute] = [
    UnitAttr(),
    StringAttr(""),
    StringAttr("sum"),
    IntegerAttr(-1, i64),
    IntegerAttr(7, i64),
    ArrayAttr[Attribute]([]),
    ArrayAttr[Attribute]([UnitAttr()]),
    DenseArrayBase.from_list(i64, []),
    DenseArrayBase.from_list(i64, [-1, 0, 3]),
]
ODD_TYPES: list[Attribute] = [
    f32,
    i1,
    TensorType(f32, []),
    TensorType(f32, [0]),
    TensorType(i1, [-1, 3]),
    TensorType(f32, [2, 2, 2]),
]


@cache
def _is_accepted(text: str) -> bool:
    return _run([], text)[0] == 0


def valid(chooser: random.Random) -> str:
    """A program that is accepted as it is."""
    while not _is_accepted(text := chooser.choice(programs())):
        pass
    return text


def _run(options: list[str], text: str) -> tuple[int, str]:
    code, _, errors = tool_runs.mesh_opt(*options, text=text)
    return code, errors


def mutated(text: str, chooser: random.Random) -> str:
    """The generic form of a program with one to three things changed in it."""
    module = parse_module(new_context(), Source(text, "<input>"))
    for _ in range(chooser.choice((1, 1, 2, 3))):
        operations = [op for op in module.walk() if op is not module]
        if operations:
            chooser.choice(MUTATIONS)(module, chooser.choice(operations), chooser)
    output = io.StringIO()
    Printer(output, print_generic_format=True).print_op(module)
    printed = output.getvalue()
    return _renamed(printed, chooser) if chooser.random() < 0.15 else printed


def _renamed(text: str, chooser: random.Random) -> str:
    """Another operation in the place of one."""
    names = list(re.finditer(r'"([a-z_]+\.[\w.]+)"(?=\()', text))
    if not names:
        return text
    match, other = chooser.choice(names), chooser.choice(names)
    return text[: match.start(1)] + other[1] + text[match.end(1) :]


def _values(module: ModuleOp) -> list[SSAValue]:
    found: list[SSAValue] = []
    for op in module.walk():
        found += op.results
        found += [arg for region in op.regions for block in region.blocks for arg in block.args]
    return found


def _swap_operands(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    operands = list(op.operands)
    chooser.shuffle(operands)
    op.operands = operands


def _replace_operand(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    if op.operands:
        op.operands[chooser.randrange(len(op.operands))] = chooser.choice(_values(module))


def _delete_operand(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    operands = list(op.operands)
    if operands:
        del operands[chooser.randrange(len(operands))]
        op.operands = operands


def _repeat_operand(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    operands = list(op.operands)
    if operands:
        operands.insert(chooser.randint(0, len(operands)), chooser.choice(operands))
        op.operands = operands


def _table(op: Operation, chooser: random.Random) -> dict[str, Attribute]:
    filled = [table for table in (op.properties, op.attributes) if table]
    return chooser.choice(filled) if filled else op.attributes


def _delete_attribute(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    table = _table(op, chooser)
    if table:
        del table[chooser.choice(sorted(table))]


def _replace_attribute(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    table = _table(op, chooser)
    if not table:
        return
    name = chooser.choice(sorted(table))
    others = [attr for other in module.walk() for attr in other.properties.values()]
    alike = [attr for attr in others if type(attr) is type(table[name])]
    table[name] = chooser.choice(chooser.choice([alike, others, ODD_ATTRIBUTES]) or ODD_ATTRIBUTES)


def _change_numbers(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    """Lists of numbers get longer, shorter, or other numbers."""
    for table in (op.properties, op.attributes):
        for name, attr in list(table.items()):
            if isinstance(attr, DenseArrayBase):
                numbers: list[Any] = list(attr.get_values())
                if numbers and chooser.random() < 0.5:
                    del numbers[chooser.randrange(len(numbers))]
                else:
                    numbers.insert(chooser.randint(0, len(numbers)), chooser.choice((0, 1, 2, 5)))
                table[name] = DenseArrayBase.from_list(attr.elt_type, numbers)  # pyright: ignore
            elif isinstance(attr, IntegerAttr) and chooser.random() < 0.5:
                table[name] = IntegerAttr(chooser.choice((0, 1, 3)), attr.type)


def _change_type(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    values = _values(module)
    if values:
        types = [value.type for value in values]
        chooser.choice(values)._type = chooser.choice(chooser.choice([types, ODD_TYPES]))  # pyright: ignore


def _swap_regions(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    regions = [op.detach_region(region) for region in list(op.regions)]
    chooser.shuffle(regions)
    for region in regions:
        op.add_region(region)


def _add_region(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    op.add_region(Region(chooser.choice([[], [Block()]])))


def _empty_block(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    for region in op.regions:
        for block in region.blocks:
            for inner in reversed(list(block.ops)):
                if not any(result.uses for result in inner.results):
                    inner.detach()
                    inner.erase()
                    return


def _delete_operation(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    if not any(result.uses for result in op.results):
        op.detach()
        op.erase()


def _copy_operation(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    if op.parent is not None:
        op.parent.insert_op_after(op.clone(), op)


def _move_operation(module: ModuleOp, op: Operation, chooser: random.Random) -> None:
    others = [other for other in module.walk() if other is not module and other.parent]
    to = chooser.choice(others)
    if to.parent is not None and to not in op.walk():
        op.detach()
        to.parent.insert_op_before(op, to)


MUTATIONS = [
    *[_replace_attribute, _change_numbers, _change_type] * 2,
    *[_swap_operands, _replace_operand, _delete_operand, _repeat_operand],
    *[_delete_attribute, _swap_regions, _add_region, _empty_block],
    *[_delete_operation, _copy_operation, _move_operation],
]


def check_verdict(code: int, errors: str, text: str) -> None:
    """It went well, or an error names a place; nothing broke down."""
    assert code in (0, 1), f"{errors}\n{text}"
    for fault in ("Traceback", "bug in mesh-opt", "produced this"):
        assert fault not in errors, f"{errors}\n{text}"
    if code == 1:
        assert re.search(r"^\S+:\d+:\d+: error: .", errors, re.M), f"{errors!r} for\n{text}"


@pytest.mark.parametrize("start", INPUTS[::BATCH])
def test_mutated_ir(start: int) -> None:
    for number in range(start, min(start + BATCH, INPUTS.stop)):
        chooser = random.Random(number)
        text = mutated(valid(chooser), chooser)
        options = ["--verify-each", *chooser.choice(PIPELINES)]
        with limits(text):
            code, errors = _run(options, text)
            check_verdict(code, errors, f"{number}: {options}\n{text}")
            if code == 0 and chooser.random() < 0.3:
                arguments = ("-", "--backend=interpreter", "--random-inputs=0")
                code, _, errors = tool_runs.mesh_run(*arguments, text=text)
                if not errors.startswith("mesh-run: "):  # which is about its arguments
                    check_verdict(code, errors, text)
