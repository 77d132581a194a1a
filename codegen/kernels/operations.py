"""Which operations kernels compute, and how they read their operands."""

from __future__ import annotations

from collections.abc import Sequence, Set
from math import prod

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects.linalg.running_nests import running_nest
from ...dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ...ir.attribute_access import integers
from ...ir.diagnostics import OperationError
from ...ir.host_programs import CHOICES, CONTROL_FLOW, LOOPS
from ...ir.linear_forms import linear
from ...ir.regions import captured
from .elements.expressions import DATA_MOVEMENT, RESHAPES, RULES, Access
from .elements.index_ranges import unproven
from .elements.pointwise import is_pointwise
from .elements.scalar_operations import element_of_value, is_scalar_operation
from .elements.static_values import is_tensor, shape_of
from .elements.writer import BODY_OPERATIONS
from .linear_algebra.factorizations import FACTORIZATIONS, has_factorization_kernel
from .linear_algebra.fourier import FOURIER, has_fourier_kernel
from .moves.permuted_operands import rearranged_operand
from .products.factors import has_windows, product_factors
from .sequential.loop_forms import is_element_loop
from .sequential.slice_loops import SLICE_OPERATIONS

MIN_WINDOW_READS = 16
"""The reads of each element by a convolution from which on a rearranged operand is stored first."""

SIZE_OF_UNKNOWN = 256
"""What stands for a dynamic size when tensors are compared."""

MIN_ROWS, MIN_ROW_LENGTH = 16, 32
"""The least rows, and elements of a row, of a reduction that stores the tensor that it reduces."""

KERNEL_ONLY = frozenset(("linalg.softmax", FOURIER, *FACTORIZATIONS))
"""Operations with a kernel of their own that is not a loop nest over result elements."""

TILE_LOOPS = frozenset(("linalg.pack", "linalg.unpack"))
"""Operations whose own kernel walks along tiles; other kernels compute one element at a time."""


def is_kernel(operation: Operation) -> bool:
    """Return whether an operation's results are computed by kernels."""
    if not operation.results:
        return False
    if operation.name in LOOPS:
        return (
            is_element_loop(operation)
            and _has_known_elements(operation)
            and all(_is_known_turn(region.block) for region in operation.regions)
        )
    if not isinstance(operation.results[0].type, TensorType | AnyFloat):
        return False
    known = (
        operation.name == "linalg.softmax"
        or has_factorization_kernel(operation)
        or has_fourier_kernel(operation)
        or is_pointwise(operation)
        or structured_view(operation) is not None
    )
    if operation.name == "tensor.pad" and unproven(operation):
        # The interpreter runs the body for all elements, a kernel only in the padding, so that it
        # could miss an error.
        return False
    return known and _has_known_elements(operation) and _has_known_bodies(operation)


def _has_known_elements(operation: Operation) -> bool:
    """Return whether kernels support the element types of all operands and results."""
    try:
        for value in (*operation.operands, *operation.results):
            element_of_value(value, operation)
    except OperationError:
        return False
    return True


def _has_known_bodies(operation: Operation) -> bool:
    """Return whether kernels support every operation in the regions."""
    view = structured_view(operation)
    blocks = [view.body] if view else [r.block for r in operation.regions if r.blocks]
    return all(_is_known_body(block) for block in blocks)


def _is_known_body(block: Block, names: Set[str] = BODY_OPERATIONS) -> bool:
    for operation in block.ops:
        if operation is block.last_op:
            continue
        if operation.name not in names and not is_scalar_operation(operation.name):
            return False
        if not _has_known_elements(operation):
            return False
        for region in operation.regions:
            inner = names if operation.name in CONTROL_FLOW else BODY_OPERATIONS
            if len(region.blocks) > 1 or not all(
                _is_known_body(each, inner) for each in region.blocks
            ):
                return False
    return True


def _is_known_turn(block: Block) -> bool:
    """Return whether kernels support the body of a loop, which updates elements or slices."""
    structured = {each.name for each in block.walk() if structured_view(each) is not None}
    others = SLICE_OPERATIONS | structured | RULES.keys() | {"scf.for"}
    return _is_known_body(block, BODY_OPERATIONS | others)


