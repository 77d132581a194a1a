"""A finished kernel: its code, its bindings, and the constants that the host passes.

Every kernel is `f(bindings, constants, first_tile, last_tile)` and returns a status, 0 for success.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ....ir.index_folding import FoldingIndices, V
from ....runtime.abi.lapack import LapackFunction
from ..code.ast_builder import Term

FIRST_FAILURE = 64
"""The status of a kernel whose check 0 failed; check `n` has status `FIRST_FAILURE + n`."""


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """A buffer that is not a value of the program, such as a packed operand of a product."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """A word of the host that a kernel reads and writes."""

    name: str


RUNNING, TURN = Word("running"), Word("turn")
"""What a loop that pauses stores: whether turns are left, and which is next."""

Bound = SSAValue | Panels | Word
"""What a binding of a kernel refers to."""


@dataclass(frozen=True, slots=True)
class SizeConstant:
    """A constant of a kernel: the size of a tensor along one dimension."""

    tensor: Bound
    dimension: int


@dataclass(frozen=True, slots=True)
class IndexConstant:
    """A constant of a kernel: an index that the host computes."""

    value: SSAValue


@dataclass(frozen=True, slots=True)
class SectionConstant:
    """A constant of a kernel that runs section by section: it selects the section."""

    name: str


RESUMES = SectionConstant("resumes")
"""Whether a loop goes on after a pause."""


@dataclass(frozen=True, slots=True)
class FailedValue:
    """A constant that the kernel writes if a check fails: the number that is wrong."""


Constant = SizeConstant | IndexConstant | SectionConstant | FailedValue | LapackFunction


def constant_name(number: int) -> str:
    """Return the variable of a kernel's constant."""
    return f"c{number}"


def term_value(term: Term, constants: Sequence[int | V]) -> int | V:
    """Return a number, or the value of the constant that a term names.

    Raises ValueError for another variable, whose value only the kernel knows.
    """
    if isinstance(term, int):
        return term
    if not term.startswith("c"):
        raise ValueError(f"variable {term} of a kernel is not a constant that the host passes")
    return constants[int(term[1:])]


@dataclass(frozen=True, slots=True)
class Failure:
    """A check of a kernel: the operation and the message of its error.

    `message` has places for `{found}`, the wrong number, and `{size}`. `size` is a number or the
    name of a constant.
    """

    operation: Operation
    message: str
    size: Term = 0

    def text(self, constants: Sequence[int]) -> str:
        """Return the message, given the kernel's constants after it has failed."""
        return self.message.format(found=constants[-1], size=term_value(self.size, constants))


@dataclass
class KernelText:
    """A finished kernel, which steps with other operands may share.

    - `function`: the definition `f(bindings, constants, first_tile, last_tile)`;
    - `reads`, `writes`: the values that are bound, `writes` first;
    - `constants`: what the host passes for each constant;
    - `tiles`: the number of tiles, as a function of the constants;
    - `failures`: the checks, in the order of their statuses;
    - `has_free_sums`: whether LLVM may order the terms of its sums differently, depending on the
      loops around them.
    """

    function: ast.FunctionDef
    reads: tuple[Bound, ...]
    writes: tuple[Bound, ...]
    constants: tuple[Constant, ...]
    tiles: TileCount
    failures: tuple[Failure, ...]
    has_free_sums: bool


@dataclass(frozen=True, slots=True)
class TileCount:
    """The product of `ceil(product of sizes / chunk)`; a size is a number or a constant's name."""

    factors: tuple[tuple[tuple[Term, ...], int], ...] = ()

    def evaluate(self, indices: FoldingIndices[V], constants: Sequence[int | V]) -> int | V:
        """Return the number of tiles for given values of the kernel's constants."""
        count: int | V = 1
        for sizes, chunk in self.factors:
            size = indices.product([term_value(each, constants) for each in sizes])
            count = indices.multiply(count, indices.ceiling_divide(size, chunk))
        return count


def fetch(name: str, array: str, position: int) -> ast.stmt:
    """Return the statement `name = array[position]`, which reads an argument of a kernel."""
    subscript = ast.Subscript(ast.Name(array, ast.Load()), ast.Constant(position), ast.Load())
    return ast.Assign([ast.Name(name, ast.Store())], subscript)


def kernel_function(body: Sequence[ast.stmt]) -> ast.FunctionDef:
    """Return a kernel with the given body, which returns status 0 at its end."""
    arguments = [ast.arg(name) for name in ("bindings", "constants", "first", "last")]
    return ast.FunctionDef(
        name="kernel",
        args=ast.arguments(
            posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[]
        ),
        body=[*body, ast.Return(ast.Constant(0))],
        decorator_list=[],
    )
