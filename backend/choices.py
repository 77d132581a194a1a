"""Elements that are one of several, by their indices: the code of the others is not run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from .code import Term
from .writer import Indices, KernelWriter


def choose(
    writer: KernelWriter,
    condition: Term,
    then: Callable[[], Term],
    otherwise: Callable[[], Term],
) -> Term:
    """One of two elements; the code of the other is not run."""
    if isinstance(condition, int):
        return then() if condition else otherwise()
    code = writer.code
    result = code.fresh()
    with code.when(condition):
        code.set(result, then())
    with code.otherwise():
        code.set(result, otherwise())
    return result


def inside(writer: KernelWriter, index: Term, size: Term) -> Term:
    """Whether `0 <= index < size`."""
    code = writer.code
    return code.both(code.compare("sge", index, 0), code.compare("slt", index, size))


def write_concatenation(
    writer: KernelWriter, parts: Sequence[SSAValue], axis: int, indices: Indices
) -> Term:
    """The element of tensors laid one after the other along an axis."""
    code = writer.code
    first, *rest = parts

    def at(position: Term) -> Indices:
        return (*indices[:axis], position, *indices[axis + 1 :])

    if not rest:
        return writer.element(first, indices)
    size = writer.shape(first)[axis]
    return choose(
        writer,
        code.compare("slt", indices[axis], size),
        lambda: writer.element(first, indices),
        lambda: write_concatenation(writer, rest, axis, at(code.subtract(indices[axis], size))),
    )
