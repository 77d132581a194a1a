"""What the rules of sizes accept, the check of the operation accepts, too, and needs no Python."""

from __future__ import annotations

import random

import numpy as np
import pytest
from mesh_opt.api import ExecutionError, compile
from mesh_opt.codegen.host_code.lowering import HostEntry
from mesh_opt.codegen.host_code.size_rules import PART_OF_BYTES, bytes_of
from mesh_opt.interpreter.frames import Program
from mesh_opt.interpreter.run import find_function
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.runtime.host.size_rules import SizeRules, Word
from mesh_opt.tools.driver import new_context

OPEN = "tensor<?x?xf32>"
HEAD = f"func.func @main(%a: {OPEN}, %b: {OPEN}, %c: {OPEN}, %n: index, %m: index)"

PROGRAMS = {
    "elementwise": f"{HEAD} -> {OPEN} {{ %r = arith.addf %a, %b : {OPEN} return %r : {OPEN} }}",
    "empty": f"""{HEAD} -> tensor<?x3x?xf32> {{
      %r = tensor.empty(%n, %m) : tensor<?x3x?xf32>
      return %r : tensor<?x3x?xf32> }}""",
    "product": f"""{HEAD} -> {OPEN} {{
      %r = linalg.matmul ins(%a, %b : {OPEN}, {OPEN}) outs(%c : {OPEN}) -> {OPEN}
      return %r : {OPEN} }}""",
    "transposed": f"""{HEAD} -> {OPEN} {{
      %r = linalg.transpose ins(%a : {OPEN}) outs(%b : {OPEN}) permutation = [1, 0]
      return %r : {OPEN} }}""",
    "a_type_with_sizes": f"""{HEAD} -> tensor<?x2xf32> {{
      %r = tensor.cast %a : {OPEN} to tensor<?x2xf32>
      %q = tensor.cast %b : {OPEN} to tensor<?x2xf32>
      %s = arith.addf %r, %q : tensor<?x2xf32>
      return %s : tensor<?x2xf32> }}""",
    "a_reduction": f"""{HEAD} -> tensor<?xf32> {{
      %e = tensor.empty(%n) : tensor<?xf32>
      %r = linalg.reduce {{ arith.addf }} ins(%a : {OPEN}) outs(%e : tensor<?xf32>) dimensions = [1]
      return %r : tensor<?xf32> }}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rules_accept_what_the_check_accepts(name: str) -> None:
    symbols = Program(parse_module(new_context(), Source(PROGRAMS[name], name)))
    program = HostEntry(symbols, find_function(symbols, "main")).program.program
    assert len(program.known_sizes) == len(program.checks)
    source = random.Random(name)
    # Operands are tensors that there are; the sizes of a new one may be any numbers.
    choices = [0, 1, 2, 2, 3, *([-1, 1 << 40] if name == "empty" else [])]
    accepted = refused = 0
    for sizes, check in zip(program.known_sizes, program.checks, strict=True):
        rules = sizes.rules
        assert rules is not None or name == "a_type_with_sizes"
        for _ in range(400):
            numbers = [source.choice(choices) for _ in range(8)]
            if rules is None or not rules.accept(numbers):
                refused += 1
                continue
            accepted += 1
            try:
                check(numbers)
            except OperationError as problem:
                pytest.fail(f"{numbers} are accepted, but {problem.message}")
    assert accepted and refused


def test_sizes_that_fit_need_no_python() -> None:
    program = compile(PROGRAMS["product"])
    lines: list[str] = []
    program.trace_host = lines.append
    for rows, columns, inner in ((2, 3, 4), (5, 1, 2), (0, 3, 7)):
        a, b = np.ones((rows, inner), np.float32), np.ones((inner, columns), np.float32)
        result = program.main(a, b, np.zeros((rows, columns), np.float32), 0, 0)
        np.testing.assert_array_equal(result, np.full((rows, columns), inner))
    assert lines
    assert not any("check" in line for line in lines)
    with pytest.raises(ExecutionError, match=r":2:.*linalg\.matmul"):
        program.main(a, np.ones((6, 3), np.float32), np.zeros((0, 3), np.float32), 0, 0)
    assert any("check" in line for line in lines)


def test_sizes_are_compared() -> None:
    rules = SizeRules(((Word(0), Word(1)), (Word(2), 4)), (Word(0), 3), 12)
    assert rules.accept([4, 4, 4])
    assert rules.accept([0, 0, 4])
    assert not rules.accept([4, 3, 4])
    assert not rules.accept([4, 4, 5])
    assert not rules.accept([5, 5, 4])
    assert not rules.accept([-1, -1, 4])


def test_products_are_compared() -> None:
    """Two rows of three numbers of 4 bytes are 24 bytes; without rows there are none."""
    rules = bytes_of(2, 4)
    assert rules.accept([2, 3, 24])
    assert rules.accept([0, 3, 0])
    assert not rules.accept([2, 3, 23])
    assert not rules.accept([-2, -3, 24])
    assert not rules.accept([1 << 31, 1 << 31, 0])


def test_kernels_of_other_sizes_need_no_python() -> None:
    """Bindings, loads and stores are looked at by host code, not by Python at each new shape."""
    text = """func.func @main(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %b = arith.mulf %a, %a : tensor<?x4xf32>
      %c = math.sqrt %b : tensor<?x4xf32>
      return %c : tensor<?x4xf32> }"""
    program = compile(text, "data-tile")
    lines: list[str] = []
    program.trace_host = lines.append
    for rows in (3, 0, 7):
        a = np.full((rows, 4), 2, np.float32)
        np.testing.assert_array_equal(program.main(a), a)
    assert any("run" in line for line in lines)
    # The first is of what the outside gives, which is looked at once for each shape.
    assert [line for line in lines if "check" in line and "check #0" not in line] == []


def test_parts_of_bytes_need_no_python() -> None:
    """Which bytes are parts of others is told by the rules alone, right and wrong ones."""
    numbers = [-2, -1, 0, 1, 2, 3, (1 << 63) - 1]
    for first in numbers:
        for last in numbers:
            for size in numbers:
                is_part = 0 <= first <= last <= size
                assert PART_OF_BYTES.accept([first, last, size]) == is_part
