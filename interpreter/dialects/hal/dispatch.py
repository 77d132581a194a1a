"""Run `hal` kernels: pass constants and bindings to a dispatch, and let the kernel access them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from ....dialects.stream.dispatch_directives import ACCESS
from ....ir.attribute_access import integer, integers, operand_groups, symbol
from ....ir.diagnostics import OperationError
from ....runtime.abi.arrays import Value
from ....tiling.packed_arrays import Bytes
from ...bindings import Binding
from ...frames import Frame
from ...registry import Results, Routine, impl
from ...storage import Resource
from ..kernels import bound_tensor, exported_function, run_workgroups, workgroup_count

_INTERFACE = "hal.interface"
WRITES = ACCESS["wo"]


@dataclass(frozen=True, slots=True, eq=False)
class Interface:
    """The constants and bindings of the current dispatch."""

    constants: Sequence[Value]
    bindings: Sequence[Binding]


@dataclass(frozen=True, slots=True, eq=False)
class Dispatch:
    """A dispatch of an export, with the bytes of its bindings and its constants."""

    op: Operation
    export: Operation
    parts: Sequence[Bytes]
    constants: Sequence[Value]

    def run(self, groups: tuple[int, ...], frame: Frame) -> Routine:
        """Run the kernel for so many workgroups along x, y and z, and write its outputs back."""
        bindings = [Binding(Resource(part)) for part in self.parts]
        frame.process.memory[_INTERFACE] = Interface(self.constants, bindings)
        yield run_workgroups(self._kernel(frame).regions[0], groups, (), frame)
        write_back(self.op, bindings, self.parts)

    def run_counted(self, workload: Sequence[Value], frame: Frame) -> Routine:
        """Run the kernel with the workgroup count that the export computes from the workload."""
        groups = yield workgroup_count(self.export.regions[0], (None, *workload), frame)
        yield self.run(groups, frame)

    def _kernel(self, frame: Frame) -> Operation:
        """Return the function that the export refers to. Raises OperationError."""
        name = symbol(self.export, "sym_name")
        found = exported_function(self.export, name, frame)
        if found is None:
            raise OperationError(self.op, f"dispatches @{name}, which is not defined")
        return found


def write_back(op: Operation, bindings: Sequence[Binding], parts: Sequence[Bytes]) -> None:
    """Copy what a kernel has written to the ranges that it may write."""
    accesses = integers(op, "resource_accesses") or (WRITES,) * len(parts)
    for binding, part, access in zip(bindings, parts, accesses, strict=True):
        if access & WRITES:
            if binding.resource.unresolved_tensor is not None:
                raise OperationError(
                    op, f"writes {binding.resource.written_type}, whose layout is not resolved"
                )
            part[:] = binding.resource.contents


@impl("hal.interface.constant.load")
def _constant(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    given: Interface = frame.process.memory[_INTERFACE]
    number = integer(op, "ordinal")
    if number >= len(given.constants):
        raise OperationError(
            op, f"loads constant #{number}, but only {len(given.constants)} are given"
        )
    return (given.constants[number],)


@impl("hal.interface.binding.subspan")
def _subspan(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    offset, dims = operand_groups(op, operands)
    given: Interface = frame.process.memory[_INTERFACE]
    number = integer(op, "binding")
    if number >= len(given.bindings):
        raise OperationError(
            op, f"uses binding #{number}, but only {len(given.bindings)} are given"
        )
    return (bound_tensor(op, given.bindings[number], offset[0] if offset else 0, dims),)