def is_data_movement(operation: Operation) -> bool:
    """Return whether results cost nothing to recompute."""
    if operation.name in DATA_MOVEMENT:
        return True
    view = structured_view(operation)
    if view is None:
        return False
    body = view.body
    return body.first_op is body.last_op


def is_cheap_view(operation: Operation) -> bool:
    """Return whether a slice at a computed offset is one piece of memory, which needs no copy."""
    if operation.name != "tensor.extract_slice" or len(operation.operands) == 1:
        return False
    sizes = integers(operation, "static_sizes")
    long = [place for place, size in enumerate(sizes) if size != 1]
    whole = shape_of(operation.operands[0])
    return not long or sizes[long[0] + 1 :] == tuple(whole[long[0] + 1 :])


_SHORT = frozenset(
    f"arith.{name}"
    for name in ("addf", "subf", "mulf", "negf", "extf", "addi", "subi", "muli", "extsi", "extui")
)
"""Operations that take less time than to load their result."""


def is_cheap_to_repeat(operation: Operation) -> bool:
    """Return whether kernels compute the result again as fast as they would read it.

    That holds for a short operation on one tensor that is as large, such as `x - mean`, and on
    parts of it: a kernel reads as many bytes then, and nothing is stored.
    """
    view = structured_view(operation)
    body = [operation] if view is None else list(view.body.ops)[:-1]
    operands = operation.operands if view is None else view.inputs
    if len(operation.results) != 1 or not _SHORT.issuperset(each.name for each in body):
        return False
    (result,) = operation.results
    is_rounded = element_of_value(result, operation).is_narrow_float
    read = sum(_bytes(operation, each) for each in {_moved_source(each) for each in operands})
    return not is_rounded and 0 < 4 * read <= 5 * _bytes(operation, result)


def reduces_rows(operation: Operation) -> bool:
    """Return whether an operation reduces the last dimensions of tensors to one result.

    There are enough rows for threads, and enough elements in each to fill vectors. Products are
    computed in tiles, and read elements more than once.
    """
    view = structured_view(operation)
    if view is None or len(view.outputs) != 1 or product_factors(view.body) is not None:
        return False
    loops, reductions = len(view.iterators), view.reduction_loops
    first = loops - len(reductions)
    if not reductions or reductions != tuple(range(first, loops)):
        return False
    sizes = [SIZE_OF_UNKNOWN if size is None else size for size in view.loop_sizes()]
    return prod(sizes[:first]) >= MIN_ROWS and prod(sizes[first:]) >= MIN_ROW_LENGTH


def reads_in_order(operation: Operation) -> bool:
    """Return whether elements are computed of elements at the same indices, and of broadcast ones.

    Loops of their own suit others better, such as those that read a transposed tensor.
    """
    pending, seen = [operation], {operation}
    while pending:
        each = pending.pop()
        if each.name not in _ORDERED and not is_scalar_operation(each.name):
            view = structured_view(each)
            if view is None or not _is_ordered(view):
                return False
            if any(inner.name in ("tensor.extract", *CHOICES) for inner in view.body.ops):
                return False
        owners = {value.owner for value in each.operands if is_tensor(value)} - seen
        read = [each for each in owners if isinstance(each, Operation) and is_pointwise(each)]
        pending += read
        seen.update(read)
    return True


_ORDERED = frozenset((*RESHAPES, "tensor.empty", "tensor.cast", "tensor.splat", "arith.constant"))
"""Operations that keep the order of elements."""


def _is_ordered(view: StructuredView) -> bool:
    """Return whether indices are loops in their order, or 0; loops of one turn may be anywhere."""
    units = {loop for loop, size in enumerate(view.loop_sizes()) if size == 1}
    for affine_map in view.maps:
        loops = [each.position for each in affine_map.results if isinstance(each, AffineDimExpr)]
        others = [each for each in affine_map.results if not isinstance(each, AffineDimExpr)]
        long = [each for each in loops if each not in units]
        if long != sorted(set(long)) or any(each != AffineExpr.constant(0) for each in others):
            return False
    return True


