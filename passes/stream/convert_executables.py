"""From `flow.executable` to `stream.executable`: kernels read bindings, which are bytes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.iree_tensor_ext.dispatch_tensors import DispatchTensor
from ...dialects.stream import executables as stream
from ...dialects.stream.types import BindingType
from ...dialects.stream.workgroups import (
    StreamWorkgroupCountOp,
    StreamWorkgroupIdOp,
    StreamWorkgroupSizeOp,
)
from ...ir.index import constant_index
from ...ir.locations import located_builder, replace_by

BINDING = BindingType()

REPLACEMENTS: dict[str, type[Operation]] = {
    "flow.dispatch.workgroup.count": StreamWorkgroupCountOp,
    "flow.dispatch.workgroup.id": StreamWorkgroupIdOp,
    "flow.dispatch.workgroup.size": StreamWorkgroupSizeOp,
    "flow.executable": stream.ExecutableOp,
    "flow.executable.export": stream.ExecutableExportOp,
    "flow.executable_end": stream.ExecutableEndOp,
    "flow.return": stream.ReturnOp,
}
"""Operations of executables that only change their name."""


def convert_executables(module: ModuleOp) -> None:
    """Convert all executables of a module."""
    for executable in tuple(module.body.block.ops):
        if executable.name != "flow.executable":
            continue
        for operation in tuple(executable.walk()):
            if operation.name == "func.func":
                _bind_arguments(operation)
        for operation in tuple(executable.walk(reverse=True)):
            _rename(operation)
        _rename(executable)


def _rename(operation: Operation) -> None:
    new = REPLACEMENTS.get(operation.name)
    if new is None or operation.parent is None:
        return
    renamed = new.create(
        operands=operation.operands,
        result_types=operation.result_types,
        properties=operation.properties,
        attributes=operation.attributes,
        regions=[operation.detach_region(region) for region in tuple(operation.regions)],
    )
    replace_by(operation, renamed)


def _bind_arguments(function: Operation) -> None:
    """Turn dispatch tensors among a kernel's arguments into bindings that it reads from."""
    block = function.regions[0].blocks.first
    if block is None:
        return
    start: SSAValue | None = None
    for argument in tuple(block.args):
        if not isinstance(argument.type, DispatchTensor):
            continue
        if start is None:
            start = constant_index(0, located_builder(InsertPoint.at_start(block), function))
        binding = block.insert_arg(BINDING, argument.index)
        binding.name_hint = argument.name_hint
        ties = [u.operation for u in argument.uses if u.operation.name == "flow.dispatch.tie_shape"]
        for tie in ties:
            replace_by(tie, _subspan(argument, binding, start, tie.operands[1:]))
        if argument.uses:
            whole = _subspan(argument, binding, start, ())
            located_builder(InsertPoint.after(_owner(start, block)), function).insert(whole)
            argument.replace_all_uses_with(whole.result)
        block.erase_arg(argument)
    results = () if block.last_op is None else block.last_op.operands
    function.properties["function_type"] = FunctionType.from_lists(
        block.arg_types, [result.type for result in results]
    )


def _owner(value: SSAValue, block: Block) -> Operation:
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    raise ValueError(f"{value} is an argument of {block}")


def _subspan(
    argument: SSAValue, binding: SSAValue, start: SSAValue, sizes: Sequence[SSAValue]
) -> stream.BindingSubspanOp:
    return stream.BindingSubspanOp.build(
        operands=[binding, start, sizes], result_types=[argument.type]
    )
