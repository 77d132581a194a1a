"""Write kernels that call LAPACK, one matrix a tile.

A matrix is copied to the order that LAPACK wants: to memory that the kernel allocates, or, if the
order of the result is the same, to the result.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import flag
from ....runtime.abi.elements import element_by_name
from ....runtime.abi.lapack import (
    MOST_ARGUMENTS,
    After,
    Argument,
    Buffer,
    LapackCall,
    LapackFunction,
    number_of,
)
from ..code.ast_builder import AstBuilder, Term
from ..elements.expressions import writer_of_stored
from ..elements.kernel_text import KernelText, TileCount
from ..elements.static_values import shape_of
from ..elements.writer import Indices, KernelWriter
from ..loops.heap_memory import aligned, allocated
from ..loops.tiles import write_tiled_loops

COLUMNS_AT_ONCE = 16
"""The columns of which a loop copies one row: their cache lines stay in the first-level cache."""

ANY_SCOPE = 32
"""The number of no alias scope: LAPACK writes to results and to other memory."""


def write_lapack_call(op: Operation, call: LapackCall) -> KernelText:
    """Return the kernel of an operation that a call computes.

    Raises OperationError for element types that kernels do not support.
    """
    writer = writer_of_stored(op, *op.results)
    return writer.finish(_CallWriter(writer, op, call).write())


class _CallWriter:
    """A kernel that calls a function for each matrix of a batch.

    Buffers are in results, or in memory at an offset.
    """

    def __init__(self, writer: KernelWriter, op: Operation, call: LapackCall) -> None:
        self._writer, self._op, self._call, self._code = writer, op, call, writer.code
        self._stored: dict[Buffer, SSAValue] = {}
        for buffer, result in zip(call.results, op.results, strict=False):
            if not buffer.by_columns:
                self._stored.setdefault(buffer, result)
        others = [each for each in call.buffers if each not in self._stored]
        sizes = [aligned(each.bytes) for each in others]
        *offsets, self._bytes = accumulate(sizes, initial=0)
        self._offsets = dict(zip(others, offsets, strict=True))
        self._memory: Term = 0
        self._words: Term = 0
        """The address of the arguments, and of the numbers that they point to."""

    def write(self) -> TileCount:
        """Write the kernel."""
        code, shape = self._code, shape_of(self._op.results[0])
        batch = shape[: len(shape) - len(self._call.results[0].shape)]
        with allocated(self._writer, self._bytes) as self._memory:
            self._words = code.load(f"scratch_i64_{2 * MOST_ARGUMENTS}")
            for place, each in enumerate(self._call.arguments):
                at = MOST_ARGUMENTS + place
                code.run(f"store_i64_{ANY_SCOPE}", self._words, at, number_of(each))
            return write_tiled_loops(code, batch, lambda indices: self._write_call(batch, indices))

    def _write_call(self, batch: Indices, indices: Indices) -> None:
        """Write the call for one matrix, with copies before and after it."""
        code, op = self._code, self._op
        turn = code.linear(indices, batch)
        for buffer in self._call.buffers:
            self._fill(buffer, turn, indices)
        for place, each in enumerate(self._call.arguments):
            address = self._address(each, place, turn)
            code.run(f"store_i64_{ANY_SCOPE}", self._words, place, address)
        function = self._writer.constant(LapackFunction(self._call.name))
        code.run(f"procedure_{MOST_ARGUMENTS}", function, self._words)
        for buffer, result in zip(self._call.results, op.results, strict=False):
            if self._stored.get(buffer) is not result:
                self._store(buffer, turn, result)
        if op.name == "stablehlo.cholesky":
            self._clear(turn)

    def _address(self, argument: Argument, place: int, turn: Term) -> Term:
        """Return the address of an argument."""
        code = self._code
        if argument is None:
            return 0
        if isinstance(argument, int | str):
            return code.add(self._words, 8 * (MOST_ARGUMENTS + place))
        skipped = argument.elements if isinstance(argument, After) else 0
        buffer = argument.buffer if isinstance(argument, After) else argument
        item = buffer.dtype.itemsize
        start, at = self._place(buffer, turn)
        return code.add(start, code.multiply(code.add(at, skipped), item))

    def _place(self, buffer: Buffer, turn: Term) -> tuple[Term, Term]:
        """Return an address, and the position after it at which a buffer begins, in elements."""
        item = buffer.dtype.itemsize
        result = self._stored.get(buffer)
        if result is None:
            return self._memory, self._offsets[buffer] // item
        return self._writer.address(result), self._code.multiply(turn, buffer.bytes // item)

    def _position(self, buffer: Buffer, turn: Term, indices: Indices) -> tuple[Term, Term]:
        """Return an address, and the position after it of one element."""
        start, first = self._place(buffer, turn)
        shape = buffer.shape
        if buffer.by_columns:
            indices, shape = indices[::-1], shape[::-1]
        return start, self._code.add(first, self._code.linear(indices, shape))

    def _fill(self, buffer: Buffer, turn: Term, batch: Indices) -> None:
        """Write loops that give a buffer its first contents."""
        if buffer.is_work:
            return
        writer, operand = self._writer, buffer.operand
        name = _element_name(buffer.dtype)

        def set_element(indices: Indices) -> None:
            if operand is None:
                element = _number(self._code, buffer.fill, name)
            else:
                element = writer.element(self._op.operands[operand], (*batch, *indices))
            place = self._position(buffer, turn, indices)
            self._code.run(f"store_{name}_{ANY_SCOPE}", *place, element)

        self._loops(buffer, set_element)

    def _store(self, buffer: Buffer, turn: Term, result: SSAValue) -> None:
        """Write loops that copy a buffer to a result."""
        code, size = self._code, buffer.bytes // buffer.dtype.itemsize
        name = _element_name(buffer.dtype)

        def copy_element(indices: Indices) -> None:
            at = code.add(code.multiply(turn, size), code.linear(indices, buffer.shape))
            element = code.load(f"load_{name}_{ANY_SCOPE}", *self._position(buffer, turn, indices))
            self._writer.store(result, at, element)

        self._loops(buffer, copy_element)

    def _loops(self, buffer: Buffer, inner: Callable[[Indices], None]) -> None:
        """Write loops over all elements, a few columns at a time if these are stored as such."""
        code = self._code
        if not buffer.by_columns:
            with code.loops(buffer.shape) as indices:
                inner(indices)
            return
        rows, columns = buffer.shape
        whole = columns // COLUMNS_AT_ONCE * COLUMNS_AT_ONCE
        with (
            code.loop(0, whole, COLUMNS_AT_ONCE) as first,
            code.loop(0, rows) as row,
            code.loop(0, COLUMNS_AT_ONCE) as other,
        ):
            inner((row, code.add(first, other)))
        with code.loop(0, rows) as row, code.loop(whole, columns) as column:
            inner((row, column))

    def _clear(self, turn: Term) -> None:
        """Write what follows a Cholesky factorization.

        The other triangle is zero; a matrix that is not positive definite has NaN as its factor.
        """
        code, writer, result = self._code, self._writer, self._op.results[0]
        factors, status = self._call.results
        rows, columns = factors.shape
        name = _element_name(factors.dtype)

        def set_element(row: Term, column: Term, element: Term) -> None:
            start, at = self._position(factors, turn, (row, column))
            code.run(f"store_{name}_{ANY_SCOPE}", start, at, element)

        zero = writer.zero(result)
        with code.loop(0, rows) as row, code.loop(code.add(row, 1), columns) as column:
            place = (row, column) if flag(self._op, "lower") else (column, row)
            set_element(*place, zero)
        failed = code.load(f"load_i32_{ANY_SCOPE}", *self._position(status, turn, ()))
        with code.when(code.call("cmpine_i32", failed, code.integer_constant(0, "i32"))):
            nan = _number(code, float("nan"), name)
            with code.loop(0, rows) as row, code.loop(0, columns) as column:
                set_element(row, column, nan)


def _element_name(dtype: np.dtype[Any]) -> str:
    return f"{dtype.kind}{8 * dtype.itemsize}"


def _number(code: AstBuilder, value: float, name: str) -> Term:
    """Return a number as an element, which may be complex."""
    element = element_by_name(name)
    if element.is_complex:
        real, imaginary = (code.float_constant(each, element.part.name) for each in (value, 0.0))
        return code.call(f"create_{name}", real, imaginary)
    return (
        code.float_constant(value, name) if element.is_float else code.number(int(value), element)
    )
