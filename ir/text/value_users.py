"""Comments on the users of each value, as `mlir-opt --mlir-print-value-users` prints them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue


class UserComments:
    """Creates the comments of operations.

    `name` returns the name of a value, `number` a new number for an operation without results.
    """

    def __init__(self, name: Callable[[SSAValue], str], number: Callable[[], str]) -> None:
        self._name = name
        self._number = number
        self._identities: dict[Operation, str] = {}

    def above(self, operation: Operation) -> list[str]:
        """Return the comment lines above the first op of a block: the users of its arguments."""
        block = operation.parent
        if block is None or block.first_op is not operation:
            return []
        lines: list[str] = []
        for argument in block.args:
            users = self._users(argument)
            verdict = f"is used by {', '.join(users)}" if users else "is unused"
            lines.append(f"// {self._name(argument)} {verdict}")
        return lines

    def after(self, operation: Operation) -> str:
        """Return the comment after an operation: the users of its results, or its own number."""
        if operation.results:
            return f" // {self._users_of_results(operation.results)}"
        if operation.operands:
            return f" // id: {', '.join(self._identity(operation))}"
        return ""

    def _users_of_results(self, results: Sequence[SSAValue]) -> str:
        users = [self._users(result) for result in results]
        if len(users) > 1:
            groups = (f"({', '.join(names) or 'unused'})" for names in users)
            return f"users: {', '.join(groups)}"
        (names,) = users
        if not names:
            return "unused"
        return f"{'user' if len(names) == 1 else 'users'}: {', '.join(names)}"

    def _users(self, value: SSAValue) -> list[str]:
        found = dict.fromkeys(use.operation for use in value.uses)
        return [name for user in found for name in self._identity(user)]

    def _identity(self, operation: Operation) -> list[str]:
        """Return the names of an operation in comments: those of its results, or its number."""
        if operation.results:
            return [self._name(result) for result in operation.results]
        name = self._identities.get(operation)
        if name is None:
            name = self._identities[operation] = f"%{self._number()}"
        return [name]
