"""Outline a group of operations into a `flow.executable` and the `flow.dispatch` that runs it.

The arguments of a kernel are the tensors that it reads, then scalars, then the tensors that it
writes. The sizes of dynamic dimensions are scalars. Together with other index operands they form
the dispatch's workload, from which the number of workgroups is computed. Kernels that agree in all
operations, types and attributes share one executable.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.flow import dispatches as flow
from ....dialects.iree_encoding.interfaces import Spelling, Tensor
from ....dialects.iree_tensor_ext import DispatchTensorType, FlowDispatchTensorType
from ....dialects.linalg.structured_view import structured_view
from ....dialects.shard.checks import DEVICES
from ....dialects.stream.affinity import AFFINITY
from ....ir.diagnostics import OperationError, remark, remarks_wanted
from ....ir.host_programs import calls_in
from ....ir.index_lists import INDEX
from ....ir.locations import builder_before, located_builder, source_behind
from ....ir.regions import enclosing, inner_blocks, values_read, walk
from ....ir.structural_hash import Structures
from ....ir.symbols import FreshNames, defined_name, symbols_in
from ....ir.syntax.resource_directives import UNTIED, tied_operands
from ....ir.tensor_types import ranked, shape_of
from ...sizes.dimension_sizes import DimensionSizes
from ...sizes.updated_tensors import updated_tensor
from ...stream.kernels.bindings import FLOW, KERNEL_OPERATIONS, KernelOperations, kernel_label
from .groups import FusionGroup
from .iteration_space import is_elementwise
from .operation_kinds import ENCODING_OPS, is_rematerialized

NOT_PASSED: tuple[type[Attribute], ...] = (DispatchTensorType, FlowDispatchTensorType, MemRefType)
"""Types that a dispatch cannot pass: those of values inside of executables, and buffers."""

ON_DEVICE = frozenset({AFFINITY})
"""The attribute of a group's operations that their copies in a kernel do not have."""


