"""Kernels from the operations at their roots: the loops, and how they are cut into tiles.

Every kernel is `f(bindings, constants, first_tile, last_tile)`. Tiles may be run in any order
and by different threads: a tile is a chunk of a flat range, or one or two of the outermost
parallel loops.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects.linalg.structured_view import StructuredView, structured_view
from ...ir.attribute_access import integer, operand_groups
from ...ir.diagnostics import OperationError
from ...ir.foreign_code import blamed
from ..scalar_ops.llvm_scalar_ops import REDUCTION_FORMS
from ..scalar_ops.scalars import is_scalar_operation, write_scalar_operation
from .ast_builder import Term
from .expressions import RULES, expand_indices, slice_geometry, write_element, written_loops
from .fusion import is_pointwise, is_pointwise_view
from .kernel_text import KernelText, TileCount
from .packed_products import packed_tile, write_packed_product
from .packing import write_pack, write_unpack
from .register_tiles import register_tiles
from .static_values import dimensions_of_part, shape_of
from .tiled_loops import write_tiled_loops
from .tosa_expressions import ELEMENTWISE, is_read, may_broadcast
from .tosa_kernels import has_tosa_kernel, write_tosa_kernel
from .transposes import write_transpose
from .writer import FlatIndices, Indices, KernelWriter

FLAT_CHUNK = 4096
"""Elements of a tile where all accesses have the same row-major position."""

COLUMN_CHUNK = 1024
"""Elements of a tile of a reduction over rows into one row, or a few."""

FEW_ROWS = 16
"""Rows that are combined together: a chunk of all of them fits the first-level cache."""

LARGE_OPERAND = 1 << 16
"""Elements of an operand that is not read twice if that can be helped."""

SHORT_BODY = 6
"""Operations of a body that is written several times."""


@blamed("kernel")
def write_kernel(
    operation: Operation, results: Sequence[SSAValue], is_inline: Callable[[SSAValue], bool]
) -> KernelText:
    """The kernel that stores `results` of an operation.

    Raises OperationError if the operation, or one computed on the way, has no kernel.
    """
    writer = KernelWriter(operation, tuple(results), is_inline, write_element)
    if operation.name == "linalg.softmax":
        return writer.finish(_write_softmax(writer, operation))
    if operation.name == "linalg.pack":
        return writer.finish(write_pack(writer, operation))
    if operation.name == "linalg.unpack":
        return writer.finish(write_unpack(writer, operation))
    if has_tosa_kernel(operation):
        return writer.finish(write_tosa_kernel(writer, operation))
    if is_pointwise(operation):
        return writer.finish(_write_pointwise(writer))
    tile = packed_tile(operation, is_inline)
    if tile is not None:
        return write_packed_product(operation, tile, is_inline)
    view = structured_view(operation)
    if view is None:
        raise OperationError(operation, "is an operation that the numba backend does not compile")
    tiles = register_tiles(writer, view, loop_sizes(writer, view))
    return writer.finish((tiles or ReductionLoops(writer, view)).write())


def write_scalar_kernel(operation: Operation) -> KernelText:
    """The kernel of an operation on numbers."""
    results = tuple(operation.results)
    writer = KernelWriter(operation, results, lambda value: False, write_element)
    code = writer.code
    with code.loop("first", "last"):
        elements = write_scalar_operation(
            code, operation, [writer.scalar(operand) for operand in operation.operands]
        )
        for result, element in zip(results, elements, strict=True):
            writer.store(result, 0, element)
    return writer.finish(TileCount())


def write_slice(operation: Operation) -> KernelText:
    """The kernel that copies a slice, wherever it lies, into a tensor of its own."""
    writer = KernelWriter(operation, (operation.results[0],), lambda value: False, write_element)
    return writer.finish(_write_pointwise(writer))


def write_slice_update(operation: Operation) -> KernelText:
    """The kernel that writes the source of a `tensor.insert_slice` into its destination.

    Of a `tensor.parallel_insert_slice`, which has no result, what is written is the operand.
    """
    result = operation.results[0] if operation.results else operation.operands[1]
    writer = KernelWriter(operation, (result,), lambda value: False, write_element)
    code = writer.code
    source, _, *dynamic = operand_groups(operation, operation.operands)
    offsets, _, strides = slice_geometry(writer, operation, dynamic)
    kept = dimensions_of_part(operation, source[0])
    shape = writer.shape(result)

    def inner(indices: Indices) -> None:
        full = expand_indices(kept, len(offsets), indices)
        position = code.linear(
            tuple(
                code.add(offset, code.multiply(index, stride))
                for offset, index, stride in zip(offsets, full, strides, strict=True)
            ),
            shape,
        )
        writer.store(result, position, writer.element(source[0], indices))

    return writer.finish(write_tiled_loops(code, writer.shape(source[0]), inner))


# Tensors computed element by element ----------------------------------------------------------


def _write_pointwise(writer: KernelWriter) -> TileCount:
    code = writer.code
    results = [each for each in writer.results if isinstance(each, SSAValue)]
    shape = writer.shape(results[0])

    def store_all(indices: Indices, position: Term) -> None:
        elements = [write_element(writer, result, indices) for result in results]
        for result, element in zip(results, elements, strict=True):
            writer.store(result, position, element)

    if all(is_flat(result, writer.is_inline, root=True) for result in results):
        size = code.product(shape)
        with code.loop("first", "last") as tile:
            start = code.multiply(tile, FLAT_CHUNK)
            stop = code.minimum(code.add(start, FLAT_CHUNK), size)
            with code.loop(start, stop) as position:
                store_all(FlatIndices.at(position, len(shape)), position)
        return TileCount(((shape, FLAT_CHUNK),))

    def inner(indices: Indices) -> None:
        store_all(indices, code.linear(indices, shape))

    return write_transpose(writer) or write_tiled_loops(code, shape, inner)


def is_flat(value: SSAValue, is_inline: Callable[[SSAValue], bool], root: bool = False) -> bool:
    """Whether a tensor's elements depend only on elements at the same row-major position."""
    if not isinstance(value.type, TensorType):
        return True
    operation = value.owner
    if isinstance(operation, Block) or not (root or is_inline(value)):
        return True
    if is_scalar_operation(operation.name) or operation.name == "tensor.bitcast":
        return all(is_flat(operand, is_inline) for operand in operation.operands)
    if operation.name in ELEMENTWISE:
        return all(
            (not may_broadcast(operation, operand) or all(size == 1 for size in shape_of(operand)))
            and is_flat(operand, is_inline)
            for operand in operation.operands
            if is_read(operation, operand)
        )
    if operation.name in ("tensor.empty", "tensor.splat"):
        return True
    if operation.name == "tensor.cast":
        return is_flat(operation.operands[0], is_inline)
    if operation.name in RULES:
        return False
    view = structured_view(operation)
    if view is None or not is_pointwise_view(view):
        return False
    identity = AffineMap.identity(len(view.iterators))
    for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        single = all(size == 1 for size in shape_of(operand)) and not is_inline(operand)
        if affine_map != identity and not single:
            return False
        if affine_map == identity and single and len(shape_of(operand)):
            return False
        if not is_flat(operand, is_inline):
            return False
    return not any(
        inner.name in ("linalg.index", "tensor.extract", "scf.if") for inner in view.body.ops
    )


