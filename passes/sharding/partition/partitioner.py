"""Keep the state of the partitioning of one function: the shardings of values, and resharding.

Values of the source program are keys; values of the emitted program are the shards. A tensor is
either local (a value and its sharding) or rematerializable (a constant, an empty or filled tensor),
which is made in any sharding that a user needs. Scalars are equal on all processes. `None`
as a sharding means that each process holds the whole tensor.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....ir.attribute_access import constant_integer
from ....ir.combiners import Combiner
from ....ir.diagnostics import Note, OperationError
from ....ir.index import IndexOrInt
from ....ir.locations import made_by, maker_of
from ....ir.tensor_types import ranked, tensor_shape
from ....sharding.factors import FactorRule
from ....sharding.grid import Grid, extents_text
from ....sharding.local_shape import explicit_offsets, halo, shard_offsets
from ....sharding.op_sharding import Assignment, reduced_axes, tensor_sharding
from ....sharding.sharding import Axes, Partial, Sharding, without_new_partials
from ..annotations.access import GET_SHARDING, SHARD, SHARDING, shard_asked_about
from ..rules.rule_cache import OperationKeys
from .emit_reshard import emit_reshard
from .emitter import Emitter
from .local_types import local_type, tensor_type_of
from .registry import Handler, find_handler
from .rematerializable import Rematerializable
from .signatures import Shardings, Signature, Signatures


@dataclass(frozen=True, slots=True)
class LocalTensor:
    """A local value, its sharding, and the emitter of the block that defines it."""

    value: SSAValue
    sharding: Sharding | None
    emitter: Emitter
    before: LocalTensor | None = None
    """The same tensor before an annotation has resharded it."""


Dimension = tuple[SSAValue, int]


class Partitioner:
    """Emits the program of one device for a function, operation by operation."""

    def __init__(self, signatures: Signatures) -> None:
        self.signatures = signatures
        self.annotations = signatures.annotations
        self.emitter = Emitter(Block())
        self.signature: Signature | None = None
        """The shardings of arguments and results of the current function."""
        self._tensors: dict[SSAValue, LocalTensor | Rematerializable] = {}
        self._scalars: dict[SSAValue, SSAValue] = {}
        self._same_size: dict[Dimension, Dimension | SSAValue] = {}
        self._local_extents: dict[object, tuple[Emitter, SSAValue, int]] = {}
        self.key = OperationKeys()
        self.decisions: dict[object, OpSharding | None] = {}
        """Shardings of operations, by operation key and the shardings of operands and results."""
        self.blocks: dict[Block, Block] = {}
        """Emitted blocks by blocks of the source program, as targets of branches."""

    def place(self, original: SSAValue, value: SSAValue, sharding: Sharding | None) -> None:
        """Record the local value of a tensor of the source program."""
        sharding = normal(sharding)
        self._tensors[original] = LocalTensor(value, sharding, self.emitter)
        if value.name_hint is None:
            value.name_hint = original.name_hint
        original_type = ranked(original)
        if original_type is None or original_type.has_static_shape():
            return
        for dimension in range(original_type.get_num_dims()):
            if sharding is not None and halo(sharding, dimension) != (0, 0):
                continue
            key = self._extent_key(original, dimension, sharding)
            self._local_extents.setdefault(key, (self.emitter, value, dimension))

    def move(self, original: SSAValue, sharding: Sharding) -> None:
        """Reshard a tensor; its previous location stays available."""
        before = self._tensors[original]
        self.place(original, self.demand(original, sharding), sharding)
        after = self._tensors[original]
        if isinstance(before, LocalTensor) and isinstance(after, LocalTensor):
            self._tensors[original] = replace(after, before=before)

    def set_rematerializable(self, original: SSAValue, source: Rematerializable) -> None:
        """Record a tensor that is made where it is needed."""
        self._tensors[original] = source

    def set_scalar(self, original: SSAValue, value: SSAValue) -> None:
        """Record the value of a scalar, or of any other value that is not a ranked tensor."""
        self._scalars[original] = value
        if value.name_hint is None:
            value.name_hint = original.name_hint

    def set_value(self, original: SSAValue, value: SSAValue, sharding: Sharding | None) -> None:
        """Record a tensor or a scalar."""
        if ranked(original) is None:
            self.set_scalar(original, value)
        else:
            self.place(original, value, sharding)

    def is_recorded(self, original: SSAValue) -> bool:
        """Return whether a value of the source program has a local value."""
        return original in self._tensors or original in self._scalars

    def same_size(self, one: Dimension, other: Dimension | SSAValue) -> None:
        """Record that a dimension has the size of another, or an index value of the source."""
        if one != other:
            self._same_size[one] = other

    def rename(self, original: SSAValue, known: SSAValue) -> None:
        """Record that a tensor of the source program equals another one."""
        self._tensors[original] = self._tensors[known]
        for dimension in range(len(shape(original))):
            self.same_size((original, dimension), (known, dimension))

    def sharding_of(self, original: SSAValue) -> Sharding | None:
        """Return the sharding of a tensor, or the annotated one of a rematerializable tensor.

        It is `None` for a scalar. Raises KeyError for a tensor that no handler has recorded, like
        all methods that take tensors.
        """
        return None if ranked(original) is None else self._tensors[original].sharding

    def finished(self, original: SSAValue) -> Sharding | None:
        """Return the sharding of a tensor after its pending reductions; `None` for a scalar."""
        return finished(self.sharding_of(original))

    def wanted(self, original: SSAValue) -> Sharding | None:
        """Return the annotated sharding of a value after its reductions; `None` for a scalar."""
        return finished(self.annotations.wanted(original))

    def rematerializable_of(self, original: SSAValue) -> Rematerializable | None:
        """Return how a tensor is made where it is needed; `None` if it is placed, or a scalar."""
        found = None if ranked(original) is None else self._tensors[original]
        return found if isinstance(found, Rematerializable) else None

    def scalar(self, original: SSAValue) -> SSAValue:
        """Return the local value of a scalar of the source program."""
        found = self._scalars.get(original)
        if found is None:
            found = self._sharding_value(original)
        return found

    def _sharding_value(self, original: SSAValue) -> SSAValue:
        """Emit a `!shard.sharding` that is kept because the program computes with it."""
        if (asks := made_by(original, GET_SHARDING)) is not None:
            return self.scalar(shard_asked_about(asks).operands[1])
        if (owner := made_by(original, SHARDING)) is not None:
            mapper = {operand: self.scalar(operand) for operand in owner.operands}
            return self.emitter.insert(owner.clone(mapper))
        raise KeyError(original)

    def value(self, original: SSAValue, sharding: Sharding | None = None) -> SSAValue:
        """Return a scalar, or a tensor in a sharding (replicated if `None`). Raises as `demand`."""
        if ranked(original) is None:
            return self.scalar(original)
        return self.demand(original, sharding)

    def demand(self, original: SSAValue, sharding: Sharding | None) -> SSAValue:
        """Return the local value of a tensor in a sharding; resharding is emitted once.

        Raises OperationError between grids of different numbers of processes, ValueError for a
        sharding of another rank.
        """
        found = self._tensors[original]
        target = normal(sharding)
        if isinstance(found, Rematerializable):
            return found.shard(target)
        at: LocalTensor | None = found
        while at is not None:
            if at.sharding == target:
                return at.value
            at = at.before
        emitter = found.emitter
        return emitter.once(
            ("reshard", found.value, target), lambda: self._reshard(original, found, target)
        )

    def values(self, originals: Sequence[SSAValue], shardings: Shardings) -> list[SSAValue]:
        """Return the local values of several values, each in its sharding."""
        return [self.value(*pair) for pair in zip(originals, shardings, strict=True)]

    def is_known(self, original: SSAValue, sharding: Sharding | None) -> bool:
        """Return whether a tensor is already available in a sharding."""
        found, target = self._tensors[original], normal(sharding)
        if isinstance(found, Rematerializable) or found.sharding == target:
            return True
        return found.emitter.known(("reshard", found.value, target)) is not None

    def _reshard(self, original: SSAValue, found: LocalTensor, target: Sharding | None) -> SSAValue:
        tensor_type = tensor_type_of(original)
        source = found.sharding
        value = found.value
        if source is not None and target is not None and source.grid != target.grid:
            check_same_processes(original, source, target)
            value, source = self.demand(original, None), None
        present = source or target
        assert present is not None
        start = source or Sharding.replicated(present.grid, present.rank)
        end = target or Sharding.replicated(present.grid, present.rank)
        end = without_new_partials(start, end)
        return emit_reshard(
            found.emitter,
            value,
            tensor_type,
            lambda dimension: self.global_size(original, dimension),
            start,
            end,
        )

    def destination(self, result: SSAValue) -> Sharding | None:
        """Return the sharding that all users want behind the annotation of the producer, or `None`.

        A pending reduction of the value then need not be finished in the producer's sharding: a
        reduce-scatter sends less than an all-reduce followed by a slice.
        """
        use = result.get_user_of_unique_use()
        if use is None or use.name != SHARD or self.annotations.of(use)[1]:
            return None
        found: Sharding | None = None
        for onward in use.results[0].uses:
            if onward.operation.name != SHARD:
                return None
            sharding, is_for_users = self.annotations.of(onward.operation)
            if not is_for_users or (found is not None and sharding != found):
                return None
            found = sharding
        if found is None or found.halos or found.offsets or found.partials:
            return None
        return found

    def global_size(self, original: SSAValue, dimension: int) -> IndexOrInt:
        """Return the size of a dimension of the whole tensor; this may emit a collective.

        Raises ValueError for a rematerializable tensor whose dynamic sizes are not recorded.
        """
        size = shape(original)[dimension]
        if size is not None:
            return size
        root = self._root((original, dimension))
        if isinstance(root, SSAValue):
            return self.scalar(root)
        original, dimension = root
        found = self._tensors[original]
        if isinstance(found, Rematerializable):
            raise ValueError(f"{found.operation.name} has a dimension of unknown size")
        emitter, sharding = found.emitter, found.sharding
        local = emitter.dimension(found.value, dimension)
        if sharding is None:
            return local
        local = emitter.subtract(local, sum(halo(sharding, dimension)))
        axes = sharding.dimension_axes[dimension]
        if not axes:
            return local
        limits = explicit_offsets(sharding, dimension)
        if limits is not None:
            return limits[-1]
        return emitter.once(
            ("size", found.value, dimension),
            lambda: emitter.sum_over(sharding.grid, axes, emitter.index(local)),
        )

    def local_extent(
        self,
        original: SSAValue,
        dimension: int,
        sharding: Sharding | None,
        emitter: Emitter | None = None,
    ) -> IndexOrInt:
        """Return the size of a dimension of this process's shard, without halos."""
        emitter = emitter or self.emitter
        if sharding is None or not sharding.dimension_axes[dimension]:
            return self.global_size(original, dimension)
        known = self._local_extents.get(self._extent_key(original, dimension, sharding))
        if known is not None and emitter.reaches(known[0]):
            owner, value, index = known
            return owner.dimension(value, index)
        size = self.global_size(original, dimension)
        return emitter.shard_interval(size, sharding, dimension)[1]

    def shard_start(
        self, original: SSAValue, dimension: int, sharding: Sharding | None
    ) -> IndexOrInt:
        """Return where this process's shard of a dimension begins, without halos."""
        if sharding is None or not sharding.dimension_axes[dimension]:
            return 0
        size = self.global_size(original, dimension)
        return self.emitter.shard_interval(size, sharding, dimension)[0]

    def _extent_key(self, original: SSAValue, dimension: int, sharding: Sharding | None) -> object:
        root = self._root((original, dimension))
        if sharding is None or not sharding.dimension_axes[dimension]:
            return root, None, (), None
        axes = sharding.dimension_axes[dimension]
        return root, sharding.grid.name, axes, explicit_offsets(sharding, dimension)

    def _root(self, dimension: Dimension) -> Dimension | SSAValue:
        """Return the representative dimension, or index of the source, that has the same size."""
        at: Dimension | SSAValue = dimension
        while True:
            if isinstance(at, SSAValue):
                if (owner := made_by(at, "tensor.dim")) is None:
                    return at
                index = constant_integer(owner.operands[1])
                source = owner.operands[0]
                if index is None or source not in self._tensors or index not in dimensions(source):
                    return at
                at = (source, index)
            following = self._same_size.get(at)
            if following is None:
                return at
            at = following

    def partition(self, operation: Operation) -> None:
        """Emit the local form of an operation. Raises OperationError if that is impossible."""
        self.emitter.location = operation.location
        handler: Handler = find_handler(operation)
        handler(self, operation)

    @contextmanager
    def inside(self, block: Block) -> Generator[Emitter, None, None]:
        """Emit into a block in a region of an operation that is not yet emitted itself."""
        before = self.emitter
        self.emitter = Emitter(block, before)
        try:
            yield self.emitter
        finally:
            self.emitter = before


