"""Read sharding annotations of a program as `Sharding` values.

`shard.shard %t to %s` gives the sharding in which the producer of `%t` leaves it; with
`annotate_for_users`, the sharding in which the users of its result want it. There are usually both
between a producer and a user:

    %0 = producer
    %1 = shard.shard %0 to %a : T
    %2 = shard.shard %1 to %b annotate_for_users : T
    user(%2)

Operations are identified by name and properties, so that operation classes of other compilers work
as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from ....dialects.shard.annotations import ShardOp
from ....dialects.shard.attributes import AxesArrayAttr, ReductionKindAttr
from ....dialects.shard.checks import halo_pairs, offset_runs, resolve_grid
from ....ir.attribute_access import constant_integer, integer, integers, number_list, operand_groups
from ....ir.diagnostics import Note, OperationError
from ....ir.index_lists import mixed_list
from ....ir.locations import made_by, maker_of
from ....ir.regions import point_after, replace_other_uses, walk
from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.grid import Grid
from ....sharding.local_shape import offset_errors
from ....sharding.sharding import Axes, Offsets, Partial, ReductionKind, Sharding

SHARD = "shard.shard"
SHARDING = "shard.sharding"
GET_SHARDING = "shard.get_sharding"
PRIORITY_PROPERTY = "priority"
"""Optional extra property of `shard.shard`: lower numbers are propagated first."""
OPEN_DIMENSIONS_ATTRIBUTE = "shard.open_dimensions"
"""Extra discardable attribute of `shard.shard`: dimensions that propagation may split further."""
REPLICATED_AXES_ATTRIBUTE = "shard.replicated_axes"
"""Extra discardable attribute of `shard.shard`: axes that split no dimension, open or not."""
DIMENSION_PRIORITIES_ATTRIBUTE = "shard.dimension_priorities"
"""Extra discardable attribute of `shard.shard`: a priority for each dimension."""
GROUP_ATTRIBUTE = "shard.group"
"""Extra discardable attribute of `shard.shard`: values with one number are split alike."""
DIRECTION_ATTRIBUTE = "shard.allowed_direction"
"""Extra discardable attribute of `shard.shard`: `NONE`, `FORWARD` or `BACKWARD`. Shardings are
propagated across the annotation only to its users, or only to its source.
"""
OPEN_ATTRIBUTES = (
    OPEN_DIMENSIONS_ATTRIBUTE,
    REPLICATED_AXES_ATTRIBUTE,
    GROUP_ATTRIBUTE,
    DIRECTION_ATTRIBUTE,
)
"""What only concerns annotations with open dimensions."""
MANUAL_ATTRIBUTE = "shard.manual"
"""Discardable attribute of collectives before partitioning: they apply to the whole value that each
process holds, which may differ between processes.
"""
MHLO_SHARDING = "mhlo.sharding"
"""GSPMD's discardable attribute on arguments, results and custom calls."""
SDY_SHARDING = "sdy.sharding"
"""Shardy's discardable attribute on arguments, results and operations."""


def grid_of(operation: Operation) -> Grid:
    """Return the grid that the `grid` symbol of an operation refers to.

    Raises OperationError if the operation has no such attribute, or no valid grid of that name is
    visible.
    """
    symbol = operation.properties.get("grid")
    if not isinstance(symbol, SymbolRefAttr):
        raise OperationError(operation, "has no attribute 'grid'")
    try:
        return resolve_grid(operation, symbol)
    except VerifyException as error:
        raise OperationError(operation, str(error)) from error


class ShardingTable:
    """Caches the shardings of equal `shard.sharding` operations."""

    def __init__(self) -> None:
        self._shardings: dict[object, tuple[Sharding, tuple[Attribute, ...]]] = {}

    def sharding_of(self, operation: Operation, shape: Shape) -> Sharding:
        """Return the sharding that a `shard.sharding` describes for a tensor of this shape.

        Raises OperationError if it does not fit the shape or the grid.
        """
        grid = grid_of(operation)
        if operation.operands:
            return _read_sharding(operation, shape, grid)
        attributes = tuple(operation.properties.values())
        key = (shape, grid, *operation.properties, *map(id, attributes))
        found = self._shardings.get(key)
        if found is None:
            sharding = _read_sharding(operation, shape, grid)
            # The entry keeps the attributes alive, so that their identities in the key stay unique.
            found = self._shardings[key] = (sharding, attributes)
        return found[0]


