"""Ways to make dialects: by extending xDSL's, and by repeating one class under many names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar, cast

from xdsl.dialect_interfaces import DialectInterface
from xdsl.ir import Dialect, Operation
from xdsl.irdl import IRDLOperation, OpDef

OperationT = TypeVar("OperationT", bound=IRDLOperation)


def extended(base: Dialect, operations: Sequence[type[Operation]]) -> Dialect:
    """The dialect with the given operations added, or put in the place of their namesakes."""
    names = {operation.name for operation in operations}
    kept = [operation for operation in base.operations if operation.name not in names]
    interface = base.get_interface(DialectInterface)
    return Dialect(
        base.name,
        [*kept, *operations],
        list(base.attributes),
        [] if interface is None else [interface],
    )


def variant(
    prototype: type[OperationT], name: str, members: dict[str, object] | None = None
) -> type[OperationT]:
    """An operation class that differs from a defined one in its name and in plain members.

    Operands, results, properties and traits are the prototype's. A class made so costs a tenth
    of one that goes through `irdl_op_definition`, which matters to dialects of eighty operations.
    """
    definition = replace(prototype.get_irdl_definition(), name=name)
    words = name.partition(".")[2].split("_")

    def get_irdl_definition(cls: type[IRDLOperation]) -> OpDef:
        return definition

    namespace: dict[str, object] = {
        "__doc__": f"`{name}`.",
        "name": name,
        "get_irdl_definition": classmethod(get_irdl_definition),
        **(members or {}),
    }
    class_name = "".join(word.capitalize() for word in words) + "Op"
    return cast(type[OperationT], type(class_name, (prototype,), namespace))
