"""The trait by which `canonicalize` finds the patterns of `shard`."""

from __future__ import annotations

from ...ir.lazy_patterns import LazyPatterns

CANONICALIZATION = LazyPatterns(str(__package__), ("canonicalization",))
