"""Convert executables to the form that devices load: target variants, bindings and constants.

A `stream` executable becomes a `hal` executable with a variant for each target that it is
dispatched to. A kernel has no arguments afterwards; it loads what its pipeline layout lists:

    func.func @f(%a: !stream.binding, %n: i32, %b: !stream.binding)

becomes a function that begins with

    %n = hal.interface.constant.load layout(#layout) ordinal(0) : i32
    %1 = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : ...

and `stream.cmd.dispatch` names the kernel in each variant that its device may run. Executables that
are never dispatched are erased.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.hal.executables import (
    ExecutableEndOp,
    ExecutableExportOp,
    ExecutableOp,
    ExecutableSourceEndOp,
    ExecutableSourceOp,
    ExecutableVariantEndOp,
    ExecutableVariantOp,
)
from ...dialects.hal.interface import (
    InterfaceBindingSubspanOp,
    InterfaceConstantLoadOp,
    PipelineBindingAttr,
    PipelineLayoutAttr,
)
from ...dialects.hal.objects import ReturnOp
from ...dialects.hal.targets import DEVICE, ExecutableTargetAttr
from ...dialects.stream.affinity import affinity_of
from ...dialects.stream.commands import CmdDispatchOp
from ...dialects.stream.dispatch_directives import ACCESS
from ...dialects.stream.executables import BindingSubspanOp
from ...dialects.stream.executables import ExecutableExportOp as ExecutableExportOfStream
from ...dialects.stream.executables import ExecutableOp as StreamExecutableOp
from ...dialects.stream.types import BindingType
from ...dialects.stream.workgroups import OF_HAL
from ...ir.attribute_access import boundary_attributes
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations_of
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before, locate, located_builder, replace_by
from ...ir.regions import walk
from ...ir.structural_hash import AttributeNumbers
from ...ir.symbols import fresh_name, symbol_properties
from ...ir.value_flow import update_function_type
from ..stream.analysis.affinity_targets import AffinityTargets
from ..stream.kernels.exports import Kernel, Kernels, entry_points

READ_ONLY = IntegerAttr(1, i32)
WRITES = ACCESS["wo"]
WORKGROUP = ("stream.dispatch.workgroup.", "flow.dispatch.workgroup.")
"""Prefixes of operations that query the workgroup."""

KNOWN = ("alignment", "values")
"""Argument attributes that are kept, without the dialect prefix as in `stream.alignment`."""


@dataclass(slots=True)
class KernelUses:
    """What the dispatches of one kernel determine about it."""

    kernel: Kernel
    written: list[bool]
    """For each binding, whether any dispatch writes to it."""

    def layout(self) -> PipelineLayoutAttr:
        """Return the pipeline layout of the kernel."""
        constants = len(self.kernel.function.regions[0].blocks[0].args) - len(self.written)
        return PipelineLayoutAttr(
            IntegerAttr(constants, INDEX) if constants else NoneAttr(),
            ArrayAttr(
                PipelineBindingAttr(
                    StringAttr("storage_buffer"),
                    NoneAttr() if written else StringAttr("ReadOnly"),
                )
                for written in self.written
            ),
            NoneAttr(),
        )


@dataclass(slots=True)
class DispatchedExecutable:
    """An executable that is dispatched: kernel uses by export, and variant names by target."""

    uses: dict[Operation, KernelUses] = field(default_factory=dict[Operation, KernelUses])
    variants: dict[ExecutableTargetAttr, str] = field(
        default_factory=dict[ExecutableTargetAttr, str]
    )


class MaterializeInterfacesPass(ModulePass):
    """Turn executables into variants for targets, with bindings and constants."""

    name = "iree-hal-materialize-interfaces"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        affinities = AffinityTargets(ctx, op, AttributeNumbers())
        kernels = Kernels(op)
        sources = {
            operation.sym_name.data: operation
            for operation in op.body.block.ops
            if isinstance(operation, ExecutableSourceOp)
        }
        dispatched: dict[Operation, DispatchedExecutable] = {}
        for operation in host_operations_of(op, CmdDispatchOp):
            _name_variants(operation, kernels, sources, affinities, dispatched)
        for operation in tuple(op.body.block.ops):
            if isinstance(operation, StreamExecutableOp | ExecutableSourceOp):
                if operation in dispatched:
                    builder_before(operation).insert(_executable(operation, dispatched[operation]))
                Rewriter.erase_op(operation)


def _name_variants(
    dispatch: CmdDispatchOp,
    kernels: Kernels,
    sources: Mapping[str, ExecutableSourceOp],
    affinities: AffinityTargets,
    dispatched: dict[Operation, DispatchedExecutable],
) -> None:
    """Make a dispatch name its kernels in the variants for its device's targets."""
    entries: list[SymbolRefAttr] = []
    for entry in entry_points(dispatch):
        kernel = kernels.of_entry_point(entry, dispatch)
        source = sources.get(entry.root_reference.data)
        origin = source if kernel is None else kernel.executable
        if origin is None:
            entries.append(entry)
            continue
        executable = dispatched.setdefault(origin, DispatchedExecutable())
        if kernel is not None:
            _record_writes(dispatch, kernel, executable)
        affinity = affinity_of(dispatch)
        if affinity is None:
            raise OperationError(
                dispatch, "does not run on a known device, so its kernels have no target"
            )
        for solver in affinities.targets(affinity, dispatch):
            target = cast(ExecutableTargetAttr, solver.target)
            if target not in executable.variants:
                name = fresh_name(
                    solver.format.replace("-", "_"), set(executable.variants.values())
                )
                executable.variants[target] = name
            names = [StringAttr(executable.variants[target]), *entry.nested_references.data]
            entries.append(SymbolRefAttr(entry.root_reference, names))
    dispatch.properties["entry_points"] = ArrayAttr(entries)


