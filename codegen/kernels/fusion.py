"""Decide which tensors of a block are stored and which are fused into a kernel that reads them.

    %e = math.exp %x              # fused into the kernel of %s
    %s = arith.addf %e, %y        # stored, because the product reads its elements repeatedly
    %p = linalg.matmul ins(%s, %w) ...

The operations are visited from last to first. Each tensor collects demands: the kernels that read
it, and how often each element is read. A tensor is fused if all its readers belong to one kernel
and no element would be computed twice. Tensors that only rearrange another are fused into every
reader.

An operation whose body may fail must compute all elements, even if nothing reads them, and before
any later operation can fail, because the first error of the program must be reported. It is fused
only where that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.linalg.structured_view import IteratorType, StructuredView, structured_view
from ...ir.attribute_access import integers, operand_groups
from ...ir.diagnostics import OperationError
from ...ir.regions import captured
from ...runtime.abi.elements import element_of
from ...runtime.abi.values import element_type
from ..scalar_ops.scalars import is_scalar_operation
from .element_loops import is_element_loop
from .expressions import DATA_MOVEMENT, RESHAPES, RULES, Access, unit_reshape, written_loops
from .factorizations import FACTORIZATIONS, has_factorization_kernel
from .fourier import FOURIER, has_fourier_kernel
from .index_ranges import unproven
from .mmt4d import MMT4D
from .product_sums import has_windows, is_long, product_factors, reduces_jointly
from .slice_loops import SLICE_OPERATIONS
from .static_values import (
    CONSTANTS,
    computed_constants,
    has_fixed_shapes,
    is_index_operand,
    is_number,
    may_divide_by_zero,
    shape_of,
)
from .tosa_expressions import ELEMENTWISE, MOVEMENTS, is_pointwise_tosa, is_read
from .tosa_kernels import TOSA_KERNELS, has_tosa_kernel
from .writer import BODY_OPERATIONS

MAX_GROUP_OPERATIONS = 48
"""The most operations fused into one kernel: beyond that, compile time outweighs traffic."""

MIN_WINDOW_READS = 16
"""The reads of each element by a convolution from which on a rearranged operand is stored first."""

KERNEL_ONLY = frozenset(("linalg.softmax", FOURIER, *FACTORIZATIONS))
"""Operations with a kernel of their own that is not a loop nest over result elements."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A kernel, named by its root operation, that reads a tensor with some access."""

    root: Operation
    access: Access


@dataclass(slots=True)
class FusionPlan:
    """What to do with each operation of a block.

    - `kernels`: the root of each kernel, with the results that the kernel stores;
    - `groups`: the operations that are fused into each root's kernel;
    - `fused`: tensors that are fused wherever they are read;
    - `host`: operations that run on the host;
    - `aligned`: tensors that each root's kernel reads only at the element that it writes next;
    - `shapes`: operations whose results no kernel stores, because they are fused or unread.
    """

    kernels: dict[Operation, tuple[SSAValue, ...]] = field(
        default_factory=dict[Operation, tuple[SSAValue, ...]]
    )
    groups: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    fused: set[SSAValue] = field(default_factory=set[SSAValue])
    host: set[Operation] = field(default_factory=set[Operation])
    aligned: dict[Operation, list[SSAValue]] = field(
        default_factory=dict[Operation, list[SSAValue]]
    )
    shapes: set[Operation] = field(default_factory=set[Operation])


def is_pointwise(operation: Operation) -> bool:
    """Return whether each element of the results can be computed on its own."""
    name = operation.name
    if name in RESHAPES:
        return _is_unit_reshape(operation)
    if name.startswith("tosa."):
        return is_pointwise_tosa(operation)
    if name in ("tensor.extract_slice", "tensor.insert_slice"):
        return _is_statically_in_bounds(operation)
    if name in RULES:
        return True
    if is_scalar_operation(name):
        result_type = operation.results[0].type
        return isinstance(result_type, TensorType | AnyFloat)
    view = structured_view(operation)
    return view is not None and is_pointwise_view(view)


def _is_statically_in_bounds(operation: Operation) -> bool:
    """Return whether a slice is statically in bounds; the host checks all others first."""
    group = 1 if operation.name == "tensor.extract_slice" else 2
    if any(operand_groups(operation, operation.operands)[group:]):
        return False
    whole = shape_of(operation.operands[group - 1])
    parts = ("offsets", "sizes", "strides")
    lists = [integers(operation, f"static_{part}") for part in parts]
    return all(
        0 <= offset <= size and stride > 0 and 0 <= offset + (count - 1) * stride < max(size, 1)
        for size, offset, count, stride in zip(whole, *lists, strict=True)
    )


