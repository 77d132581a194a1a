"""Specialise encodings for the devices of a program, in the host program and in kernels.

Before, an encoded tensor asks for a layout without naming one. After, host operations and the
bindings of kernels have the layouts that the devices' solvers chose. A kernel that is dispatched to
devices with different layouts or targets is cloned for each of them. The pass plans all changes
before it makes any, so that an error leaves the program unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.iree_encoding.interfaces import EncodingTypeInterface, tensor_encoding
from ...dialects.iree_encoding.respelling import spelling_of
from ...dialects.stream.affinity import TargetSolver, TensorPhase
from ...dialects.stream.executables import ExecutableOp
from ...ir.diagnostics import OperationError
from ...ir.garbage_collection import without_garbage_collection
from ...ir.host_programs import host_operations
from ...ir.structural_hash import AttributeNumbers
from ...ir.symbols import FreshNames
from .analysis.affinity_targets import AffinityTargets, required_affinity
from .analysis.encoding_resolution import ResolvedTypes
from .analysis.layout_origin import LayoutOrigins
from .analysis.storage import stored_in
from .kernels.exports import Kernel, Kernels, bound_tensor, dispatched_values

DISPATCHES = ("stream.tensor.dispatch", "stream.async.dispatch")


class Layouts(NamedTuple):
    """Names of properties with tensor types, grouped by where the tensor's layout comes from."""

    of_operand: tuple[str, ...] = ()
    """Types of tensors with the layout of the first operand, wherever that was laid out."""
    made_here: tuple[str, ...] = ()
    """Types of tensors that the operation itself lays out."""


LAYOUTS = {
    "stream.tensor.clone": Layouts(of_operand=("source_encoding", "result_encoding")),
    "stream.tensor.empty": Layouts(made_here=("result_encoding",)),
    "stream.tensor.encode": Layouts(("source_encoding",), ("result_encoding",)),
    "stream.tensor.fill": Layouts(of_operand=("target_encoding",)),
    "stream.tensor.sizeof": Layouts(made_here=("encoding",)),
    "stream.tensor.splat": Layouts(made_here=("result_encoding",)),
}
"""Tensor operations that may have encodings.

Others access elements by position, so they need tensors without encoding.
"""


class SpecializeEncodingsPass(ModulePass):
    """Resolve the layout of every encoded tensor, and clone executables per layout and target."""

    name = "iree-stream-specialize-encodings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with without_garbage_collection():
            numbers = AttributeNumbers()
            types = ResolvedTypes(
                AffinityTargets(ctx, op, numbers),
                LayoutOrigins(op, numbers),
                spelling_of(op),
                numbers,
            )
            planner = Planner(types, Kernels(op), VariantPlan(numbers))
            for operation in host_operations(op):
                planner.plan(operation)
            planner.apply(op)


