"""What callers pass to a function and receive: tensors, also where it takes buffer views.

A function with the interface of a HAL takes and returns buffer views. Which tensors they hold is
said by the operations that import and export them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from .attributes import attribute, operation_name
from .hal_buffers import BufferView
from .values import Value, element_type

IMPORTS = {"hal.tensor.import": "target_encoding", "stream.tensor.import": "result_encoding"}
EXPORTS = {"hal.tensor.export": "source_encoding", "stream.tensor.export": "source_encoding"}
BUFFER_VIEW = "hal.buffer_view"


def argument_types(function: Operation) -> list[Attribute]:
    """The types of a function's arguments, tensors for buffer views."""
    return [_passed(argument) for argument in function.regions[0].blocks[0].args]


def result_types(function: Operation) -> list[Attribute]:
    """The types of a function's results, tensors for buffer views."""
    function_type = attribute(function, "function_type")
    outputs: Sequence[Attribute] = getattr(getattr(function_type, "outputs", None), "data", ())
    types = list(outputs)
    blocks = function.regions[0].blocks if function.regions else ()
    if not any(_is_view(type_) for type_ in types) or not blocks:
        return types
    ends = [block.last_op for block in blocks]
    returned = next(
        (end for end in reversed(ends) if end and len(end.operands) == len(types)), None
    )
    if returned is None:
        return types
    return [
        _returned(value, type_) if _is_view(type_) else type_
        for value, type_ in zip(returned.operands, types, strict=True)
    ]


def passed(function: Operation, inputs: Sequence[Value]) -> list[Value]:
    """Arrays as a function takes them."""
    arguments = function.regions[0].blocks[0].args
    return [
        BufferView(value, element_type(_passed(argument))) if _is_view(argument.type) else value
        for argument, value in zip(arguments, inputs, strict=True)
    ]


def _is_view(type_: Attribute) -> bool:
    return type_.name == BUFFER_VIEW


def _passed(argument: SSAValue) -> Attribute:
    if _is_view(argument.type):
        for use in argument.uses:
            found = _named_type(use.operation, IMPORTS)
            if found is not None:
                return found
    return argument.type


def _returned(value: SSAValue, type_: Attribute) -> Attribute:
    owner = value.owner
    if not isinstance(owner, Operation):
        return _passed(value)
    return _named_type(owner, EXPORTS) or type_


def _named_type(op: Operation, properties: dict[str, str]) -> Attribute | None:
    name = properties.get(operation_name(op))
    return attribute(op, name) if name is not None else None