@dataclass(frozen=True, slots=True)
class OpSharding:
    """An operation of the source program with the sharding chosen for it."""

    partitioner: Partitioner = field(compare=False, repr=False)
    operation: Operation
    grid: Grid
    rule: FactorRule
    assignment: Assignment
    operand_shardings: tuple[Sharding, ...]
    """The sharding that each operand must have."""
    result_shardings: tuple[Sharding, ...]
    """The sharding of each result, without pending reductions."""
    result_types: tuple[Attribute, ...]
    """The local types of the results."""
    combiners: tuple[Combiner | None, ...]
    """The combiner of partial values of each result; `None` if the operation does not reduce."""
    inherited_partials: tuple[Partial, ...] = ()
    """Pending reductions of operands that the results inherit."""

    @property
    def emitter(self) -> Emitter:
        """The emitter of the block in which the local operation is emitted."""
        return self.partitioner.emitter

    @property
    def local_type(self) -> TensorType[Attribute]:
        """The local type of the first result, a tensor."""
        return local_type(tensor_type_of(self.operation.results[0]), self.result_shardings[0])

    @property
    def factor_axes(self) -> tuple[Axes, ...]:
        """The axes of each factor."""
        return tuple(axes for axes, _ in self.assignment)

    @property
    def used_axes(self) -> frozenset[int]:
        """The axes that split any factor."""
        return frozenset(axis for axes, _ in self.assignment for axis in axes)

    @property
    def reduced_axes(self) -> Axes:
        """The axes along which results are partial because a reduction is split."""
        return reduced_axes(self.rule, self.factor_axes)

    @property
    def is_split(self) -> bool:
        """Whether any factor is split, or a pending reduction is inherited."""
        return bool(self.inherited_partials) or any(axes for axes, _ in self.assignment)

    def axes(self, factor: int) -> Axes:
        """Return the axes that split a factor."""
        return self.assignment[factor][0]

    def loop_sharding(self, factor: int) -> Sharding:
        """Return the sharding of a factor as the only dimension of a tensor."""
        return tensor_sharding(self.grid, ((factor,),), self.assignment)

    def loop_parts(self, factor: int) -> list[tuple[int, int]]:
        """Return the interval of each process in a factor of known size."""
        size = self.rule.factors[factor].size
        assert size is not None
        return list(pairwise(shard_offsets(size, self.loop_sharding(factor), 0)))