def sharding_of_value(value: SSAValue, shape: Shape, table: ShardingTable) -> Sharding:
    """Return the sharding that a `!shard.sharding` value describes for a tensor of this shape.

    Raises OperationError at the operation that defines the value if that is neither a
    `shard.sharding` nor the `shard.get_sharding` of an annotated value, or if the sharding does not
    fit the tensor or the grid: its lists, axes, halos or offsets.
    """
    operation = value.owner
    if isinstance(operation, Block):
        raise OperationError(
            maker_of(value), "has a sharding as a block argument, expected a shard.sharding"
        )
    if operation.name == GET_SHARDING:
        return annotation_of(shard_asked_about(operation), table).sharding
    if operation.name != SHARDING:
        raise OperationError(operation, "makes a sharding, expected a shard.sharding")
    return table.sharding_of(operation, shape)


def _read_sharding(operation: Operation, shape: Shape, grid: Grid) -> Sharding:
    lists = _split_axes(operation)
    rank = len(shape)
    if any(lists[rank:]):
        raise OperationError(
            operation,
            f"splits dimension {max(d for d, axes in enumerate(lists) if axes)} of a tensor of "
            f"rank {rank}",
        )
    axes = (*lists[:rank], *((),) * (rank - len(lists)))
    halos = [(0, 0)] * rank
    if numbers := _numbers(operation, "static_halo_sizes", 1, "halo sizes"):
        for dimension, low, high in halo_pairs(axes, numbers):
            halos[dimension] = (low, high)
    offsets: list[Offsets] = [None] * rank
    if numbers := _numbers(operation, "static_sharded_dims_offsets", 0, "offsets"):
        for dimension, limits in offset_runs(grid, axes, numbers):
            offsets[dimension] = tuple(limits)
    try:
        sharding = Sharding(grid, axes, _partials(operation), tuple(halos), tuple(offsets))
    except ValueError as error:
        raise OperationError(operation, f"cannot be applied: {error}") from error
    wrong = offset_errors(shape, sharding)
    if wrong is not None:
        raise OperationError(operation, f"cannot be applied: {wrong}")
    return sharding


def shard_asked_about(operation: Operation) -> Operation:
    """Return the annotation that a `shard.get_sharding` refers to.

    Raises OperationError if its operand has no annotation.
    """
    shard = made_by(operation.operands[0], SHARD)
    if shard is None:
        raise OperationError(operation, "queries the sharding of a value without an annotation")
    return shard


def _split_axes(operation: Operation) -> tuple[Axes, ...]:
    found = operation.properties.get("split_axes")
    if not isinstance(found, AxesArrayAttr):
        raise OperationError(operation, "has no attribute 'split_axes'")
    return found.lists()


def _partials(operation: Operation) -> tuple[Partial, ...]:
    kind = operation.properties.get("partial_type")
    axes = number_list(operation.properties.get("partial_axes"))
    if not isinstance(kind, ReductionKindAttr) or not axes:
        return ()
    return (Partial(kind.reduction, axes),)


def _numbers(operation: Operation, name: str, segment: int, what: str) -> tuple[int, ...]:
    """Return a list of static numbers, with constant operands in place of dynamic entries.

    `segment` is the number of the segment of these operands: 0 for offsets, 1 for halos.
    """
    numbers = number_list(operation.properties.get(name))
    if DYNAMIC_INDEX not in numbers:
        return numbers
    operands = operand_groups(operation, operation.operands)[segment]
    constants = [each for each in map(constant_integer, operands) if each is not None]
    if len(constants) < len(operands):
        raise OperationError(operation, f"has {what} that are known only at run time")
    return mixed_list(numbers, constants)


