"""Find tensors that permute or broadcast others, and let kernels read the originals."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.linalg.structured_view import StructuredView, structured_view
from ....ir.linear_forms import linear, loops_of
from ..elements.pointwise import is_pointwise_view
from ..elements.static_values import constant_attribute, shape_of
from ..elements.writer import Indices

IsFused = Callable[[SSAValue], bool]

Permutation = tuple[int, ...]
"""For each dimension of the source, the dimension of the result that it becomes."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A stored tensor of which another one has the elements in another order.

    - `places`: for each dimension of `source`, the dimension of the result that it becomes;
    - `reversed`: the dimensions of the result along which the order of elements is reversed.
    """

    source: SSAValue
    places: Permutation
    reversed: frozenset[int] = frozenset()


def permuted_source(result: SSAValue, is_fused: IsFused) -> Origin | None:
    """Return the stored tensor that a result permutes, or `None`."""
    found = _rearranged_source(result, is_fused)
    return found if found is not None and len(found.places) == len(shape_of(result)) else None


def _rearranged_source(result: SSAValue, is_fused: IsFused) -> Origin | None:
    """Return the stored tensor that a result permutes or broadcasts, or `None`."""
    operation = result.owner
    found = rearranged_operand(operation) if isinstance(operation, Operation) else None
    if found is None:
        return None
    source, places = found.source, found.places
    if not is_fused(source):
        return None if constant_attribute(source) is not None else found
    inner = _rearranged_source(source, is_fused)
    if inner is None:
        return None
    turned = frozenset(places[dimension] for dimension in inner.reversed)
    order = tuple(places[dimension] for dimension in inner.places)
    return Origin(inner.source, order, found.reversed ^ turned)


def merge_dimensions(
    shape: Indices, permutation: Permutation, turned: Set[int]
) -> tuple[tuple[Indices, ...], Permutation, frozenset[int]]:
    """Return the factors of the sizes of a result, the permutation of merged dimensions, and those
    that are reversed, given the reversed ones of the result.

    Dimensions of size 1 are left out, and neighbours in the source that are also neighbours in the
    result become one, whose size is the product of its factors: `[a, b, c] -> [c, a, b]` is
    `[a * b, c] -> [c, a * b]`.
    """
    order = [each for each in permutation if shape[each] != 1]
    groups: list[list[int]] = []
    for each in sorted(order):
        before = groups[-1][-1] if groups else None
        is_next = before is not None and order.index(before) + 1 == order.index(each)
        if is_next and (before in turned) == (each in turned):
            groups[-1].append(each)
        else:
            groups.append([each])
    factors = tuple(tuple(shape[each] for each in group) for group in groups)
    places = {group[0]: place for place, group in enumerate(groups)}
    merged = tuple(places[each] for each in order if each in places)
    return factors, merged, frozenset(places[each] for each in turned if each in places)


def rearranged_operand(operation: Operation) -> Origin | None:
    """Return the operand that an operation only permutes, reverses or broadcasts."""
    view = structured_view(operation)
    number = None if view is None else view.moved_input()
    if view is None or number is None or not is_pointwise_view(view):
        return None
    source, targets = view.inputs[number], loops_of(view.output_maps[0])
    result = shape_of(view.operation.results[0])
    if len(targets) != len(result):
        return None
    places: list[int] = []
    turned: set[int] = set()
    for size, index in zip(shape_of(source), view.maps[number].results, strict=True):
        form = linear(index)
        if form is None or len(form.coefficients) != 1:
            return None
        ((loop, factor),) = form.coefficients.items()
        if loop not in targets or (factor, form.constant) not in ((1, 0), (-1, size - 1)):
            return None
        places.append(targets.index(loop))
        if factor < 0:
            if result[places[-1]] != size:
                return None
            turned.add(places[-1])
    if len(set(places)) != len(places):
        return None
    return Origin(source, tuple(places), frozenset(turned))


def fold_rearranged(view: StructuredView, is_fused: IsFused) -> StructuredView:
    """Return a view in which rearranged operands that are fused are replaced by their sources.

    `transpose(a)[k, m]` is read as `a[m, k]`, so that contiguous accesses of `a` are recognised. A
    matrix that is broadcast to all products of a batch is multiplied with the rows of all of them.
    Another operand must determine the extents of the loops.
    """
    inputs, maps = list(view.inputs), list(view.maps)
    for number, value in enumerate(view.inputs):
        found = _rearranged_source(value, is_fused) if is_fused(value) else None
        if found is None or found.reversed:
            continue
        read = maps[number]
        results = tuple(read.results[each] for each in found.places)
        folded = AffineMap(read.num_dims, read.num_symbols, results)
        others = (each for other, each in enumerate(maps) if other != number)
        if read.used_dims() <= set(folded.used_dims()).union(
            *(each.used_dims() for each in others)
        ):
            inputs[number], maps[number] = found.source, folded
    return replace(view, inputs=tuple(inputs), maps=tuple(maps))
