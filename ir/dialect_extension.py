"""Build dialects: from modules, by extending xDSL's dialects, or by deriving similar op classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TypeVar, cast

from xdsl.dialect_interfaces import DialectInterface
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import IRDLOperation, OpDef, irdl_attr_definition

OperationT = TypeVar("OperationT", bound=IRDLOperation)
AttributeT = TypeVar("AttributeT", bound=Attribute)
KindT = TypeVar("KindT", Operation, Attribute)


def dialect_of(
    name: str,
    *modules: ModuleType | Mapping[str, object],
    interfaces: Sequence[DialectInterface] = (),
) -> Dialect:
    """Return a dialect of the ops and attributes that the given modules define under its name.

    A module is given as itself or as its `globals()`. Classes in a list `ROWS` of a module are
    included; classes whose Python names begin with an underscore are not.
    """
    spaces = [vars(each) if isinstance(each, ModuleType) else each for each in modules]
    defined = [value for space in spaces for value in space.values()]
    defined += [row for space in spaces for row in cast("Sequence[object]", space.get("ROWS", ()))]
    classes = dict.fromkeys(value for value in defined if isinstance(value, type))
    prefix = f"{name}."

    named = [
        each
        for each in classes
        if str(getattr(each, "name", "")).startswith(prefix) and not each.__name__.startswith("_")
    ]

    def public(kind: type[KindT]) -> list[type[KindT]]:
        # `issubclass` with an abstract class would check all of its subclasses.
        return [cast("type[KindT]", each) for each in named if kind in each.__mro__]

    return Dialect(name, public(Operation), public(Attribute), list(interfaces))


def extended(base: Dialect, operations: Sequence[type[Operation]]) -> Dialect:
    """Return the dialect with operations added, or replaced where the names are the same."""
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
    """Return a subclass of an op class with another op name and additional plain members.

    Operands, results, properties and traits are those of the prototype. Creating such a class costs
    a tenth of `irdl_op_definition`, which matters for dialects with eighty similar ops.
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


def plain_type(name: str, doc: str) -> type[ParametrizedAttribute]:
    """Return a parameterless type class of that name, with `doc` as its docstring."""
    return attribute_class(name, doc, ParametrizedAttribute, TypeAttribute)


def plain_attribute(name: str, doc: str) -> type[ParametrizedAttribute]:
    """Return a parameterless attribute class of that name, with `doc` as its docstring."""
    return attribute_class(name, doc, ParametrizedAttribute)


def attribute_class(
    name: str, doc: str, base: type[AttributeT], *others: type, **members: object
) -> type[AttributeT]:
    """Return the class of an attribute or type with these bases and class variables."""
    words = re.split(r"[._]", name.partition(".")[2])
    suffix = "Type" if TypeAttribute in others else "Attr"
    class_name = "".join(word.capitalize() for word in words) + suffix
    made = type(class_name, (base, *others), {"__doc__": doc, "name": name, **members})
    return irdl_attr_definition(cast("type[AttributeT]", made))
