"""Find tensors that permute or broadcast others, and let kernels read the originals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.linalg.structured_view import StructuredView, structured_view
from ...ir.linear_forms import loops_of
from .kernel_operations import is_pointwise_view
from .product_sums import product_factors
from .static_values import constant_attribute, shape_of
from .writer import Indices

IsFused = Callable[[SSAValue], bool]

Permutation = tuple[int, ...]
"""For each dimension of the source, the dimension of the result that it becomes."""


def permuted_source(result: SSAValue, is_fused: IsFused) -> tuple[SSAValue, Permutation] | None:
    """Return the stored tensor that a result permutes and the permutation, or `None`."""
    found = _rearranged_source(result, is_fused)
    return found if found is not None and len(found[1]) == len(shape_of(result)) else None


def _rearranged_source(result: SSAValue, is_fused: IsFused) -> tuple[SSAValue, Permutation] | None:
    """Return the stored tensor that a result permutes or broadcasts, or `None`."""
    operation = result.owner
    found = _rearranged(operation) if isinstance(operation, Operation) else None
    if found is None:
        return None
    source, places = found
    if not is_fused(source):
        return None if constant_attribute(source) is not None else (source, places)
    inner = _rearranged_source(source, is_fused)
    if inner is None:
        return None
    return inner[0], tuple(places[dimension] for dimension in inner[1])


def merge_dimensions(
    shape: Indices, permutation: Permutation
) -> tuple[tuple[Indices, ...], Permutation]:
    """Return the factors of the sizes of a result, and the permutation of merged dimensions.

    Dimensions of size 1 are left out, and neighbours in the source that are also neighbours in the
    result become one, whose size is the product of its factors: `[a, b, c] -> [c, a, b]` is
    `[a * b, c] -> [c, a * b]`.
    """
    order = [each for each in permutation if shape[each] != 1]
    groups: list[list[int]] = []
    for each in sorted(order):
        is_next = bool(groups) and order.index(groups[-1][-1]) + 1 == order.index(each)
        if is_next:
            groups[-1].append(each)
        else:
            groups.append([each])
    factors = tuple(tuple(shape[each] for each in group) for group in groups)
    places = {group[0]: place for place, group in enumerate(groups)}
    return factors, tuple(places[each] for each in order if each in places)


def _rearranged(operation: Operation) -> tuple[SSAValue, Permutation] | None:
    """Return the operand that an operation only permutes or broadcasts, and the places."""
    view = structured_view(operation)
    number = None if view is None else view.moved_input()
    if view is None or number is None or not is_pointwise_view(view):
        return None
    loops = loops_of(view.maps[number])
    targets = loops_of(view.output_maps[0])
    ranks = len(view.maps[number].results), len(view.output_maps[0].results)
    if (len(set(loops)), len(targets)) != ranks or not set(loops) <= set(targets):
        return None
    return view.inputs[number], tuple(targets.index(loop) for loop in loops)


def reads_across_batch(root: Operation, operation: Operation) -> bool:
    """Return whether a product reads a transposed operand whose matrices lie side by side.

    Neighbours in memory belong to other products of the batch, so it should be stored in order.
    """
    view, moved = structured_view(root), _rearranged(operation)
    if view is None or moved is None or product_factors(view.body) is None:
        return False
    batch = frozenset[int].intersection(*(frozenset(each.used_dims()) for each in view.maps))
    return any(
        set(affine_map.results[place].used_dims()) <= batch
        for value, affine_map in zip(view.inputs, view.maps, strict=False)
        for place in moved[1][-1:]
        if value.owner is operation
    )


def fold_rearranged(view: StructuredView, is_fused: IsFused) -> StructuredView:
    """Return a view in which rearranged operands that are fused are replaced by their sources.

    `transpose(a)[k, m]` is read as `a[m, k]`, so that contiguous accesses of `a` are recognised. A
    matrix that is broadcast to all products of a batch is multiplied with the rows of all of them.
    Another operand must determine the extents of the loops.
    """
    inputs, maps = list(view.inputs), list(view.maps)
    for number, value in enumerate(view.inputs):
        found = _rearranged_source(value, is_fused) if is_fused(value) else None
        if found is None:
            continue
        read = maps[number]
        results = tuple(read.results[each] for each in found[1])
        folded = AffineMap(read.num_dims, read.num_symbols, results)
        others = (each for other, each in enumerate(maps) if other != number)
        if read.used_dims() <= set(folded.used_dims()).union(
            *(each.used_dims() for each in others)
        ):
            inputs[number], maps[number] = found[0], folded
    return replace(view, inputs=tuple(inputs), maps=tuple(maps))
