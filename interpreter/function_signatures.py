"""Signatures of functions as callers see them: buffer views appear as tensors.

A function with a HAL interface takes and returns buffer views. The tensor type of a view is found
at the operations that import or export it, in the function or in a function that it calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ..ir.attribute_access import attribute, constant_integer, operation_name, symbol
from ..ir.host_programs import CALLS
from ..ir.regions import enclosing
from ..ir.symbols import symbols_of
from ..runtime.abi.arrays import Value
from ..runtime.abi.values import element_type
from .buffer_views import BufferView

IMPORTS = {"hal.tensor.import": "target_encoding", "stream.tensor.import": "result_encoding"}
EXPORTS = {"hal.tensor.export": "source_encoding", "stream.tensor.export": "source_encoding"}
BUFFER_VIEW = "hal.buffer_view"


def argument_types(function: Operation) -> list[Attribute]:
    """Return the types of a function's arguments, with tensor types for buffer views."""
    return [_argument_type(argument) for argument in function.regions[0].blocks[0].args]


def result_types(function: Operation) -> list[Attribute]:
    """Return the types of a function's results, with tensor types for buffer views."""
    function_type = attribute(function, "function_type")
    outputs: Sequence[Attribute] = getattr(getattr(function_type, "outputs", None), "data", ())
    types = list(outputs)
    blocks = function.regions[0].blocks if function.regions else ()
    if not any(_is_view(type_) for type_ in types) or not blocks:
        return types
    ends = [end for block in blocks if (end := block.last_op) and not end.successors]
    returned = next((end for end in reversed(ends) if len(end.operands) == len(types)), None)
    if returned is None:
        return types
    return [
        _value_type(value, type_) if _is_view(type_) else type_
        for value, type_ in zip(returned.operands, types, strict=True)
    ]


def wrap_buffer_views(function: Operation, inputs: Sequence[Value]) -> list[Value]:
    """Wrap input arrays as buffer views where the function takes views."""
    arguments = function.regions[0].blocks[0].args
    return [
        BufferView(value, element_type(_argument_type(argument)))
        if _is_view(argument.type)
        else value
        for argument, value in zip(arguments, inputs, strict=True)
    ]


def tensor_type_of(value: SSAValue) -> Attribute:
    """Return the type of a value; for a buffer view the type of its tensor, if known."""
    return _value_type(value, value.type)


def _is_view(type_: Attribute) -> bool:
    return type_.name == BUFFER_VIEW


def _argument_type(argument: SSAValue, callers: tuple[Operation, ...] = ()) -> Attribute:
    """Return the type of an argument. `callers` are the calls on the way to its function."""
    if _is_view(argument.type):
        for use in argument.uses:
            found = _type_at_boundary(use.operation, IMPORTS)
            if found is None and (callee := _callee(use.operation, callers)) is not None:
                inner = callee.regions[0].blocks[0].args[use.index]
                found = _argument_type(inner, (*callers, use.operation))
            if found is not None and not _is_view(found):
                return found
    return argument.type


def _value_type(
    value: SSAValue, type_: Attribute, callers: tuple[Operation, ...] = ()
) -> Attribute:
    if not isinstance(value, OpResult):
        return _argument_type(value)
    owner = value.op
    if (named := _type_at_boundary(owner, EXPORTS)) is not None:
        return named
    if (callee := _callee(owner, callers)) is not None:
        ends = [block.last_op for block in callee.regions[0].blocks]
        callers = (*callers, owner)
    else:
        ends = [block.last_op for region in owner.regions for block in region.blocks]
    for end in ends:
        if end is not None and len(end.operands) == len(owner.results):
            found = _value_type(end.operands[value.index], type_, callers)
            if not _is_view(found):
                return found
    return type_


def _callee(call: Operation, callers: tuple[Operation, ...]) -> Operation | None:
    """Return the function with a body that an operation calls; `None` for a recursive call."""
    if operation_name(call) not in CALLS or call in callers:
        return None
    name = symbol(call, "callee")
    for scope in enclosing(call.parent_op()):
        found = symbols_of(scope).get(name)
        if found is not None and found.regions and found.regions[0].blocks:
            return found
    return None


def _type_at_boundary(op: Operation, properties: dict[str, str]) -> Attribute | None:
    name = operation_name(op)
    if name in properties:
        return attribute(op, properties[name])
    is_made = properties is EXPORTS
    if name == ("hal.buffer_view.create" if is_made else "hal.buffer_view.assert"):
        return _viewed(op.operands[3 if is_made else 1], op.operands[5 if is_made else 3 :])
    return None


def _viewed(element: SSAValue, sizes: Sequence[SSAValue]) -> Attribute | None:
    """Return the tensor type of a buffer view, from its element type and size operands."""
    type_ = attribute(element.op, "type") if isinstance(element, OpResult) else None
    if type_ is None:
        return None
    known = map(constant_integer, sizes)
    return TensorType(type_, [DYNAMIC_INDEX if size is None else size for size in known])