class KernelOutliner:
    """Outlines the groups of a module and reuses the executables that exist already."""

    def __init__(self, module: ModuleOp, spelling: Spelling) -> None:
        self._grids = symbols_in(module, ("shard.grid",))
        self._operations = KERNEL_OPERATIONS[spelling]
        self._structures = Structures()
        self._kernels: dict[Hashable, SymbolRefAttr] = {}
        self._names = FreshNames(module)

    def outline(
        self,
        group: FusionGroup,
        function: Operation,
        sizes: DimensionSizes,
        rematerialized: set[Operation],
    ) -> None:
        """Replace the operations of a group by a dispatch of a kernel that does the same.

        `rematerialized` are operations outside of groups that each kernel copies.

        Raises OperationError if the group calls a function, reads a value that no dispatch can
        pass, or has a result whose sizes the group itself computes.
        """
        for call, _ in chain.from_iterable(map(calls_in, group.operations)):
            raise OperationError(
                call,
                "is in a kernel, which cannot call functions: inline-calls inlines functions that "
                "are not recursive",
            )
        interface = Interface(group, sizes, rematerialized)
        root = root_of(group)
        entry = self._executable(interface, root, function)
        if remarks_wanted():
            others = dict.fromkeys(f"'{o.name}'" for o in group.operations if o is not root)
            together = f", together with {', '.join(others)}" if others else ""
            remark("dispatch", root, f"is computed by kernel {entry}{together}")
        properties: dict[str, Attribute] = {
            "entry_points": ArrayAttr([entry]),
            "tied_operands": tied_operands(interface.ties),
        }
        dispatch = flow.DispatchOp.build(
            operands=[
                interface.workload,
                (*interface.tensors, *interface.scalars),
                interface.tensor_sizes,
                interface.result_sizes,
            ],
            result_types=[[result.type for result in interface.results]],
            properties=properties,
            attributes={} if group.affinity is None else {AFFINITY: group.affinity},
        )
        last = group.operations[-1]
        located_builder(InsertPoint.after(last), root).insert(dispatch)
        inside = set(group.operations)
        for old, new in zip(interface.results, dispatch.results, strict=True):
            for use in tuple(old.uses):
                if use.operation not in inside:
                    use.operation.operands[use.index] = new
        for operation in reversed(interface.sequence):
            if operation in rematerialized:
                if any(result.uses for result in operation.results):
                    continue
                rematerialized.remove(operation)
            elif operation not in inside:
                continue
            Rewriter.erase_op(operation)

    def _executable(
        self, interface: Interface, root: Operation, function: Operation
    ) -> SymbolRefAttr:
        """Return the entry point of an equal kernel, or of a new executable."""
        key = interface.key(self._structures)
        entry = self._kernels.get(key)
        if entry is None:
            body = KernelBody(interface, self._operations).block
            name = self._fresh_name(function)
            suffix = kernel_suffix(root)
            kernel = FuncOp(f"{name}_{suffix}", (list(body.arg_types), []), Region(body))
            forget_names(kernel)
            entry = self._kernels[key] = SymbolRefAttr(name, [kernel.sym_name])
            count = self._operations.count_from_slice(FLOW, len(interface.workload))
            self._insert(name, kernel, count, function)
        return entry

    def add_kernel(
        self, kernel: FuncOp, function: Operation, workload: int, count: Region | None
    ) -> SymbolRefAttr:
        """Put a finished kernel into an executable of its own; return its entry point.

        `count` computes the number of workgroups; by default it is derived from the kernel.
        """
        name = self._fresh_name(function)
        kernel.sym_name = StringAttr(f"{name}_{kernel.sym_name.data}")
        forget_names(kernel)
        if count is None:
            count = self._operations.count_from_slice(FLOW, workload)
        self._insert(name, kernel, count, function)
        return SymbolRefAttr(name, [kernel.sym_name])

    def _fresh_name(self, function: Operation) -> str:
        return self._names.numbered(f"{defined_name(function) or 'initializer'}_dispatch_")

    def _insert(self, name: str, kernel: FuncOp, count: Region, function: Operation) -> None:
        executable = self._operations.executable(FLOW, name, kernel, count, self._grids_of(kernel))
        builder_before(function).insert(executable)

    def _grids_of(self, kernel: FuncOp) -> list[Operation]:
        """Copy the grids that a kernel's collectives name: it cannot see symbols of the module."""
        names = {
            name.root_reference.data
            for operation in walk(kernel)
            if isinstance(name := operation.properties.get("grid"), SymbolRefAttr)
        }
        grids = [grid.clone() for name, grid in self._grids.items() if name in names]
        for grid in grids:
            # The dispatch says on which device the kernel runs, so the copy names no devices.
            grid.attributes.pop(DEVICES, None)
        return grids


_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")


def _depends_on_data(operation: Operation) -> bool:
    """Return whether data decide if an op fails: a comparison, or an access at an index from data.

    Indices that are limited, or computed from those of loops, count as valid.
    """
    if operation.name not in ("tensor.extract", "tensor.insert"):
        return operation.name == "check.agree"
    indices = operation.operands[1 if operation.name == "tensor.extract" else 2 :]
    return any(isinstance(source_behind(index, *_CASTS), BlockArgument) for index in indices)


