"""Find kernels by their exports, and the encoded tensor types of their bindings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....dialects.iree_encoding.interfaces import Tensor, encoded_tensor_of, tensor_encoding
from ....dialects.stream.executables import ExecutableExportOp, ExecutableOp
from ....ir.diagnostics import OperationError
from ....ir.regions import walk
from ....ir.symbols import defined_name, root_symbol
from ....ir.syntax.assembly_format import values

SUBSPAN = "stream.binding.subspan"


@dataclass(frozen=True, slots=True)
class Kernel:
    """An export of an executable and the function that it names."""

    executable: ExecutableOp
    export: ExecutableExportOp
    function: Operation
    bindings: tuple[tuple[int, Operation], ...] = field(compare=False)
    """Index of each argument that is read as an encoded tensor, with the operation that reads it.

    The stream dialect only sees the bindings of a kernel and the operations that use them directly.
    """

    @staticmethod
    def of_export(export: ExecutableExportOp, operation: Operation) -> Kernel:
        """Return the kernel of an export.

        Raises OperationError at `operation` if the exported function does not exist.
        """
        executable, function = export.parent_op(), export.function()
        if function is None or not isinstance(executable, ExecutableOp):
            raise OperationError(
                operation, f"needs the function {export.function_ref}, which does not exist"
            )
        return Kernel(executable, export, function, tuple(_encoded_bindings(function)))


def _encoded_bindings(function: Operation) -> Iterator[tuple[int, Operation]]:
    entry = function.regions[0].blocks.first
    for operation in function.walk():
        if bound_tensor(operation) is None:
            continue
        binding = operation.operands[0]
        if isinstance(binding, BlockArgument) and binding.owner is entry:
            yield binding.index, operation


def bound_tensor(operation: Operation) -> Tensor | None:
    """Return the encoded tensor type as which an operation reads a binding, or `None`."""
    if operation.name != SUBSPAN:
        return None
    tensor = encoded_tensor_of(operation.results[0].type)
    return None if tensor is None or tensor_encoding(tensor) is None else tensor


class Kernels:
    """The kernels of a module by entry point."""

    def __init__(self, module: ModuleOp) -> None:
        self._executables: dict[str, Operation] = {}
        self._exports: dict[tuple[str, str], ExecutableExportOp] = {}
        self._kernels: dict[SymbolRefAttr, Kernel | None] = {}
        self._called: dict[Operation, set[str]] = {}
        """For each executable, the functions that code in it calls."""
        for operation in module.body.block.ops:
            name = operation.properties.get("sym_name")
            if name is None or not operation.name.endswith((".executable", ".executable.source")):
                continue
            executable = getattr(name, "data", "")
            self._executables[executable] = operation
            if not isinstance(operation, ExecutableOp):
                continue
            for export in operation.exports():
                self._exports[executable, export.sym_name.data] = export

    def of_entry_point(self, entry: SymbolRefAttr, operation: Operation) -> Kernel | None:
        """Return a kernel; `None` if its executable is of a dialect that is opaque to `stream`.

        Raises OperationError at the dispatching operation if the entry point does not exist.
        """
        if entry not in self._kernels:
            self._kernels[entry] = self._find(entry, operation)
        return self._kernels[entry]

    def of_dispatch(self, dispatch: Operation) -> Iterator[tuple[int, Kernel]]:
        """Yield the visible kernels that a dispatch may run, with the indices of entry points.

        Raises OperationError if an entry point does not exist.
        """
        for index, entry in enumerate(entry_points(dispatch)):
            if (kernel := self.of_entry_point(entry, dispatch)) is not None:
                yield index, kernel

    def is_called(self, kernel: Kernel) -> bool:
        """Return whether code in the executable calls a kernel as a function."""
        executable = kernel.executable
        if executable not in self._called:
            self._called[executable] = {root_symbol(each, "callee") for each in walk(executable)}
        return defined_name(kernel.function) in self._called[executable]

    def _find(self, entry: SymbolRefAttr, operation: Operation) -> Kernel | None:
        name = entry.root_reference.data
        executable = self._executables.get(name)
        if executable is None:
            raise OperationError(
                operation, f"dispatches {entry}, but the module has no executable @{name}"
            )
        if not isinstance(executable, ExecutableOp):
            return None
        inner = entry.nested_references.data
        export = self._exports.get((name, inner[0].data)) if len(inner) == 1 else None
        if export is None:
            raise OperationError(operation, f"dispatches {entry}, but @{name} has no such export")
        return Kernel.of_export(export, operation)


def entry_points(dispatch: Operation) -> Iterator[SymbolRefAttr]:
    """Yield the entry points of a dispatch; of several, the first that fits the device is run."""
    points = dispatch.properties.get("entry_points")
    if isinstance(points, ArrayAttr):
        yield from cast("ArrayAttr[SymbolRefAttr]", points)


def dispatched_values(dispatch: Operation) -> tuple[SSAValue, ...]:
    """Return the operands that a dispatch passes to its kernel, in the order of its arguments."""
    name = "mixed_operands" if dispatch.name == "stream.tensor.dispatch" else "resource_operands"
    return values(dispatch, name)
