"""What a partitioned program costs one device: collectives, bytes sent, work and memory.

The numbers are counted from the program, not measured:

- bytes sent are those of ring algorithms (`sharding/collectives.py`);
- work is the number of scalar `arith` and `math` operations other than constants, comparisons and
  conversions that loop nests and elementwise operations run;
- peak memory is that of tensors that are still to be read, at the moment when they are most. An
  operation writes into its destination if nobody else reads that; `tensor.empty` holds nothing.

Where processes hold unequal shards, the numbers are those of the last process along all grid axes
(`local_sizes.py`), and a halo is that of a process with two neighbours.

Loops count as often as they turn if that is known, else once, and of branches the one that sends
most, or works most. What has a size that is known only at run time is not counted, and the report
says how many operations that were. A host program costs what the kernels that it dispatches cost;
its memory is the runtime's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.linalg.structured_view import StructuredView, structured_view
from ...dialects.shard.attributes import AxesArrayAttr
from ...dialects.shard.boundary import enclosing_grid
from ...ir.attribute_access import number_list
from ...ir.host_programs import CALLS, EXECUTABLES, FUNCTIONS
from ...ir.symbols import symbol
from ...ir.tensor_types import element_bytes, ranked
from ...sharding.collectives import COLLECTIVES, RECV, UPDATE_HALO
from ..imports.import_annotations import import_mesh
from ..sizes.local_sizes import LocalSizes
from ..stream.kernels.exports import entry_points
from .annotations.access import axes_of, grid_name
from .partition.partitioner import constant_index

Shapes = Callable[..., Sequence[int] | None]
"""The shape of a value, on the first process along some grid axes or on the last one."""

_FREE = frozenset(
    """
    arith.bitcast arith.cmpf arith.cmpi arith.constant arith.extf arith.extsi arith.extui
    arith.fptosi arith.fptoui arith.index_cast arith.index_castui arith.select arith.sitofp
    arith.truncf arith.trunci arith.uitofp tosa.cast tosa.const tosa.identity tosa.select
    """.split()
)
"""Elementwise operations that move, compare or convert."""

_TOSA_WORK = frozenset(
    """
    abs add arithmetic_right_shift bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clz
    cos erf exp floor intdiv log logical_and logical_left_shift logical_not logical_or
    logical_right_shift logical_xor maximum minimum mul negate pow reciprocal rescale rsqrt sigmoid
    sin sub tanh
    """.split()
)


_NOT_COUNTED = frozenset(
    """
    linalg.softmax tosa.argmax tosa.avg_pool2d tosa.depthwise_conv2d tosa.fft2d tosa.max_pool2d
    tosa.resize tosa.rfft2d tosa.transpose_conv2d
    """.split()
)
"""Operations whose work nothing here knows."""

_ANNOTATIONS = frozenset(
    "mesh.shard sdy.propagation_barrier sdy.reshard sdy.sharding_constraint shard.shard".split()
)
"""Operations whose result is their operand."""

_HOLDS_NOTHING = _ANNOTATIONS | {"tensor.empty"}

_BRANCHES = ("scf.if", "scf.index_switch")
"""Operations of which one region runs."""


@dataclass(slots=True)
class Cost:
    """What a stretch of a program costs one device."""

    collectives: dict[tuple[str, str], tuple[int, float]] = field(
        default_factory=dict[tuple[str, str], tuple[int, float]]
    )
    """By name and axes: how often, and the bytes that it sends in all."""
    work: float = 0.0
    """Scalar operations."""
    peak: int = 0
    """Bytes."""
    uncounted: int = 0
    """Operations with sizes that are known only at run time, or whose work is not."""
    dispatches: int = 0
    """Kernels that a host program runs; its buffers are not among the bytes."""

    @property
    def sent(self) -> float:
        """Bytes that a device sends."""
        return sum(sent for _, sent in self.collectives.values())

    def add(self, other: Cost, times: int = 1) -> None:
        """Add what another stretch costs, apart from memory."""
        for key, (count, sent) in other.collectives.items():
            old_count, old_sent = self.collectives.get(key, (0, 0.0))
            self.collectives[key] = old_count + times * count, old_sent + times * sent
        self.work += times * other.work
        self.uncounted += other.uncounted
        self.dispatches += times * other.dispatches


def render_report(module: ModuleOp) -> str:
    """The costs of every function of a module, as text."""
    return "\n".join(_render(name, cost) for name, cost in function_costs(module).items())


def function_costs(module: ModuleOp) -> dict[str, Cost]:
    """The costs of every function of a module by its name; kernels are part of who dispatches them.

    Raises OperationError for what `mesh` says and makes no sense.
    """
    module = module.clone()
    import_mesh(module)
    counter = _Counter(module)
    return {
        name: counter.function(function)
        for name, function in counter.functions.items()
        if function.regions[0].blocks
    }


def _render(name: str, cost: Cost) -> str:
    lines = [f"@{name}, for one device:"]
    for (collective, axes), (count, sent) in sorted(cost.collectives.items()):
        lines.append(f"  {count:6} x {collective} over {axes}: {sent:.0f} bytes sent")
    lines.append(f"  bytes sent     {cost.sent:.0f}")
    lines.append(f"  operations     {cost.work:.0f}")
    if not cost.dispatches:
        lines.append(f"  peak memory    {cost.peak} bytes")
    if cost.uncounted:
        lines.append(
            f"  not counted    {cost.uncounted} operations of sizes or kinds not known here"
        )
    return "\n".join(lines) + "\n"


def function_cost(function: FuncOp) -> Cost:
    """What one call of a function costs one device."""
    module = function
    while (parent := module.parent_op()) is not None:
        module = parent
    counter = _Counter(module.clone())
    return counter.function(counter.functions[function.sym_name.data])


class _Counter:
    """Costs of the functions of a module, each counted once.

    The module gets operations that compute sizes, which cost nothing.
    """

    def __init__(self, module: Operation) -> None:
        self._operations = set(module.walk())
        self._sizes = LocalSizes()
        self.functions: dict[str, Operation] = {}
        self._kernels: dict[tuple[str, str], Operation] = {}
        for operation in module.walk():
            if operation.name in FUNCTIONS:
                name = symbol(operation, "sym_name")
                executable = _executable_of(operation)
                if executable is None:
                    self.functions[name] = operation
                else:
                    self._kernels[symbol(executable, "sym_name"), name] = operation
        self._known: dict[Operation, Cost] = {}

    def function(self, function: Operation) -> Cost:
        """What one call costs; a recursive call inside counts as nothing."""
        found = self._known.get(function)
        if found is None:
            self._known[function] = Cost()
            found = Cost()
            for block in function.regions[0].blocks:
                cost = self._block(block)
                found.add(cost)
                found.peak = max(found.peak, cost.peak)
            self._known[function] = found
        return found

    def _block(self, block: Block) -> Cost:
        total = Cost()
        operations = [operation for operation in block.ops if operation in self._operations]
        last_use = _last_uses(block, operations)
        # Whoever calls holds the arguments to the end.
        live: dict[SSAValue, int] = {argument: self._bytes(argument) for argument in block.args}
        total.peak = sum(live.values())
        for index, operation in enumerate(operations):
            inner = self._operation(operation)
            total.add(inner)
            dying = [
                operand
                for operand in set(map(_held, operation.operands))
                if last_use.get(operand) == index and operand in live and operand.owner is not block
            ]
            view = structured_view(operation)
            for operand in () if view is None else map(_held, view.outputs):
                if operand in dying:
                    del live[operand]
                    dying.remove(operand)
            for result in operation.results:
                holds = operation.name not in _HOLDS_NOTHING
                live[result] = self._bytes(result) if holds else 0
            total.peak = max(total.peak, sum(live.values()) + inner.peak)
            for operand in dying:
                del live[operand]
            for result in operation.results:
                if result.first_use is None:
                    del live[result]
        return total

    def _operation(self, operation: Operation) -> Cost:
        cost = Cost()
        if operation.name in COLLECTIVES and operation.name != RECV.operation:
            self._collective(operation, cost)
            return cost
        for entry in entry_points(operation):
            # Of several kernels the first that fits is run, and they do the same.
            names = entry.root_reference.data, entry.string_value().rpartition(".")[2]
            kernel = self._kernels.get(names)
            if kernel is not None:
                cost.add(self.function(kernel))
                cost.dispatches += 1
                return cost
        if operation.name in CALLS:
            callee = self.functions.get(symbol(operation, "callee"))
            if callee is not None and callee.regions[0].blocks:
                called = self.function(callee)
                cost.add(called)
                cost.peak = max(0, called.peak - sum(map(self._bytes, operation.operands)))
            return cost
        view = structured_view(operation)
        if view is not None:
            self._count_loops(view, cost)
            return cost
        if operation.regions:
            times = _turns(operation)
            parts = [self._region(region) for region in operation.regions]
            cost.peak = max(part.peak for part in parts)
            if operation.name in _BRANCHES:
                parts = [max(parts, key=lambda part: (part.sent, part.work))]
            for part in parts:
                cost.add(part, times)
            return cost
        self._count_elements(operation, cost)
        return cost

    def _region(self, region: Region) -> Cost:
        total = Cost()
        for block in region.blocks:
            cost = self._block(block)
            total.add(cost)
            total.peak = max(total.peak, cost.peak)
        return total

    def _bytes(self, value: SSAValue) -> int:
        """The size of a tensor, 0 if it is not known and for anything else."""
        shape = self._sizes.shape(value)
        return 0 if shape is None else prod(shape) * element_bytes(value)

    def _count_loops(self, view: StructuredView, cost: Cost) -> None:
        sizes: dict[AffineExpr, int] = {}
        for operand, affine_map in zip((*view.inputs, *view.outputs), view.maps, strict=True):
            shape = self._sizes.shape(operand)
            if shape is not None:
                sizes.update(zip(affine_map.results, shape, strict=True))
        loops = [sizes.get(AffineExpr.dimension(loop)) for loop in range(len(view.iterators))]
        known = [size for size in loops if size is not None]
        if len(known) != len(loops):
            cost.uncounted += 1
            return
        scalar = sum(
            1
            for inner in view.body.walk()
            if inner.name.startswith(("arith.", "math.")) and inner.name not in _FREE
        )
        cost.work += scalar * prod(known)

    def _count_elements(self, operation: Operation, cost: Cost) -> None:
        dialect, _, name = operation.name.partition(".")
        if operation.name in _FREE or not operation.results:
            return
        result = operation.results[0]
        if not isinstance(result.type, TensorType):
            return
        if dialect in ("arith", "math") or (dialect == "tosa" and name in _TOSA_WORK):
            counted, factor = result, 1
        elif dialect == "tosa" and name.startswith("reduce_"):
            counted, factor = operation.operands[0], 1
        elif operation.name == "tosa.matmul":
            counted, factor = result, 2 * max(1, _extent(operation.operands[0], 2))
        elif operation.name in ("tosa.conv2d", "tosa.conv3d"):
            weight = operation.operands[1].type
            inner = weight.get_shape()[1:] if isinstance(weight, TensorType) else ()
            counted, factor = result, 2 * max(1, prod(inner))
        else:
            cost.uncounted += operation.name in _NOT_COUNTED
            return
        shape = self._sizes.shape(counted)
        if shape is None:
            cost.uncounted += 1
            return
        cost.work += factor * prod(shape)

    def _collective(self, operation: Operation, cost: Cost) -> None:
        grid = enclosing_grid(operation, grid_name(operation))
        axes = _axes(operation)
        sent = _sent(operation, self._sizes.shape)
        if sent is None:
            cost.uncounted += 1
            sent = 0.0
        extents = "x".join("?" if grid is None else str(grid.shape[a] or "?") for a in axes)
        where = f"@{grid_name(operation)}{list(axes)} ({extents or 1})"
        cost.collectives[operation.name, where] = (1, sent)


def bytes_sent(operation: Operation) -> float | None:
    """What each device sends in a collective by ring algorithms, `None` for unknown sizes."""

    def shape(value: SSAValue, first_along: Sequence[int] = ()) -> Sequence[int] | None:
        value_type = ranked(value)
        static = value_type is not None and value_type.has_static_shape()
        return value_type.get_shape() if value_type is not None and static else None

    return _sent(operation, shape)


def _axes(operation: Operation) -> Sequence[int]:
    split = operation.get_attr_or_prop("split_axes")
    if isinstance(split, AxesArrayAttr):
        return tuple(axis for axes in split.lists() for axis in axes)
    return axes_of(operation)


def _sent(operation: Operation, shape_of: Shapes) -> float | None:
    """The bytes that a device sends in a collective, `None` if that is not known."""
    source = operation.operands[0]
    if operation.name == UPDATE_HALO.operation:
        return _halo_bytes(operation, shape_of)
    grid = enclosing_grid(operation, grid_name(operation))
    group = None if grid is None else grid.size(_axes(operation))
    shape = shape_of(source)
    if group is None or shape is None:
        return None
    size = prod(shape) * element_bytes(source)
    row = COLLECTIVES[operation.name]
    if row.joins and not row.divides:
        whole, first = shape_of(operation.results[0]), shape_of(source, _axes(operation))
        if whole is not None and first is not None:
            # All pieces but that of the next process in the ring, which is the first.
            return float((prod(whole) - prod(first)) * element_bytes(source))
    return size * row.sent(group)


def _halo_bytes(operation: Operation, shape_of: Shapes) -> float | None:
    """A process sends to each neighbour along a dimension what that has as a halo."""
    split = operation.get_attr_or_prop("split_axes")
    widths = operation.get_attr_or_prop("static_halo_sizes")
    source = operation.operands[0]
    value_type = ranked(source)
    if (
        value_type is None
        or not isinstance(split, AxesArrayAttr)
        or not isinstance(widths, DenseArrayBase)
    ):
        return None
    numbers = [int(width) for width in widths.get_values()]
    if min(numbers, default=0) < 0:
        return None
    dimensions = [d for d, axes in enumerate(split.lists()) if axes]
    shape = shape_of(source) or value_type.get_shape()
    sent = 0
    for dimension, low, high in zip(dimensions, numbers[::2], numbers[1::2], strict=True):
        others = [size for index, size in enumerate(shape) if index != dimension]
        if DYNAMIC_INDEX in others and low + high:
            return None
        sent += prod(others) * (low + high) * element_bytes(source)
    return float(sent)


def _held(value: SSAValue) -> SSAValue:
    """The value whose memory a value is in."""
    while isinstance(value.owner, Operation) and value.owner.name in _ANNOTATIONS:
        value = value.owner.operands[0]
    return value


def _executable_of(function: Operation) -> Operation | None:
    """The executable that a function is a kernel of."""
    around = function.parent_op()
    while around is not None and around.name not in EXECUTABLES:
        around = around.parent_op()
    return around


def _last_uses(block: Block, operations: Sequence[Operation]) -> dict[SSAValue, int]:
    """For each value that operations of a block read, the index of the last that does."""
    last: dict[SSAValue, int] = {}
    for index, operation in enumerate(operations):
        for inner in operation.walk():
            for operand in inner.operands:
                last[_held(operand)] = index
    return last


def _turns(operation: Operation) -> int:
    """How often the body of a loop runs, 1 where that is not known."""
    if operation.name == "scf.forall":
        low, high, step = (
            number_list(operation.properties.get(f"static{name}"))
            for name in ("LowerBound", "UpperBound", "Step")
        )
        if DYNAMIC_INDEX in (*low, *high, *step) or 0 in step:
            return 1
        return prod(max(0, -(-(b - a) // s)) for a, b, s in zip(low, high, step, strict=True))
    if operation.name != "scf.for":
        return 1
    bounds = [constant_index(bound) for bound in operation.operands[:3]]
    low, high, step = bounds
    if low is None or high is None or not step:
        return 1
    return max(0, -(-(high - low) // step))


def _extent(value: SSAValue, dimension: int) -> int:
    value_type = value.type
    return value_type.get_shape()[dimension] if isinstance(value_type, TensorType) else 0