@dataclass(frozen=True, slots=True)
class Annotation:
    """A parsed `shard.shard`: the sharding of its source's producer, or of its result's users."""

    operation: Operation
    sharding: Sharding
    for_users: bool
    priorities: tuple[int, ...]
    """One per dimension: lower numbers are propagated first."""
    open_dimensions: tuple[bool, ...]
    replicated: Axes
    """Axes that split no dimension, open or not."""

    @property
    def source(self) -> SSAValue:
        """The annotated tensor."""
        return self.operation.operands[0]

    @property
    def result(self) -> SSAValue:
        """The same tensor, as its users read it."""
        return self.operation.results[0]


def annotation_of(operation: Operation, table: ShardingTable) -> Annotation:
    """Parse a `shard.shard` operation. Raises OperationError if it is invalid."""
    shape = tensor_shape(operation.operands[0])
    if shape is None:
        raise OperationError(
            operation, f"annotates a value of type {operation.operands[0].type}, not a tensor"
        )
    try:
        sharding = sharding_of_value(operation.operands[1], shape, table)
    except OperationError as error:
        note = Note(f"applied to a value of type {operation.operands[0].type} here", operation)
        raise OperationError(error.operation, error.message, (*error.notes, note)) from error
    rank = len(shape)
    # A fast path: most annotations have no attributes, and each use of a tensor has one.
    listed = integers(operation, OPEN_DIMENSIONS_ATTRIBUTE) if operation.attributes else ()
    return Annotation(
        operation,
        sharding,
        isinstance(operation.properties.get("annotate_for_users"), UnitAttr),
        _priorities(operation, rank),
        tuple([dimension in listed for dimension in range(rank)]) if listed else (False,) * rank,
        integers(operation, REPLICATED_AXES_ATTRIBUTE) if listed else (),
    )


def _priorities(operation: Operation, rank: int) -> tuple[int, ...]:
    each = integers(operation, DIMENSION_PRIORITIES_ATTRIBUTE) if operation.attributes else ()
    if each and len(each) == rank:
        return each
    common = operation.properties.get(PRIORITY_PROPERTY)
    return (common.value.data if isinstance(common, IntegerAttr) else 0,) * rank


def drop_annotations(scope: Operation | Region) -> None:
    """Replace annotated tensors by their sources, and erase unused `shard.sharding` operations."""
    found = [each for each in scope.walk() if each.name in (SHARD, SHARDING)]
    for operation in found:
        if operation.name == SHARD:
            Rewriter.replace_op(operation, [], [operation.operands[0]])
    for operation in found:
        if operation.name == SHARDING and not operation.results[0].first_use:
            Rewriter.erase_op(operation)


def read_annotated(annotation: ShardOp) -> None:
    """Redirect all other uses of an annotated value to the result of the annotation."""
    replace_other_uses(annotation.src, annotation.result)


def read_constraints(module: ModuleOp) -> None:
    """Let the users of a value read its constraint, if the constraint itself has no users.

    Such a constraint is the sharding of the value. Elimination of dead code would drop it.
    """
    for operation in list(walk(module)):
        if operation.name != "sdy.sharding_constraint" or operation.results[0].first_use:
            continue
        (value,) = operation.operands
        operation.detach()
        Rewriter.insert_op(operation, point_after(value))
        replace_other_uses(value, operation.results[0])


PURE_QUERIES = frozenset(
    {
        "shard.grid_shape",
        "shard.neighbors_linear_indices",
        "shard.process_linear_index",
        "shard.process_multi_index",
    }
)


def grid_name(operation: Operation) -> str:
    """Return the name of an operation's grid; empty if it has none."""
    symbol = operation.get_attr_or_prop("grid")
    return symbol.string_value() if isinstance(symbol, SymbolRefAttr) else ""


def axes_of(operation: Operation, name: str = "grid_axes") -> Axes:
    """Return a list of grid axes of an operation, in its order."""
    return integers(operation, name)


def dimension_of(operation: Operation, name: str) -> int:
    """Return an integer attribute that holds a dimension; -1 if it is missing."""
    return integer(operation, name, -1)


def kind_of(operation: Operation) -> ReductionKind:
    """Return the kind of a reduction; sums are the default."""
    found = operation.get_attr_or_prop("reduction")
    return found.reduction if isinstance(found, ReductionKindAttr) else ReductionKind.SUM
