"""Access and replace the uniform operands of dispatches, and the kernel arguments for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ....dialects.stream.commands import CmdDispatchOp
from ....dialects.stream.types import BindingType
from ....ir.attribute_access import boundary_attributes
from ....ir.locations import replace_by
from ....ir.regions import enclosing
from ....ir.value_flow import update_function_type


def uniform_arguments(block: Block) -> tuple[BlockArgument, ...]:
    """Return the arguments of a kernel's entry block that are not bindings."""
    return tuple(each for each in block.args if not isinstance(each.type, BindingType))


def group_around(dispatch: CmdDispatchOp) -> Operation:
    """Return the outermost command around a dispatch; operands are computed in front of it."""
    *_, scope = takewhile(lambda each: each.name.startswith("stream.cmd."), enclosing(dispatch))
    return scope


def replace_uniform_operands(dispatch: CmdDispatchOp, operands: Sequence[SSAValue]) -> None:
    """Replace the uniform operands of a dispatch."""
    resources = (dispatch.resources, dispatch.resource_sizes)
    ranges = (dispatch.resource_offsets, dispatch.resource_lengths)
    replace_dispatch(dispatch, [operands, *resources, *ranges], dispatch.resource_accesses)


def replace_dispatch(
    dispatch: CmdDispatchOp, operands: Sequence[Sequence[SSAValue]], accesses: Attribute
) -> None:
    """Replace a dispatch by one of the same kernel.

    `operands` are its uniform operands, its resources, and their sizes, offsets and lengths.
    """
    replacement = CmdDispatchOp.build(
        operands=[dispatch.workload, *operands],
        properties={"entry_points": dispatch.entry_points, "resource_accesses": accesses},
        attributes=dispatch.attributes,
    )
    replace_by(dispatch, replacement)


def replace_arguments(
    function: Operation, block: Block, replaced: Mapping[BlockArgument, SSAValue]
) -> None:
    """Replace arguments of a kernel by values; the other arguments keep their attributes."""
    arg_attrs = [
        DictionaryAttr(boundary_attributes(function, "arg_attrs", argument.index))
        for argument in block.args
        if argument not in replaced
    ]
    for argument, value in replaced.items():
        argument.replace_all_uses_with(value)
        block.erase_arg(argument)
    retype_kernel(function, arg_attrs)


def retype_kernel(function: Operation, arg_attrs: Sequence[Attribute]) -> None:
    """Set a kernel's type to that of its entry block, with `arg_attrs` as argument attributes."""
    update_function_type(function)
    if "arg_attrs" in function.properties:
        function.properties["arg_attrs"] = ArrayAttr(arg_attrs)
