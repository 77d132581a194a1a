"""Write the kernels of `tosa` operations that combine elements: reductions and matrix products."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from ...ir.attribute_access import integer, text
from ...runtime.abi.elements import Element, element_by_name
from .ast_builder import Term
from .kernel_text import TileCount
from .static_values import shape_of
from .tiled_loops import write_tiled_loops
from .writer import Indices, KernelWriter

_REDUCTIONS = {
    "tosa.reduce_all": ("", "andi"),
    "tosa.reduce_any": ("", "ori"),
    "tosa.reduce_max": ("maximumf", "maxsi"),
    "tosa.reduce_min": ("minimumf", "minsi"),
    "tosa.reduce_product": ("productf", "muli"),
    "tosa.reduce_sum": ("sumf", "addi"),
}
"""The primitives that combine floats and integers."""

_UNITS = {
    "tosa.reduce_all": 1,
    "tosa.reduce_any": 0,
    "tosa.reduce_product": 1,
    "tosa.reduce_sum": 0,
}
"""The result of a reduction over no elements."""

TOSA_KERNELS = frozenset((*_REDUCTIONS, "tosa.matmul"))


def has_tosa_kernel(op: Operation) -> bool:
    """Return whether an operation has a kernel in this file."""
    return op.name in TOSA_KERNELS and "IGNORE" not in text(op, "nan_mode").upper()


def write_tosa_kernel(writer: KernelWriter, op: Operation) -> TileCount:
    """Write the loops of an operation in `TOSA_KERNELS`.

    Raises OperationError for unsupported element types.
    """
    return _write_matmul(writer, op) if op.name == "tosa.matmul" else _write_reduction(writer, op)


def _accumulator(element: Element) -> Element:
    """Return the type of accumulators: narrow floats are accumulated in f32 and rounded once."""
    return element_by_name(element.register) if element.is_float else element


def _write_reduction(writer: KernelWriter, op: Operation) -> TileCount:
    """Reduce along one dimension from its first element on, or from the unit if it may be empty."""
    code = writer.code
    source, result = op.operands[0], op.results[0]
    axis = integer(op, "axis")
    shape = writer.shape(source)
    element = writer.element_of(result)
    wide = _accumulator(element)
    primitive = _REDUCTIONS[op.name][0 if element.is_float else 1]
    size = shape[axis]
    unit = None if isinstance(size, int) and size > 0 else _UNITS.get(op.name)

    def inner(indices: Indices) -> None:
        def at(index: Term) -> Indices:
            return (*indices[:axis], index, *indices[axis + 1 :])

        total = code.fresh()
        code.set(total, writer.element(source, at(0)) if unit is None else code.number(unit, wide))
        with code.loop(1 if unit is None else 0, size) as index:
            term = writer.element(source, at(index))
            code.set(total, code.call(f"{primitive}_{wide.name}", total, term))
        position = code.linear(indices, writer.shape(result))
        writer.store(result, position, code.rounded(total, element))

    return write_tiled_loops(code, writer.shape(result), inner)


def _write_matmul(writer: KernelWriter, op: Operation) -> TileCount:
    """Write `batch x row x column`; zero points are subtracted from integer operands.

    A row of the result accumulates in memory in a loop over the depth, which vectorises along the
    row. Narrow floats accumulate in a register instead, so that they are rounded once.
    """
    code = writer.code
    result = op.results[0]
    element = writer.element_of(result)
    wide = _accumulator(element)
    depth, columns = writer.shape(op.operands[0])[2], writer.shape(result)[2]
    load = _operand(writer, op, wide)
    multiply, add = ("termf", "sumf") if wide.is_float else ("muli", "addi")

    def product(batch: Term, row: Term, step: Term, column: Term) -> Term:
        factors = load(0, (batch, row, step)), load(1, (batch, step, column))
        return code.call(f"{multiply}_{wide.name}", *factors)

    def at(batch: Term, row: Term, column: Term) -> Term:
        return code.linear((batch, row, column), writer.shape(result))

    def whole_row(indices: Indices) -> None:
        batch, row = indices
        with code.loop(0, columns) as column:
            writer.store(result, at(batch, row, column), code.number(0, wide))
        with code.loop(0, depth) as step, code.loop(0, columns) as column:
            position = at(batch, row, column)
            term = product(batch, row, step, column)
            total = code.call(f"{add}_{wide.name}", writer.load(result, position), term)
            writer.store(result, position, total)

    def one_element(indices: Indices) -> None:
        batch, row, column = indices
        total = code.fresh()
        code.set(total, code.number(0, wide))
        with code.loop(0, depth) as step:
            term = product(batch, row, step, column)
            code.set(total, code.call(f"{add}_{wide.name}", total, term))
        writer.store(result, at(batch, row, column), code.rounded(total, element))

    if element == wide:
        return write_tiled_loops(code, writer.shape(result)[:2], whole_row)
    return write_tiled_loops(code, writer.shape(result), one_element)


def _operand(writer: KernelWriter, op: Operation, wide: Element) -> Callable[[int, Indices], Term]:
    """Return a function that reads an operand in the accumulator's type, minus its zero point."""
    code = writer.code

    def widened(position: int, indices: Indices) -> Term:
        operand = op.operands[position]
        element = writer.element_of(operand)
        value = writer.element(operand, indices)
        if element.is_float:
            narrow = element_by_name(element.register)
            if narrow == wide:
                return value
            return code.call(f"convertf_{narrow.name}_{wide.name}", value)
        return (
            value if element == wide else code.call(f"converti_{element.name}_{wide.name}", value)
        )

    def load(position: int, indices: Indices) -> Term:
        value = widened(position, indices)
        if wide.is_float:
            return value
        zero = op.operands[2 + position]
        offset = widened(2 + position, (0,) * len(shape_of(zero)))
        return code.call(f"subi_{wide.name}", value, offset)

    return load
