"""Divisions of integers, which may fail."""

from __future__ import annotations

INTEGER_DIVISIONS = frozenset(
    f"arith.{name}"
    for name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
)
"""Scalar operations that fail for a divisor of 0, and so must not be run on padding."""

OVERFLOWING_DIVISIONS = frozenset(f"arith.{name}" for name in ("divsi", "floordivsi", "ceildivsi"))
"""Divisions of the lowest number by -1 fail."""
