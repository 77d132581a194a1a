"""Limits on nesting and sizes in IR, and the Python stack depth that the nesting needs.

Parsing, verification, printing and xDSL's own passes recurse over nested regions and attributes.
Real programs stay far below the limits. Hostile text gets an error from the parser instead of a
crash later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

MAXIMUM_NESTING = 256
"""The maximum depth of nested regions and attributes, counted together, that the parser accepts."""

MAXIMUM_AFFINE_DEPTH = 512
"""The maximum depth of operators in an affine expression; a sum of n terms has depth n - 1.

Code that evaluates affine expressions recurses into them, also at run time.
"""

MAXIMUM_ALIAS_SIZE = 1 << 18
"""The maximum number of attributes in an alias with nested aliases expanded.

Each alias may use the previous one twice, so sixty lines could stand for 2^60 attributes.
"""

MAXIMUM_CONSTANT_ELEMENTS = 1 << 27
"""The maximum number of elements of a constant. xDSL stores every element, even of a splat."""

MAXIMUM_STREAM = 1 << 30
"""The maximum size in bytes of text from a pipe or device, which may never end."""

MAXIMUM_INTEGER_WIDTH = (1 << 24) - 1
"""The maximum bit width of an integer type, as in MLIR."""


def exceeds_memory(size: int) -> bool:
    """Return whether `size` bytes exceed physical memory.

    Allocating that much could make the system kill other processes.
    """
    return size > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


_FRAMES_PER_LEVEL = 24
"""An upper bound on the Python frames that any stage uses for one level of nesting."""


@contextmanager
def deep_recursion() -> Generator[None]:
    """Raise Python's recursion limit for `MAXIMUM_NESTING` levels inside the `with` block."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 1000 + MAXIMUM_NESTING * _FRAMES_PER_LEVEL))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