def normal(sharding: Sharding | None) -> Sharding | None:
    """Return the canonical form of a sharding: `None` if each process holds the whole tensor."""
    if sharding is not None and sharding.is_replicated and not sharding.halos:
        return None
    return sharding


def finished(sharding: Sharding | None) -> Sharding | None:
    """Return the canonical form of a sharding after its pending reductions."""
    return None if sharding is None else normal(sharding.without_partials())


def shape(value: SSAValue) -> tuple[int | None, ...]:
    """Return the shape of a tensor of the source program; empty for any other value."""
    return tensor_shape(value) or ()


def dimensions(value: SSAValue) -> range:
    """Return the dimension numbers of a tensor of the source program."""
    return range(len(shape(value)))


def check_same_processes(value: SSAValue, source: Sharding, target: Sharding) -> None:
    """Check that two grids have equally many processes. Raises OperationError if not.

    Processes of the two grids correspond by their numbers.
    """
    left, right = source.grid, target.grid
    if left.is_static and right.is_static and left.device_count() == right.device_count():
        return
    raise OperationError(
        maker_of(value),
        f"is on grid @{left.name} but needed on grid @{right.name}: expected grids with the same "
        "number of devices",
        [
            Note(f"grid @{left.name} has shape {extents_text(left.shape)}"),
            Note(f"grid @{right.name} has shape {extents_text(right.shape)}"),
        ],
    )