def loop_sizes(writer: KernelWriter, view: StructuredView) -> Indices:
    """The trip counts of a structured operation's loops, numbers where any operand tells one."""
    sizes: list[Term | None] = [None] * len(view.iterators)
    for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        shape = writer.shape(operand) if affine_map.results else ()
        for size, expression in zip(shape, affine_map.results, strict=True):
            if not isinstance(expression, AffineDimExpr):
                continue
            known = sizes[expression.position]
            if known is None or (isinstance(size, int) and not isinstance(known, int)):
                sizes[expression.position] = size
    found = [size for size in sizes if size is not None]
    if len(found) != len(sizes):
        loop = sizes.index(None)
        raise OperationError(view.operation, f"has no operand that tells how far loop d{loop} runs")
    return tuple(found)


# Reductions -----------------------------------------------------------------------------------


class ReductionLoops:
    """The loops of a structured operation that combines elements.

    Three orders are known. Where results are not told by loops element by element, such as at
    `i + j` or `2 * i`, they begin as the initial values and all loops run in the operation's order.
    Else, where the innermost elements read lie along a reduction, the combined
    elements stay in variables: `for parallel: acc = init; for reduction: acc = f(acc)`. Where they
    lie along the result's last dimension, that loop goes innermost and combines into the result's
    row in memory, which vectorises without changing the order of the terms.
    """

    def __init__(self, writer: KernelWriter, view: StructuredView) -> None:
        self.writer = writer
        self.code = writer.code
        self.view = view
        self.operands = (*view.inputs, *view.outputs)
        self.sizes = loop_sizes(writer, view)
        written = written_loops(view)
        self.is_written_once = written is not None
        self.parallels = written or ()
        self.reductions = tuple(
            loop for loop in range(len(view.iterators)) if loop not in self.parallels
        )
        self.forms = reduction_forms(view)
        self.is_short = sum(1 for _ in view.body.ops) <= SHORT_BODY

    def write(self) -> TileCount:
        """Write the loops in the best order."""
        if not self.is_written_once:
            return self._write_in_order()
        row = self._row_loop()
        if row is None:
            return self._write_in_variables()
        return self._write_in_rows(row)

    def _row_loop(self) -> int | None:
        """The loop along the results' last dimension, if it should be innermost."""
        last: set[int | None] = set()
        if not self.reductions:
            return None
        for output_map in self.view.output_maps:
            expression = output_map.results[-1] if output_map.results else None
            is_loop = isinstance(expression, AffineDimExpr)
            last.add(expression.position if is_loop else None)
        row = last.pop()
        if last or row is None or row in self.reductions or self.sizes[row] == 1:
            return None
        along_row = 1 + sum(1 for each in self.view.input_maps if _moves_last(each, row))
        along_reduction = max(
            sum(1 for each in self.view.input_maps if _moves_last(each, loop))
            for loop in self.reductions
        )
        return row if along_row > along_reduction else None

    def _elements(self, loops: Indices) -> list[Term]:
        """The elements of the inputs that the body uses, at a point of the loops."""
        elements: list[Term] = []
        for operand, affine_map, argument in zip(
            self.view.inputs, self.view.input_maps, self.view.body.args, strict=False
        ):
            if argument.first_use is None:
                elements.append(0)
            else:
                elements.append(
                    self.writer.element(operand, self.writer.apply_map(affine_map, loops))
                )
        return elements

    def _positions(self, loops: Indices) -> list[Term]:
        """Where the results' elements are stored."""
        return [
            self.code.linear(self.writer.apply_map(each, loops), self.writer.shape(result))
            for each, result in zip(self.view.output_maps, self.view.operation.results, strict=True)
        ]

    def _initial(self, loops: Indices) -> list[Term]:
        """The results' elements before anything is combined into them."""
        return [
            self.writer.element(output, self.writer.apply_map(each, loops))
            for output, each in zip(self.view.outputs, self.view.output_maps, strict=True)
        ]

    def _at(self, loops: Sequence[int], indices: Indices) -> list[Term]:
        point: list[Term] = [0] * len(self.sizes)
        for loop, index in zip(loops, indices, strict=True):
            point[loop] = index
        return point

    def _store(self, positions: Sequence[Term], elements: Sequence[Term]) -> None:
        for result, position, element in zip(
            self.view.operation.results, positions, elements, strict=True
        ):
            if result in self.writer.results:
                self.writer.store(result, position, element)

    def _write_in_order(self) -> TileCount:
        """One tile: any two points may write the same element."""
        writer, code = self.writer, self.code
        results = self.view.operation.results

        def combine(loops: Indices) -> None:
            positions = self._positions(loops)
            before = [writer.load(each, at) for each, at in zip(results, positions, strict=True)]
            elements = (*self._elements(loops), *before)
            self._store(positions, writer.body(self.view.body, elements, loops))

        with code.loop("first", "last"):
            for output, result in zip(self.view.outputs, results, strict=True):
                shape = writer.shape(result)
                with code.loops(shape) as indices:
                    element = writer.element(output, indices)
                    writer.store(result, code.linear(indices, shape), element)
            with code.loops(self.sizes) as indices:
                combine(indices)
        return TileCount()

    def _write_in_variables(self) -> TileCount:
        code, loops = self.code, self._by_operand_size()

        def inner(indices: Indices) -> None:
            point = self._at(loops, indices)
            accumulators = [code.fresh() for _ in self.view.outputs]
            for name, initial in zip(accumulators, self._initial(tuple(point)), strict=True):
                code.set(name, initial)
            self._reduce(list(self.reductions), point, accumulators)
            self._store(self._positions(tuple(point)), accumulators)

        return write_tiled_loops(code, tuple(self.sizes[loop] for loop in loops), inner)

    def _by_operand_size(self) -> list[int]:
        """The parallel loops, first those that move the largest input: it is read only once."""
        known = self.view.loop_sizes()
        volumes = [
            prod(known[loop] or 0 for loop in each.used_dims()) for each in self.view.input_maps
        ]
        largest = max(volumes, default=0)
        if sum(1 for each in volumes if 4 * each > largest) != 1 or largest < LARGE_OPERAND:
            return list(self.parallels)
        used = self.view.input_maps[volumes.index(largest)].used_dims()
        return sorted(self.parallels, key=lambda loop: loop not in used)

    def _reduce(self, loops: list[int], point: list[Term], accumulators: list[str]) -> None:
        code = self.code
        if loops:
            with code.loop(0, self.sizes[loops[0]]) as index:
                point = list(point)
                point[loops[0]] = index
                self._reduce(loops[1:], point, accumulators)
            return
        elements = self._elements(tuple(point))
        results = self.writer.body(
            self.view.body, (*elements, *accumulators), tuple(point), self.forms
        )
        # An old value that moves to another accumulator must outlive its own overwriting.
        moved = [
            code.copy(result) if result in accumulators and result != name else result
            for name, result in zip(accumulators, results, strict=True)
        ]
        for name, result in zip(accumulators, moved, strict=True):
            code.set(name, result)

    def _write_in_rows(self, row: int) -> TileCount:
        code, size = self.code, self.sizes[row]
        outer = [loop for loop in self.parallels if loop != row]
        long = [loop for loop in outer if self.sizes[loop] != 1]
        few = self.sizes[long[0]] if len(long) == 1 else 0
        if not long or (isinstance(few, int) and 0 < few <= FEW_ROWS):
            # A few rows are combined together, so that what they share is read once, in order.
            with code.loop("first", "last") as tile:
                start = code.multiply(tile, COLUMN_CHUNK)
                stop = code.minimum(code.add(start, COLUMN_CHUNK), size)
                self._combine_rows([0] * len(self.sizes), row, (start, stop), *long)
            return TileCount((((size,), COLUMN_CHUNK),))

        def inner(indices: Indices) -> None:
            self._combine_rows(self._at(outer, indices), row, (0, size))

        return write_tiled_loops(code, tuple(self.sizes[loop] for loop in outer), inner)

    def _combine_rows(
        self, point: list[Term], row: int, span: tuple[Term, Term], fold: int | None = None
    ) -> None:
        """Set a span of one row, or of each row along `fold`, and combine everything into it."""
        with self._points(point, fold, 1) as points, self.code.loop(*span) as index:
            for each in points:
                each[row] = index
                self._store(self._positions(tuple(each)), self._initial(tuple(each)))
        self._reduce_rows(list(self.reductions), point, row, span, fold)

    @contextmanager
    def _points(
        self, point: list[Term], loop: int | None, count: int, rest: bool = False
    ) -> Generator[list[list[Term]]]:
        """A loop over `count` points at a time, or over those that are left."""
        if loop is None:
            yield [list(point)]
            return
        code, size = self.code, self.sizes[loop]
        whole = code.multiply(code.floor_divide(size, count), count)
        with code.loop(*((whole, size, 1) if rest else (0, whole, count))) as index:
            points = [list(point) for _ in range(1 if rest else count)]
            for number, each in enumerate(points):
                each[loop] = code.add(index, number)
            yield points

    def _parts(self, loop: int | None, count: int) -> list[tuple[int, bool]]:
        """How a loop is walked: some points at a time, and then those that are left."""
        size = 1 if loop is None else self.sizes[loop]
        if count == 1 or (isinstance(size, int) and size < count):
            return [(1, False)]
        is_whole = isinstance(size, int) and size % count == 0
        return [(count, False)] if is_whole else [(count, False), (count, True)]

    def _reduce_rows(
        self,
        loops: list[int],
        point: list[Term],
        row: int,
        span: tuple[Term, Term],
        fold: int | None,
    ) -> None:
        if len(loops) > 1:
            with self.code.loop(0, self.sizes[loops[0]]) as index:
                point = list(point)
                point[loops[0]] = index
                self._reduce_rows(loops[1:], point, row, span, fold)
            return
        # Several terms for each element of the row that is loaded and stored. The numbers that a
        # product of some rows and terms takes stay in registers: no more than eight.
        terms, rows = (1, 1) if not self.is_short else (8, 1) if fold is None else (4, 2)
        for count, rest in self._parts(loops[0], terms):
            with self._points(point, loops[0], count, rest) as steps:
                for height, rest_of_rows in self._parts(fold, rows):
                    with (
                        self._points(point, fold, height, rest_of_rows) as places,
                        self.code.loop(*span) as index,
                    ):
                        for place in places:
                            place[row] = index
                            self._combine_terms(place, [step[loops[0]] for step in steps], loops[0])

    def _combine_terms(self, point: list[Term], steps: Sequence[Term], loop: int) -> None:
        """Combine the terms of some steps of a loop into the results' elements at a point."""
        results = self.view.operation.results
        positions = self._positions(tuple(point))
        combined: Sequence[Term] = [
            self.writer.load(result, position)
            for result, position in zip(results, positions, strict=True)
        ]
        for step in steps:
            point[loop] = step
            at = tuple(point)
            elements = (*self._elements(at), *combined)
            combined = self.writer.body(self.view.body, elements, at, self.forms)
        self._store(positions, combined)