class Planner:
    """Collects the changes to a module."""

    def __init__(self, types: ResolvedTypes, kernels: Kernels, variants: VariantPlan) -> None:
        self._types = types
        self._kernels = kernels
        self._variants = variants
        self._properties: list[tuple[Operation, str, Attribute]] = []

    def plan(self, operation: Operation) -> None:
        """Plan the changes to one operation of the host program.

        Raises OperationError if a layout cannot be resolved, or if an encoded tensor is used where
        it cannot be.
        """
        if operation.name in DISPATCHES:
            self._plan_dispatch(operation)
        elif (layouts := LAYOUTS.get(operation.name)) is not None:
            for name in layouts.of_operand:
                self._resolve_as_operand(operation, name)
            for name in layouts.made_here:
                self._resolve_where_it_runs(operation, name)
        elif operation.has_trait(TensorPhase):
            self._refuse_encodings(operation)
        else:
            self._refuse_tensors(operation)

    def apply(self, module: ModuleOp) -> None:
        """Change the module as planned."""
        for operation, name, attribute in self._properties:
            operation.properties[name] = attribute
        self._variants.apply(module)

    # Tensor operations

    def _resolve_where_it_runs(self, operation: Operation, name: str) -> None:
        """Resolve a type for the operation's own device."""
        type_ = operation.properties[name]
        if self._types.needs_resolving(type_):
            affinity = required_affinity(operation)
            resolved = self._types.for_affinity(type_, affinity, operation)
            self._set_property(operation, name, resolved)

    def _resolve_as_operand(self, operation: Operation, name: str) -> None:
        """Resolve a type as the first operand was laid out."""
        type_ = operation.properties[name]
        resolved = self._types.for_value(type_, operation.operands[0], operation)
        self._set_property(operation, name, resolved)

    def _set_property(self, operation: Operation, name: str, attribute: Attribute) -> None:
        """Plan the change of a property, if it changes."""
        if operation.properties[name] is not attribute:
            self._properties.append((operation, name, attribute))

    def _refuse_encodings(self, operation: Operation) -> None:
        for name, attribute in operation.properties.items():
            if name.endswith("encoding") and self._types.needs_resolving(attribute):
                raise OperationError(
                    operation,
                    f"does not support tensors in the layout of a device: {name} is {attribute}",
                )

    def _refuse_tensors(self, operation: Operation) -> None:
        """Refuse encoded tensors outside of resources: their encodings would never be resolved."""
        for value in (*operation.operands, *operation.results):
            if self._types.needs_resolving(value.type):
                raise OperationError(
                    operation,
                    f"has an encoded tensor, {value.type}, but layouts are resolved for tensors "
                    "in resources: run form-dispatches and convert-to-stream first",
                )

    # Dispatches

    def _plan_dispatch(self, operation: Operation) -> None:
        kernels = dict(self._kernels.of_dispatch(operation))
        if operation.name == "stream.tensor.dispatch":
            self._plan_dispatch_types(operation, tuple(kernels.values()))
        targets = self._types.targets(operation)
        values = dispatched_values(operation)
        for index, kernel in kernels.items():
            bindings = tuple(
                self._binding_type(operation, values, argument, subspan)
                for argument, subspan in kernel.bindings
            )
            self._variants.add(kernel, targets, bindings, operation, index)

    def _plan_dispatch_types(self, operation: Operation, kernels: tuple[Kernel, ...]) -> None:
        """Resolve the tensor types in the properties of a dispatch."""
        operands = cast("ArrayAttr[Attribute]", operation.properties["operand_encodings"]).data
        results = cast("ArrayAttr[Attribute]", operation.properties["result_encodings"]).data
        resolved = {
            "operand_encodings": [
                self._types.for_value(type_, value, operation)
                for type_, value in zip(operands, dispatched_values(operation), strict=True)
            ],
            "result_encodings": [
                self._result_type(operation, index, type_) for index, type_ in enumerate(results)
            ],
        }
        for name, types in resolved.items():
            self._set_property(operation, name, ArrayAttr(types))
        untied = [results[index] for index in _untied_results(operation)]
        for kernel in kernels:
            readable = {argument for argument, _ in kernel.bindings}
            for index, type_ in enumerate((*operands, *untied)):
                if self._types.needs_resolving(type_) and index not in readable:
                    raise OperationError(
                        operation,
                        f"passes an encoded tensor to @{kernel.export.sym_name.data}, but the "
                        f"kernel does not read argument #{index} as a type that carries an "
                        "encoding: its layout would be lost",
                    )

    def _binding_type(
        self, operation: Operation, values: Sequence[SSAValue], argument: int, subspan: Operation
    ) -> Attribute:
        """Return the resolved tensor type of a kernel's binding for a dispatch."""
        tensor = bound_tensor(subspan)
        if tensor is None:
            raise OperationError(subspan, "does not bind a tensor")
        if argument < len(values):
            return self._types.for_value(tensor, values[argument], operation)
        untied, position = _untied_results(operation), argument - len(values)
        if position >= len(untied):
            raise OperationError(
                operation,
                f"has {len(values)} operands and {len(untied)} untied results, but its kernel "
                f"takes an argument #{argument}",
            )
        return self._result_type(operation, untied[position], tensor)

    def _result_type(self, operation: Operation, index: int, type_: Attribute) -> Attribute:
        if not self._types.needs_resolving(type_):
            return type_
        if (tied := stored_in(operation, index)) is not None:
            return self._types.for_value(type_, tied, operation)
        return self._types.for_affinity(type_, required_affinity(operation), operation)


def _untied_results(operation: Operation) -> list[int]:
    """Return the results of a dispatch that have arguments of their own in kernels, in order."""
    results = range(len(operation.results))
    return [index for index in results if stored_in(operation, index) is None]


@dataclass(frozen=True, slots=True)
class VariantKey:
    """Identifies a variant of a kernel."""

    targets: tuple[int, ...]
    """Numbers of the targets that the code is compiled for."""
    types: tuple[int, ...]
    """Numbers of the types in `bindings`."""
    bindings: tuple[Attribute, ...] = field(compare=False)
    """The resolved tensor types of the kernel's encoded subspans, in the kernel's order."""


Uses = list[tuple[Operation, int]]
"""The dispatches of a variant, each with the index of the entry point."""


