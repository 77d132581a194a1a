"""Write kernels that allocate memory beyond what fits on the stack."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..code.ast_builder import Term
from ..elements.kernel_text import Failure
from ..elements.writer import KernelWriter

ALIGNMENT = 64
"""Memory begins at multiples of so many bytes."""


def aligned(size: int) -> int:
    """Return the least multiple of the alignment that is not less than a number of bytes."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@contextmanager
def allocated(writer: KernelWriter, size: int) -> Generator[Term]:
    """Write an allocation before the code inside of the `with`, and free the memory after it.

    Yields the address. The kernel fails if there is no memory. Its other checks must not fail.
    """
    code, checks = writer.code, writer.checks
    memory = code.load("allocate", aligned(max(size, 1)))
    checks.in_order = True
    message = f"needs {size} bytes of memory, which the system does not have"
    is_missing = code.compare("eq", memory, 0)
    checks.fail_if(is_missing, Failure(writer.operation, message), 0)
    yield memory
    code.run("free", memory)
