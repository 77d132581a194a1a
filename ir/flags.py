"""Command line flags that apply to all passes, named as in IREE.

They are defaults: an attribute in the module overrides its flag.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Flags:
    """Settings for all passes of one run; `None` means the default of the pass."""

    largest_allocation: int | None = None
    """The largest size of one resource, in bytes."""
    offset_alignment: int | None = None
    """The alignment of offsets within resources, in bytes."""
    index_bits: int = 64
    """The bit width of the index operands of kernels."""
    alias_mutable_bindings: bool = False
    """Whether one binding may combine ranges that are written with ranges that are read."""
    favor: str = "min-peak-memory"
    """The criterion for partitioning the stream program, as in `#stream.partitioning_config`."""
    scalable_vectors: bool = False
    """Whether tile sizes are multiplied by the vector scale on targets with scalable vectors."""
    graphics_processor: str = ""
    """The GPU that runs kernels which name none; empty for an unknown GPU."""


_flags: ContextVar[Flags] = ContextVar("flags", default=Flags())  # noqa: B039 - it is frozen


def flags() -> Flags:
    """Return the flags of the current run."""
    return _flags.get()


@contextmanager
def run_with(flags: Flags) -> Generator[None]:
    """Make these flags visible to passes inside the `with` block."""
    token = _flags.set(flags)
    try:
        yield
    finally:
        _flags.reset(token)
