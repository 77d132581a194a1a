"""Canonicalization patterns as functions, in the table of the module that defines them.

rewrites = Patterns()

@rewrites("util.cmp.eq", "util.cmp.ne")
def fold_comparison(op: Operation, rewriter: PatternRewriter) -> None:
    ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

Rewrite = TypeVar("Rewrite", bound=Callable[[Any, PatternRewriter], None])


class Patterns:
    """A table of patterns, in the order in which they are tried."""

    def __init__(self) -> None:
        self._found: list[tuple[str | type[Operation], RewritePattern]] = []

    def __call__(self, *ops: str | type[Operation]) -> Callable[[Rewrite], Rewrite]:
        """Register a function as a pattern of ops, given by names or classes.

        Options of `canonicalize` name the pattern: `fold_cast` is `FoldCast`.
        """

        def register(rewrite: Rewrite) -> Rewrite:
            name = "".join(word.capitalize() for word in rewrite.__name__.split("_"))
            members = {"__doc__": rewrite.__doc__, "match_and_rewrite": staticmethod(rewrite)}
            pattern = type(name, (RewritePattern,), members)()
            self._found += [(op, pattern) for op in ops]
            return rewrite

        return register

    def of(self, kind: type[Operation]) -> tuple[RewritePattern, ...]:
        """Return the patterns of a class of ops."""
        return tuple(
            pattern
            for op, pattern in self._found
            if (kind.name == op if isinstance(op, str) else issubclass(kind, op))
        )
