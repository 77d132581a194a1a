"""Which function lowers which operation: a table by name, filled by the files of this package.

- `@lowers("scf.for")`: `function(lowering, op)`, which binds the results;
- `@lowers_branch("cf.br")`: `function(lowering, op, graph)`, for terminators that choose a block.

Two names are no operations: `kernel` lowers a step that a kernel carries out, and `other` what has
no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from .values import HostValue

Rule = Callable[[Any, Any], None]
BranchRule = Callable[[Any, Operation, Any], None]
ExitRule = Callable[[Operation, Sequence[HostValue]], None]
"""What to do where a region ends, with the terminator and its operands."""

RULES: dict[str, Rule] = {}
BRANCHES: dict[str, BranchRule] = {}


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Register the function that lowers operations of these names."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def lowers_branch(*names: str) -> Callable[[BranchRule], BranchRule]:
    """Register the function that lowers terminators of these names."""

    def register(function: BranchRule) -> BranchRule:
        BRANCHES.update(dict.fromkeys(names, function))
        return function

    return register
