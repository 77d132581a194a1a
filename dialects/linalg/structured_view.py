"""A common view of all structured ops of linalg: maps, iterator types and a scalar body.

Sharding rules, the interpreter and the backend use this view and need not distinguish the more than
eighty ops. Ops are recognised by name, so classes of xDSL's linalg dialect or of another compiler
work as well.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ShapedType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...ir.attribute_access import attribute, element_type, number_list
from ...ir.rules import Rules
from .bodies import BodyError, body_template
from .named_ops import CONTRACT, DATA_MOVEMENT, ELEMENTWISE, NAMED_OPS, IteratorType, NamedOp

__all__ = [
    "STRUCTURED_OPERATIONS",
    "IteratorType",
    "StructuredView",
    "remembered_views",
    "structured_view",
]


@dataclass(frozen=True, slots=True)
class StructuredView:
    """A structured op as a perfect loop nest.

    At every point of the iteration space, `body` is run on the element of each operand that its map
    selects, and the yielded values are stored to the outputs.
    """

    operation: Operation
    inputs: tuple[SSAValue, ...]
    """Operands that are only read: tensors, memrefs, or scalars (with a map without results)."""
    outputs: tuple[SSAValue, ...]
    """Operands that hold the initial values; on tensors there is one result for each."""
    maps: tuple[AffineMap, ...]
    """The indexing maps of the inputs, then those of the outputs."""
    iterators: tuple[IteratorType, ...]
    """The iterator type of each loop, outermost first."""
    body: Block
    """The arguments are elements of the inputs, then of the outputs; it ends in `linalg.yield`. A
    block that belongs to no op is shared: do not change it.
    """

    @property
    def input_maps(self) -> tuple[AffineMap, ...]:
        return self.maps[: len(self.inputs)]

    @property
    def output_maps(self) -> tuple[AffineMap, ...]:
        return self.maps[len(self.inputs) :]

    @property
    def reduction_loops(self) -> tuple[int, ...]:
        """The loops over which elements are combined into the outputs."""
        return tuple(
            loop
            for loop, iterator in enumerate(self.iterators)
            if iterator is not IteratorType.PARALLEL
        )

    def moved_input(self) -> int | None:
        """Return the number of the input whose elements the only result takes as they are."""
        last = self.body.last_op
        if len(self.outputs) != 1 or last is None or self.body.first_op is not last:
            return None
        inputs = self.body.args[: len(self.inputs)]
        return inputs.index(last.operands[0]) if last.operands[0] in inputs else None

    def loop_sizes(self) -> tuple[int | None, ...]:
        """Return the trip count of each loop; `None` where no operand has a static size for it."""
        sizes: list[int | None] = [None] * len(self.iterators)
        for operand, indexing_map in zip((*self.inputs, *self.outputs), self.maps, strict=True):
            operand_type = operand.type
            if not isinstance(operand_type, ShapedType):
                continue
            for size, result in zip(operand_type.get_shape(), indexing_map.results, strict=True):
                if size >= 0 and isinstance(result, AffineDimExpr) and result.position < len(sizes):
                    sizes[result.position] = size
        return tuple(sizes)

    def points(self) -> int | None:
        """Return how often the body runs, `None` if the trip count of a loop is not static."""
        sizes = self.loop_sizes()
        known = [size for size in sizes if size is not None]
        return prod(known) if len(known) == len(sizes) else None


view_reader = Rules[Callable[[Operation], StructuredView | None]]()

Views = dict[Operation, StructuredView | None]

_views: ContextVar[Views | None] = ContextVar("structured_views", default=None)


@contextmanager
def remembered_views() -> Generator[None]:
    """Read the view of each operation once inside the `with` block.

    No structured operation may change while the views are remembered.
    """
    token = _views.set({})
    try:
        yield
    finally:
        _views.reset(token)


def structured_view(operation: Operation) -> StructuredView | None:
    """Return the view of a structured op; `None` for any other op.

    An op that does not verify (maps missing, elements that cannot be converted) has no view.
    `linalg.softmax`, `pack` and `unpack` are no loop nests and have none either.
    """
    reader = view_reader.get(operation.name)
    if reader is None:
        return None
    views = _views.get()
    if views is None:
        return reader(operation)
    if operation not in views:
        views[operation] = reader(operation)
    return views[operation]


def given_maps(operation: Operation) -> tuple[AffineMap, ...] | None:
    """Return the maps in the attribute `indexing_maps`; `None` if it is absent."""
    maps = attribute(operation, "indexing_maps")
    if not isinstance(maps, ArrayAttr):
        return None
    attributes = cast("ArrayAttr[Attribute]", maps).data
    return tuple([each.data for each in attributes if isinstance(each, AffineMapAttr)])


def iterators_of_output(loops: int, output_map: AffineMap) -> tuple[IteratorType, ...]:
    """Return iterator types in which loops that the output's map does not use are reductions."""
    used = set(output_map.results)
    return tuple(
        IteratorType.PARALLEL if AffineExpr.dimension(loop) in used else IteratorType.REDUCTION
        for loop in range(loops)
    )