def _moved_source(value: SSAValue) -> SSAValue:
    """Return the tensor that a tensor repeats elements of, such as a row that is broadcast."""
    while isinstance(value.owner, Operation):
        view = structured_view(value.owner)
        number = None if view is None else view.moved_input()
        if view is None or number is None:
            break
        value = view.inputs[number]
    return value


def _bytes(operation: Operation, value: SSAValue) -> int:
    """Return about how many bytes a tensor has, 0 for scalars."""
    if not is_tensor(value):
        return 0
    sizes = (SIZE_OF_UNKNOWN if size < 0 else size for size in shape_of(value))
    return prod(sizes) * element_of_value(value, operation).storage_bytes


def slides_over(root: Operation, operation: Operation) -> bool:
    """Return whether a convolution reads elements so often that they should be stored in order."""
    view = structured_view(root)
    if view is None or product_factors(view.body) is None or not has_windows(view):
        return False
    loops, shape = view.loop_sizes(), shape_of(operation.results[0])
    if None in loops or min(shape, default=0) <= 0:
        return False
    return prod(size or 0 for size in loops) >= MIN_WINDOW_READS * prod(shape)


def reads_across_batch(root: Operation, operation: Operation) -> bool:
    """Return whether a product reads a transposed operand whose matrices lie side by side.

    Neighbours in memory belong to other products of the batch, so it should be stored in order.
    """
    view, moved = structured_view(root), rearranged_operand(operation)
    if view is None or moved is None or product_factors(view.body) is None:
        return False
    batch = frozenset[int].intersection(*(frozenset(each.used_dims()) for each in view.maps))
    return any(
        set(affine_map.results[place].used_dims()) <= batch
        for value, affine_map in zip(view.inputs, view.maps, strict=False)
        for place in moved.places[-1:]
        if value.owner is operation
    )


def reduces_jointly(root: Operation) -> bool:
    """Return whether a kernel reduces to several results, as argmax does, or to a running sum: no
    vectors are filled.
    """
    view = structured_view(root)
    if view is None or not view.reduction_loops:
        return False
    return len(view.outputs) > 1 or running_nest(view) is not None


def _map_access(view: StructuredView, affine_map: AffineMap) -> Access:
    loops = len(view.iterators)
    if affine_map == AffineMap.identity(loops):
        same = all(each == affine_map for each in view.output_maps)
        has_reduction = IteratorType.REDUCTION in view.iterators
        return Access.EACH if same or has_reduction else Access.ONCE
    forms = map(linear, affine_map.results)
    used = {next(iter(each.coefficients)) for each in forms if each and len(each.coefficients) == 1}
    every, running = set(range(loops)), running_nest(view)
    if running is not None:
        every.discard(running.place)  # One pass over the terms serves all places.
    return Access.ONCE if used == every else Access.MANY


_ONCE_OPERANDS = {
    # Operations that read an operand at other indices than the result's, but each element at most
    # once.
    **dict.fromkeys(
        (*RESHAPES, "tensor.extract_slice", "tensor.concat", "tensor.pad"), Access.ONCE
    ),
    "linalg.pack": Access.ONCE,
    "linalg.unpack": Access.ONCE,
    "tensor.insert": Access.SAME,
    "tensor.insert_slice": Access.ONCE,
}


def accesses(operation: Operation) -> Sequence[tuple[SSAValue, Access]]:
    """Return how an operation's kernel reads each operand and each captured value."""
    view = structured_view(operation)
    pairs: list[tuple[SSAValue, Access]] = []
    if view is None:
        default = _ONCE_OPERANDS.get(operation.name, Access.EACH)
        if operation.name in KERNEL_ONLY:
            default = Access.MANY
        pairs.extend((operand, default) for operand in operation.operands)
    else:
        # An operand that the body does not use is not computed.
        used = {element.index for element in view.body.args if element.first_use is not None}
        operands = (*view.inputs, *view.outputs)
        for position, (operand, affine_map) in enumerate(zip(operands, view.maps, strict=True)):
            access = _map_access(view, affine_map) if is_tensor(operand) else Access.MANY
            pairs.append((operand, access if position in used else max(access, Access.SAME)))
    pairs.extend((value, Access.MANY) for value in captured(operation))
    return pairs
