"""The order in which a block runs: a kernel at each root, other operations on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.host_programs import LOOPS
from .elements.kernel_text import Bound, KernelText, Panels
from .elements.pointwise import is_pointwise
from .equal_kernels import EqualKernels, Kernels
from .fusion import FusionPlan, no_operation, plan_block
from .products.mmt4d import mmt4d_tile
from .products.panels import PanelProduct


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: computed by a kernel, run by the host, or fused.

    If `kernel` is `None` and `is_host` is false, the operation is fused or unread, and only its
    shapes are checked.

    - `product`: the kernels of the same product by panels, which are faster for large sizes;
    - `group`: the operations that the kernel computes, the root and the fused ones;
    - `aligned`: values that the kernel reads only at the element that it writes next, so that the
      result may overwrite them;
    - `starts`: the step starts a collective; another step, where the result is read, awaits it.
    """

    operation: Operation
    is_host: bool
    kernel: KernelText | None
    product: PanelProduct | None
    group: tuple[Operation, ...]
    aligned: tuple[SSAValue, ...]
    starts: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps of a block, without its terminator."""

    steps: tuple[Step, ...]
    terminator: Operation | None


def schedule_block(
    block: Block,
    is_terminator: Callable[[str], bool],
    equal_kernels: EqualKernels,
    on_host: Callable[[Operation], bool] = no_operation,
) -> Schedule:
    """Plan a block and write its kernels; `equal_kernels` shares equal ones.

    Raises OperationError if an operation that is planned as a kernel cannot be written.
    """
    plan = plan_block(block, on_host)
    last = block.last_op
    terminator = last if last is not None and is_terminator(last.name) else None
    steps: list[Step] = []

    def add(operation: Operation, kernels: Kernels | None = None, *, is_host: bool = False) -> None:
        text, product = (None, None) if kernels is None else (kernels.text, kernels.product)
        group = (operation, *plan.groups.get(operation, ()))
        steps.append(
            Step(operation, is_host, text, product, group, _aligned(operation, text, plan))
        )

    for operation in block.ops:
        if operation in plan.kernels:
            results = plan.kernels[operation]
            is_fused = plan.computed_by(operation)
            add(operation, equal_kernels.kernel(operation, results, is_fused))
        elif operation in plan.host and operation is not terminator:
            add(operation, is_host=True)
        elif operation in plan.shapes:
            add(operation)
    return Schedule(tuple(steps), terminator)


def _aligned(
    operation: Operation, kernel: KernelText | None, plan: FusionPlan
) -> tuple[SSAValue, ...]:
    """Return the operands that a kernel's result may overwrite.

    The kernel must write one tensor, be pointwise, an element loop or a packed product, or a
    reduction that stores one tensor besides. It must have no checks, unless it returns at once:
    after a failed check, others read operands again.
    """
    if kernel is None:
        return ()
    stored = [each for each in kernel.writes if _is_stored(each)]
    others = sum(each not in operation.results for each in stored)
    stores_rows = others == 1 and not is_pointwise(operation)
    if len(stored) != 1 and not stores_rows:
        return ()
    if operation.name not in LOOPS:
        is_packed = mmt4d_tile(operation, plan.fused.__contains__) is not None
        if kernel.failures or not (is_pointwise(operation) or is_packed or stores_rows):
            return ()
    return tuple(plan.aligned.get(operation, ()))


def _is_stored(bound: Bound) -> bool:
    """Return whether a kernel writes a tensor, and not a register of the host."""
    return isinstance(bound, Panels) or (
        isinstance(bound, SSAValue) and isinstance(bound.type, TensorType)
    )