class VariantPlan:
    """All variants of all kernels, which are made together."""

    def __init__(self, numbers: AttributeNumbers) -> None:
        self._variants: dict[Kernel, dict[VariantKey, Uses]] = {}
        self._numbers = numbers
        self._groups: dict[Kernel, list[dict[str, set[Attribute]]]] = {}
        """For kernels without encodings: the targets by format that may share an executable."""

    def add(
        self,
        kernel: Kernel,
        targets: Sequence[TargetSolver],
        bindings: tuple[Attribute, ...],
        dispatch: Operation,
        entry: int,
    ) -> None:
        """Plan that a dispatch runs a kernel for some targets, with these types of bindings."""
        if bindings:
            number = self._numbers.number
            compiled_for = tuple(number(target.target) for target in targets)
            key = VariantKey(compiled_for, tuple(map(number, bindings)), bindings)
        else:
            key = VariantKey((self._group(kernel, targets),), (), ())
        self._variants.setdefault(kernel, {}).setdefault(key, []).append((dispatch, entry))

    def _group(self, kernel: Kernel, targets: Sequence[TargetSolver]) -> int:
        """Return the number of an executable without other targets of the targets' formats.

        Otherwise a device could mistake another target's code for its own.
        """
        formats: dict[str, set[Attribute]] = {}
        for target in targets:
            formats.setdefault(target.format, set()).add(target.target)
        groups = self._groups.setdefault(kernel, [])
        for number, group in enumerate(groups):
            if all(group.get(name, found) == found for name, found in formats.items()):
                group.update(formats)
                return number
        groups.append(formats)
        return len(groups) - 1

    def apply(self, module: ModuleOp) -> None:
        """Change and clone executables, and point dispatches to them."""
        names = FreshNames(module)
        in_place: dict[Operation, VariantKey] = {}
        last: dict[Operation, Operation] = {}
        for kernel, variants in self._variants.items():
            others = [key for key in variants if in_place.setdefault(kernel.function, key) != key]
            # Clone before anything changes, so that all clones are of the original executable.
            clones = [clone_kernel(kernel, names) for _ in others]
            for key, clone in zip(others, clones, strict=True):
                previous = last.get(kernel.executable, kernel.executable)
                Rewriter.insert_op(clone.executable, InsertPoint.after(previous))
                last[kernel.executable] = clone.executable
                _resolve_bindings(clone, key)
                for dispatch, entry in variants[key]:
                    _point_to(dispatch, entry, clone)
        for kernel, variants in self._variants.items():
            first = in_place[kernel.function]
            if first in variants:
                _resolve_bindings(kernel, first)


def clone_kernel(kernel: Kernel, names: FreshNames) -> Kernel:
    """Return a copy of an executable with only one of its kernels, under a fresh name."""
    name = names.numbered(f"{kernel.executable.sym_name.data}_dup")
    executable = kernel.executable.clone()
    executable.properties["sym_name"] = StringAttr(name)
    exports = executable.exports()
    export = next(e for e in exports if e.sym_name == kernel.export.sym_name)
    others = {e.function_ref for e in exports} - {export.function_ref}
    for other in exports:
        if other is not export:
            Rewriter.erase_op(other)
    _drop_functions(executable, others)
    return Kernel.of_export(export, export)


def _drop_functions(executable: ExecutableOp, names: set[SymbolRefAttr]) -> None:
    """Erase the functions of kernels that were dropped, unless they are still called."""
    module = executable.inner_module()
    if module is None:
        return
    functions = {
        SymbolRefAttr(name): operation
        for operation in module.body.block.ops
        if isinstance(name := operation.properties.get("sym_name"), StringAttr)
    }
    kept = [op for name, op in functions.items() if name not in names]
    called = {
        attribute
        for operation in kept
        for inner in operation.walk()
        for attribute in (inner.properties | inner.attributes).values()
        if isinstance(attribute, SymbolRefAttr)
    }
    for name in names - called:
        if (operation := functions.get(name)) is not None:
            Rewriter.erase_op(operation)


def _resolve_bindings(kernel: Kernel, key: VariantKey) -> None:
    """Set the types of a kernel's subspans to those of the variant."""
    for (_, subspan), tensor in zip(kernel.bindings, key.bindings, strict=True):
        result = subspan.results[0]
        type_ = result.type
        if isinstance(type_, EncodingTypeInterface):
            resolved = type_.update_encoding(tensor_encoding(tensor))
            Rewriter.replace_value_with_new_type(result, resolved)


def _point_to(dispatch: Operation, entry: int, kernel: Kernel) -> None:
    """Make a dispatch run another variant of its kernel."""
    points = list(cast("ArrayAttr[SymbolRefAttr]", dispatch.properties["entry_points"]))
    points[entry] = SymbolRefAttr(kernel.executable.sym_name, points[entry].nested_references)
    dispatch.properties["entry_points"] = ArrayAttr(points)
