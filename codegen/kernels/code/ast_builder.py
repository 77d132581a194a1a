"""Build the Python `ast` of a kernel, with fresh names, scopes, loops and value numbering.

No text of the input program enters the code: names are counters, and everything else is a number or
a primitive. A value is a `Term`, the name of a variable or a known integer, so that index
arithmetic on known sizes is folded while it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import ExitStack, contextmanager
from math import isfinite

from ....ir.index_folding import COMPARISONS, FoldingIndices
from ....ir.intervals import Interval
from ....runtime.abi.elements import Element
from .linear_terms import Linear

Term = str | int
"""An integer known at compile time, the name of a variable in the generated code, or the sum of a
variable and an integer, as in `v3+16` and `v3-1`.
"""


def split_sum(term: Term) -> tuple[str, int]:
    """Return the variable and the integer of a term; the variable of an integer is empty."""
    if isinstance(term, int):
        return "", term
    name, sign, number = term.partition("+") if "+" in term else term.partition("-")
    return name, int(sign + number) if sign else 0


def term_expression(term: Term) -> ast.expr:
    """Return a term as an expression."""
    name, number = split_sum(term)
    constant = ast.Constant(abs(number))
    signed = ast.UnaryOp(ast.USub(), constant) if number < 0 else constant
    if not name:
        return signed
    variable = ast.Name(name, ast.Load())
    return ast.BinOp(variable, ast.Add(), signed) if number else variable


def _float_expression(value: float) -> ast.expr:
    # Infinities and NaN have no literal, and the dump of a constant must not depend on how they
    # print.
    if isfinite(value):
        return ast.Constant(value)
    return ast.Name(
        "infinity" if value > 0 else "minus_infinity" if value < 0 else "nan", ast.Load()
    )


FLOAT_NAMES = {
    "infinity": float("inf"),
    "minus_infinity": float("-inf"),
    "nan": float("nan"),
}
"""The names that generated code may use for floats without a literal."""


MIN_PERIOD = 16
"""The least indices between two that a division splits at."""


class AstBuilder(FoldingIndices[str]):
    """The body of a function that is being written."""

    def __init__(self) -> None:
        self.body: list[ast.stmt] = []
        self.splits: set[int] = set()
        """The values of the bounded index at which conditions and quotients change."""
        self.primitives: set[str] = set()
        """The names of the primitives that the code calls."""
        self._blocks: list[list[ast.stmt]] = [self.body]
        self._known: list[dict[Hashable, object]] = [{}]
        self._count = 0

    def fresh(self) -> str:
        """Return an unused name."""
        self._count += 1
        return f"v{self._count}"

    def assign(self, expression: ast.expr, name: str | None = None) -> str:
        """Write `name = expression`; return the name."""
        name = name or self.fresh()
        target = ast.Name(name, ast.Store())
        self._blocks[-1].append(ast.Assign([target], expression))
        return name

    def set(self, name: str, value: Term) -> ast.stmt:
        """Write `name = value` for a variable that may be assigned again; return the statement."""
        self.assign(term_expression(value), name)
        return self._blocks[-1][-1]

    def copy(self, value: Term) -> str:
        """Return a new variable with the current value of a term."""
        return self.assign(term_expression(value))

    @contextmanager
    def _block(self, statements: list[ast.stmt]) -> Generator[None]:
        self._blocks.append(statements)
        self._known.append({})
        try:
            yield
        finally:
            self._blocks.pop()
            self._known.pop()

    @contextmanager
    def loop(self, start: Term, stop: Term, step: Term = 1) -> Generator[str]:
        """Write a loop around the code that is written inside of the `with`; yield its index."""
        variable = self.fresh()
        statements: list[ast.stmt] = []
        with self._block(statements):
            yield variable
        arguments = [term_expression(start), term_expression(stop)]
        if step != 1:
            arguments.append(term_expression(step))
        self._blocks[-1].append(
            ast.For(
                ast.Name(variable, ast.Store()),
                ast.Call(ast.Name("range", ast.Load()), arguments, []),
                statements or [ast.Pass()],
                [],
            )
        )

    @contextmanager
    def loop_unless_one(self, size: Term) -> Generator[Term]:
        """Write a loop over `range(size)`, or no loop for size 1; yield its index."""
        if size == 1:
            yield 0
            return
        with self.loop(0, size) as index:
            yield index

    @contextmanager
    def loops(self, sizes: Sequence[Term]) -> Generator[tuple[Term, ...]]:
        """Write nested loops over `range(size)`; yield their indices."""
        with ExitStack() as stack:
            yield tuple([stack.enter_context(self.loop(0, size)) for size in sizes])

    @contextmanager
    def repeat(self, variable: str) -> Generator[None]:
        """Write a loop around the code inside of the `with` that runs while a variable is not 0."""
        statements: list[ast.stmt] = []
        with self._block(statements):
            yield
        self._blocks[-1].append(ast.While(term_expression(variable), statements, []))

    @contextmanager
    def when(self, condition: Term) -> Generator[None]:
        """Write an `if` around the code that is written inside of the `with`."""
        statements: list[ast.stmt] = []
        with self._block(statements):
            yield
        self._blocks[-1].append(ast.If(term_expression(condition), statements or [ast.Pass()], []))

    @contextmanager
    def otherwise(self) -> Generator[None]:
        """Write the `else` of the preceding `if`. Raises TypeError if there is none."""
        last = self._blocks[-1][-1]
        if not isinstance(last, ast.If):
            raise TypeError("an else follows an if")
        statements: list[ast.stmt] = []
        with self._block(statements):
            yield
        last.orelse = statements

    def branch(
        self, condition: Term, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Write an `if` with an `else`; only one of them if the condition is known."""
        if isinstance(condition, int):
            (then if condition else otherwise)()
            return
        with self.when(condition):
            then()
        with self.otherwise():
            otherwise()

    def choose(
        self, condition: Term, then: Callable[[], Term], otherwise: Callable[[], Term]
    ) -> Term:
        """Return one of two values; only the code of the chosen one runs."""
        if isinstance(condition, int):
            return then() if condition else otherwise()
        result = self.fresh()
        with self.when(condition):
            self.set(result, then())
        with self.otherwise():
            self.set(result, otherwise())
        return result

    def remember(self, key: Hashable, value: object) -> None:
        """Let `recall` find a value until the end of the current block."""
        self._known[-1][key] = value

    def recall(self, key: Hashable) -> object | None:
        """Return what was remembered in this block or an enclosing one, `None` if nothing was."""
        for known in reversed(self._known):
            if key in known:
                return known[key]
        return None

    def once(self, key: Hashable, expression: ast.expr) -> str:
        """Return a variable for an expression without effects; an equal visible one is reused."""
        found = self.recall(key)
        if isinstance(found, str):
            return found
        name = self.assign(expression)
        self.remember(key, name)
        return name

    def bound(self, index: Term, low: Term, high: Term) -> None:
        """Record that an index takes the values `low <= index < high` in the current block.

        Terms that are linear in it are compared and divided while they are written, if all values
        agree. `splits` collects where they do not.
        """
        if isinstance(low, int) and isinstance(high, int) and low < high:
            self._know(index, Linear(str(index), Interval(low, high - 1)))

    def _know(self, term: Term, linear: Linear | None) -> Term:
        if isinstance(term, str) and linear is not None:
            self.remember(("linear", term), linear)
        return term

    def _linear(self, term: Term) -> Linear | None:
        found = self.recall(("linear", term))
        return found if isinstance(found, Linear) else None

    def _difference(self, left: Term, right: Term) -> Linear | None:
        first, second = self._linear(left), self._linear(right)
        if first is not None and second is not None:
            return first.minus(second)
        if first is not None and isinstance(right, int):
            return first.plus(-right)
        if second is not None and isinstance(left, int):
            return second.times(-1).plus(left)
        return None

    def _plus(self, base: Term, number: int) -> Term:
        """Return the sum of a variable or an integer, and an integer."""
        if isinstance(base, int):
            return base + number
        # Sums are modulo 2**64, and LLVM takes no larger constants.
        number = (number + (1 << 63)) % (1 << 64) - (1 << 63)
        linear = self._linear(base)
        return self._know(f"{base}{number:+}" if number else base, linear and linear.plus(number))

    def add(self, left: Term, right: Term) -> Term:
        """Return `left + right`. Integers are added last, so that sums share the other terms.

        `((i + 1) + j) * 64 + k` is `((i + j) * 64 + k) + 64`.
        """
        (first, one), (second, other) = split_sum(left), split_sum(right)
        return self._plus(super().add(first or 0, second or 0), one + other)

    def subtract(self, left: Term, right: Term) -> Term:
        """Return `left - right`."""
        (first, one), (second, other) = split_sum(left), split_sum(right)
        result = self._plus(super().subtract(first or 0, second or 0), one - other)
        return self._know(result, self._difference(left, right))

    def multiply(self, left: Term, right: Term) -> Term:
        """Return `left * right`."""
        known, factor = (left, right) if isinstance(right, int) else (right, left)
        if not isinstance(factor, int):
            return super().multiply(left, right)
        name, number = split_sum(known)
        base, linear = super().multiply(name or 0, factor), self._linear(name)
        return self._plus(self._know(base, linear and linear.times(factor)), number * factor)

    def _quotient(self, left: Term, right: Term) -> int | None:
        """Return `floor(left / right)` if it is the same for all values of the bounded index."""
        linear = self._linear(left)
        if linear is None or not isinstance(right, int) or right <= 0:
            return None
        quotients = linear.quotients(right)
        if len(quotients) == 1:
            return quotients[0]
        if right >= MIN_PERIOD * abs(linear.factor):
            self.splits |= linear.periods(right)
        return None

    def floor_divide(self, left: Term, right: Term) -> Term:
        """Return `floor(left / right)` for a positive `right`."""
        quotient = self._quotient(left, right)
        return super().floor_divide(left, right) if quotient is None else quotient

    def modulo(self, left: Term, right: Term) -> Term:
        """Return `left - right * floor(left / right)` for a positive `right`."""
        quotient = self._quotient(left, right)
        if quotient is None:
            return super().modulo(left, right)
        return self.subtract(left, self.multiply(quotient, right))

    def compare(self, predicate: str, left: Term, right: Term) -> Term:
        """Return a comparison, folded to 0 or 1 if it is the same for all values of an index."""
        difference = self._difference(left, right)
        if difference is None:
            return super().compare(predicate, left, right)
        changes = difference.changes(predicate)
        if not changes:
            return int(COMPARISONS[predicate](difference.first, 0))
        self.splits |= changes
        return super().compare(predicate, left, right)

    def call(self, primitive: str, *arguments: Term) -> str:
        """Return the result of a primitive without effects."""
        return self.once((primitive, *arguments), self._call(primitive, arguments))

    def load(self, primitive: str, *arguments: Term) -> str:
        """Return the result of a primitive that reads mutable memory, which is never reused."""
        return self.assign(self._call(primitive, arguments))

    def run(self, primitive: str, *arguments: Term) -> None:
        """Write a call of a primitive for its effect."""
        self._blocks[-1].append(ast.Expr(self._call(primitive, arguments)))

    def _call(self, primitive: str, arguments: Sequence[Term]) -> ast.expr:
        self.primitives.add(primitive)
        return ast.Call(
            ast.Name(primitive, ast.Load()), [term_expression(each) for each in arguments], []
        )

    def float_constant(self, value: float, element: str) -> str:
        """Return a variable that holds a float, typed as the register of an element."""
        call = ast.Call(ast.Name(f"as_{element}", ast.Load()), [_float_expression(value)], [])
        return self.once(("float", str(value), element), call)

    def integer_constant(self, value: int, element: str) -> str:
        """Return a variable that holds an integer, typed as the register of an element."""
        if element == "i1":
            return self.once(("bool", value), ast.Constant(bool(value)))
        return self.call(f"as_{element}", value)

    def number(self, value: int, element: Element) -> str:
        """Return a variable that holds a number, typed as the register of an element."""
        if element.is_float:
            return self.float_constant(float(value), element.register)
        return self.integer_constant(value, element.name)

    def rounded(self, value: Term, element: Element) -> Term:
        """Round a value in the register of an element to the element, if that is a narrow float."""
        if not element.is_narrow_float:
            return value
        return self.call(f"convertf_{element.register}_{element.name}", value)

    def index_instruction(self, name: str, left: Term, right: Term) -> str:
        operator = _OPERATORS.get(name)
        if operator is None:
            return self.call(name, left, right)
        expression = ast.BinOp(term_expression(left), operator(), term_expression(right))
        return self.once((operator.__name__, left, right), expression)

    def both(self, left: Term, right: Term) -> Term:
        """Return the conjunction of two conditions."""
        if isinstance(left, int):
            return right if left else 0
        if isinstance(right, int):
            return left if right else 0
        return self.call("andi_i1", left, right)


_OPERATORS: dict[str, type[ast.operator]] = {
    "addi_i64": ast.Add,
    "subi_i64": ast.Sub,
    "muli_i64": ast.Mult,
}
"""Index arithmetic on 64-bit integers that do not overflow, as Python operators."""
