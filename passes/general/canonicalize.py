"""Canonicalization with MLIR's options; what is done is what xDSL's pass of the name does."""

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


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Apply all canonicalization patterns and fold, until nothing changes."""

    name = "canonicalize"

    top_down: bool = True
    """Whether operations are looked at from the first to the last, or the other way round."""

    region_simplify: Literal["disabled", "normal"] = "normal"
    """Whether what is not used across blocks and regions is removed, too."""

    max_iterations: int = -1
    """How often the program is gone through at most; -1 for as often as it takes."""

    max_num_rewrites: int = -1
    """How many operations are rewritten at most; -1 for all."""

    test_convergence: bool = False
    """Whether it is an error if there is something left to do at one of these limits."""

    enable_patterns: tuple[str, ...] = ()
    """Classes of patterns to apply, and no others."""

    disable_patterns: tuple[str, ...] = ()
    """Classes of patterns not to apply."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._rewrite(ctx, op, self.max_iterations, self.max_num_rewrites)
        is_limited = self.max_iterations >= 0 or self.max_num_rewrites >= 0
        # What is left to do shows only when it is done.
        if self.test_convergence and is_limited and self._rewrite(ctx, op.clone(), -1, -1):
            raise PassFailedException("did not converge within its limits")

    def _rewrite(self, ctx: Context, module: ModuleOp, iterations: int, rewrites: int) -> bool:
        """Rewrite a module within limits; returns whether it changed."""
        patterns: list[RewritePattern] = [
            _Patterns(frozenset(self.enable_patterns), frozenset(self.disable_patterns))
        ]
        simplifies = self.region_simplify == "normal"
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
    """The patterns that an operation has, but for those that are not wanted."""

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
        wanted = [
            pattern
            for trait in op.get_traits_of_type(HasCanonicalizationPatternsTrait)
            for pattern in trait.get_patterns(type(op))
            if type(pattern).__name__ not in self.disabled
            and (not self.enabled or type(pattern).__name__ in self.enabled)
        ]
        if len(wanted) > 1:
            return GreedyRewritePatternApplier(wanted)
        return wanted[0] if wanted else None


@dataclass
class _Limited(RewritePattern):
    """A pattern that applies so often, in so many walks of the program; -1 is without limit."""

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
        """Remove what is dead after a walk; returns whether that changed the program."""
        self.walks -= 1
        changes = self.rewrites != 0 and merge_constants(region)
        if self.simplifies and self.rewrites != 0 and region_dce(region, listener):
            changes = True
        if self.walks == 0:
            # The walker goes on until nothing changes.
            self.rewrites = 0
            return False
        return changes


def merge_constants(region: Region) -> bool:
    """Let users of equal constants of a block use the first; returns whether there were any."""
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