def _own_body(operation: Operation) -> Block | None:
    return operation.regions[0].blocks.first if operation.regions else None


def _view(
    operation: Operation,
    input_count: int,
    maps: Sequence[AffineMap] | None,
    iterators: tuple[IteratorType, ...],
    body: Block | None,
) -> StructuredView | None:
    operands = tuple(operation.operands)
    if maps is None or len(maps) != len(operands) or body is None:
        return None
    return StructuredView(
        operation,
        operands[:input_count],
        operands[input_count:],
        tuple(maps),
        iterators,
        body,
    )


def _rank(value: SSAValue) -> int:
    value_type = value.type
    return len(value_type.get_shape()) if isinstance(value_type, ShapedType) else 0


def is_unsigned_cast(cast: Attribute | None) -> bool:
    """Return whether the attribute `cast` is given as `#linalg.type_fn<cast_unsigned>`."""
    return getattr(cast, "data", None) == "cast_unsigned"


def _named_body(operation: Operation, row: NamedOp, function: str = "") -> Block | None:
    body = _own_body(operation)
    if body is not None:
        return body
    types = tuple(element_type(operand.type) for operand in operation.operands)
    try:
        return body_template(row, types, function, is_unsigned_cast(attribute(operation, "cast")))
    except BodyError:
        return None


@view_reader(*NAMED_OPS)
def _read_named(operation: Operation) -> StructuredView | None:
    row = NAMED_OPS[operation.name]
    if len(operation.operands) != len(row.operands):
        return None
    body = _named_body(operation, row)
    maps = given_maps(operation) if row.custom_maps else None
    if maps is not None:
        return _view(operation, row.input_count, maps, row.iterators, body)
    rank = _rank(operation.operands[-1])
    strides = number_list(attribute(operation, "strides")) if row.windows else ()
    dilations = number_list(attribute(operation, "dilations")) if row.windows else ()
    maps = row.maps(rank, strides, dilations)
    iterators = (IteratorType.PARALLEL,) * rank if row.loops is None else row.iterators
    return _view(operation, row.input_count, maps, iterators, body)


@view_reader("linalg.contract")
def _read_contract(operation: Operation) -> StructuredView | None:
    maps = given_maps(operation)
    if maps is None or len(maps) != 3:
        return None
    iterators = iterators_of_output(maps[-1].num_dims, maps[-1])
    return _view(operation, 2, maps, iterators, _named_body(operation, CONTRACT))


@view_reader("linalg.elementwise")
def _read_elementwise(operation: Operation) -> StructuredView | None:
    maps = given_maps(operation)
    if maps is None:
        maps = (AffineMap.identity(_rank(operation.operands[-1])),) * len(operation.operands)
    iterators = (IteratorType.PARALLEL,) * maps[-1].num_dims
    function = getattr(attribute(operation, "kind"), "data", "")
    body = _named_body(operation, ELEMENTWISE, function)
    return _view(operation, len(operation.operands) - 1, maps, iterators, body)


