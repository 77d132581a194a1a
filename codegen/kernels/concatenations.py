"""Write elements that come from one of several tensors, depending on the index.

Only the code of the chosen tensor runs. A loop over a concatenation is cut at the pieces' ends, so
that each piece has a loop without a condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.linalg.structured_view import structured_view
from ...ir.attribute_access import integer
from ..scalar_ops.scalars import is_scalar_operation
from .ast_builder import Term
from .static_values import shape_of
from .writer import Indices, KernelWriter

MAX_PIECES = 16
"""The most pieces of a concatenation that get loops of their own."""


def in_range(writer: KernelWriter, index: Term, size: Term) -> Term:
    """Return the condition `0 <= index < size`."""
    code = writer.code
    return code.both(code.compare("sge", index, 0), code.compare("slt", index, size))


def concatenation_breaks(writer: KernelWriter, results: Sequence[SSAValue]) -> set[int]:
    """Return the indices of the last dimension at which results begin to read another piece."""
    found: set[int] = set()
    for value in results:
        operation = value.owner
        if not isinstance(operation, Operation):
            continue
        if value not in writer.results and not writer.is_fused(value):
            continue
        if operation.name == "tensor.concat":
            sizes = [shape_of(operand)[-1] for operand in operation.operands]
            is_last = integer(operation, "dim") == len(shape_of(value)) - 1
            if is_last and min(sizes) >= 0 and len(sizes) <= MAX_PIECES:
                found.update(accumulate(sizes[:-1]))
        else:
            found |= concatenation_breaks(writer, read_at_result_indices(operation))
    return found


def read_at_result_indices(operation: Operation) -> list[SSAValue]:
    """Return the tensors that an elementwise operation reads at the result's indices."""
    if is_scalar_operation(operation.name):
        return [each for each in operation.operands if isinstance(each.type, TensorType)]
    view = structured_view(operation)
    if view is None or len(set(view.output_maps)) != 1:
        return []
    pairs = zip(view.inputs, view.input_maps, strict=True)
    return [operand for operand, affine_map in pairs if affine_map == view.output_maps[0]]


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
