"""Write the kernel of an operation: choose the kind of loop nest and how it is cut into tiles.

Every kernel is `f(bindings, constants, first_tile, last_tile)`. Its tiles are independent, so that
threads may run them in any order. A tile is a chunk of a flat range, or an iteration of one or two
of the outermost parallel loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.linalg.structured_view import structured_view
from ...ir.attribute_access import integer
from ...ir.diagnostics import OperationError
from ...ir.foreign_code import attribute_faults
from ...ir.host_programs import CHOICES, LOOPS
from .code.ast_builder import Term
from .code.index_tables import with_index_tables
from .elements.expressions import RULES, indices_in_whole, write_element, writer_of_stored
from .elements.kernel_text import KernelText, TileCount
from .elements.pointwise import is_pointwise, is_pointwise_view
from .elements.scalar_operations import is_scalar_operation, write_scalar_operation
from .elements.static_values import shape_of
from .elements.writer import Indices, KernelWriter, LinearIndices
from .linear_algebra.factorizations import FACTORIZATIONS, write_factorization
from .linear_algebra.fourier import FOURIER, write_fourier
from .loops.merging import merge_dimensions
from .loops.tiles import flat_loop, write_tiled_loops
from .moves.packing import write_pack, write_unpack
from .moves.permuted_operands import fold_rearranged
from .moves.transposes import write_transpose, write_with_transposes
from .products.deep import deep_product
from .products.mmt4d import mmt4d_tile, write_mmt4d
from .products.register_tiles import register_tiles
from .reductions.joint import joint_reduction
from .reductions.nests import ReductionLoops, loop_sizes
from .reductions.running import running_loops
from .sequential.element_loops import write_element_loop

MAX_PIECES = 16
"""The most pieces into which a loop is cut where its conditions change."""

FLAT_CHUNK = 4096
"""Elements in a tile of a loop over row-major positions."""


@attribute_faults
def write_kernel(
    operation: Operation, results: Sequence[SSAValue], is_fused: Callable[[SSAValue], bool]
) -> KernelText:
    """Return the kernel that stores `results` of an operation.

    Raises OperationError if the operation, or one that is fused into it, has no kernel.
    """
    new_writer = partial(KernelWriter, operation, tuple(results), is_fused, write_element)
    writer = new_writer()
    rule = KERNELS.get(operation.name)
    if rule is not None:
        return writer.finish(rule(writer, operation))
    if is_pointwise(operation):
        return _write_pointwise(new_writer)
    tile = mmt4d_tile(operation, is_fused)
    if tile is not None:
        return write_mmt4d(operation, tile, is_fused)
    view = structured_view(operation)
    if view is None:
        raise OperationError(operation, "is an operation that the native backend does not compile")
    # A tensor that this kernel stores, too, must be computed element by element.
    view = fold_rearranged(view, lambda value: is_fused(value) and value not in results)
    loops = (
        running_loops(writer, view)
        or deep_product(writer, view)
        or register_tiles(writer, view, loop_sizes(writer.shape, view))
        or joint_reduction(writer, view)
        or ReductionLoops(writer, view)
    )
    return writer.finish(loops.write())


def write_scalar_kernel(operation: Operation) -> KernelText:
    """Return the kernel of an operation on scalars.

    Raises OperationError if kernels do not support it.
    """
    writer = writer_of_stored(operation, *operation.results)
    code = writer.code
    with code.loop("first", "last"):
        elements = write_scalar_operation(
            code, operation, [writer.scalar(operand) for operand in operation.operands]
        )
        for result, element in zip(operation.results, elements, strict=True):
            writer.store(result, 0, element)
    return writer.finish(TileCount())


def write_slice(operation: Operation) -> KernelText:
    """Return the kernel that copies a slice to a new tensor.

    Raises OperationError if its type does not fit.
    """
    return _write_pointwise(partial(writer_of_stored, operation, operation.results[0]))


def write_slice_update(operation: Operation) -> KernelText:
    """Return the kernel that writes the source of a `tensor.insert_slice` to its destination.

    A `tensor.parallel_insert_slice` has no result; its destination operand is written. Raises
    OperationError if the types do not fit.
    """
    result = operation.results[0] if operation.results else operation.operands[1]
    writer = writer_of_stored(operation, result)
    source = operation.operands[0]

    def inner(indices: Indices) -> None:
        place = indices_in_whole(writer, operation, source, indices)
        position = writer.code.linear(place, writer.shape(result))
        writer.store(result, position, writer.element(source, indices))

    return writer.finish(write_tiled_loops(writer.code, writer.shape(source), inner))


# Tensors computed element by element ----------------------------------------------------------


def _write_pointwise(new_writer: Callable[[], KernelWriter]) -> KernelText:
    writer = new_writer()
    results = [each for each in writer.results if isinstance(each, SSAValue)]
    if share_linear_index(results, writer.is_fused):
        code, shape = writer.code, writer.shape(results[0])
        with flat_loop(code, code.product(shape), FLAT_CHUNK) as position:
            _store_all(writer, results, LinearIndices.at(position, len(shape)), position)
        return writer.finish(TileCount(((shape, FLAT_CHUNK),)))
    tiles = write_transpose(writer)
    if tiles is not None:
        return writer.finish(tiles)
    whole, splits = _in_pieces(new_writer(), results, ())
    if 0 < len(splits) < MAX_PIECES:
        return _in_pieces(new_writer(), results, sorted(splits))[0]
    inner = partial(_store_at, writer, results)
    tiles = write_with_transposes(writer, results, inner)
    return whole if tiles is None else writer.finish(tiles)


def _in_pieces(
    writer: KernelWriter, results: Sequence[SSAValue], breaks: Sequence[int]
) -> tuple[KernelText, Set[int]]:
    """Return a kernel whose innermost loop is cut, and where its conditions change."""
    inner = partial(_store_at, writer, results)
    tiles = write_tiled_loops(writer.code, merge_dimensions(writer, results), inner, breaks)
    writer.code.body = with_index_tables(writer.code, writer.code.body)
    return writer.finish(tiles), writer.code.splits


def _store_at(writer: KernelWriter, results: Sequence[SSAValue], indices: Indices) -> None:
    _store_all(writer, results, indices, writer.code.linear(indices, writer.shape(results[0])))


def _store_all(
    writer: KernelWriter, results: Sequence[SSAValue], indices: Indices, position: Term
) -> None:
    elements = [write_element(writer, result, indices) for result in results]
    for result, element in zip(results, elements, strict=True):
        writer.store(result, position, element)


def share_linear_index(results: Sequence[SSAValue], is_fused: Callable[[SSAValue], bool]) -> bool:
    """Return whether result elements depend only on elements at the same row-major position."""
    pending, seen = list(results), set(results)
    roots = frozenset(results)
    while pending:
        value = pending.pop()
        operation = value.owner
        if (
            not isinstance(value.type, TensorType)
            or isinstance(operation, Block)
            or not (value in roots or is_fused(value))
        ):
            continue
        read = _read_in_place(operation, is_fused)
        if read is None:
            return False
        # Each value is visited once: long chains of values with two uses would take exponential
        # time.
        pending += [each for each in dict.fromkeys(read) if each not in seen]
        seen.update(read)
    return True


def _read_in_place(
    operation: Operation, is_fused: Callable[[SSAValue], bool]
) -> Sequence[SSAValue] | None:
    """Return the operands, if each is read at the result's row-major position, else `None`."""
    if is_scalar_operation(operation.name) or operation.name == "tensor.bitcast":
        return operation.operands
    if operation.name in ("tensor.empty", "tensor.splat"):
        return ()
    if operation.name == "tensor.cast":
        return operation.operands[:1]
    view = None if operation.name in RULES else structured_view(operation)
    if view is None or not is_pointwise_view(view):
        return None
    identity = AffineMap.identity(len(view.iterators))
    for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
        is_number = not isinstance(operand.type, TensorType)
        is_one = all(size == 1 for size in shape_of(operand))
        single = is_number or (is_one and not is_fused(operand))
        if affine_map != identity and not single:
            return None
        if affine_map == identity and single and len(shape_of(operand)):
            return None
    if any(inner.name in ("linalg.index", "tensor.extract", *CHOICES) for inner in view.body.ops):
        return None
    return (*view.inputs, *view.outputs)


