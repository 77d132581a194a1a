"""Find the dispatch commands of each kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.utils.disjoint_set import DisjointSet

from ....dialects.stream.commands import CmdDispatchOp
from ....ir.host_programs import host_operations_of
from .exports import Kernels, entry_points
from .uniform_operands import uniform_arguments


def dispatch_sites(module: ModuleOp) -> dict[Operation, list[CmdDispatchOp]]:
    """Return the commands that may run each kernel function, in program order.

    Functions that are also called inside of the executable are left out. Raises OperationError if a
    command names a kernel that does not exist.
    """
    kernels = Kernels(module)
    sites: dict[Operation, dict[CmdDispatchOp, None]] = {}
    for dispatch in host_operations_of(module, CmdDispatchOp):
        for _, kernel in kernels.of_dispatch(dispatch):
            if not kernels.is_called(kernel):
                sites.setdefault(kernel.function, {})[dispatch] = None
    return {function: list(dispatches) for function, dispatches in sites.items()}


def kernel_groups(module: ModuleOp) -> list[KernelGroup]:
    """Group kernels and commands; kernels among which a command chooses are in one group.

    Raises OperationError if a command names a kernel that does not exist.
    """
    kernels = Kernels(module)
    choices = {
        dispatch: [kernels.of_entry_point(entry, dispatch) for entry in entry_points(dispatch)]
        for dispatch in host_operations_of(module, CmdDispatchOp)
    }
    visible = {
        dispatch: [kernel for kernel in chosen if kernel is not None]
        for dispatch, chosen in choices.items()
    }
    functions = (kernel.function for each in visible.values() for kernel in each)
    together = DisjointSet[Operation](list(dict.fromkeys(functions)))
    for first, *others in filter(None, visible.values()):
        for other in others:
            together.union(first.function, other.function)
    groups: dict[Operation, KernelGroup] = {}
    for dispatch, found in visible.items():
        if found:
            group = groups.setdefault(together.find(found[0].function), KernelGroup())
            group.dispatches.append(dispatch)
            group.functions.update(dict.fromkeys(kernel.function for kernel in found))
            group.known &= None not in choices[dispatch] and not any(map(kernels.is_called, found))
    return list(groups.values())


@dataclass(eq=False)
class KernelGroup:
    """Dispatches, and the kernels among which they choose."""

    dispatches: list[CmdDispatchOp] = field(default_factory=list[CmdDispatchOp])
    functions: dict[Operation, None] = field(default_factory=dict[Operation, None])
    known: bool = True
    """Whether all kernels and all their callers are visible."""

    def entries(self) -> list[Block] | None:
        """Return the kernels' entry blocks; `None` if not all are visible or operand counts
        vary.
        """
        blocks = [function.regions[0].blocks.first for function in self.functions]
        entries = [block for block in blocks if block is not None and block.first_op is not None]
        counts = {len(each.uniform_operands) for each in self.dispatches}
        counts |= {len(uniform_arguments(block)) for block in entries}
        if not self.known or len(entries) != len(self.functions) or len(counts) != 1:
            return None
        return entries