_ITERATORS = {each.value: each for each in IteratorType}
"""Another package's enumeration works as a key too if its members are equal strings."""


@view_reader("linalg.generic")
def _read_generic(operation: Operation) -> StructuredView | None:
    sizes = number_list(attribute(operation, "operandSegmentSizes"))
    types = attribute(operation, "iterator_types")
    if len(sizes) != 2 or not isinstance(types, ArrayAttr):
        return None
    names = (getattr(each, "data", "") for each in cast("ArrayAttr[Attribute]", types).data)
    iterators, maps = tuple(map(_ITERATORS.__getitem__, names)), given_maps(operation)
    if maps and IteratorType.REDUCTION in iterators:
        iterators = _without_selecting_loops(iterators, maps[sizes[0] :])
    return _view(operation, sizes[0], maps, iterators, _own_body(operation))


def _without_selecting_loops(
    iterators: tuple[IteratorType, ...], output_maps: Sequence[AffineMap]
) -> tuple[IteratorType, ...]:
    """Return iterator types in which loops that index each output are no reductions.

    MLIR allows `reduction` there, but each step of such a loop has elements of its own.
    """
    used = [set(each.results) for each in output_maps]
    return tuple(
        IteratorType.PARALLEL
        if kind is IteratorType.REDUCTION
        and used
        and all(AffineExpr.dimension(loop) in each for each in used)
        else kind
        for loop, kind in enumerate(iterators)
    )


@view_reader("linalg.map")
def _read_map(operation: Operation) -> StructuredView | None:
    rank = _rank(operation.operands[-1])
    maps = (AffineMap.identity(rank),) * len(operation.operands)
    iterators = (IteratorType.PARALLEL,) * rank
    return _view(operation, len(operation.operands) - 1, maps, iterators, _own_body(operation))


def _kept_dimensions(operation: Operation, rank: int) -> AffineMap:
    """Return the map to the dimensions that the attribute `dimensions` does not list."""
    dropped = number_list(attribute(operation, "dimensions"))
    kept = (AffineExpr.dimension(i) for i in range(rank) if i not in dropped)
    return AffineMap(rank, 0, tuple(kept))


@view_reader("linalg.reduce")
def _read_reduce(operation: Operation) -> StructuredView | None:
    input_count = len(operation.operands) // 2
    rank = _rank(operation.operands[0])
    output_map = _kept_dimensions(operation, rank)
    maps = (AffineMap.identity(rank),) * input_count + (output_map,) * input_count
    iterators = iterators_of_output(rank, output_map)
    return _view(operation, input_count, maps, iterators, _own_body(operation))


@view_reader("linalg.broadcast")
def _read_broadcast(operation: Operation) -> StructuredView | None:
    rank = _rank(operation.operands[1])
    maps = (_kept_dimensions(operation, rank), AffineMap.identity(rank))
    iterators = (IteratorType.PARALLEL,) * rank
    return _view(operation, 1, maps, iterators, _named_body(operation, DATA_MOVEMENT))


@view_reader("linalg.transpose")
def _read_transpose(operation: Operation) -> StructuredView | None:
    # Output dimension i is input dimension permutation[i], so the input's map is the inverse.
    permutation = number_list(attribute(operation, "permutation"))
    rank = len(permutation)
    inverse = sorted(range(rank), key=permutation.__getitem__)
    input_map = AffineMap(rank, 0, tuple(AffineExpr.dimension(i) for i in inverse))
    maps = (input_map, AffineMap.identity(rank))
    iterators = (IteratorType.PARALLEL,) * rank
    return _view(operation, 1, maps, iterators, _named_body(operation, DATA_MOVEMENT))


STRUCTURED_OPERATIONS = frozenset(view_reader)
"""The names of the ops that may have a view."""
