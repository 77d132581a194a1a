"""All canonicalization patterns of the `stream` dialect."""

from __future__ import annotations

from . import copy_patterns, resource_patterns, timepoint_patterns

PATTERNS = (
    *timepoint_patterns.PATTERNS,
    *resource_patterns.PATTERNS,
    *copy_patterns.PATTERNS,
)