def _record_writes(
    dispatch: CmdDispatchOp, kernel: Kernel, executable: DispatchedExecutable
) -> None:
    """Record which bindings a dispatch writes. Raises OperationError if their number is wrong."""
    written = [bool(access.value.data & WRITES) for access in dispatch.resource_accesses]
    if (count := _binding_count(kernel)) != len(written):
        raise OperationError(
            dispatch, f"passes {len(written)} bindings to its kernel, which takes {count}"
        )
    uses = executable.uses.setdefault(kernel.export, KernelUses(kernel, written))
    uses.written = [any(pair) for pair in zip(uses.written, written, strict=True)]


def _binding_count(kernel: Kernel) -> int:
    """Return how many bindings a kernel takes."""
    block = kernel.function.regions[0].blocks.first
    if block is None:
        raise OperationError(kernel.function, "is a kernel without a body")
    return sum(isinstance(type_, BindingType) for type_ in block.arg_types)


def _executable(
    origin: StreamExecutableOp | ExecutableSourceOp, dispatched: DispatchedExecutable
) -> Operation:
    """Build the `hal` executable for one of `stream`, or for a source without targets."""
    if isinstance(origin, ExecutableSourceOp) and origin.objects is not None:
        raise OperationError(
            origin, "has precompiled objects, expected a source that each target compiles"
        )
    for export in origin.body.block.ops:
        if isinstance(export, ExecutableExportOfStream) and export not in dispatched.uses:
            kernel = Kernel.of_export(export, export)
            dispatched.uses[export] = KernelUses(kernel, [True] * _binding_count(kernel))
    variants = [
        _variant(origin, dispatched, target, name) for target, name in dispatched.variants.items()
    ]
    return ExecutableOp.create(
        properties=symbol_properties(origin),
        attributes=dict(origin.attributes),
        regions=[Region(Block([*variants, ExecutableEndOp.create()]))],
    )


