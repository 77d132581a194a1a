"""What a kernel is once it is written: code, and what the host binds to it and passes.

Every kernel is `f(bindings, constants, first_tile, last_tile)` and returns a status, 0 if all went
well.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from .ast_builder import Term

FIRST_FAILURE = 64
"""The status of a kernel whose first check has failed; those of the others follow."""


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """A buffer that is no value of the program, such as a packed operand of a product."""

    name: str


Bound = SSAValue | Panels
"""What a kernel is bound to."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A constant of a kernel: the size of a tensor along one dimension."""

    tensor: Bound
    dimension: int


@dataclass(frozen=True, slots=True)
class Number:
    """A constant of a kernel: an index that the host program computes."""

    value: SSAValue


@dataclass(frozen=True, slots=True)
class Portion:
    """A constant of a kernel that is run for one part of the work after another: which part."""

    name: str


@dataclass(frozen=True, slots=True)
class Found:
    """A constant of a kernel that it sets if a check fails: the number that is wrong."""


Constant = Dimension | Number | Portion | Found


@dataclass(frozen=True, slots=True)
class Failure:
    """A check of a kernel: what to say, and where, if it fails.

    `message` has places for `{found}`, the wrong number, and `{size}`.
    """

    operation: Operation
    message: str
    size: Term = 0

    def text(self, constants: Sequence[int]) -> str:
        """What is wrong, from the values of the kernel's constants after it has failed."""
        size = self.size if isinstance(self.size, int) else constants[int(self.size[1:])]
        return self.message.format(found=constants[-1], size=size)


@dataclass
class KernelText:
    """A finished kernel, apart from any one use of it.

    - `function`: the definition `f(bindings, constants, first_tile, last_tile)`;
    - `reads`, `writes`: the values bound, reads first;
    - `constants`: what the host passes for each constant;
    - `tiles`: how many tiles there are, from the constants;
    - `failures`: what its checks are about, in the order of their statuses.
    """

    function: ast.FunctionDef
    reads: tuple[Bound, ...]
    writes: tuple[Bound, ...]
    constants: tuple[Constant, ...]
    tiles: TileCount
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class TileCount:
    """The product of `ceil(product of sizes / chunk)`; sizes are numbers or constants by name."""

    factors: tuple[tuple[tuple[Term, ...], int], ...] = ()

    def evaluate(self, constants: Sequence[int]) -> int:
        """The count for the values of the kernel's constants."""
        count = 1
        for sizes, chunk in self.factors:
            product = 1
            for size in sizes:
                product *= size if isinstance(size, int) else constants[int(size[1:])]
            count *= -(-product // chunk)
        return count


def fetch(name: str, array: str, position: int) -> ast.stmt:
    """`name = array[position]`: what a kernel takes from its arguments."""
    subscript = ast.Subscript(ast.Name(array, ast.Load()), ast.Constant(position), ast.Load())
    return ast.Assign([ast.Name(name, ast.Store())], subscript)


def kernel_function(body: Sequence[ast.stmt]) -> ast.FunctionDef:
    """A kernel of some code, which returns 0 at its end."""
    arguments = [ast.arg(name) for name in ("bindings", "constants", "first", "last")]
    return ast.FunctionDef(
        name="kernel",
        args=ast.arguments(
            posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[]
        ),
        body=[*body, ast.Return(ast.Constant(0))],
        decorator_list=[],
    )