def _moves_last(affine_map: AffineMap, loop: int) -> bool:
    """Whether the last index of a map moves by one with a loop."""
    if not affine_map.results:
        return False
    return _coefficient_is_one(affine_map.results[-1], loop)


def _coefficient_is_one(expression: AffineExpr, loop: int) -> bool:
    if isinstance(expression, AffineDimExpr):
        return expression.position == loop
    if isinstance(expression, AffineBinaryOpExpr) and expression.kind.name == "Add":
        return _coefficient_is_one(expression.lhs, loop) or _coefficient_is_one(
            expression.rhs, loop
        )
    return False


def reduction_forms(view: StructuredView) -> dict[Operation, str]:
    """Operations of a body that may take their terms in any order.

    These are a sum or product that only combines into an accumulator, and the product that is
    its only new term, which may then be fused with the sum.
    """
    forms: dict[Operation, str] = {}
    last = view.body.last_op
    if last is None:
        return forms
    accumulators = view.body.args[len(view.inputs) :]
    for accumulator, yielded in zip(accumulators, last.operands, strict=False):
        combiner = yielded.owner
        if isinstance(combiner, Block) or not combiner.name.startswith("arith."):
            continue
        form = REDUCTION_FORMS.get(combiner.name.removeprefix("arith."))
        uses = accumulator.uses
        if form is None or accumulator not in combiner.operands or uses.get_length() != 1:
            continue
        forms[combiner] = form
        for operand in combiner.operands:
            term = operand.owner
            if isinstance(term, Operation) and term.name == "arith.mulf" and form == "sumf":
                forms[term] = "termf"
    return forms


