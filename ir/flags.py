"""What flags of a command line ask of all passes, under the names that IREE has for them.

They say what holds where the program does not: an attribute of the module goes before its flag.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Flags:
    """What holds for all passes of a run; `None` leaves it to the pass."""

    largest_allocation: int | None = None
    """Bytes of a resource at most."""
    offset_alignment: int | None = None
    """What offsets in resources are multiples of, in bytes."""
    index_bits: int | None = None
    """The width of the indices that kernels are given."""
    alias_mutable_bindings: bool = False
    """Whether one binding may be of parts that are written and others that are read."""
    favor: str = "min-peak-memory"
    """What partitions of a program are chosen for."""
    scalable_vectors: bool = False
    """Whether tiles are multiplied by the vector scale of machines that have one."""
    graphics_processor: str = ""
    """What runs the kernels that name no graphics processor."""


_flags: ContextVar[Flags] = ContextVar("flags", default=Flags())  # noqa: B039 - it is frozen


def flags() -> Flags:
    """The flags of this run."""
    return _flags.get()


@contextmanager
def run_with(flags: Flags) -> Generator[None]:
    """Let passes inside see these flags."""
    token = _flags.set(flags)
    try:
        yield
    finally:
        _flags.reset(token)
