"""Our factor rules say the same as Shardy's, up to the names of factors.

An operation of StableHLO becomes one operation of linalg or tensor, apart from what makes its
initial values. Outputs are left out of the comparison, and so is how a dimension is moved that
cannot be split: Shardy has one factor for its extents before and after, ours has one for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.sharding.rules.registry import factor_rule
from mesh_opt.sharding.factors import FactorKind, TensorFactors
from mesh_opt.tools.driver import new_context
from xdsl.ir import Operation

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "jax_programs.py"
MAKERS = {"arith.constant", "linalg.fill", "linalg.yield", "tensor.empty", "func.return"}
Einsum = list[list[str]]


@pytest.fixture(scope="module")
def dumped(peers_python: Callable[[str], str]) -> dict[str, dict[str, list[str] | str]]:
    run_it = f"runpy.run_path({str(SCRIPT)!r}, None, '__main__')"
    return json.loads(peers_python(f"import runpy, sys; sys.argv = ['', 'rules']; {run_it}"))


def canonical(tensors: Sequence[Sequence[Sequence[str]]], immovable: set[str]) -> Einsum:
    """Factors named in the order in which they come up; `*` for those that cannot be split."""
    names: dict[str, str] = {}

    def named(factor: str) -> str:
        return "*" if factor in immovable else names.setdefault(factor, f"f{len(names)}")

    return [["".join(map(named, dimension)) for dimension in tensor] for tensor in tensors]


def theirs(text: str) -> tuple[Einsum, int]:
    """Shardy's rule, without operands of rank 0, and how many factors are reductions."""
    immovable = {
        letter
        for word in ("need_replication", "permutation")
        for found in re.findall(word + r"=\{(.*?)\}", text)
        for letter in found.split(", ")
    }
    tensors = [
        [re.findall(r"[a-z](?:_\d+)?", dimension) for dimension in inner.split(", ") if dimension]
        for inner in re.findall(r"\[(.*?)\]", text.split("{", maxsplit=1)[0])
    ]
    left, right = text.split("->")
    operands = left.count("[")
    kept = [t for i, t in enumerate(tensors) if t or i >= operands]
    reductions = sum(len(found.split(", ")) for found in re.findall(r"reduction=\{(.*?)\}", right))
    return canonical(kept, immovable), reductions


def ours(operation: Operation) -> tuple[Einsum, int]:
    rule = factor_rule(operation)
    assert rule is not None
    immovable = {
        str(index)
        for index, factor in enumerate(rule.factors)
        if factor.kind in (FactorKind.NEED_REPLICATION, FactorKind.PERMUTATION)
    }
    count = len(operation.operands)
    if operation.name.startswith("linalg."):
        count -= len(operation.results)

    def text(tensor: TensorFactors) -> list[list[str]]:
        return [[str(factor) for factor in dimension] for dimension in tensor]

    operands = [text(tensor) for tensor in rule.operands[:count] if tensor]
    results = [text(tensor) for tensor in rule.results]
    reductions = sum(factor.kind is FactorKind.REDUCTION for factor in rule.factors)
    return canonical([*operands, *results], immovable), reductions


def test_every_single_operation(dumped: dict[str, dict[str, list[str] | str]]) -> None:
    assert len(dumped) >= 17
    for name, found in dumped.items():
        module = parse_module(new_context(), Source(str(found["linalg"]), name))
        computing = [
            operation
            for operation in module.walk()
            if operation.name.startswith(("linalg.", "tensor.")) and operation.name not in MAKERS
        ]
        (rule,) = found["rules"]
        assert len(computing) == 1, (name, [operation.name for operation in computing])
        (operation,) = computing
        assert ours(operation) == theirs(rule), name