# Softmax --------------------------------------------------------------------------------------


def _write_softmax(writer: KernelWriter, operation: Operation) -> TileCount:
    """`exp(x - max) / sum(exp(x - max))` along one dimension, in three walks over it."""
    code = writer.code
    axis = integer(operation, "dimension")
    source, result = operation.operands[0], operation.results[0]
    shape = writer.shape(source)
    element = writer.element_of(source)
    name = element.name

    def at(indices: Indices, index: Term) -> Indices:
        return (*indices[:axis], index, *indices[axis:])

    def inner(indices: Indices) -> None:
        largest = code.fresh()
        code.set(largest, code.float_constant(float("-inf"), element.register))
        with code.loop(0, shape[axis]) as index:
            value = writer.element(source, at(indices, index))
            code.set(largest, code.call(f"maxnumf_{name}", largest, value))
        total = code.fresh()
        code.set(total, code.float_constant(0.0, element.register))
        with code.loop(0, shape[axis]) as index:
            point = at(indices, index)
            shifted = code.call(f"subf_{name}", writer.element(source, point), largest)
            power = code.call(f"exp_{name}", shifted)
            writer.store(result, code.linear(point, shape), power)
            code.set(total, code.call(f"sumf_{name}", total, power))
        with code.loop(0, shape[axis]) as index:
            position = code.linear(at(indices, index), shape)
            quotient = code.call(f"divf_{name}", writer.load(result, position), total)
            writer.store(result, position, quotient)

    return write_tiled_loops(code, (*shape[:axis], *shape[axis + 1 :]), inner)
