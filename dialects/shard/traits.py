"""The trait through which xDSL's `canonicalize` finds the patterns of `shard`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from xdsl.ir import Operation
from xdsl.traits import HasCanonicalizationPatternsTrait

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import RewritePattern


_PATTERNS: list[tuple[type[Operation], RewritePattern]] = []


def add_patterns(patterns: Iterable[tuple[type[Operation], RewritePattern]]) -> None:
    """Register patterns, each with the class of the ops that it applies to."""
    _PATTERNS.extend(patterns)


def _patterns() -> Sequence[tuple[type[Operation], RewritePattern]]:
    if not _PATTERNS:
        import_module(".canonicalization", __package__)
    return _PATTERNS


@dataclass(frozen=True)
class ShardCanonicalization(HasCanonicalizationPatternsTrait):
    """Import the patterns on the first `canonicalize`, to keep start-up time short."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        return tuple(pattern for definition, pattern in _patterns() if issubclass(op, definition))

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return tuple(pattern for _, pattern in _patterns())