class Interface:
    """The values of the host program that a group reads and writes."""

    def __init__(
        self, group: FusionGroup, sizes: DimensionSizes, rematerialized: set[Operation]
    ) -> None:
        self.group = group
        self._rematerialized = rematerialized
        inside = set(group.operations)
        self._rematerialized_operations: set[Operation] = set()
        self.sequence: list[Operation] = []
        """The operations of the kernel: those of the group, each preceded by the outside operations
        that the kernel copies for it.
        """
        read: dict[SSAValue, None] = {}
        for operation in group.operations:
            for value in values_read(operation):
                self._collect(value, inside, read)
            self.sequence.append(operation)
        self.results: list[OpResult] = [
            result
            for operation in group.operations
            for result in operation.results
            if self._is_read_outside(result, inside)
        ]
        self.tensors = [value for value in read if isinstance(value.type, TensorType)]
        self.ties = [self._updated(result) for result in self.results]
        """For each result, the tensor that the kernel updates to get it, or `UNTIED`."""
        workload: dict[SSAValue, None] = {}
        self.dims: dict[SSAValue, tuple[SSAValue, ...]] = {}
        for value in (*self.tensors, *self.results):
            self.dims[value] = sizes.dynamic_sizes(value)
            workload |= dict.fromkeys(self.dims[value])
            self._check_sizes(self.dims[value], value, inside)
        for value in read:
            if value.type == INDEX:
                workload[value] = None
        self.workload = list(workload)
        others = [v for v in read if not isinstance(v.type, TensorType) and v.type != INDEX]
        for value in others:
            if isinstance(value.type, NOT_PASSED):
                raise OperationError(
                    group.operations[0],
                    f"reads a value of type '{value.type}', which a dispatch cannot pass: kernels "
                    "take tensors and numbers",
                )
        self.scalars = [*self.workload, *others]
        self.tensor_sizes = [size for value in self.tensors for size in self.dims[value]]
        self.result_sizes = [size for value in self.results for size in self.dims[value]]

    def key(self, structures: Structures) -> Hashable:
        """Return a key that is equal for groups with equal kernels, on whatever device they run."""
        given = (*self.tensors, *self.scalars)
        numbers: dict[SSAValue | Block, int] = {value: n for n, value in enumerate(given)}
        code = structures.of_operations(self.sequence, numbers, ON_DEVICE)
        # An error in a kernel names the line that the kernel's operation is from.
        operations = chain.from_iterable(each.walk() for each in self.sequence)
        places = tuple([each.location for each in operations if _depends_on_data(each)])
        return (
            places,
            len(self.tensors),
            len(self.workload),
            structures.of_types(given),
            code,
            tuple([numbers[result] for result in self.results]),
            tuple(self.ties),
            tuple([tuple([numbers[size] for size in sizes]) for sizes in self.dims.values()]),
        )

    def _collect(self, value: SSAValue, inside: set[Operation], read: dict[SSAValue, None]) -> None:
        owner = value.owner
        if isinstance(owner, Operation):
            if self._is_in(owner, inside) or owner in self._rematerialized_operations:
                return
            if is_rematerialized(owner) or owner in self._rematerialized:
                for operand in owner.operands:
                    self._collect(operand, inside, read)
                self._rematerialized_operations.add(owner)
                self.sequence.append(owner)
                return
        elif self._is_in(owner.parent_op(), inside):
            return
        read[value] = None

    def _is_read_outside(self, value: SSAValue, inside: set[Operation]) -> bool:
        """Return whether the host or another kernel reads a value of the group."""
        for use in value.uses:
            reader = use.operation
            if reader in self._rematerialized:
                if self._is_read_outside(reader.results[0], inside):
                    return True
            elif not self._is_in(reader, inside):
                return True
        return False

    def _updated(self, result: OpResult) -> int:
        """Return which tensor a result updates, if the kernel reads it for nothing else."""
        old: SSAValue = result
        while (
            isinstance(old, OpResult)
            and old.op in self.sequence
            and (updated := updated_tensor(old)) is not None
        ):
            old = updated
            if (
                sum(each is old for each in chain.from_iterable(map(values_read, self.sequence)))
                > 1
            ):
                return UNTIED
        is_passed = old in self.tensors and old.type == result.type
        return self.tensors.index(old) if is_passed else UNTIED

    @staticmethod
    def _is_in(operation: Operation | None, inside: set[Operation]) -> bool:
        """Return whether an operation is a member of the group, or inside of one."""
        return not inside.isdisjoint(enclosing(operation))

    def _check_sizes(
        self, dims: Sequence[SSAValue], value: SSAValue, inside: set[Operation]
    ) -> None:
        for size in dims:
            owner = size.owner
            if isinstance(owner, Operation) and any(
                isinstance(operand.owner, Operation) and operand.owner in inside
                for operand in owner.operands
            ):
                producer = value.owner
                raise OperationError(
                    producer if isinstance(producer, Operation) else self.group.operations[0],
                    f"has a result of type {value.type} whose sizes are unknown before it has "
                    "run: its storage cannot be allocated",
                )