def _variant(
    origin: StreamExecutableOp | ExecutableSourceOp,
    dispatched: DispatchedExecutable,
    target: ExecutableTargetAttr,
    name: str,
) -> Operation:
    exports = [_export(uses, ordinal) for ordinal, uses in enumerate(dispatched.uses.values())]
    inner: list[Operation] = []
    if isinstance(origin, ExecutableSourceOp):
        ends = ExecutableSourceEndOp
        inner += [each.clone() for each in origin.body.block.ops if not isinstance(each, ends)]
    elif (module := origin.inner_module()) is not None:
        cloned = module.clone()
        for uses in dispatched.uses.values():
            function = _function_in(cloned, uses.kernel.function)
            _use_interface(function, uses)
        inner.append(cloned)
    variant = ExecutableVariantOp.create(
        properties={
            "sym_name": StringAttr(name),
            "sym_visibility": StringAttr("public"),
            "target": target,
        },
        regions=[Region(Block([*exports, *inner, ExecutableVariantEndOp.create()]))],
    )
    locate(variant, origin)
    return variant


def _function_in(module: Operation, function: Operation) -> Operation:
    """Return the function of a cloned module that corresponds to a function of the original."""
    name = function.properties["sym_name"]
    operations = module.regions[0].block.ops
    return next(each for each in operations if each.properties.get("sym_name") == name)


def _export(uses: KernelUses, ordinal: int) -> Operation:
    export = uses.kernel.export
    region = export.workgroup_count.clone()
    for block in region.blocks:
        if block.prev_block is None:
            block.insert_arg(DEVICE, 0)
        if block.last_op is not None and block.last_op.name == "stream.return":
            Rewriter.replace_op(block.last_op, ReturnOp.build(operands=[block.last_op.operands]))
    variant = ExecutableExportOp.create(
        properties={
            "sym_name": export.sym_name,
            "sym_visibility": StringAttr("public"),
            "ordinal": IntegerAttr(ordinal, INDEX),
            "layout": uses.layout(),
        },
        attributes=dict(export.attributes),
        regions=[region, Region()],
    )
    locate(variant, export)
    return variant


def _use_interface(function: Operation, uses: KernelUses) -> None:
    """Replace the arguments of a kernel by loads of constants and by binding subspans.

    The argument attributes `stream.alignment` and `stream.values` move to these operations.
    """
    layout, block = uses.layout(), function.regions[0].blocks[0]
    builder = located_builder(InsertPoint.at_start(block), function)
    bindings = constants = 0
    for argument in tuple(block.args):
        attributes = boundary_attributes(function, "arg_attrs", argument.index)
        known = {
            name: attributes[f"stream.{name}"] for name in KNOWN if f"stream.{name}" in attributes
        }
        if isinstance(argument.type, BindingType):
            properties = {"layout": layout, "binding": IntegerAttr(bindings, INDEX), **known}
            if not uses.written[bindings]:
                properties["descriptor_flags"] = READ_ONLY
            for use in tuple(argument.uses):
                _bind(use.operation, properties)
            bindings += 1
        else:
            load = InterfaceConstantLoadOp.build(
                result_types=[argument.type],
                properties={"layout": layout, "ordinal": IntegerAttr(constants, INDEX), **known},
            )
            argument.replace_all_uses_with(builder.insert(load).results[0])
            constants += 1
    for argument in reversed(tuple(block.args)):
        block.erase_arg(argument)
    update_function_type(function)
    function.properties.pop("arg_attrs", None)
    for operation in tuple(walk(function)):
        if not operation.name.startswith(WORKGROUP):
            continue
        kind = operation.name.rpartition(".")[2]
        query = OF_HAL[f"hal.interface.workgroup.{kind}"].create(
            result_types=operation.result_types, properties=dict(operation.properties)
        )
        replace_by(operation, query)


def _bind(operation: Operation, properties: dict[str, Attribute]) -> None:
    if not isinstance(operation, BindingSubspanOp):
        raise OperationError(
            operation, "uses a binding, expected only stream.binding.subspan to do so"
        )
    subspan = InterfaceBindingSubspanOp.build(
        operands=[[operation.byte_offset], operation.dynamic_dims],
        result_types=[operation.result.type],
        properties=properties,
        attributes=operation.attributes,
    )
    replace_by(operation, subspan)
