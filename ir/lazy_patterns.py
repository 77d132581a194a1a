"""The trait through which `canonicalize` finds the patterns of a dialect."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from xdsl.ir import Operation
from xdsl.traits import HasCanonicalizationPatternsTrait

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import RewritePattern

    from .canonicalization import Patterns


@dataclass(frozen=True)
class LazyPatterns(HasCanonicalizationPatternsTrait):
    """Canonicalization patterns in the tables `rewrites` of modules of a package.

    The modules are imported on the first `canonicalize`, to keep start-up time short.
    """

    package: str
    modules: tuple[str, ...]

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        modules = (import_module(f"{self.package}.{module}") for module in self.modules)
        tables = (cast("Patterns", module.rewrites) for module in modules)
        return tuple(found for table in tables for found in table.of(op))

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return ()  # The patterns of an op depend on the modules.
