"""Write elements that come from one of several tensors, depending on the index.

Only the code of the chosen tensor runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.ir import SSAValue

from ..code.ast_builder import Term
from .writer import Indices, KernelWriter


def in_range(writer: KernelWriter, index: Term, size: Term) -> Term:
    """Return the condition `0 <= index < size`."""
    code = writer.code
    return code.both(code.compare("sge", index, 0), code.compare("slt", index, size))


def write_concatenation(
    writer: KernelWriter, parts: Sequence[SSAValue], axis: int, indices: Indices
) -> Term:
    """Return the element of tensors that are concatenated along an axis.

    Each comparison halves the tensors that are left, so that hundreds do not nest too deeply.
    """
    if len(parts) == 1:
        return writer.element(parts[0], indices)
    code, position = writer.code, indices[axis]
    below, above = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    size = reduce(code.add, (writer.shape(part)[axis] for part in below))
    behind = (*indices[:axis], code.subtract(position, size), *indices[axis + 1 :])
    return code.choose(
        code.compare("slt", position, size),
        lambda: write_concatenation(writer, below, axis, indices),
        lambda: write_concatenation(writer, above, axis, behind),
    )