# Softmax --------------------------------------------------------------------------------------


def _write_softmax(writer: KernelWriter, operation: Operation) -> TileCount:
    """Write `exp(x - max) / sum(exp(x - max))` along one dimension, in three loops over it.

    Elements that registers hold as wider floats are rounded once, so that the result does not keep
    their powers.
    """
    code = writer.code
    axis = integer(operation, "dimension")
    source, result = operation.operands[0], operation.results[0]
    shape = writer.shape(source)
    element = writer.element_of(source)
    name = element.register

    def at(indices: Indices, index: Term) -> Indices:
        return (*indices[:axis], index, *indices[axis:])

    def power(point: Indices, largest: Term) -> Term:
        return code.call(
            f"exp_{name}", code.call(f"subf_{name}", writer.element(source, point), largest)
        )

    def inner(indices: Indices) -> None:
        largest = code.fresh()
        code.set(largest, code.float_constant(float("-inf"), name))
        with code.loop(0, shape[axis]) as index:
            value = writer.element(source, at(indices, index))
            code.set(largest, code.call(f"maxnumf_{name}", largest, value))
        total = code.fresh()
        code.set(total, code.float_constant(0.0, name))
        with code.loop(0, shape[axis]) as index:
            point = at(indices, index)
            found = power(point, largest)
            if name == element.name:
                writer.store(result, code.linear(point, shape), found)
            code.set(total, code.call(f"sumf_{name}", total, found))
        with code.loop(0, shape[axis]) as index:
            point = at(indices, index)
            position = code.linear(point, shape)
            found = writer.load(result, position) if name == element.name else power(point, largest)
            writer.store(result, position, code.call(f"divf_{element.name}", found, total))

    return write_tiled_loops(code, (*shape[:axis], *shape[axis + 1 :]), inner)


KERNELS: dict[str, Callable[[KernelWriter, Operation], TileCount]] = {
    **dict.fromkeys(FACTORIZATIONS, write_factorization),
    "linalg.pack": write_pack,
    "linalg.softmax": _write_softmax,
    FOURIER: write_fourier,
    "linalg.unpack": write_unpack,
    **dict.fromkeys(LOOPS, write_element_loop),
}
"""Operations with loops of their own."""
