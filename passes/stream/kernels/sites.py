"""Find the dispatch commands of each kernel."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ....dialects.stream.commands import CmdDispatchOp
from ....ir.host_programs import host_operations_of
from ....ir.symbols import defined_name, root_symbol
from .exports import Kernel, Kernels, entry_points
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
            if not _is_called(kernel):
                sites.setdefault(kernel.function, {})[dispatch] = None
    return {function: list(dispatches) for function, dispatches in sites.items()}


def kernel_groups(module: ModuleOp) -> list[KernelGroup]:
    """Group kernels and commands; kernels among which a command chooses are in one group.

    Raises OperationError if a command names a kernel that does not exist.
    """
    kernels = Kernels(module)
    groups: dict[Operation, KernelGroup] = {}
    for dispatch in host_operations_of(module, CmdDispatchOp):
        group = KernelGroup([dispatch], [])
        for entry in entry_points(dispatch):
            kernel = kernels.of_entry_point(entry, dispatch)
            group.add(kernel, None if kernel is None else groups.get(kernel.function))
            for function in group.functions:
                groups[function] = group
    return list(dict.fromkeys(groups.values()))


@dataclass(eq=False)
class KernelGroup:
    """Dispatches, and the kernels among which they choose."""

    dispatches: list[CmdDispatchOp]
    functions: list[Operation]
    known: bool = True
    """Whether all kernels and all their callers are visible."""

    def add(self, kernel: Kernel | None, other: KernelGroup | None) -> None:
        """Add a kernel, and merge the group that it is already in."""
        if kernel is None:
            self.known = False
        elif other is not None and other is not self:
            self.dispatches = list(dict.fromkeys([*other.dispatches, *self.dispatches]))
            self.functions = list(dict.fromkeys([*other.functions, *self.functions]))
            self.known &= other.known
        elif kernel.function not in self.functions:
            self.functions.append(kernel.function)
            self.known &= not _is_called(kernel)

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


def _is_called(kernel: Kernel) -> bool:
    """Return whether code in the executable calls a kernel as a function."""
    name = defined_name(kernel.function)
    return any(root_symbol(each, "callee") == name for each in kernel.executable.walk())