def is_pointwise_view(view: StructuredView) -> bool:
    """Return whether a view has no reduction, and a result's indices determine its loops."""
    written = written_loops(view)
    same = all(each == view.output_maps[0] for each in view.output_maps)
    return same and written is not None and len(written) == len(view.iterators)


def _is_unit_reshape(operation: Operation) -> bool:
    """Return whether a reshape only adds or removes dimensions of size 1."""
    source, target = shape_of(operation.operands[0]), shape_of(operation.results[0])
    if operation.name == "tosa.reshape" and sum(size < 0 for size in target) > 1:
        # Several dynamic sizes may differ from those of the operand.
        return False
    return operation.name != "tensor.reshape" and unit_reshape(source, target) is not None


def is_kernel(operation: Operation) -> bool:
    """Return whether an operation's results are computed by kernels."""
    if not operation.results:
        return False
    if operation.name == "scf.for":
        body = operation.regions[0].blocks.first
        return (
            is_element_loop(operation, is_pointwise)
            and _has_known_elements(operation)
            and body is not None
            and _is_known_turn(body)
        )
    if not isinstance(operation.results[0].type, TensorType | AnyFloat):
        return False
    known = (
        operation.name == "linalg.softmax"
        or has_factorization_kernel(operation)
        or has_fourier_kernel(operation)
        or has_tosa_kernel(operation)
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
        for value in (*_read_operands(operation), *operation.results):
            element_of(element_type(value.type), operation)
    except OperationError:
        return False
    return True


def _read_operands(operation: Operation) -> Sequence[SSAValue]:
    """Return the operands whose elements a kernel reads."""
    if operation.name.startswith("tosa."):
        return [each for each in operation.operands if is_read(operation, each)]
    return operation.operands


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
            if len(region.blocks) > 1 or not all(_is_known_body(each) for each in region.blocks):
                return False
    return True


def _is_known_turn(block: Block) -> bool:
    """Return whether kernels support the body of a loop, which updates elements or slices."""
    structured = {each.name for each in block.ops if structured_view(each) is not None}
    return _is_known_body(block, BODY_OPERATIONS | SLICE_OPERATIONS | structured | RULES.keys())


def _is_data_movement(operation: Operation) -> bool:
    """Return whether results cost nothing to recompute."""
    if operation.name in DATA_MOVEMENT:
        return True
    view = structured_view(operation)
    if view is None:
        return False
    body = view.body
    return body.first_op is body.last_op


def _slides_over(root: Operation, operation: Operation) -> bool:
    """Return whether a convolution reads elements so often that they should be stored in order."""
    view = structured_view(root)
    if view is None or product_factors(view.body) is None or not has_windows(view):
        return False
    loops, shape = view.loop_sizes(), shape_of(operation.results[0])
    if None in loops or min(shape, default=0) <= 0:
        return False
    return prod(size or 0 for size in loops) >= MIN_WINDOW_READS * prod(shape)


def _map_access(view: StructuredView, affine_map: AffineMap) -> Access:
    loops = len(view.iterators)
    if affine_map == AffineMap.identity(loops):
        same = all(each == affine_map for each in view.output_maps)
        has_reduction = IteratorType.REDUCTION in view.iterators
        return Access.EACH if same or has_reduction else Access.ONCE
    used = {str(expression) for expression in affine_map.results}
    if len(used) == loops and used == {f"d{loop}" for loop in range(loops)}:
        return Access.ONCE
    return Access.MANY


_ONCE_OPERANDS = {
    # Operations that read an operand at other indices than the result's, but each element at most
    # once.
    **dict.fromkeys(
        (*RESHAPES, "tensor.extract_slice", "tensor.concat", "tensor.pad"), Access.ONCE
    ),
    **dict.fromkeys(MOVEMENTS, Access.ONCE),
    "tosa.tile": Access.MANY,
    "linalg.pack": Access.ONCE,
    "linalg.unpack": Access.ONCE,
    "tensor.insert": Access.SAME,
    "tensor.insert_slice": Access.ONCE,
}


def _accesses(operation: Operation) -> Sequence[tuple[SSAValue, Access]]:
    """Return how an operation's kernel reads each operand and each captured value."""
    view = structured_view(operation)
    pairs: list[tuple[SSAValue, Access]] = []
    if view is None:
        default = _ONCE_OPERANDS.get(operation.name, Access.EACH)
        if operation.name in KERNEL_ONLY or operation.name in TOSA_KERNELS:
            default = Access.MANY
        for operand in _read_operands(operation):
            # Dynamic sizes are expected to be equal.
            is_repeated = operation.name in ELEMENTWISE and (
                shape_of(operand) != shape_of(operation.results[0])
            )
            pairs.append((operand, Access.MANY if is_repeated else default))
    else:
        # An operand that the body does not use is not computed.
        used = {element.index for element in view.body.args if element.first_use is not None}
        operands = (*view.inputs, *view.outputs)
        for position, (operand, affine_map) in enumerate(zip(operands, view.maps, strict=True)):
            access = _map_access(view, affine_map) if _is_tensor(operand) else Access.MANY
            pairs.append((operand, access if position in used else max(access, Access.SAME)))
    pairs.extend((value, Access.MANY) for value in captured(operation))
    return pairs


def _is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def _is_float(value: SSAValue) -> bool:
    return isinstance(value.type, AnyFloat)


def no_operation(operation: Operation) -> bool:
    """Return False: no operation runs on the host instead of in a kernel."""
    return False


def plan_block(block: Block, on_host: Callable[[Operation], bool] = no_operation) -> FusionPlan:
    """Plan every operation of a block.

    `on_host` selects operations with kernels that run on the host nevertheless. An unread operation
    is kept only for the errors that it may raise.
    """
    planner = _Planner(block)
    for operation in reversed(list(block.ops)):
        if operation.name in CONSTANTS:
            planner.plan_constant(operation)
        elif is_kernel(operation) and not on_host(operation):
            if not has_fixed_shapes(operation):
                planner.next_failing = operation
            planner.plan_kernel(operation)
        elif planner.is_constant_for_kernels(operation):
            planner.plan_computed_constant(operation)
        elif planner.has_purpose(operation):
            planner.next_failing = operation
            planner.plan_host(operation)
    planner.find_aligned()
    return planner.plan


class _Planner:
    """Builds the plan of a block, from the last operation to the first."""

    def __init__(self, block: Block) -> None:
        self.plan = FusionPlan()
        self.demands: dict[SSAValue, list[Demand]] = {}
        self.wanted_by_host = set(_read_by_other_blocks(block))
        self.next_failing: Operation | None = None
        """The next operation that may raise an error at run time."""
        self._pointwise: dict[Operation, bool] = {}
        self._computed_constants = computed_constants(block)

    def _is_read(self, value: SSAValue) -> bool:
        return value in self.demands or value in self.wanted_by_host

    def _is_pointwise(self, operation: Operation) -> bool:
        """Return `is_pointwise`, cached."""
        found = self._pointwise.get(operation)
        if found is None:
            found = self._pointwise[operation] = is_pointwise(operation)
        return found

    def _ask(self, operation: Operation, roots: dict[Operation, Access]) -> None:
        for operand, own in _accesses(operation):
            self.demands.setdefault(operand, []).extend(
                Demand(root, max(own, access)) for root, access in roots.items()
            )

    def has_purpose(self, operation: Operation) -> bool:
        """Return whether an operation without a kernel must run: it is read or may fail.

        Of scalar arithmetic, only divisions fail.
        """
        return (
            not is_scalar_operation(operation.name)
            or any(map(self._is_read, operation.results))
            or may_divide_by_zero(operation)
        )

    def plan_constant(self, operation: Operation) -> None:
        """Plan a constant: kernels contain scalars and splats; the host stores other constants."""
        result = operation.results[0]
        is_array = result in self.demands and not is_number(result)
        if result in self.wanted_by_host or is_array:
            self.plan.host.add(operation)

    def is_constant_for_kernels(self, operation: Operation) -> bool:
        """Return whether an operation computes an integer of constants for kernels alone."""
        if operation not in self._computed_constants:
            return False
        (result,) = operation.results
        is_for_host = result in self.wanted_by_host or is_index_operand(
            result, self._computed_constants
        )
        return result in self.demands and not is_for_host

    def plan_computed_constant(self, operation: Operation) -> None:
        """Plan an integer that each kernel computes again, so that it is a constant there."""
        (result,) = operation.results
        roots = {demand.root: Access.MANY for demand in self.demands[result]}
        self.plan.fused.add(result)
        for root in roots:
            self.plan.groups.setdefault(root, []).append(operation)
        self._ask(operation, roots)

    def plan_host(self, operation: Operation) -> None:
        """Plan an operation that runs on the host."""
        self.plan.host.add(operation)
        self.wanted_by_host.update(operation.operands)
        self.wanted_by_host.update(captured(operation))

    def plan_kernel(self, operation: Operation) -> None:
        """Plan an operation as a kernel of its own, or fused into others."""
        plan, may_fail = self.plan, bool(unproven(operation))
        read = [each for each in operation.results if self._is_read(each)]
        if not read and not may_fail:
            plan.shapes.add(operation)
            numbers = (each for each in operation.operands if not _is_tensor(each))
            self.wanted_by_host.update(each for each in numbers if not _is_float(each))
            return
        roots = self._fusing_roots(operation, may_fail=may_fail)
        if roots is not None and read:
            plan.shapes.add(operation)
            plan.fused.update(operation.results)
            for root in roots:
                plan.groups.setdefault(root, []).append(operation)
            self._ask(operation, roots)
        elif operation.name in VIEWS:
            plan.host.add(operation)
            self.wanted_by_host.update(operation.operands)
        else:
            # A reduction accumulates in all of its results, whether they are read or not.
            stored = read if read and self._is_pointwise(operation) else operation.results
            plan.kernels[operation] = tuple(stored)
            self._ask(operation, {operation: Access.EACH})

    def _fusing_roots(
        self, operation: Operation, *, may_fail: bool
    ) -> dict[Operation, Access] | None:
        """Return the kernels that fuse an operation, or `None` if its results are stored."""
        if not self._is_pointwise(operation) or any(
            each in self.wanted_by_host for each in operation.results
        ):
            return None
        found = [each for result in operation.results for each in self.demands.get(result, ())]
        roots: dict[Operation, Access] = {}
        for demand in found:
            roots[demand.root] = max(demand.access, roots.get(demand.root, Access.EACH))
        if any(len(self.plan.groups.get(root, ())) >= MAX_GROUP_OPERATIONS for root in roots):
            return None
        if _is_data_movement(operation):
            # A transform reads rows that lie in memory, too.
            slides = any(
                access is Access.MANY and (_slides_over(root, operation) or root.name == FOURIER)
                for root, access in roots.items()
            )
            return None if slides else roots
        if len(roots) != 1 or operation.name == "tensor.insert_slice":
            return None
        ((root, access),) = roots.items()
        if is_long(operation) and reduces_jointly(root):
            return None
        if may_fail and not (access is Access.EACH and self._is_next(root)):
            return None
        once = access <= Access.SAME or (access is Access.ONCE and len(found) == 1)
        return roots if once else None

    def _is_next(self, root: Operation) -> bool:
        """Return whether no other operation can fail from here to the end of a root's kernel."""
        return self.next_failing is None or (
            self.next_failing is not root and root.is_before_in_block(self.next_failing)
        )

    def find_aligned(self) -> None:
        """Record which tensors each kernel reads only at the element that it writes next."""
        for value, found in self.demands.items():
            for root in {demand.root for demand in found}:
                own = [demand.access for demand in found if demand.root is root]
                if self._is_aligned(value, root, own):
                    self.plan.aligned.setdefault(root, []).append(value)

    def _is_aligned(self, value: SSAValue, root: Operation, accesses: Sequence[Access]) -> bool:
        """Return whether a kernel reads a tensor only at the element that it writes next."""
        if self._is_pointwise(root) or root.name == "scf.for":
            return max(accesses) <= Access.SAME
        # An mmt4d adds each sum to its initial value just before it stores the element.
        view = structured_view(root) if root.name in MMT4D else None
        return view is not None and value is view.outputs[0] and len(accesses) == 1


def _read_by_other_blocks(block: Block) -> list[SSAValue]:
    """Return the values that other blocks of the same region use."""
    region = block.parent_region()
    if region is None or len(region.blocks) == 1:
        return []
    return [
        result
        for operation in block.ops
        for result in operation.results
        if any(block.find_ancestor_op_in_block(use.operation) is None for use in result.uses)
    ]


VIEWS = frozenset(
    (*RESHAPES, "tensor.cast", "tensor.empty", "tensor.extract_slice", "tensor.insert_slice")
)
"""Operations that the host runs where they are not fused, because often nothing is copied."""
