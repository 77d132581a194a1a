"""Convert `flow.executable` to `stream.executable`, whose kernels read bindings."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.iree_tensor_ext import DispatchTensor
from ....dialects.stream import executables as stream
from ....dialects.stream import workgroups
from ....dialects.stream.types import BindingType
from ....ir.index import constant_index
from ....ir.locations import located_builder, replace_by
from ....ir.regions import detach_regions, walk
from ....ir.value_flow import update_function_type

BINDING = BindingType()

REPLACEMENTS: dict[str, type[Operation]] = {
    **{name.replace("stream", "flow", 1): op for name, op in workgroups.OF_STREAM.items()},
    "flow.executable": stream.ExecutableOp,
    "flow.executable.export": stream.ExecutableExportOp,
    "flow.executable_end": stream.ExecutableEndOp,
    "flow.return": stream.ReturnOp,
}
"""Operations of executables that are only renamed."""


def convert_executables(module: ModuleOp) -> None:
    """Convert all executables of a module."""
    for executable in tuple(module.body.block.ops):
        if executable.name != "flow.executable":
            continue
        for operation in tuple(walk(executable)):
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
        regions=detach_regions(operation),
    )
    replace_by(operation, renamed)


def _bind_arguments(function: Operation) -> None:
    """Replace dispatch tensor arguments of a kernel by bindings and subspans of these."""
    block = function.regions[0].blocks.first
    if block is None:
        return
    start: SSAValue | None = None
    last: Operation | None = None
    for argument in tuple(block.args):
        if not isinstance(argument.type, DispatchTensor):
            continue
        if start is None:
            start = constant_index(0, located_builder(InsertPoint.at_start(block), function))
            last = block.first_op
        binding = block.insert_arg(BINDING, argument.index)
        binding.name_hint = argument.name_hint
        ties = [u.operation for u in argument.uses if u.operation.name == "flow.dispatch.tie_shape"]
        for tie in ties:
            replace_by(tie, _subspan(argument, binding, start, tie.operands[1:]))
        if argument.uses and last is not None:
            whole = _subspan(argument, binding, start, ())
            located_builder(InsertPoint.after(last), function).insert(whole)
            argument.replace_all_uses_with(whole.result)
            last = whole
        block.erase_arg(argument)
    update_function_type(function)


def _subspan(
    argument: SSAValue, binding: SSAValue, start: SSAValue, sizes: Sequence[SSAValue]
) -> stream.BindingSubspanOp:
    return stream.BindingSubspanOp.build(
        operands=[binding, start, sizes], result_types=[argument.type]
    )
