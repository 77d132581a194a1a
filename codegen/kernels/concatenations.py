"""Write elements that come from one of several tensors, depending on the index.

Only the code of the chosen tensor runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .ast_builder import Term
from .writer import Indices, KernelWriter


def in_range(writer: KernelWriter, index: Term, size: Term) -> Term:
    """Return the condition `0 <= index < size`."""
    code = writer.code
    return code.both(code.compare("sge", index, 0), code.compare("slt", index, size))


def write_concatenation(
    writer: KernelWriter, parts: Sequence[SSAValue], axis: int, indices: Indices
) -> Term:
    """Return the element of tensors that are concatenated along an axis."""
    code = writer.code
    first, *rest = parts

    def at(position: Term) -> Indices:
        return (*indices[:axis], position, *indices[axis + 1 :])

    if not rest:
        return writer.element(first, indices)
    size = writer.shape(first)[axis]
    return code.choose(
        code.compare("slt", indices[axis], size),
        lambda: writer.element(first, indices),
        lambda: write_concatenation(writer, rest, axis, at(code.subtract(indices[axis], size))),
    )
