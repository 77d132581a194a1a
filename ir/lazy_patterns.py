"""The trait through which `canonicalize` finds the patterns of a dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from xdsl.ir import Operation
from xdsl.traits import HasCanonicalizationPatternsTrait

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import RewritePattern

    Patterns = Sequence[tuple[type[Operation], RewritePattern]]


@dataclass(frozen=True)
class LazyPatterns(HasCanonicalizationPatternsTrait):
    """Canonicalization patterns in the list `PATTERNS` of a module.

    Each is listed with the class of the ops that it applies to. The module is imported on the first
    `canonicalize`, to keep start-up time short.
    """

    module: str

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        patterns = cast("Patterns", import_module(self.module).PATTERNS)
        return tuple(pattern for definition, pattern in patterns if issubclass(op, definition))

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return ()  # The patterns of an op depend on the module.
