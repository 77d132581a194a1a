"""The trait by which xDSL's `canonicalize` finds the patterns of `shard` and `mesh`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Operation
from xdsl.traits import HasCanonicalizationPatternsTrait

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import RewritePattern


@dataclass(frozen=True)
class ShardCanonicalization(HasCanonicalizationPatternsTrait):
    """The patterns are loaded when somebody canonicalizes: start-up is import time."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        from .canonicalization import patterns_of

        return patterns_of(op)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalization import PATTERNS

        return tuple(pattern for _, pattern in PATTERNS)
