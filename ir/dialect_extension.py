"""Ways to make dialects: from files, by extending xDSL's, by repeating a class under many names."""

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
KindT = TypeVar("KindT", Operation, Attribute)


def dialect_of(
    name: str,
    *modules: ModuleType | Mapping[str, object],
    interfaces: Sequence[DialectInterface] = (),
) -> Dialect:
    """The dialect of the operations and attributes that modules define under its name; the module
    that asks is its `globals()`.

    Those in a list `ROWS` count; classes whose Python names begin with an underscore do not.
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
        # `issubclass` of an abstract class would ask all classes below it.
        return [cast("type[KindT]", each) for each in named if kind in each.__mro__]

    return Dialect(name, public(Operation), public(Attribute), list(interfaces))


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


def plain_type(name: str, doc: str) -> type[ParametrizedAttribute]:
    """The type of a name that has no parameters; `doc` is its docstring."""
    return _plain(name, doc, "Type", (ParametrizedAttribute, TypeAttribute))


def plain_attribute(name: str, doc: str) -> type[ParametrizedAttribute]:
    """The attribute of a name that has no parameters; `doc` is its docstring."""
    return _plain(name, doc, "Attr", (ParametrizedAttribute,))


def _plain(
    name: str, doc: str, suffix: str, bases: tuple[type, ...]
) -> type[ParametrizedAttribute]:
    words = re.split(r"[._]", name.partition(".")[2])
    class_name = "".join(word.capitalize() for word in words) + suffix
    made = type(class_name, bases, {"__doc__": doc, "name": name})
    return irdl_attr_definition(cast("type[ParametrizedAttribute]", made))
