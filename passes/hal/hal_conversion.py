"""Convert the `stream` operations of a host program to `hal`.

Resources become buffers, timepoints become fences, and commands become command buffers that queues
run. Control flow, calls and globals only change types. Kernels are in `hal.executable` already; if
an executable has several variants, the host program asks the device which of them it can run.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.hal.types import BufferType, ChannelType, CommandBufferType, FenceType, FileType
from ...dialects.stream.affinity import DEFAULT_AFFINITY
from ...dialects.util.functions import FuncOp
from ...dialects.util.types import ListType
from ...ir.diagnostics import OperationError, remark
from ...ir.host_programs import host_operations
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before, replace_by
from ...ir.regions import detach_regions, enclosing, inner_blocks
from ...ir.symbols import symbol_properties
from .conversion import resources  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .conversion.commands import drop_workgroup_counts
from .conversion.rules import HalBuilder, to_hal

TYPES: dict[str, Attribute] = {
    "stream.channel": ChannelType(),
    "stream.file": FileType(),
    "stream.resource": BufferType(),
    "stream.timepoint": FenceType(),
}


class HalConversionPass(ModulePass):
    """Convert the use of resources and timepoints to calls of a runtime."""

    name = "iree-hal-conversion"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replaced = {
            operation: tuple(operation.operand_types)
            for operation in host_operations(op)
            if _is_converted(operation)
        }
        if not replaced:
            remark(
                "dispatch",
                op,
                "has no commands: run `data-tile` first, which converts tensors to the stream "
                "dialect",
            )
        for operation, operand_types in replaced.items():
            rule = to_hal.get(operation.name)
            if rule is None:
                raise OperationError(
                    operation,
                    "has no form in the hal dialect: this pass converts commands and resources; "
                    "convert operations on tensors and asynchronous operations first",
                )
            hal = HalBuilder(ctx, operation, builder_before(operation), operand_types)
            for old, new in zip(operation.results, rule(hal, operation), strict=True):
                new.name_hint = new.name_hint or old.name_hint
                old.replace_all_uses_with(new)
        for operation in reversed(tuple(replaced)):
            Rewriter.erase_op(operation)
        for operation in tuple(host_operations(op)):
            _retype(operation)
        op.attributes.pop(DEFAULT_AFFINITY, None)
        drop_workgroup_counts(op)


def _is_converted(operation: Operation) -> bool:
    """Return whether an operation is converted on its own, not within `stream.cmd.execute`."""
    if operation.name == "stream.cmd.func" or not operation.name.startswith("stream."):
        return False
    return all(scope.name != "stream.cmd.execute" for scope in enclosing(operation.parent_op()))


def _retype(operation: Operation) -> None:
    """Change the types of an operation's results, block arguments and type properties to `hal`."""
    if operation.name == "stream.cmd.func":
        _declare(operation)
        return
    for result in operation.results:
        Rewriter.replace_value_with_new_type(result, _convert_type(result.type))
    for block in inner_blocks(operation):
        _retype_arguments(block)
    for name in ("function_type", "type"):
        if (type_ := operation.properties.get(name)) is not None:
            operation.properties[name] = _convert_type(type_)
    if operation.name == "util.global" and _names_stream(operation):
        operation.properties.pop("initial_value")


def _names_stream(variable: Operation) -> bool:
    """Return whether a global starts as the immediate timepoint, which is not a fence."""
    value = variable.properties.get("initial_value")
    return value is not None and value.name == "stream.timepoint"


def _retype_arguments(block: Block) -> None:
    for argument in tuple(block.args):
        Rewriter.replace_value_with_new_type(argument, _convert_type(argument.type))


def _convert_type(type_: Attribute) -> Attribute:
    if isinstance(type_, FunctionType):
        return FunctionType.from_lists(
            [_convert_type(input_) for input_ in type_.inputs],
            [_convert_type(output) for output in type_.outputs],
        )
    if isinstance(type_, ListType):
        return ListType(_convert_type(type_.element))
    return TYPES.get(type_.name, type_)


def _declare(function: Operation) -> None:
    """Declare an external function on a command buffer; buffers follow their binding table slot."""
    type_ = cast(FunctionType, function.properties["function_type"])
    inputs: list[Attribute] = [CommandBufferType()]
    for input_ in type_.inputs:
        inputs += [INDEX, _convert_type(input_)] if input_.name == "stream.resource" else [input_]
    declared = FuncOp.create(
        properties={
            **symbol_properties(function),
            "function_type": FunctionType.from_lists(inputs, list(type_.outputs)),
        },
        regions=detach_regions(function),
    )
    replace_by(function, declared)
