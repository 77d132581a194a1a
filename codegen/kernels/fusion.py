"""Decide which tensors of a block are stored and which are fused into a kernel that reads them.

    %e = math.exp %x              # fused into the kernel of %s
    %s = arith.addf %e, %y        # stored, because the product reads its elements repeatedly
    %p = linalg.matmul ins(%s, %w) ...

The operations are visited from last to first. Each tensor collects demands: the kernels that read
it, and how often each element is read. A tensor is fused if all its readers belong to one kernel
and no element would be computed twice. Tensors that only rearrange another are fused into every
reader. Kernels that compute elements one by one become one kernel with the results of all, if they
read a tensor that need not be stored then, or if they are small and read the same tensor. The
kernel of a sum along rows stores a tensor that it computes and others read, such as the powers of a
softmax.

An operation whose body may fail must compute all elements, even if nothing reads them, and before
any later operation can fail, because the first error of the program must be reported. It is fused
only where that holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.linalg.structured_view import structured_view
from ...dialects.tensor.dialect import UPDATES
from ...ir.host_programs import LOOPS
from ...ir.regions import captured
from .elements.expressions import RESHAPES, Access
from .elements.index_ranges import unproven
from .elements.pointwise import is_long, is_pointwise
from .elements.scalar_operations import is_scalar_operation
from .elements.static_values import (
    CONSTANTS,
    computed_constants,
    has_fixed_shapes,
    is_index_operand,
    is_number,
    is_tensor,
    may_divide_by_zero,
    shape_of,
)
from .linear_algebra.fourier import FOURIER
from .operations import (
    TILE_LOOPS,
    accesses,
    is_cheap_to_repeat,
    is_cheap_view,
    is_data_movement,
    is_kernel,
    reads_across_batch,
    reads_in_order,
    reduces_jointly,
    reduces_rows,
    slides_over,
)
from .products.mmt4d import MMT4D

MAX_GROUP_OPERATIONS = 36
"""The most operations fused into one kernel: beyond that, compile time outweighs traffic."""

SMALL_RESULT = 1 << 12
"""The most elements of a result that takes little longer to compute than its kernel to start."""

LONGEST_WAIT = 64
"""The most operations between two kernels that become one."""

_FREE = frozenset(("tensor.empty", "linalg.fill"))
"""Operations that do not count, as they add no code to a kernel."""


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

    def computed_by(self, root: Operation) -> Callable[[SSAValue], bool]:
        """Return which tensors a root's kernel computes where it reads them: fused ones, and those
        of other operations that it stores, too.
        """
        own = {each for each in self.kernels[root] if each.owner is not root}
        return (self.fused | own).__contains__ if own else self.fused.__contains__


def _is_float(value: SSAValue) -> bool:
    return isinstance(value.type, AnyFloat)


def may_fail(operation: Operation) -> bool:
    """Return whether a kernel may fail, or may never end."""
    return bool(unproven(operation)) or operation.name == "scf.while"


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
            if not has_fixed_shapes(operation) or (operation.name in LOOPS and may_fail(operation)):
                planner.next_failing = operation
            planner.plan_kernel(operation)
        elif planner.is_constant_for_kernels(operation):
            planner.plan_computed_constant(operation)
        elif planner.has_purpose(operation):
            planner.next_failing = operation
            planner.plan_host(operation)
    planner.join_siblings()
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
        self._positions = {operation: number for number, operation in enumerate(block.ops)}
        self._joined: dict[Operation, Operation] = {}
        """For each kernel that has become a part of another one, the root of that."""
        self._failing: set[Operation] = set()
        """The roots of kernels with operations that may fail."""
        self._computed_constants = computed_constants(block)

    def _is_read(self, value: SSAValue) -> bool:
        return value in self.demands or value in self.wanted_by_host

    def _is_pointwise(self, operation: Operation) -> bool:
        """Return `is_pointwise`, cached."""
        found = self._pointwise.get(operation)
        if found is None:
            found = self._pointwise[operation] = is_pointwise(operation)
        return found

    def _fuse(self, operation: Operation, roots: dict[Operation, Access]) -> None:
        """Let the kernel of each root compute an operation for itself."""
        self.plan.fused.update(operation.results)
        for root in roots:
            self.plan.groups.setdefault(root, []).append(operation)
        self._ask(operation, roots)

    def _ask(self, operation: Operation, roots: dict[Operation, Access]) -> None:
        for operand, own in accesses(operation):
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
        self._fuse(operation, {self._root(each): Access.MANY for each in self.demands[result]})

    def plan_host(self, operation: Operation) -> None:
        """Plan an operation that runs on the host."""
        self.plan.host.add(operation)
        self.wanted_by_host.update(operation.operands)
        self.wanted_by_host.update(captured(operation))

    def plan_kernel(self, operation: Operation) -> None:
        """Plan an operation as a kernel of its own, or fused into others."""
        plan, fails = self.plan, may_fail(operation)
        read = [each for each in operation.results if self._is_read(each)]
        if not read and not fails:
            plan.shapes.add(operation)
            numbers = (each for each in operation.operands if not is_tensor(each))
            self.wanted_by_host.update(each for each in numbers if not _is_float(each))
            return
        roots = self._fusing_roots(operation, fails=fails)
        if roots is not None and read:
            plan.shapes.add(operation)
            if fails:
                self._failing.update(roots)
            self._fuse(operation, roots)
        elif not fails and (root := self._storing_root(operation)) is not None:
            plan.shapes.add(operation)
            plan.kernels[root] = (*operation.results, *plan.kernels[root])
            plan.groups.setdefault(root, []).append(operation)
            self._ask(operation, {root: Access.EACH})
        elif operation.name in VIEWS:
            plan.host.add(operation)
            self.wanted_by_host.update(operation.operands)
        else:
            if fails:
                self._failing.add(operation)
            # A reduction accumulates in all of its results, whether they are read or not.
            stored = read if read and self._is_pointwise(operation) else operation.results
            plan.kernels[operation] = tuple(stored)
            self._ask(operation, {operation: Access.EACH})

    def _fusing_roots(self, operation: Operation, *, fails: bool) -> dict[Operation, Access] | None:
        """Return the kernels that fuse an operation, or `None` if its results are stored."""
        if not self._is_pointwise(operation) or any(
            each in self.wanted_by_host for each in operation.results
        ):
            return None
        found = [each for result in operation.results for each in self.demands.get(result, ())]
        roots: dict[Operation, Access] = {}
        for demand in found:
            root = self._root(demand)
            roots[root] = max(demand.access, roots.get(root, Access.EACH))
        if operation.name in _FREE:
            return roots
        if any(map(self._is_full, roots)):
            return None
        if is_data_movement(operation):
            # A transform reads rows that lie in memory, too. To choose the part of a concatenation
            # costs more than to read an element, and keeps products from using vectors, as it does
            # to read across a batch.
            stored = any(
                access is Access.MANY
                and (
                    operation.name == "tensor.concat"
                    or slides_over(root, operation)
                    or reads_across_batch(root, operation)
                    or root.name == FOURIER
                )
                for root, access in roots.items()
            )
            # A slice at a computed offset may be a view of memory, which any loops can read.
            is_computed = operation.name == "tensor.extract_slice" and len(operation.operands) > 1
            most = max(roots.values(), default=Access.EACH)
            if is_computed and (most > Access.ONCE or is_cheap_view(operation)):
                return None
            return None if stored else self._with_repeats(roots, found)
        if operation.name == "tensor.insert_slice":
            return None
        if len(roots) > 1 and not fails and self._join(roots):
            roots = {self._root(found[0]): max(roots.values())}
        if len(roots) != 1:
            is_once = not fails and max(roots.values(), default=Access.MANY) <= Access.SAME
            return roots if is_once and is_cheap_to_repeat(operation) else None
        ((root, access),) = roots.items()
        if is_long(operation) and reduces_jointly(root):
            return None
        if fails and not (access is Access.EACH and root.name not in LOOPS and self._is_next(root)):
            return None
        once = access <= Access.SAME or (access is Access.ONCE and len(found) == 1)
        return roots if once else None

    def _with_repeats(
        self, roots: dict[Operation, Access], found: Sequence[Demand]
    ) -> dict[Operation, Access]:
        """Return how often kernels read what a fused operation moves.

        %0 would be computed twice in one kernel if %1, which is read at two places, counted once:

            %1 = tensor.concat %x, %0
            %2 = tensor.extract_slice %1[0] [8] [1]
            %3 = tensor.extract_slice %1[1] [8] [1]
            %4 = arith.maximumf %2, %3
        """
        readers = Counter(map(self._root, found))
        return {
            root: Access.MANY if access > Access.SAME and readers[root] > 1 else access
            for root, access in roots.items()
        }

    def _root(self, demand: Demand) -> Operation:
        """Return the root of the kernel that a demand is part of now."""
        root = demand.root
        while root in self._joined:
            root = self._joined[root]
        return root

    def _join(self, roots: dict[Operation, Access]) -> bool:
        """Let the last of some kernels store the results of all, if it can; return whether it does.

        %0 is not stored if one kernel computes both of its readers:

            %0 = arith.addf %a, %b
            %1 = arith.mulf %0, %a
            %2 = arith.subf %0, %1
        """
        plan = self.plan
        last = max(roots, key=self._positions.__getitem__)
        if (
            max(roots.values()) > Access.SAME
            or self._is_full(*roots)
            or not self._failing.isdisjoint(roots)
            or not all(self._is_pointwise(root) and root.name not in TILE_LOOPS for root in roots)
            or len({self._shape(root) for root in roots}) != 1
            or min(self._shape(last), default=0) < 0
        ):
            return False
        others = [root for root in roots if root is not last]
        if any(
            self._is_read_before(last, value) for each in others for value in plan.kernels[each]
        ):
            return False
        for each in others:
            plan.kernels[last] = (*plan.kernels.pop(each), *plan.kernels[last])
            plan.groups.setdefault(last, []).extend((each, *plan.groups.pop(each, ())))
            plan.shapes.add(each)
            self._joined[each] = last
        return True

    def _storing_root(self, operation: Operation) -> Operation | None:
        """Return the reduction along rows whose kernel should compute and store a result, if any.

        %0 is written when its elements are summed, and read once less:

            %0 = math.exp %a
            %1 = linalg.reduce { arith.addf } ins(%0) ... dimensions = [1]
            %2 = arith.divf %0, (%1, broadcast)
        """
        found = [demand for each in operation.results for demand in self.demands.get(each, ())]
        root = min(map(self._root, found), key=self._positions.__getitem__, default=None)
        if (
            root is None
            or root not in self.plan.kernels
            or any(each.access > Access.EACH for each in found if self._root(each) is root)
            or root in self._failing
            or not reduces_rows(root)
            or self._is_full(root)
            or len(operation.results) != 1
            or not self._is_pointwise(operation)
            or not reads_in_order(operation)
            or not self._may_wait(operation, root)
        ):
            return None
        is_early = self._is_read_before(root, operation.results[0], by=root)
        return None if is_early else root

    def join_siblings(self) -> None:
        """Let one kernel store several small results of one shape for which a tensor is read.

        %0 = arith.addf %a, %b
        %1 = arith.mulf %a, %c
        """
        for found in tuple(self.demands.values()):
            latest: dict[tuple[int, ...], Operation] = {}
            roots = {self._root(demand) for demand in found}
            for root in sorted(roots, key=self._positions.__getitem__):
                shape = self._shape(root)
                if root not in self.plan.kernels or not 0 < prod(shape) <= SMALL_RESULT:
                    continue
                before = latest.get(shape)
                if before is not None and self._may_wait(before, root):
                    self._join({before: Access.SAME, root: Access.SAME})
                latest[shape] = root

    def _may_wait(self, root: Operation, last: Operation) -> bool:
        """Return whether a kernel may run where one close by does: nothing is updated before."""
        following = root.next_op
        for _ in range(LONGEST_WAIT):
            if following is None or following is last:
                return following is last
            if following.name in UPDATES or (following in self.plan.host and following.regions):
                return False
            following = following.next_op
        return False

    def _is_full(self, *roots: Operation) -> bool:
        """Return whether kernels have together as many operations as one may have."""
        groups = (each for root in roots for each in (root, *self.plan.groups.get(root, ())))
        count = sum(each.name not in _FREE for each in groups)
        return count > MAX_GROUP_OPERATIONS

    def _shape(self, root: Operation) -> tuple[int, ...]:
        return tuple(shape_of(root.results[0]))

    def _is_read_before(
        self, last: Operation, value: SSAValue, by: Operation | None = None
    ) -> bool:
        """Return whether a stored value is read before the kernel of `last`, or by it.

        The kernel `by` does not count.
        """
        end = self._positions[last]
        roots = [self._root(each) for each in self.demands.get(value, ())]
        if any(self._positions[root] <= end for root in roots if root is not by):
            return True
        block = last.parent
        assert block is not None
        users = (block.find_ancestor_op_in_block(use.operation) for use in value.uses)
        return any(
            user is not None and user not in self.plan.shapes and self._positions[user] <= end
            for user in users
            if user is not by
        )

    def _is_next(self, root: Operation) -> bool:
        """Return whether no other operation can fail from here to the end of a root's kernel."""
        return self.next_failing is None or (
            self.next_failing is not root and root.is_before_in_block(self.next_failing)
        )

    def find_aligned(self) -> None:
        """Record which tensors each kernel reads only at the element that it writes next."""
        for value, found in self.demands.items():
            for root in {self._root(demand) for demand in found}:
                own = [demand.access for demand in found if self._root(demand) is root]
                if self._is_aligned(value, root, own):
                    self.plan.aligned.setdefault(root, []).append(value)

    def _is_aligned(self, value: SSAValue, root: Operation, accesses: Sequence[Access]) -> bool:
        """Return whether a kernel reads a tensor only at the element that it writes next."""
        stores_other = any(each.owner is not root for each in self.plan.kernels.get(root, ()))
        if self._is_pointwise(root) or root.name in LOOPS or stores_other:
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
