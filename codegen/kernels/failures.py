"""Find the first error of a kernel.

A kernel that runs in order returns at its first failure. Other kernels only record which checks
failed. If any did, their loops run again and return at the first failure of the first failed check.
The error is the same as if each operation ran on all of its
elements before the next operation.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from .ast_builder import Term, term_expression
from .kernel_text import FIRST_FAILURE

Checks = Mapping[ast.stmt, tuple[int, Term]]
"""Statements that record a failure, with the number of the check and the wrong number."""


def search_failure(
    body: Sequence[ast.stmt], checks: Checks, count: int, place: int
) -> list[ast.stmt]:
    """Return the code after a kernel's body, which returns the status of a failure.

    It stores the wrong number to the constant at `place`.
    """
    code = "wanted = -1\n"
    # The loop assigns the first failed check last.
    for number in reversed(range(count)):
        code += f"if failed{number}:\n  wanted = {number}\n"
    code += f"if wanted >= 0:\n  pass\n  return {FIRST_FAILURE} + wanted\n"
    statements = ast.parse(code).body
    last = statements[-1]
    assert isinstance(last, ast.If)
    last.body[:1] = _again(body, checks, place)
    return statements


def leave_at_failures(body: Sequence[ast.stmt], checks: Checks, place: int) -> list[ast.stmt]:
    """Return the body of a kernel that returns at the first check that fails.

    It stores the wrong number to the constant at `place`.
    """
    return _replaced(body, checks, partial(_leave, place=place))


def _again(body: Sequence[ast.stmt], checks: Checks, place: int) -> list[ast.stmt]:
    def leave_if_wanted(number: int, wrong: Term) -> list[ast.stmt]:
        (statement,) = ast.parse(f"if wanted == {number}:\n  pass").body
        assert isinstance(statement, ast.If)
        statement.body = _leave(number, wrong, place)
        return [statement]

    return _replaced(body, checks, leave_if_wanted)


def _replaced(
    statements: Sequence[ast.stmt],
    checks: Checks,
    replacement: Callable[[int, Term], list[ast.stmt]],
) -> list[ast.stmt]:
    """Return statements with others in place of those that record a failure."""
    found: list[ast.stmt] = []
    for each in statements:
        if isinstance(each, ast.For):
            inner = _replaced(each.body, checks, replacement)
            found.append(ast.For(each.target, each.iter, inner, []))
        elif isinstance(each, ast.While):
            found.append(ast.While(each.test, _replaced(each.body, checks, replacement), []))
        elif isinstance(each, ast.If):
            branches = (_replaced(part, checks, replacement) for part in (each.body, each.orelse))
            found.append(ast.If(each.test, *branches))
        elif each in checks:
            found += replacement(*checks[each])
        else:
            found.append(each)
    return found


def _leave(number: int, wrong: Term, place: int) -> list[ast.stmt]:
    store, leave = ast.parse(
        f"constants[{place}] = 0\nreturn {FIRST_FAILURE + number}", mode="exec"
    ).body
    assert isinstance(store, ast.Assign)
    store.value = term_expression(wrong)
    return [store, leave]
