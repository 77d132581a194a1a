"""Walks over operations."""

from __future__ import annotations

import pytest
from mesh_opt.ir.regions import copy_region, walk
from parsing import parse
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

TEXT = """
func.func private @declared()
func.func @main(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %c to %n step %one iter_args(%a = %x) -> tensor<4xf32> {
    %b = math.tanh %a : tensor<4xf32>
    %unread = math.exp %a : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  cf.br ^end(%r : tensor<4xf32>)
^end(%e: tensor<4xf32>):
  func.return %e : tensor<4xf32>
}
"""


def test_the_order_is_that_of_the_text() -> None:
    _, module = parse(TEXT)
    assert list(walk(module)) == list(module.walk())


def test_current_operation_may_be_erased() -> None:
    _, module = parse(TEXT)
    names: list[str] = []
    for operation in walk(module):
        names.append(operation.name)
        is_declared = operation.name == "func.func" and not operation.regions[0].blocks
        if is_declared or operation.name == "math.exp":
            Rewriter.erase_op(operation)
    assert names.count("func.func") == 2
    assert names[-3:] == ["scf.yield", "cf.br", "func.return"]
    erased = [names.index("func.func"), names.index("math.exp")]
    left = [name for number, name in enumerate(names) if number not in erased]
    assert [operation.name for operation in walk(module)] == left


@pytest.mark.parametrize("name", ["func.func", "scf.for"])
def test_a_copy_of_a_region_reads_its_own_values(name: str) -> None:
    _, module = parse(TEXT)
    original = [each for each in walk(module) if each.name == name][-1]
    values: dict[SSAValue, SSAValue] = {}
    blocks: dict[Block, Block] = {}
    copied = original.create(
        operands=original.operands,
        result_types=original.result_types,
        properties=original.properties,
        regions=[copy_region(original.regions[0], values, blocks)],
    )
    assert copied.is_structurally_equivalent(original)
    for old, new in list(zip(walk(original), walk(copied), strict=True))[1:]:
        assert list(new.operands) == [values.get(each, each) for each in old.operands]
        assert list(new.successors) == [blocks[each] for each in old.successors]
        assert new is not old
        assert new.location == old.location
