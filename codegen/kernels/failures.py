"""Find the first error after a check of a kernel has failed.

A kernel only records which checks failed. If any did, its loops run again and return at the first
failure of the first failed check. The error is the same as if each operation ran on all of its
elements before the next operation.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

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


def _again(statements: Sequence[ast.stmt], checks: Checks, place: int) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for each in statements:
        if isinstance(each, ast.For):
            inner = _again(each.body, checks, place)
            found.append(ast.For(each.target, each.iter, inner, []))
        elif isinstance(each, ast.If):
            branches = (_again(part, checks, place) for part in (each.body, each.orelse))
            found.append(ast.If(each.test, *branches))
        elif each in checks:
            found.append(_leave(*checks[each], place))
        else:
            found.append(each)
    return found


def _leave(number: int, wrong: Term, place: int) -> ast.stmt:
    leave = f"if wanted == {number}:\n  constants[{place}] = 0\n  return {FIRST_FAILURE + number}"
    (statement,) = ast.parse(leave).body
    assert isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Assign)
    statement.body[0].value = term_expression(wrong)
    return statement