class KernelBody:
    """Builds the block of a kernel's function."""

    def __init__(self, interface: Interface, operations: KernelOperations) -> None:
        self._interface = interface
        self._operations = operations
        ties = interface.ties
        self.block = Block(
            arg_types=[
                *(
                    self._bound(value, "readwrite" if position in ties else "readonly")
                    for position, value in enumerate(interface.tensors)
                ),
                *(value.type for value in interface.scalars),
                *(
                    self._bound(value, "writeonly")
                    for value, tie in zip(interface.results, ties, strict=True)
                    if tie == UNTIED
                ),
            ]
        )
        root = root_of(interface.group)
        self._builder = located_builder(InsertPoint.at_end(self.block), root)
        self._values: dict[SSAValue, SSAValue] = {}
        self._fill()

    def _bound(self, value: SSAValue, access: str) -> Attribute:
        return self._operations.tensor.new([StringAttr(access), value.type])

    def _fill(self) -> None:
        interface = self._interface
        tensors, scalars = len(interface.tensors), len(interface.scalars)
        arguments = self.block.args
        for scalar, argument in zip(interface.scalars, arguments[tensors:], strict=False):
            self._values[scalar] = argument
        for ordinal, value in enumerate(interface.workload):
            operation = self._operations.ordinal_of(self._values[value], ordinal)
            self._values[value] = self._builder.insert(operation).results[0]
        inputs = {
            value: self._tied(argument, value)
            for value, argument in zip(interface.tensors, arguments, strict=False)
        }
        own = iter(arguments[tensors + scalars :])
        outputs = {
            value: self._tied(next(own), value) if tie == UNTIED else inputs[interface.tensors[tie]]
            for value, tie in zip(interface.results, interface.ties, strict=True)
        }
        for value, bound in inputs.items():
            self._values[value] = self._operations.load_whole(
                bound, cast(Tensor, value.type), self._sizes(value), self._builder
            )
        for operation in interface.sequence:
            copy = self._builder.insert(operation.clone(self._values))
            # The dispatch says on which device the kernel runs.
            copy.attributes.pop(AFFINITY, None)
        for value, bound in outputs.items():
            self._operations.store_whole(
                self._values[value], bound, self._sizes(value), self._builder
            )
        self._builder.insert(ReturnOp())

    def _sizes(self, value: SSAValue) -> tuple[SSAValue, ...]:
        """Return the sizes of a tensor's dynamic dimensions as values inside of the kernel."""
        return tuple(self._values[size] for size in self._interface.dims[value])

    def _tied(self, bound: SSAValue, value: SSAValue) -> SSAValue:
        """Tie the dispatch tensor of a value to the sizes of its dynamic dimensions."""
        sizes = self._sizes(value)
        if not sizes:
            return bound
        tie = flow.DispatchTieShapeOp.build(operands=[bound, sizes], result_types=[bound.type])
        return self._builder.insert(tie).results[0]


def forget_names(operation: Operation) -> None:
    """Remove the name hints of values: a kernel may be shared by several dispatches."""
    for inner in walk(operation):
        arguments = (block.args for block in inner_blocks(inner))
        for value in chain(inner.results, *arguments):
            value.name_hint = None


# Names


def root_of(group: FusionGroup) -> Operation:
    """Return the operation that names the kernel: the first that is not elementwise."""
    for operation in group.operations:
        if operation.name not in ENCODING_OPS and not is_elementwise(operation):
            return operation
    return group.operations[0]


def kernel_suffix(operation: Operation) -> str:
    """Return the part of a kernel's name that describes its root operation."""
    view = structured_view(operation)
    word = operation.name.partition(".")[2].replace(".", "_")
    tensor = next(filter(None, map(ranked, operation.results)), None)
    element = "" if tensor is None else str(tensor.element_type)
    if view is None:
        sizes: Sequence[int | None] = () if tensor is None else shape_of(tensor)
    else:
        sizes = view.loop_sizes()
        if operation.name == "linalg.generic":
            word = "elementwise" if is_elementwise(operation) else "reduction"
    return kernel_label(word, sizes, element)
