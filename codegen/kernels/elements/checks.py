"""Write the checks of a kernel: indices, divisors and asserts that are not proven to hold.

Elements of most kernels are computed in any order: a check only records that it has failed,
because LLVM does not vectorise a loop that may be left. If one has, the loops run again and return
at the first failure of the first failed check. So the error is the same as if each operation ran on
all of its elements before the next operation. Loops that update tensors in place run in the order
of the program, and their kernel returns at the first failure.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from xdsl.ir import Operation

from ....dialects.arith.divisions import INTEGER_DIVISIONS, OVERFLOWING_DIVISIONS
from ....ir.attribute_access import text
from ....ir.host_programs import CONTROL_FLOW
from ....runtime.abi.elements import element_of
from ....runtime.abi.values import index_message
from ..code.ast_builder import AstBuilder, Term, term_expression
from .index_ranges import unproven
from .kernel_text import FIRST_FAILURE, Failure


class Checks:
    """The checks of the kernel of an operation.

    - `in_order`: whether the kernel computes in the order of the program.
    """

    def __init__(self, operation: Operation, code: AstBuilder) -> None:
        self.in_order = False
        self._operation = operation
        self._code = code
        self._failures: dict[Failure, int] = {}
        self._statements: dict[ast.stmt, tuple[int, Term]] = {}
        self._unproven: dict[Operation, frozenset[Operation]] = {}

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The checks, in the order of their statuses."""
        return tuple(self._failures)

    def is_proven(self, operation: Operation) -> bool:
        """Return whether an operation of a body needs no check."""
        scope = operation.parent_op()
        while (
            scope is not None
            and scope is not self._operation
            and (scope.name in CONTROL_FLOW or scope.parent_op() is self._operation)
        ):
            # A nest in the body of the kernel's loop is analysed with that loop, whose index range
            # it needs.
            scope = scope.parent_op()
        if scope is None:
            return False
        if scope not in self._unproven:
            self._unproven[scope] = unproven(scope)
        return operation not in self._unproven[scope]

    def index(self, operation: Operation, axis: int, index: Term, size: Term) -> None:
        """Let the kernel fail if an index is out of bounds."""
        outside = self._code.call("cmpiuge_i64", index, size)
        self.fail_if(
            outside, Failure(operation, index_message("{found}", axis, "{size}"), size), index
        )

    def holds(self, operation: Operation, condition: Term) -> None:
        """Let the kernel fail if the condition of an assert does not hold."""
        message = "does not hold: " + text(operation, "msg")
        escaped = message.replace("{", "{{").replace("}", "}}")
        fails = self._code.call("xori_i1", condition, self._code.integer_constant(1, "i1"))
        self.fail_if(fails, Failure(operation, escaped), 0)

    def division(self, operation: Operation, operands: Sequence[Term]) -> None:
        """Let a kernel that computes in order fail if a division does."""
        if (
            operation.name not in INTEGER_DIVISIONS
            or not self.in_order
            or self.is_proven(operation)
        ):
            return
        code, (left, right) = self._code, operands
        element = element_of(operation.operands[0].type, operation)

        def is_equal(value: Term, number: int) -> Term:
            return code.call(f"cmpieq_{element.name}", value, code.number(number, element))

        self.fail_if(is_equal(right, 0), Failure(operation, "divides by zero"), 0)
        if operation.name in OVERFLOWING_DIVISIONS:
            lowest = -(1 << (element.width - 1))
            overflows = code.both(is_equal(left, lowest), is_equal(right, -1))
            message = f"divides {lowest} by -1, which overflows"
            self.fail_if(overflows, Failure(operation, message), 0)

    def fail_if(self, condition: Term, failure: Failure, found: Term) -> None:
        """Let the kernel fail if a condition holds; `found` is the wrong number."""
        number = self._failures.setdefault(failure, len(self._failures))
        with self._code.when(condition):
            self._statements[self._code.set(f"failed{number}", 1)] = number, found

    def finished(self, body: list[ast.stmt], place: int) -> list[ast.stmt]:
        """Return the kernel's body with what follows a failure.

        The wrong number is stored to the constant at `place`.
        """
        if self.in_order:
            return _leave_at_failures(body, self._statements, place)
        cleared = [
            ast.Assign([ast.Name(f"failed{each}", ast.Store())], ast.Constant(0))
            for each in self._failures.values()
        ]
        search = _search_failure(body, self._statements, len(self._failures), place)
        return [*cleared, *body, *search]


_Failing = Mapping[ast.stmt, tuple[int, Term]]
"""Statements that record a failure, with the number of the check and the wrong number."""


def _search_failure(
    body: Sequence[ast.stmt], failing: _Failing, count: int, place: int
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
    last.body[:1] = _again(body, failing, place)
    return statements


def _leave_at_failures(body: Sequence[ast.stmt], failing: _Failing, place: int) -> list[ast.stmt]:
    """Return the body of a kernel that returns at the first check that fails.

    It stores the wrong number to the constant at `place`.
    """
    return _replaced(body, failing, partial(_leave, place=place))


def _again(body: Sequence[ast.stmt], failing: _Failing, place: int) -> list[ast.stmt]:
    def leave_if_wanted(number: int, wrong: Term) -> list[ast.stmt]:
        (statement,) = ast.parse(f"if wanted == {number}:\n  pass").body
        assert isinstance(statement, ast.If)
        statement.body = _leave(number, wrong, place)
        return [statement]

    return _replaced(body, failing, leave_if_wanted)


def _replaced(
    statements: Sequence[ast.stmt],
    failing: _Failing,
    replacement: Callable[[int, Term], list[ast.stmt]],
) -> list[ast.stmt]:
    """Return statements with others in place of those that record a failure."""
    found: list[ast.stmt] = []
    for each in statements:
        if isinstance(each, ast.For):
            inner = _replaced(each.body, failing, replacement)
            found.append(ast.For(each.target, each.iter, inner, []))
        elif isinstance(each, ast.While):
            found.append(ast.While(each.test, _replaced(each.body, failing, replacement), []))
        elif isinstance(each, ast.If):
            branches = (_replaced(part, failing, replacement) for part in (each.body, each.orelse))
            found.append(ast.If(each.test, *branches))
        elif each in failing:
            found += replacement(*failing[each])
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
