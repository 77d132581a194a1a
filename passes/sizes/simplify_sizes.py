"""`simplify-sizes`: compute sizes by scalar arithmetic from the sizes of arguments.

Programs with dynamic shapes, as `jax.export` writes them, compute shapes as small tensors and take
`tensor.dim` of computed tensors. This pass traces each size to its origin. Equal sizes are then
recognised, which simplifies other ops:

* `tensor.reshape` to a shape whose dimensions are runs of the old ones becomes collapse and expand;
* a loop body that reads a tensor at the loops' own indices gets it as an operand:

      %repeats = arith.cmpi eq, %n, %one : index            // the loop also runs over %n
      linalg.generic ... { %at = arith.select %repeats, %zero, %i ; tensor.extract %x[%at] }
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerType,
    ModuleOp,
    ShapedType,
    TensorType,
)
from xdsl.dialects.tensor import CastOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import region_dce

from ...dialects.linalg.dialect import GenericOp
from ...dialects.linalg.structured_view import StructuredView, structured_view
from ...dialects.tensor.reshapes import ExpandShapeOp, collapse_shape
from ...ir.attribute_access import constant_integer, element_type, integer
from ...ir.host_programs import FUNCTIONS
from ...ir.locations import block_with, builder_before, made_by
from ...ir.regions import inner_blocks, inner_operations, walk
from ...ir.tensor_types import ranked
from ..manager.module_pass import module_pass
from .dimension_sizes import DimensionSizes, Size
from .matching_dimensions import matching_dimensions
from .scalar_elements import CASTS, ScalarElements, cast_size

EQUAL, LESS = 0, 2
"""The predicates of `arith.cmpi eq` and `slt`."""


@module_pass("simplify-sizes")
def simplify_sizes(module: ModuleOp) -> None:
    """Compute sizes from those of arguments, and simplify reshapes and broadcasts of known sizes.

    Functions without dynamic sizes are not changed.
    """
    for function in module.body.block.ops:
        if function.name in FUNCTIONS and _has_open_sizes(function):
            _trace_sizes(function)
            _Simplifier().run(function)
            region_dce(function.regions[0])


def _has_open_sizes(function: Operation) -> bool:
    return any(
        isinstance(result.type, ShapedType) and DYNAMIC_INDEX in result.type.get_shape()
        for operation in walk(function)
        for result in operation.results
    )


def _trace_sizes(function: Operation) -> None:
    """Replace sizes, and elements of shape tensors, by the scalars that they are computed from."""
    for operation in tuple(walk(function)):
        if operation.name == "arith.select" and _asks_for_negative_size(operation.operands[0]):
            Rewriter.replace_op(operation, [], [operation.operands[2]])
    sizes = DimensionSizes()
    shapes = ScalarElements(sizes)
    for operation in tuple(_on_tensors(function)):
        if operation.name == "tensor.extract":
            tensor, *indices = operation.operands
            known = tuple(n for n in map(constant_integer, indices) if n is not None)
            found = shapes.element(tensor, known) if len(known) == len(indices) else None
            if found is not None:
                Rewriter.replace_op(operation, [], [found])
    for block in _blocks(function):
        sizes.resolve(block)
    for operation in tuple(walk(function)):
        if operation.name in CASTS and isinstance(operation.results[0].type, IndexType):
            size = cast_size(operation.operands[0])
            if size is not None:
                Rewriter.replace_op(operation, [], [size])


class _Simplifier:
    """The traced sizes of one function, and keys that tell which of them are equal."""

    def __init__(self) -> None:
        self._sizes = DimensionSizes()
        self._keys: dict[SSAValue, Hashable] = {}

    def run(self, function: Operation) -> None:
        """Simplify reshapes and `linalg.generic`s of a function in place."""
        for operation in tuple(_on_tensors(function)):
            if operation.name == "tensor.reshape":
                self._regroup(operation)
            elif isinstance(operation, GenericOp):
                self._take_as_operands(operation)

    # Equality of sizes.

    def _key(self, size: Size) -> int | Hashable:
        """Return a key; equal keys mean equal sizes. A static size is its own key."""
        if isinstance(size, int):
            return size
        if size not in self._keys:
            self._keys[size] = self._key_of(size)
        return self._keys[size]

    def _key_of(self, value: SSAValue) -> Hashable:
        number = constant_integer(value)
        if number is not None:
            return number
        if not isinstance(value, OpResult):
            return value
        operation = value.op
        if operation.name in ("tensor.dim", "tensor.extract"):
            tensor, *indices = operation.operands
            return operation.name, tensor, *map(self._key, indices)
        if operation.name.startswith("arith.") and _is_number(value) and not operation.regions:
            properties = tuple(sorted(operation.properties.items()))
            return operation.name, value.type, properties, *map(self._key, operation.operands)
        return value

    def _same(self, left: Size, right: Size) -> bool:
        return self._key(left) == self._key(right)

    # Reshapes.

    def _regroup(self, operation: Operation) -> None:
        source, result = operation.operands[0], operation.results[0]
        old, new = self._sizes.sizes(source), self._sizes.sizes(result)
        groups = matching_dimensions(*([self._key(n) for n in sizes] for sizes in (old, new)))
        if groups is None:
            return
        builder, element, value = builder_before(operation), element_type(source.type), source
        if len(groups) < len(old):
            taken = [group for group, _ in groups]
            joined = TensorType(element, [_joined(old, new, *group) for group in groups])
            value = builder.insert(collapse_shape(value, taken, joined)).result
        if len(groups) < len(new):
            made = [group for _, group in groups]
            split = TensorType(element, [_static(size) for size in new])
            value = builder.insert(ExpandShapeOp(value, new, made, split)).result
        if value.type != result.type:
            cast_ = CastOp.create(operands=[value], result_types=[result.type])
            value = builder.insert(cast_).results[0]
        Rewriter.replace_op(operation, [], [value])

    # Loop bodies that read tensors by `tensor.extract`.

    def _take_as_operands(self, generic: GenericOp) -> None:
        view = structured_view(generic)
        if view is None:
            return
        extents = self._loop_extents(view)
        body = generic.body.block
        added: list[tuple[Operation, AffineMap]] = []
        for operation in body.ops:
            if operation.name == "tensor.extract":
                results = self._loop_indices(operation, extents, body)
                if results is not None:
                    added.append((operation, AffineMap(len(extents), 0, tuple(results))))
        if added:
            _add_inputs(generic, added)

    def _loop_extents(self, view: StructuredView) -> list[Size | None]:
        """Return the trip count of each loop, read off an operand with a dimension for that loop.

        It is `None` for a loop without such an operand.
        """
        extents: list[Size | None] = [None] * len(view.iterators)
        for operand, map_ in zip((*view.inputs, *view.outputs), view.maps, strict=True):
            if ranked(operand) is None:
                continue
            for dimension, result in enumerate(map_.results):
                if isinstance(result, AffineDimExpr) and extents[result.position] is None:
                    extents[result.position] = self._sizes.size(operand, dimension)
        return extents

    def _loop_indices(
        self, read: Operation, extents: Sequence[Size | None], body: Block
    ) -> list[AffineExpr] | None:
        """Return the indexing map of a `tensor.extract`, as affine results.

        Each index is a loop over the whole dimension, or a constant in bounds; else the result is
        `None`.
        """
        tensor, *indices = read.operands
        if block_with(tensor) is body:
            return None
        found: list[AffineExpr] = []
        for dimension, index in enumerate(indices):
            size = self._sizes.size(tensor, dimension)
            loop, number = self._loop_of(index, extents, size), constant_integer(index)
            if loop is not None:
                found.append(AffineExpr.dimension(loop))
            elif number is not None and isinstance(size, int) and 0 <= number < size:
                found.append(AffineExpr.constant(number))
            else:
                return None
        return found

    def _loop_of(self, index: SSAValue, extents: Sequence[Size | None], size: Size) -> int | None:
        """Return the loop whose index this is, if that loop runs over the whole dimension.

        `select(size == 1, 0, loop)` equals the loop's index, too: a loop that runs once has index
        0.
        """
        if (choice := made_by(index, "arith.select")) is not None:
            condition, repeated, index = choice.operands
            if constant_integer(repeated) != 0 or not self._asks_for_one(condition, size):
                return None
        maker = made_by(index, "linalg.index")
        if maker is None:
            return None
        loop = integer(maker, "dim")
        extent = extents[loop]
        return loop if extent is not None and self._same(extent, size) else None

    def _asks_for_one(self, condition: SSAValue, size: Size) -> bool:
        """Return whether a condition is `size == 1`."""
        asked = made_by(condition, "arith.cmpi")
        if asked is None:
            return False
        left, right = asked.operands
        is_equal = integer(asked, "predicate") == EQUAL
        return is_equal and self._same(left, size) and constant_integer(right) == 1


def _add_inputs(generic: GenericOp, added: Sequence[tuple[Operation, AffineMap]]) -> None:
    """Replace a `linalg.generic` by one with additional inputs instead of reads in its body."""
    body = generic.body.block
    count = len(generic.inputs)
    for index, (read, _) in enumerate(added):
        argument = body.insert_arg(read.results[0].type, count + index)
        read.results[0].replace_all_uses_with(argument)
        Rewriter.erase_op(read)
    maps = [each.data for each in generic.indexing_maps]
    maps[count:count] = [map_ for _, map_ in added]
    made = GenericOp(
        (*generic.inputs, *(read.operands[0] for read, _ in added)),
        generic.outputs,
        generic.detach_region(0),
        maps,
        [each.data for each in generic.iterator_types],
        generic.result_types,
    )
    made.attributes |= generic.attributes
    made.location = generic.location
    Rewriter.replace_op(generic, made)


def _on_tensors(function: Operation) -> Iterator[Operation]:
    """Yield the ops of a function that are not in the body of a structured op."""
    for operation in inner_operations(function):
        yield operation
        if structured_view(operation) is None:
            yield from _on_tensors(operation)


def _blocks(function: Operation) -> Iterator[Block]:
    for operation in tuple(walk(function)):
        yield from inner_blocks(operation)


def _asks_for_negative_size(condition: SSAValue) -> bool:
    """Return whether a condition is `size < 0`, which is never true.

    Lowerings of views test a size for -1 in this way.
    """
    asked = made_by(condition, "arith.cmpi")
    if asked is None:
        return False
    left, right = asked.operands
    is_size = cast_size(left) is not None or made_by(left, "tensor.dim") is not None
    return is_size and integer(asked, "predicate") == LESS and constant_integer(right) == 0


def _is_number(value: SSAValue) -> bool:
    return isinstance(value.type, IndexType | IntegerType)


def _static(size: Size) -> int:
    return size if isinstance(size, int) else DYNAMIC_INDEX


def _joined(
    old: Sequence[Size], new: Sequence[Size], taken: Sequence[int], made: Sequence[int]
) -> int:
    """Return the size of a collapsed group, dynamic if it is not known."""
    for sizes, dimensions in ((old, taken), (new, made)):
        known = [
            size for size in (sizes[dimension] for dimension in dimensions) if isinstance(size, int)
        ]
        if len(known) == len(dimensions):
            return prod(known)
    return DYNAMIC_INDEX
