"""Comments that say who uses each value, as `mlir-opt --mlir-print-value-users` has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue


class UserComments:
    """Words comments; `name` is what a value is called, `number` gives a name to an operation."""

    def __init__(self, name: Callable[[SSAValue], str], number: Callable[[], str]) -> None:
        self._name = name
        self._number = number
        self._identities: dict[Operation, str] = {}

    def above(self, operation: Operation) -> list[str]:
        """What stands above an operation: who uses the arguments of a block that it begins."""
        block = operation.parent
        if block is None or block.first_op is not operation:
            return []
        lines: list[str] = []
        for argument in block.args:
            users = self._users(argument)
            verdict = f"is used by {', '.join(users)}" if users else "is unused"
            lines.append(f"// {self._name(argument)} {verdict}")
        return lines

    def behind(self, operation: Operation) -> str:
        """What stands behind an operation: who uses its results, or what it is called itself."""
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
        """What an operation is called in comments: its results, or else a number of its own."""
        if operation.results:
            return [self._name(result) for result in operation.results]
        name = self._identities.get(operation)
        if name is None:
            name = self._identities[operation] = f"%{self._number()}"
        return [name]
