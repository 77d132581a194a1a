"""The order in which a block is carried out: kernels at their roots, the rest by the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ..dialects.structured import structured_view
from ..interpreter.values import element_type
from .contractions import PackedProduct, contraction_of
from .elements import Element, element_of
from .fusion import FusionPlan, captured, is_pointwise, plan_block
from .kernel_text import KernelText, Number, Portion
from .kernels import write_kernel
from .packed_products import gains_from_repacking, packed_tile


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: by a kernel if there is one, else by the host.

    `group` are the operations that the kernel carries out, the root and those on the way.
    `product` is another way to the kernel's result that is better where the sizes are large.
    `dead` are the values that nothing reads after it. `aligned` are those that the kernel reads
    only at the element that it writes next: its result may lie in their place.
    """

    operation: Operation
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


def schedule_block(block: Block, is_terminator: Callable[[str], bool]) -> Schedule:
    """Plan a block and write its kernels. Raises OperationError for what no kernel can do."""
    plan = plan_block(block)
    last = block.last_op
    terminator = last if last is not None and is_terminator(last.name) else None
    steps: list[tuple[Operation, KernelText | None]] = []
    for operation in block.ops:
        if operation in plan.kernels:
            results = plan.kernels[operation]
            steps.append((operation, write_kernel(operation, results, plan.inline.__contains__)))
        elif operation in plan.host and operation is not terminator:
            steps.append((operation, None))
    dead = _dead_after(block, steps)
    return Schedule(
        tuple(
            Step(
                operation,
                kernel,
                _product(operation, plan.inline.__contains__) if kernel else None,
                (operation, *plan.groups.get(operation, ())),
                tuple(dead.get(position, ())),
                _aligned(operation, kernel, plan),
            )
            for position, (operation, kernel) in enumerate(steps)
        ),
        terminator,
        tuple(value for value in _defined(block) if not _escapes(value, block)),
    )


def _aligned(
    operation: Operation, kernel: KernelText | None, plan: FusionPlan
) -> frozenset[SSAValue]:
    """A kernel that writes one result may write it in place, and a loop nest of a product not."""
    if kernel is None or len(kernel.writes) != 1:
        return frozenset()
    if not is_pointwise(operation) and packed_tile(operation, plan.inline.__contains__) is None:
        return frozenset()
    return frozenset(plan.aligned.get(operation, ()))


def _product(operation: Operation, is_inline: Callable[[SSAValue], bool]) -> PackedProduct | None:
    view = structured_view(operation)
    if view is None or is_pointwise(operation):
        return None
    tile = packed_tile(operation, is_inline)
    if tile is not None and not gains_from_repacking(operation, tile):
        return None

    def element(value: SSAValue) -> Element:
        return element_of(element_type(value.type), operation)

    contraction = contraction_of(view, element)
    return None if contraction is None else PackedProduct(contraction, is_inline)


def _defined(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for operation in block.ops for result in operation.results)]


def _reads(operation: Operation, kernel: KernelText | None) -> Sequence[SSAValue]:
    if kernel is None:
        return [*operation.operands, *captured(operation)]
    constants = [
        constant.value if isinstance(constant, Number) else constant.tensor
        for constant in kernel.constants
        if not isinstance(constant, Portion)
    ]
    return [each for each in (*kernel.reads, *constants) if isinstance(each, SSAValue)]


def _dead_after(
    block: Block, steps: Sequence[tuple[Operation, KernelText | None]]
) -> dict[int, list[SSAValue]]:
    last: dict[SSAValue, int] = dict.fromkeys(block.args, -1)
    for position, (operation, kernel) in enumerate(steps):
        for value in _reads(operation, kernel):
            if value in last:
                last[value] = position
        for result in operation.results:
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
