"""`canonicalize` with MLIR's options, on the patterns and folders of xDSL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Region
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike, HasCanonicalizationPatternsTrait
from xdsl.transforms.dead_code_elimination import RemoveUnusedOperations, region_dce
from xdsl.utils.exceptions import PassFailedException

from ...dialects.arith import canonicalization as arith
from ...dialects.flow import canonicalization as flow
from ...dialects.flow import dispatch_patterns
from ...dialects.hal import canonicalization as hal
from ...dialects.tensor import canonicalization as tensor
from ...dialects.util import canonicalization as util
from ...dialects.util import string_patterns

_TABLES = tuple(
    module.rewrites
    for module in (arith, flow, dispatch_patterns, hal, tensor, util, string_patterns)
)
"""Patterns of operations that have none as a trait."""


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Apply all canonicalization patterns and folders until nothing changes."""

    name = "canonicalize"

    top_down: bool = True
    """Whether a walk visits operations from the first to the last, or in reverse."""

    region_simplify: Literal["disabled", "normal", "aggressive"] = "normal"
    """Whether dead code is also removed across blocks and regions. Blocks are never merged, which
    `aggressive` allows.
    """

    max_iterations: int = -1
    """The maximum number of walks over the program; -1 for no limit."""

    max_num_rewrites: int = -1
    """The maximum number of rewrites; -1 for no limit."""

    test_convergence: bool = False
    """Whether the pass fails if it stops at a limit before nothing changes."""

    enable_patterns: tuple[str, ...] = ()
    """The names of the pattern classes to apply; empty for all."""

    disable_patterns: tuple[str, ...] = ()
    """The names of pattern classes not to apply."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._rewrite(ctx, op, self.max_iterations, self.max_num_rewrites)
        is_limited = self.max_iterations >= 0 or self.max_num_rewrites >= 0
        # Whether rewrites are left is only known by applying them, here to a copy.
        if self.test_convergence and is_limited and self._rewrite(ctx, op.clone(), -1, -1):
            raise PassFailedException("did not converge within its limits")

    def _rewrite(self, ctx: Context, module: ModuleOp, iterations: int, rewrites: int) -> bool:
        """Rewrite a module within limits; return whether it changed."""
        patterns: list[RewritePattern] = [
            _Patterns(frozenset(self.enable_patterns), frozenset(self.disable_patterns))
        ]
        simplifies = self.region_simplify != "disabled"
        if not simplifies:
            patterns.append(RemoveUnusedOperations())
        applier = GreedyRewritePatternApplier(patterns, ctx=ctx, folding_enabled=True)
        limited = _Limited(applier, rewrites, iterations, simplifies)
        walker = PatternRewriteWalker(
            limited, walk_reverse=not self.top_down, post_walk_func=limited.between
        )
        if iterations == 0:
            return False
        merged = merge_constants(module.body)
        return walker.rewrite_module(module) or merged


@dataclass
class _Patterns(RewritePattern):
    """Applies the enabled canonicalization patterns of each op."""

    enabled: frozenset[str]
    disabled: frozenset[str]
    _known: dict[type[Operation], RewritePattern | None] = field(
        default_factory=dict[type[Operation], RewritePattern | None]
    )

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        kind = type(op)
        if kind not in self._known:
            self._known[kind] = self._patterns_of(op)
        pattern = self._known[kind]
        if pattern is not None:
            pattern.match_and_rewrite(op, rewriter)

    def _patterns_of(self, op: Operation) -> RewritePattern | None:
        found = [
            pattern
            for trait in op.get_traits_of_type(HasCanonicalizationPatternsTrait)
            for pattern in trait.get_patterns(type(op))
        ]
        found += [pattern for table in _TABLES for pattern in table.of(type(op))]
        wanted = [
            pattern
            for pattern in found
            if type(pattern).__name__ not in self.disabled
            and (not self.enabled or type(pattern).__name__ in self.enabled)
        ]
        if len(wanted) > 1:
            return GreedyRewritePatternApplier(wanted)
        return wanted[0] if wanted else None


@dataclass
class _Limited(RewritePattern):
    """A pattern with limits on its rewrites and on the number of walks; -1 means no limit."""

    pattern: RewritePattern
    rewrites: int
    walks: int
    simplifies: bool

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if self.rewrites:
            self.pattern.match_and_rewrite(op, rewriter)
            if self.rewrites > 0 and rewriter.has_done_action:
                self.rewrites -= 1

    def between(self, region: Region, listener: PatternRewriterListener) -> bool:
        """Merge constants and remove dead code between walks.

        Return whether the program changed.
        """
        self.walks -= 1
        changes = self.rewrites != 0 and merge_constants(region)
        if self.simplifies and self.rewrites != 0 and region_dce(region, listener):
            changes = True
        if self.walks == 0:
            # The walker continues until nothing changes, so further rewrites are disabled.
            self.rewrites = 0
            return False
        return changes


def merge_constants(region: Region) -> bool:
    """Merge equal constants of a block into the first; return whether there were any."""
    constants: dict[object, Operation] = {}
    repeated: list[tuple[Operation, Operation]] = []
    for op in region.walk():
        if op.has_trait(ConstantLike) and len(op.results) == 1:
            attributes = (*_items(op.properties), *_items(op.attributes))
            first = constants.setdefault((op.parent, op.name, op.results[0].type, attributes), op)
            if first is not op:
                repeated.append((op, first))
    for op, first in repeated:
        Rewriter.replace_op(op, [], [first.results[0]])
    return bool(repeated)


def _items(attributes: dict[str, Attribute]) -> list[tuple[str, Attribute]]:
    return sorted(attributes.items(), key=lambda item: item[0])
