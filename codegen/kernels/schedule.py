"""The order in which a block is carried out: kernels at their roots, the rest by the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from .contractions import PackedProduct
from .equal_kernels import EqualKernels
from .fusion import FusionPlan, is_pointwise, no_operation, plan_block
from .kernel_text import KernelText
from .packed_products import packed_tile


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: by a kernel if there is one, by the host, or on the way in another's kernel.

    What is on the way, or nobody reads, has shapes that must be right all the same.
    `group` are the operations that the kernel carries out, the root and those on the way.
    `product` is another way to the kernel's result that is better where the sizes are large.
    `aligned` are the values that the kernel reads only at the element that it writes next: its
    result may lie in their place. `starts`: a collective that does not wait, and has a step of its
    own where its result is there.
    """

    operation: Operation
    is_host: bool
    kernel: KernelText | None
    product: PackedProduct | None
    group: tuple[Operation, ...]
    aligned: frozenset[SSAValue]
    starts: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps of a block; the terminator, if there is one, is not among them."""

    steps: tuple[Step, ...]
    terminator: Operation | None


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
    return Schedule(
        tuple(
            Step(
                each.operation,
                each.is_host,
                each.kernel,
                each.product,
                (each.operation, *plan.groups.get(each.operation, ())),
                _aligned(each.operation, each.kernel, plan),
            )
            for each in planned
        ),
        terminator,
    )


@dataclass(frozen=True, slots=True)
class _Planned:
    """An operation that is carried out, or whose shapes are."""

    operation: Operation
    is_host: bool
    kernel: KernelText | None = None
    product: PackedProduct | None = None


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
