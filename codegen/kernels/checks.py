"""Write the checks of a kernel: indices, divisors and asserts that are not proven to hold.

Elements of most kernels are computed in any order: a check only records that it has failed
(`failures`), because LLVM does not vectorise a loop that may be left. Loops that update tensors in
place run in the order of the program, and their kernel returns at the first failure.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.ir import Operation

from ...dialects.arith.divisions import INTEGER_DIVISIONS, OVERFLOWING_DIVISIONS
from ...ir.attribute_access import text
from ...ir.host_programs import CONTROL_FLOW
from ...runtime.abi.elements import element_of
from ...runtime.abi.values import index_message
from .ast_builder import AstBuilder, Term
from .failures import leave_at_failures, search_failure
from .index_ranges import unproven
from .kernel_text import Failure


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
            return leave_at_failures(body, self._statements, place)
        cleared = [
            ast.Assign([ast.Name(f"failed{each}", ast.Store())], ast.Constant(0))
            for each in self._failures.values()
        ]
        search = search_failure(body, self._statements, len(self._failures), place)
        return [*cleared, *body, *search]
