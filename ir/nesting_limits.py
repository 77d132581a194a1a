"""How deeply IR may be nested, and the room on Python's stack that this depth needs.

Parsing, verifying, printing and xDSL's own passes all recurse over nested regions and attributes.
Programs stay far below the limit; hostile text gets an error from the parser instead of a crash
somewhere later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

MAXIMUM_NESTING = 256
"""The largest depth of regions and attributes, counted together, that the parser accepts."""

MAXIMUM_AFFINE_DEPTH = 512
"""Operators on the longest way into an affine expression: one less than a sum has terms.

What reads expressions goes down into them, in programs that run, too.
"""

MAXIMUM_ALIAS_SIZE = 1 << 18
"""How many attributes an alias may stand for when aliases in it are written out.

Each may name the one before it twice, so that sixty lines would stand for 2^60 attributes.
"""

MAXIMUM_CONSTANT_ELEMENTS = 1 << 27
"""The largest constant. xDSL keeps every element, also where all are the same."""

MAXIMUM_STREAM = 1 << 30
"""Bytes of text from what is no regular file, such as a pipe, and may never end."""

MAXIMUM_INTEGER_WIDTH = (1 << 24) - 1
"""The width of the widest integer type, as in MLIR."""


def exceeds_memory(size: int) -> bool:
    """Whether bytes are more than the machine has: asking for them may end other processes, too."""
    return size > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


_FRAMES_PER_LEVEL = 24
"""More Python frames than any of the stages needs for one level of nesting."""


@contextmanager
def deep_recursion() -> Generator[None]:
    """Room for `MAXIMUM_NESTING` levels inside the `with` block."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 1000 + MAXIMUM_NESTING * _FRAMES_PER_LEVEL))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
