"""The order in which a block is carried out: kernels at their roots, the rest by the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...ir.regions import captured
from .contractions import PackedProduct
from .equal_kernels import EqualKernels
from .fusion import FusionPlan, is_pointwise, no_operation, plan_block
from .kernel_text import Found, KernelText, Number, Portion
from .packed_products import packed_tile


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: by a kernel if there is one, by the host, or on the way in another's kernel.

    What is on the way, or nobody reads, has shapes that must be right all the same.
    `group` are the operations that the kernel carries out, the root and those on the way.
    `product` is another way to the kernel's result that is better where the sizes are large.
    `dead` are the values that nothing reads after it. `aligned` are those that the kernel reads
    only at the element that it writes next: its result may lie in their place.
    """

    operation: Operation
    is_host: bool
    kernel: KernelText | None
    product: PackedProduct | None
    group: tuple[Operation, ...]
    dead: tuple[SSAValue, ...]
    aligned: frozenset[SSAValue]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps of a block; the terminator, if there is one, is not among them.

    `own` are the values that end with the block: nothing in another block reads them.
    """

    steps: tuple[Step, ...]
    terminator: Operation | None
    own: tuple[SSAValue, ...]


def schedule_block(
    block: Block,
    is_terminator: Callable[[str], bool],
    kernels: EqualKernels,
    on_host: Callable[[Operation], bool] = no_operation,
) -> Schedule:
    """Plan a block and write its kernels, but those that `kernels` knows.

    Raises OperationError for what no kernel can do.
    """
    plan = plan_block(block, on_host)
    last = block.last_op
    terminator = last if last is not None and is_terminator(last.name) else None
    planned: list[_Planned] = []
    for operation in block.ops:
        if operation in plan.kernels:
            results = plan.kernels[operation]
            found = kernels.kernel(operation, results, plan.inline.__contains__)
            planned.append(_Planned(operation, False, found.text, found.product))
        elif operation in plan.host and operation is not terminator:
            planned.append(_Planned(operation, True))
        elif operation in plan.shapes:
            planned.append(_Planned(operation, False))
    dead = _dead_after(block, planned)
    return Schedule(
        tuple(
            Step(
                each.operation,
                each.is_host,
                each.kernel,
                each.product,
                (each.operation, *plan.groups.get(each.operation, ())),
                tuple(dead.get(position, ())),
                _aligned(each.operation, each.kernel, plan),
            )
            for position, each in enumerate(planned)
        ),
        terminator,
        tuple(value for value in _defined(block) if not _escapes(value, block)),
    )


@dataclass(frozen=True, slots=True)
class _Planned:
    """An operation that is carried out, or whose shapes are."""

    operation: Operation
    is_host: bool
    kernel: KernelText | None = None
    product: PackedProduct | None = None

    def reads(self) -> Sequence[SSAValue]:
        """The values whose contents are needed."""
        if self.is_host:
            return [*self.operation.operands, *captured(self.operation)]
        if self.kernel is None:
            return ()
        constants = [
            constant.value if isinstance(constant, Number) else constant.tensor
            for constant in self.kernel.constants
            if not isinstance(constant, Portion | Found)
        ]
        return [each for each in (*self.kernel.reads, *constants) if isinstance(each, SSAValue)]


def _aligned(
    operation: Operation, kernel: KernelText | None, plan: FusionPlan
) -> frozenset[SSAValue]:
    """A kernel that writes one result may write it in place, and a loop nest of a product not.

    A kernel that may fail reads its operands again then.
    """
    if kernel is None or len(kernel.writes) != 1 or kernel.failures:
        return frozenset()
    is_loop = operation.name == "scf.for" or is_pointwise(operation)
    if not is_loop and packed_tile(operation, plan.inline.__contains__) is None:
        return frozenset()
    return frozenset(plan.aligned.get(operation, ()))


def _defined(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for operation in block.ops for result in operation.results)]


def _dead_after(block: Block, planned: Sequence[_Planned]) -> dict[int, list[SSAValue]]:
    last: dict[SSAValue, int] = dict.fromkeys(block.args, -1)
    for position, each in enumerate(planned):
        for value in each.reads():
            if value in last:
                last[value] = position
        for result in each.operation.results:
            last.setdefault(result, position)
    kept = set(block.last_op.operands) if block.last_op else set[SSAValue]()
    dead: dict[int, list[SSAValue]] = {}
    for value, position in last.items():
        if position >= 0 and value not in kept and not _escapes(value, block):
            dead.setdefault(position, []).append(value)
    return dead


def _escapes(value: SSAValue, block: Block) -> bool:
    """Whether another block of the region reads a value."""
    return any(block.find_ancestor_op_in_block(use.operation) is None for use in value.uses)
